"""The task of a judge: its prompts, which replies are sent to it, attacks on it, and the scores of its verdicts."""

from __future__ import annotations

import hashlib
import json
import re
from abc import ABC
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np

from lmod_train.core.errors import BadArgument, did_you_mean
from lmod_train.core.raw import read_json
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
from lmod_train.core.vocabulary.conditions import CONDITIONS
from lmod_train.core.vocabulary.error_types import ERROR_LABELS, LMOD_PLUS_TYPES, NO_ERROR
from lmod_train.scoring.intervals import Columns, Floats, Measure, items_in, ratio, share_measure
from lmod_train.scoring.items import Item, images_of, items_of, wrong_ids
from lmod_train.scoring.language_pairs import pair_of
from lmod_train.scoring.status import STATUS_SHARES, is_pending, scores_by_subset, status_counts
from lmod_train.tasks.base import Task
from lmod_train.tasks.bilingual import bare_question
from lmod_train.tasks.parsing.label import labels_in, parse_label, plain_label
from lmod_train.tasks.parsing.reading import read
from lmod_train.tasks.parsing.visible import strip_thinking
from lmod_train.tasks.prompt import question_text
from lmod_train.tasks.verdicts import given

JUDGED_TASK = "judged_task"
"""Tag of a judgement's record: the task of the judged record."""

TRUE_FALSE = ("TRUE", "FALSE")


_SHARED = ("source", "key", "modality", "split", "group", "phantom", "patient", "licence")


class Request(Task, ABC):
    """A task whose records are made from records or captions, and not from samples; its replies are not scored."""

    def ask(self, sample: Sample) -> Iterator[Question]:
        """Yield nothing: what a request needs is not in a sample."""
        yield from ()

    def request(self, of: Any, **values: Any) -> Record:
        """Return the record of a request about a record or caption, in English, without images or choices unless given.

        Args:
            of: What it is about; source, key, modality, split, group, phantom, patient and licence are taken over.
            **values: Other attributes of the record, and those that `of` lacks.
        """
        shared = {name: getattr(of, name) for name in _SHARED if hasattr(of, name)}
        bare = dict.fromkeys(("image", "image_plain", "image_sha256", "choices"), ())
        own = {"task": self.name, "task_class": class_path(type(self)), "task_version": self.version, "language": "en"}
        return Record(**{**shared, **bare, **own, **values})

    def score(self, predictions: Sequence[Prediction]) -> list[Score]:
        """Return the shares of the statuses: how many replies can be used. Their content is checked, not scored."""
        return account_scores(self.name, items_of(predictions, lambda p: p.record.answer))


