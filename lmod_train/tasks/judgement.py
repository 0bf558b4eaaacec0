"""Judgement of replies: whether the reply to a question agrees with its reference answer."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from lmod_train.core.errors import BadArgument
from lmod_train.core.types import (
    Answer,
    Message,
    Part,
    Prediction,
    Question,
    Record,
    Reply,
    Sample,
    Score,
    Unparsed,
    class_path,
)
from lmod_train.core.vocabulary.error_types import ERROR_LABELS
from lmod_train.scoring.items import images_of, items_of
from lmod_train.scoring.judged import account_scores, judged_scores
from lmod_train.tasks.base import Task
from lmod_train.tasks.judgement_prompt import (
    TRUE_FALSE,
    Wording,
    check_template,
    filled_in,
    template,
)
from lmod_train.tasks.judgement_replies import question_of
from lmod_train.tasks.parsing.label import labels_in, parse_label, plain_label
from lmod_train.tasks.parsing.reading import read
from lmod_train.tasks.parsing.thinking import strip_thinking
from lmod_train.tasks.verdicts import given

JUDGED_TASK = "judged_task"
"""Tag of a judgement's record: the task of the judged record."""


class Judgement(Task):
    """Whether a reply agrees with the reference answer: one question a judged reply, in text alone.

    Its records are made from the predictions of a run (`records`), not from samples. A reply is *judged* by one of the
    labels, or *unjudged* with the reason why the judge's reply states none.

    Args:
        labels: Labels that the judge chooses from, at least two.
        right: The labels that count as right; None for the first one.
        prompt: Prompt of your own, with the places {question}, {expected}, {given} and optionally {rules}, {labels} and
            {mark}, a code that occurs in none of the texts; empty for that of `wording`.
        wording: ``lmod_train``; ``ophthalwechat`` for the prompts of that paper, in English and Chinese; or
            ``error_types`` for the error types of LMOD+ as labels, with the paper's definitions.

    Example:
        >>> judge = Judgement()
        >>> judge.parse(Reply("a", "**FALSE**")), judge.parse(Reply("a", "TRUE or FALSE")).reason
        ('FALSE', 'ambiguous')
    """

    name = "judgement"
    version = 1

    def __init__(
        self,
        labels: Sequence[str] = TRUE_FALSE,
        right: Sequence[str] | None = None,
        prompt: str = "",
        wording: Wording = "lmod_train",
    ) -> None:
        kinds = ERROR_LABELS if wording == "error_types" and tuple(labels) == TRUE_FALSE else labels
        self.choices = _checked(kinds)
        self.right = _among(self.choices, right or self.choices[:1])
        self.prompt, self.wording = check_template(prompt) if prompt else "", wording
        template(wording, self.language, self.choices)  # refuses a wording for other labels

    def ask(self, sample: Sample) -> Iterator[Question]:
        """Yield nothing: a sample has no reply to judge."""
        yield from ()

    def records(self, predictions: Iterable[Prediction]) -> list[Record]:
        """Return one record for each prediction with a reply to judge (see `judgement_replies.given`)."""
        return [self.record_of(p.record, text) for p in predictions for text in [given(p)] if text is not None]

    def record_of(self, judged: Record, text: str) -> Record:
        """Return the record that asks whether a text agrees with the reference answer of a record."""
        kind = type(self)
        prompt = self.prompt or template(self.wording, judged.language, self.choices)
        words = filled_in(prompt, question_of(judged), judged.answer, text, self.choices)
        return Record(
            id=f"{self.name}/{judged.id}",
            task=self.name,
            task_class=class_path(kind),
            task_version=self.version,
            source=judged.source,
            key=judged.key,
            modality=judged.modality,
            image=(),
            image_plain=(),
            image_sha256=(),
            split=judged.split,
            group=judged.group or images_of(judged),
            language=judged.language,
            messages=(Message("user", (Part("text", words),)),),
            choices=self.choices,
            answer=self.right[0],
            variant=judged.variant,
            tags={**judged.tags, JUDGED_TASK: judged.task},
            phantom=judged.phantom,
            patient=judged.patient,
            licence=judged.licence,
        )

    def parse(self, reply: Reply, record: Record | None = None) -> Answer | Unparsed:
        """Return the label that the judge's reply states, or why there is none.

        Only the judge's reply is read. Where several labels occur anywhere in it, also in a part that is retracted, it
        is ``ambiguous``.
        """
        answer = read(reply, parse_label, self.choices)
        if isinstance(answer, Unparsed):
            return answer
        found = labels_in(strip_thinking(reply.reply)[0], self.choices)
        return Unparsed("ambiguous", "states " + " and ".join(found[:4])) if len(found) > 1 else answer

    def score(self, predictions: Sequence[Prediction]) -> list[Score]:
        """Return the figures of `judged_scores` over the replies that were sent to the judge, and its own account."""
        items = items_of(predictions, lambda p: p.record.answer)
        verdicts = {item.id: item.answer for item in items}
        return [*judged_scores(self.name, "", items, verdicts, self.choices, self.right),
                *account_scores(self.name, items)]  # fmt: skip


def judgement_id(judged: str) -> str:
    """Return the id of the judgement of a record.

    Example:
        >>> judged_id(judgement_id("conversation/talk/1"))
        'conversation/talk/1'
    """
    return f"{Judgement.name}/{judged}"


def judged_id(judgement: str) -> str:
    """Return the id of the record that a judgement is of."""
    return judgement.removeprefix(f"{Judgement.name}/")


def _checked(labels: Sequence[str]) -> tuple[str, ...]:
    names = tuple(label.strip() for label in labels)
    alike = len({plain_label(name) for name in names}) < len(names)
    if len(names) < 2 or alike or not all(any(c.isalnum() for c in name) for name in names):
        expected = "at least two different words, compared without regard to case"
        raise BadArgument("labels", ",".join(labels), expected, "e.g. `--labels correct,partly,wrong`")
    return names


def _among(labels: Sequence[str], right: Sequence[str]) -> tuple[str, ...]:
    spelled = {plain_label(label): label for label in labels}
    if unknown := [name for name in right if plain_label(name) not in spelled]:
        expected = f"labels that count as right, among {', '.join(labels)}"
        raise BadArgument("right", ",".join(unknown), expected, f"e.g. `--right {labels[0]}`")
    return tuple(label for label in labels if label in {spelled[plain_label(name)] for name in right})
