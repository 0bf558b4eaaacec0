"""A reply with its question, as the rules see it."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cached_property

from lmod_train.core.types import Answer, Prediction, Record, Unparsed
from lmod_train.core.vocabulary import entry
from lmod_train.tasks.parsing.cues import EXPLANATION
from lmod_train.tasks.parsing.normalise import in_place
from lmod_train.tasks.parsing.visible import visible_spans

LONGEST = 20_000
"""Characters of a reply that the rules read: a longer one has failed before, and the work stays bounded."""

Span = tuple[int, int]
Rule = Callable[["AskedReply"], Span | None]
"""Returns the (start, end) of the evidence in the reply, None where the rule does not apply."""

_CLAUSE_END = re.compile(r"[;\n。]|[.!](?=\s|$)")


class AskedReply:
    """A reply with its question.

    Args:
        prediction: Record, reply and parsed answer.

    Attributes:
        record: The question.
        answer: The parsed answer, or why there is none.
        reply: The first `LONGEST` characters of the reply.
        text: The same without thinking, with signs that look alike replaced; every position is that in the reply.
        closed: Whether every thinking block was closed.
        cut: Whether the reply ended at the token limit.
    """

    def __init__(self, prediction: Prediction) -> None:
        self.record: Record = prediction.record
        self.answer: Answer | Unparsed = prediction.answer
        self.reply = prediction.reply.reply[:LONGEST]
        parts, self.closed = visible_spans(self.reply)
        self.text = _blanked(in_place(self.reply), parts)
        self._found: dict[Rule, Span | None] = {}
        self.cut = prediction.reply.finish_reason == "length"

    def of(self, rule: Rule) -> Span | None:
        """Return what a rule finds in the reply; computed once, as some rules ask for others."""
        if rule not in self._found:
            self._found[rule] = rule(self)
        return self._found[rule]

    @property
    def answered(self) -> bool:
        """Whether there is an answer."""
        return not isinstance(self.answer, Unparsed)

    @property
    def reason(self) -> str:
        """Why there is no answer; empty with an answer."""
        return self.answer.reason if isinstance(self.answer, Unparsed) else ""

    @cached_property
    def question(self) -> str:
        """Text of the last user turn."""
        turns = [message for message in self.record.messages if message.role == "user"]
        return "\n".join(part.text for part in turns[-1].parts if part.type == "text") if turns else ""

    @cached_property
    def asks_for_reasons(self) -> bool:
        """Whether the prompt asks for an explanation."""
        return re.search(entry("explaining.asked_for"), self.question, re.IGNORECASE) is not None

    @cached_property
    def labelled(self) -> bool:
        """Whether the reply has a label of an explanation."""
        return EXPLANATION.search(self.text) is not None

    @cached_property
    def explanation(self) -> Span:
        """The text behind the first label of an explanation, or without one behind the first clause."""
        label = EXPLANATION.search(self.text)
        if label:
            return label.end(), len(self.text)
        first = re.search(r"\w", self.text)
        end = _CLAUSE_END.search(self.text, first.start()) if first else None
        return (end.end() if end else len(self.text)), len(self.text)

    @cached_property
    def reasons(self) -> str:
        """The text of `explanation`."""
        return self.text[slice(*self.explanation)]

    def stripped(self, start: int, end: int) -> Span:
        """Return a span without the blanks around it."""
        part = self.text[start:end]
        return start + len(part) - len(part.lstrip()), start + len(part.rstrip())


def _blanked(text: str, parts: list[Span]) -> str:
    """Return the text with blanks in place of all that is outside of the parts."""
    kept, at = [], 0
    for start, end in parts:
        kept += [" " * (start - at), text[start:end]]
        at = end
    return "".join([*kept, " " * (len(text) - at)])
