"""The tasks by which a model writes questions from captions, alters them, and compares their languages, as text."""

from __future__ import annotations

from abc import ABC
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from urllib.parse import quote

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
from lmod_train.scoring.items import items_of
from lmod_train.scoring.judged import account_scores, judged_scores
from lmod_train.tasks.base import Task
from lmod_train.tasks.captioned.caption import Caption
from lmod_train.tasks.captioned.pair import KINDS, TRUE_FALSE, BilingualQuestion
from lmod_train.tasks.captioned.parity import parity_prompt
from lmod_train.tasks.captioned.prompts import SYSTEM, generation, printed
from lmod_train.tasks.captioned.reading import read_pairs
from lmod_train.tasks.parsing.reading import read
from lmod_train.tasks.parsing.thinking import strip_thinking
from lmod_train.tasks.parsing.verdict import parse_verdict

SOURCE = "captions"
AGREES, DIFFERS = "agrees", "differs"
"""Outcomes of a comparison of both languages of a question."""


class _Writing(Task, ABC):
    """A request for text to be written, whose content is checked and not scored."""

    choices: tuple[str, ...] = ()
    version = 2

    def ask(self, sample: Sample) -> Iterator[Question]:
        """Yield nothing: the records are made from captions."""
        yield from ()

    def record(self, caption: Caption, step: str, words: str, system: str = "") -> Record:
        """Return the record of a request about a caption, as text without an image.

        Args:
            caption: The caption.
            step: Name of the request among those of the caption.
            words: The prompt.
            system: System message; empty for none.
        """
        kind = type(self)
        head = (Message("system", (Part("text", system),)),) if system else ()
        return Record(
            id="/".join([self.name, SOURCE, quote(caption.key), step]),
            task=self.name,
            task_class=class_path(kind),
            task_version=self.version,
            source=SOURCE,
            key=caption.key,
            modality=caption.modality,
            image=(),
            image_plain=(),
            image_sha256=(),
            split="test",
            group=caption.group,
            language="en",
            messages=(*head, Message("user", (Part("text", words),))),
            choices=(),
            answer="",
            chain_step=step,
            phantom=caption.phantom,
            licence=caption.licence,
        )

    def _ended(self, reply: Reply) -> Unparsed | None:
        """Return why a reply is not used; None if it is complete."""
        if reply.finish_reason == "error" or reply.error:
            return Unparsed("failed", reply.error)
        if reply.finish_reason in ("refusal", "content_filter"):
            return Unparsed("refused", reply.reply[:80])
        if reply.finish_reason == "length":
            return Unparsed("truncated", reply.reply[-80:])
        return None

    def score(self, predictions: Sequence[Prediction]) -> list[Score]:
        """Return the shares of the statuses: how many replies can be used. Their content is checked, not scored."""
        return account_scores(self.name, items_of(predictions, lambda p: p.record.answer))


class CaptionQuestions(_Writing):
    """All questions of one kind that a model writes from a caption, in English and Chinese.

    The prompts are those of OphthalWeChat, Supplementary Table 1. A reply is *answered* if it contains a question in
    both languages; a reply that was cut off is not used.

    Example:
        >>> task = CaptionQuestions()
        >>> (one, *_) = task.records([Caption("1", "1.jpg", "Drusen.")])
        >>> task.parse(Reply(one.id, "Question: Which?"), one).reason
        'no_match'
    """

    name = "caption_questions"

    def records(self, captions: Iterable[Caption], kinds: Sequence[str] = KINDS) -> list[Record]:
        """Return one record for each caption and kind of question, in id order."""
        system = printed()[SYSTEM]
        found = [self.record(one, kind, generation(kind, one.text), system) for one in captions for kind in kinds]
        return sorted(found, key=lambda r: r.id)

    def parse(self, reply: Reply, record: Record) -> Answer | Unparsed:
        """Return the text of a reply from which questions can be read, or why there is none."""
        if ended := self._ended(reply):
            return ended
        found = read_pairs(reply.reply, record.chain_step)
        if found.pairs:
            return strip_thinking(reply.reply)[0].strip()
        reason = found.unread[0].reason
        known = {"empty", "repetition"} & {reason}
        return Unparsed("empty" if "empty" in known else "repetition" if known else "no_match", found.unread[0].detail)


class CaptionRewriting(_Writing):
    """A question that a model alters: a statement made false, or two options swapped.

    The prompts are those of OphthalWeChat, Supplementary Tables 3A and 3B. Whether the text is what was asked for is
    checked with the question itself.
    """

    name = "caption_rewriting"

    def parse(self, reply: Reply, record: Record) -> Answer | Unparsed:
        """Return the text of a reply, or why there is none."""
        text = strip_thinking(reply.reply)[0].strip()
        return self._ended(reply) or (text if any(map(str.isalnum, text)) else Unparsed("empty", text[:80]))


def asked(pair: BilingualQuestion) -> tuple[Message, ...]:
    """Return the messages that ask whether both halves of a question say the same."""
    return (Message("user", (Part("text", parity_prompt(pair)),)),)


class CaptionParity(_Writing):
    """Whether both languages of a question say the same, which a judge is asked as a statement in text alone.

    Its prompt is that of this package. A reply is *answered* if it states whether that is true or false.

    Example:
        >>> task = CaptionParity()
        >>> task.parse(Reply("a", "**False**: the side differs.")), task.outcome("False")
        ('False', 'differs')
    """

    name = "caption_parity"
    choices = TRUE_FALSE["en"]

    def of_pair(self, caption: Caption, number: int, pair: BilingualQuestion) -> Record:
        """Return the record of a question.

        Args:
            caption: The caption from which it was written; its text is not shown.
            number: Place of the question among those of its kind and caption.
            pair: Both halves.
        """
        record = self.record(caption, f"{pair.kind}/{number}", "")
        group = caption.group or caption.image
        return replace(
            record,
            messages=asked(pair),
            choices=self.choices,
            answer=self.choices[0],
            group=group,
            tags={"kind": pair.kind},
        )

    def parse(self, reply: Reply, record: Record | None = None) -> Answer | Unparsed:
        """Return whether the reply calls the statement True or False, or why it does neither."""
        return read(reply, parse_verdict, self.choices)

    @classmethod
    def outcome(cls, answer: str) -> str:
        """Return ``agrees`` for True, ``differs`` for False."""
        return AGREES if answer == cls.choices[0] else DIFFERS

    def score(self, predictions: Sequence[Prediction]) -> list[Score]:
        """Return the shares of the outcomes over all questions and those of each kind, and those of the statuses."""
        items = items_of(predictions, lambda p: p.record.answer)
        found = {i.id: i.answer if isinstance(i.answer, Unparsed) else self.outcome(str(i.answer)) for i in items}
        judged = judged_scores(self.name, "", items, found, (AGREES, DIFFERS), (AGREES,))
        return [*judged, *account_scores(self.name, items)]
