"""Recognise refusals."""

from __future__ import annotations

import re

from lmod_train.parsing.cues import any_of
from lmod_train.vocabulary.refusals import REFUSALS_EN, REFUSALS_ZH

_REFUSAL = re.compile(any_of(REFUSALS_EN, REFUSALS_ZH), re.IGNORECASE)


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