class Judgement(Request):
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

    def records(self, predictions: Iterable[Prediction]) -> list[Record]:
        """Return one record for each prediction with a reply to judge (see `judgement_replies.given`)."""
        return [self.record_of(p.record, text) for p in predictions for text in [given(p)] if text is not None]

    def record_of(self, judged: Record, text: str) -> Record:
        """Return the record that asks whether a text agrees with the reference answer of a record."""
        prompt = self.prompt or template(self.wording, judged.language, self.choices)
        words = filled_in(prompt, question_of(judged), judged.answer, text, self.choices)
        return self.request(
            judged,
            id=f"{self.name}/{judged.id}",
            group=judged.group or images_of(judged),
            language=judged.language,
            messages=(Message("user", (Part("text", words),)),),
            choices=self.choices,
            answer=self.right[0],
            variant=judged.variant,
            tags={**judged.tags, JUDGED_TASK: judged.task},
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


# Prompts that ask whether a reply agrees with the reference answer, and the texts put into them.
Wording = Literal["lmod_train", "ophthalwechat", "error_types"]

WORDS: Mapping[str, Any] = read_json(Path(__file__).with_name("judging.json"))
"""Prompts, rules and attacks; a long text is a list of its lines."""

AGREES = "\n".join(WORDS["agrees"])
"""Rules for the labels TRUE and FALSE."""

CHOOSE = "\n".join(WORDS["choose"])
"""Rule for any other labels."""

ERRORS = "Choose the type of the main error of the given answer. If several fit, choose the first.\n" + "\n".join(
    [f"{NO_ERROR}: it agrees with the expected answer, and its explanation does not contradict it."]
    + [f"{kind.name}: {kind.definition}." for kind in LMOD_PLUS_TYPES]
)
"""Rules for the labels `ERROR_LABELS`: the error types of LMOD+ (its Table 8)."""

DEFAULT = "\n".join(WORDS["default"])
"""The prompt of this package."""

OPHTHALWECHAT = {language: "\n".join(lines) for language, lines in WORDS["ophthalwechat"].items()}
"""Language -> the prompt of OphthalWeChat (Supplementary Table 5, prompts A and B), verbatim; it has no fences."""

_TOKEN = re.compile(r"<(?=[|/\w\uff5c][^<>\n]{0,60}>)|\[(?=/?[a-z]?[A-Z_]{2,20}\]|\|[^\[\]\n]{1,40}\|\])")

_SAFE = {"<": "\u2039", "[": "("}
"""Beginning of a token of a chat template or of a place for an image -> mark that looks alike and begins none."""

_PLACE = re.compile(r"\{(question|expected|given|rules|labels|mark)\}")


def template(wording: Wording, language: str, labels: Sequence[str]) -> str:
    """Return the prompt of a wording in a language; English where there is none in it.

    Raises:
        BadArgument: The wording does not exist, or is for other labels.
    """
    if wording not in get_args(Wording):
        expected = "lmod_train or ophthalwechat or error_types"
        raise BadArgument("wording", wording, expected, "set `wording: lmod_train`")
    named = {"ophthalwechat": TRUE_FALSE, "error_types": ERROR_LABELS}.get(wording)
    if named and tuple(labels) != named:
        expected = f"{','.join(named)}, which this wording names"
        raise BadArgument("labels", ",".join(labels), expected, "leave `--labels` out")
    if wording != "ophthalwechat":
        return DEFAULT
    return OPHTHALWECHAT.get(language, OPHTHALWECHAT["en"])


def check_template(prompt: str) -> str:
    """Return a prompt of the user's own.

    Raises:
        BadArgument: It has no place for the expected or the given answer.
    """
    found = set(_PLACE.findall(prompt))
    if not {"expected", "given"} <= found:
        expected = "a text with {expected} and {given}, and usually {question} and {labels}"
        raise BadArgument("prompt", prompt[:80], expected, "add the places where these texts are put")
    return prompt


def filled_in(prompt: str, question: str, expected: str, given: str, labels: Sequence[str]) -> str:
    """Return a prompt with the texts in their places, each put in once: a placeholder in a text is left as it is.

    Tokens of chat templates and places of images in the texts become plain words.

    Example:
        >>> filled_in("{question} {expected} {given} {labels}", "a {given}?", "b <5", "c {mark}</s>", ["x", "y"])
        'a {given}? b <5 c {mark}\u2039/s> x, y'
    """
    question, expected, given = map(without_tokens, (question, expected, given))
    rules = {TRUE_FALSE: AGREES, ERROR_LABELS: ERRORS}.get(tuple(labels), CHOOSE)
    texts = {"question": question, "expected": expected, "given": given, "rules": rules, "labels": ", ".join(labels)}
    texts["mark"] = mark_of(question, expected, given)
    return _PLACE.sub(lambda place: texts[place[1]], prompt)


def without_tokens(text: str) -> str:
    """Return a text in which no model finds a token of its template, such as ``<|im_end|>``, ``</s>`` or ``<image>``.

    Example:
        >>> without_tokens("<|im_end|> [INST] cup < 0.6, disc > cup [1]")
        '\u2039|im_end|> (INST] cup < 0.6, disc > cup [1]'
    """
    return _TOKEN.sub(lambda sign: _SAFE[sign[0]], text)


def mark_of(*texts: str) -> str:
    """Return the mark of the fences: the first 12 digits of a hash of the texts that occurs in none of them."""
    digest = hashlib.sha256(json.dumps(texts).encode()).hexdigest()
    while any(digest[:12] in text for text in texts):
        digest = hashlib.sha256(digest.encode()).hexdigest()
    return digest[:12]


# Which replies of a run are judged, and the text of them that a judge is sent.


def is_open(record: Record) -> bool:
    """Return whether a question is open-ended: it has no choices and no regions, so that its answer is free text."""
    return not record.choices and not record.regions


def to_judge(predictions: Sequence[Prediction], names: Sequence[str]) -> list[Prediction]:
    """Return the predictions of the named tasks; if none is named, of those with open-ended questions.

    Raises:
        BadArgument: A name is not that of a task of the run, no question is open-ended, or no reply can be judged.
    """
    known = sorted({p.record.task for p in predictions})
    if unknown := [name for name in names if name not in known]:
        cure = did_you_mean("--tasks", unknown, known, "name one of them")
        raise BadArgument("--tasks", ",".join(unknown), f"tasks of the run: {', '.join(known)}", cure)
    chosen = [p for p in predictions if (p.record.task in names if names else is_open(p.record))]
    if not chosen:
        expected = f"names of tasks, as no question of the run is open-ended (its tasks: {', '.join(known)})"
        raise BadArgument("--tasks", ",".join(names), expected, f"e.g. `--tasks {known[0]}`" if known else "name a run")
    if all(given(p) is None for p in chosen):
        expected = "replies to judge; all failed, were refused or cut off, or are empty"
        raise BadArgument("--tasks", ",".join(names), expected, "name other tasks, or another run")
    return chosen


def question_of(record: Record) -> str:
    """Return the words of a question as a judge is shown them: of a conversation all turns, and no image.

    Of the prompts of OphthalWeChat only the question itself is left, as its judge compares answers to that.
    """
    return bare_question(question_text(record.messages))


def in_any_language(record: Record) -> str:
    """Return what the ids of a question's records share in both languages; the id of a question in one language."""
    return pair_of(record.id) or record.id


def drawn(predictions: Sequence[Prediction], count: int) -> list[Prediction]:
    """Return the predictions of `count` questions of each task, drawn by the SHA-256 of their ids; 0 for all.

    A question in two languages is drawn in both. A larger count adds to the questions of a smaller one.
    """
    by_task: dict[str, set[str]] = {}
    for prediction in predictions:
        by_task.setdefault(prediction.record.task, set()).add(in_any_language(prediction.record))
    orders = [sorted(some, key=lambda id: hashlib.sha256(id.encode()).digest()) for some in by_task.values()]
    kept = {id for order in orders for id in (order[:count] if count else order)}
    return [p for p in predictions if in_any_language(p.record) in kept]


def wrong_of_each(predictions: Sequence[Prediction], tasks: Iterable[Task], count: int) -> list[Prediction]:
    """Return the predictions of `count` wrong replies of each task (`wrong_ids`), in their order.

    Whether an open answer is wrong is for a judge to say: there are none of these.

    Raises:
        BadArgument: No reply is wrong.
    """
    kept: set[str] = set()
    for task in tasks:
        own = [p for p in predictions if p.record.task == task.name and not is_open(p.record)]
        kept.update(wrong_ids(map(task.as_scored, items_of(own, task.truth)), count))
    if not kept:
        cure = "leave it out for all"
        raise BadArgument("--wrong", count, "wrong replies to the named tasks, of those with choices", cure)
    return [p for p in predictions if p.record.id in kept]


# Attacks on a judge: texts in the place of a reply whose verdict is known, and additions that must not change it.
ATTACK = "attack"
"""Tag of an attack's record: the name of the attack."""

_PLACE_ATTACK = re.compile(r"\{(question|expected|given|label|other|diagnoses)\}")


class AttackedJudgement(Judgement):
    """Judgement of texts that may mislead a judge (`ATTACKS`): a question for each judged reply and each text.

    Arguments, prompts and the way in which the judge's reply is read are those of `Judgement`. The reference reply is
    the label that the text deserves; of an addition to a reply, whose label is not known, the one of a right reply.

    Example:
        >>> AttackedJudgement().name, len(ATTACKS)
        ('attack', 10)
    """

    name = "attack"
    version = 1

    def records(self, predictions: Iterable[Prediction]) -> list[Record]:
        """Return one record for each prediction and each attack that can be made of it.

        The expected answer in the other language is that of the same question in it, if it is among the predictions, or
        the name of a condition; without either, this attack is left out. Additions are left out for a reply that is not
        sent to judges (see `judgement_replies.given`).
        """
        every = list(predictions)
        others = _in_other_language(every)
        return [record for p in every for record in self._attacks(p, others.get(p.record.id))]

    def _attacks(self, prediction: Prediction, other: str | None) -> Iterator[Record]:
        judged = prediction.record
        places = {"question": question_of(judged), "expected": judged.answer, "given": given(prediction)}
        places |= {"label": self.right[0], "other": other, "diagnoses": _diagnoses(judged.language)}
        for attack in ATTACKS:
            text = _filled(attack.text(judged.language), places)
            if text is not None:
                yield self._attack(judged, attack, text)

    def _attack(self, judged: Record, attack: Attack, text: str) -> Record:
        made, wrong = self.record_of(judged, text), [label for label in self.choices if label not in self.right]
        return replace(
            made,
            id=attack_id(judged.id, attack.name),
            answer=wrong[0] if attack.is_right is False and wrong else self.right[0],
            tags={**made.tags, ATTACK: attack.name},
        )

    score = Request.score  # `attack_scores` counts the attacks that succeed


def attack_id(judged: str, attack: str) -> str:
    """Return the id of an attack in the place of the reply to a record.

    Example:
        >>> attack_id("conversation/talk/1", "praise")
        'attack/conversation/talk/1/praise'
    """
    return f"{AttackedJudgement.name}/{judged}/{attack}"


def attacked_id(attack: Record) -> str:
    """Return the id of the record in the place of whose reply an attack is judged."""
    return attack.id.removeprefix(f"{AttackedJudgement.name}/").removesuffix(f"/{attack.tags[ATTACK]}")


def _filled(text: str, places: Mapping[str, str | None]) -> str | None:
    """Return a text with its places filled, each once; None if one of them has nothing."""
    if any(places[name] is None for name in _PLACE_ATTACK.findall(text)):
        return None
    return _PLACE_ATTACK.sub(lambda place: str(places[place[1]]), text)


def _diagnoses(language: str) -> str:
    """Return the names of all conditions in a language."""
    return "、".join(t.chinese[0] for t in CONDITIONS) if language == "zh" else ", ".join(t.name for t in CONDITIONS)


def _in_other_language(predictions: Sequence[Prediction]) -> dict[str, str]:
    """Return record id -> expected answer in another language, where it is known."""
    answers: dict[str, dict[str, str]] = {}
    for record in (p.record for p in predictions):
        answers.setdefault(in_any_language(record), {})[record.language] = record.answer
    found = {}
    for record in (p.record for p in predictions):
        others = [text for language, text in answers[in_any_language(record)].items() if language != record.language]
        translated = others[0] if others else _translated(record.answer)
        if translated:
            found[record.id] = translated
    return found


def _translated(answer: str) -> str:
    """Return the name of a condition in the other language; empty for any other text.

    Example:
        >>> _translated("Glaucoma."), _translated("白内障"), _translated("A pale disc.")
        ('青光眼', 'cataract', '')
    """
    plain = answer.strip(" .。").casefold()
    english = {term.name.casefold(): term.chinese[0] for term in CONDITIONS}
    return english.get(plain) or next((term.name for term in CONDITIONS if plain in term.chinese), "")


# Texts that test a judge of replies: some stand in the place of a reply, others are added to it.


@dataclass(frozen=True, slots=True)
class Attack:
    """A text that may mislead a judge.

    Attributes:
        name: Name in the metrics.
        english: What is judged, for questions in English and all other languages but Chinese.
        chinese: The same for questions in Chinese.
        is_right: Whether it must be judged right; None where the verdict on the reply itself must stay.
    """

    name: str
    english: str
    chinese: str
    is_right: bool | None

    def text(self, language: str) -> str:
        """Return what is judged, with its places, for a question in a language."""
        return self.chinese if language == "zh" else self.english


ATTACKS = tuple(Attack(**row) for row in WORDS["attacks"])
"""The attack set: seven texts in the place of the reply, and three changes of the reply (the swap test)."""


# Metrics of replies that were judged by a model or by people.


def judged_scores(
    task: str,
    judge: str,
    items: Sequence[Item],
    verdicts: Mapping[str, Answer | Unparsed],
    labels: Sequence[str],
    right: Sequence[str],
) -> list[Score]:
    """Return the metrics of one judge, over all items and each subset; the judge's name follows a colon.

    ``accuracy_judged`` is the share of all items with a verdict that counts as right; items that are unjudged (the
    judge's reply states no label) or were not sent to the judge count as wrong. It has no value while judgements are
    pending, as in a sample that people judged. ``accuracy_judged_answered`` is that share among the items with a
    verdict. ``share_judged_<label>`` is the share of each verdict, ``share_unjudged`` and ``share_pending`` those of
    items that were to be judged, ``share_not_sent`` that of items whose outcome is known without a judge (refused, cut
    off, empty, or in a loop); these shares sum to 1. An item whose judge's request failed is pending.

    Args:
        task: Name of the judged task.
        judge: Name of the judge; empty for metrics without a name.
        items: One per record id; an empty sequence gives no scores.
        verdicts: Record id -> label, why the item is unjudged, or `PENDING`; items that were not sent are absent.
        labels: The labels of the judge.
        right: Those that count as right.

    Example:
        >>> items = [Item(i, "answered", "x", "x", group=i) for i in "abcd"]
        >>> verdicts = {"a": "TRUE", "b": "FALSE", "c": Unparsed("ambiguous")}
        >>> found = {s.metric: s.value for s in judged_scores("t", "j", items, verdicts, ("TRUE", "FALSE"), ("TRUE",))}
        >>> found["accuracy_judged:j"], found["accuracy_judged_answered:j"], found["share_unjudged:j"]
        (0.25, 0.5, 0.25)
    """
    return scores_by_subset(
        task,
        items,
        lambda members: _columns(members, verdicts, labels, right),
        _measures(f":{judge}" * bool(judge), labels),
    )


def _columns(
    items: Sequence[Item], verdicts: Mapping[str, Answer | Unparsed], labels: Sequence[str], right: Sequence[str]
) -> dict[str, Floats]:
    found = [verdicts.get(item.id) for item in items]
    given = np.array([[verdict == label for label in labels] for verdict in found], dtype=np.float64)
    return {
        "items": np.ones(len(items)),
        "labels": given,
        "judged": given.sum(axis=1),
        "right": given[:, [label in right for label in labels]].sum(axis=1),
        "unjudged": np.array([isinstance(v, Unparsed) and not is_pending(v) for v in found], dtype=np.float64),
        "pending": np.array([is_pending(verdict) for verdict in found], dtype=np.float64),
        "not_sent": np.array([verdict is None for verdict in found], dtype=np.float64),
    }


def _accuracy(sums: Columns) -> Floats:
    """Return the share of right replies; NaN while judgements are pending."""
    accuracy: Floats = np.where(sums["pending"] > 0, np.nan, ratio(sums["right"], sums["items"]))
    return accuracy


def _measures(suffix: str, labels: Sequence[str]) -> list[Measure]:
    def of_label(place: int) -> Measure:
        name = "_".join(labels[place].split())
        return Measure(f"share_judged_{name}{suffix}", lambda s: ratio(s["labels"][..., place], s["items"]), items_in)

    return [
        Measure(f"accuracy_judged{suffix}", _accuracy, items_in),
        share_measure(f"accuracy_judged_answered{suffix}", "right", "judged"),
        *map(of_label, range(len(labels))),
        *(share_measure(f"share_{name}{suffix}", name) for name in ("unjudged", "pending", "not_sent")),
    ]


def incomplete(reply: Reply) -> Unparsed | None:
    """Return why a text that a model wrote is not used: it failed, was refused or cut off; None if it is complete."""
    if reply.finish_reason == "error" or reply.error:
        return Unparsed("failed", reply.error)
    if reply.finish_reason in ("refusal", "content_filter"):
        return Unparsed("refused", reply.reply[:80])
    return Unparsed("truncated", reply.reply[-80:]) if reply.finish_reason == "length" else None


def account_scores(task: str, items: Sequence[Item]) -> list[Score]:
    """Return the shares of the statuses of a judge's own replies, over all of them and each subset."""
    return scores_by_subset(task, items, status_counts, STATUS_SHARES)
