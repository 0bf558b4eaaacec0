"""Find open answers that equal the expected answer but for a negation."""

from __future__ import annotations

import re

from lmod_train.core.vocabulary.flips import QUESTIONS_EN, QUESTIONS_ZH
from lmod_train.tasks.failures.case import LONGEST, Case, Span
from lmod_train.tasks.failures.polarity import polarity
from lmod_train.tasks.parsing.cues import any_of
from lmod_train.tasks.parsing.normalise import in_place

_QUESTION = re.compile(any_of(QUESTIONS_EN, QUESTIONS_ZH), re.IGNORECASE)


def negation_flip(case: Case) -> Span | None:
    """Return the span of the negation that the reply has and the expected answer has not, or else of the whole reply.

    Both must name the same in the same words and order; what denies it differs ("no haemorrhage", "haemorrhage"). Only
    open answers: a question with options has an answer of its own for either case.
    """
    record = case.record
    expected = in_place(record.answer[:LONGEST])
    if record.choices or record.regions or not isinstance(case.answer, str):
        return None
    if _QUESTION.search(case.text) or _QUESTION.search(expected):
        return None
    ours, theirs = polarity(case.text, expected), polarity(expected, case.text)
    same = ours.words == theirs.words and any(c.isalnum() for c in case.text)
    differ = ours.denied != theirs.denied if ours.words else ours.bare != theirs.bare
    return (ours.cue or case.stripped(0, len(case.text))) if same and differ else None
