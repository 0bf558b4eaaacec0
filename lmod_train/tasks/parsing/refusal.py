"""Recognise refusals."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache

from lmod_train.core.vocabulary import any_of, entry, phrases
from lmod_train.tasks.parsing.normalise import normalise

_REFUSAL = re.compile(phrases("refusals.refusals"), re.IGNORECASE)


def is_refusal(text: str) -> bool:
    """Return whether the text declines to answer, or refers the patient to a doctor.

    The text may contain an answer all the same; look for one first.

    Example:
        >>> is_refusal("I'm sorry, I can't provide a medical diagnosis."), is_refusal("建议咨询眼科医生")
        (True, True)
        >>> is_refusal("The cup cannot be larger than the disc.")
        False
    """
    return _REFUSAL.search(text) is not None


def declines(text: str, choices: Iterable[str]) -> bool:
    """Return whether a text declines to answer in words that none of the choices has.

    Where a choice is "refer to an eye specialist", such a referral is no refusal.

    Example:
        >>> choices = ("observe", "refer to an eye specialist")
        >>> declines("He should be referred to a specialist", choices), declines("I cannot tell. See a doctor", choices)
        (False, True)
    """
    if not is_refusal(text):
        return False
    texts = [normalise(choice) for choice in choices]
    return any(p.search(text) and not any(map(p.search, texts)) for p in _phrases())


@cache
def _phrases() -> list[re.Pattern[str]]:
    english = (re.compile(any_of([phrase]), re.IGNORECASE) for phrase in entry("refusals.refusals.en"))
    return [*english, *map(re.compile, entry("refusals.refusals.zh"))]
