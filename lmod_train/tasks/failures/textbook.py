"""Find text about a disease or a technique in general."""

from __future__ import annotations

import re

from lmod_train.core.vocabulary import phrases
from lmod_train.tasks.failures.case import AskedReply, Span

_TEXTBOOK = re.compile(phrases("explaining.textbook"), re.IGNORECASE)
_ABOUT_THIS = re.compile(phrases("explaining.about_this"), re.IGNORECASE)
_LEAST = 20


def generic(case: AskedReply) -> Span | None:
    """Return the span of a text with a phrase of a textbook and none about the image in question.

    The text is the labelled explanation of an answered reply, and the whole of a reply without an answer.
    """
    if case.reason in ("failed", "empty", "repetition"):
        return None
    if case.answered and not case.labelled:
        return None
    start, end = case.explanation if case.answered else (0, len(case.text))
    text = case.text[start:end]
    if len(text.strip()) < _LEAST or not _TEXTBOOK.search(text) or _ABOUT_THIS.search(text):
        return None
    return case.stripped(start, end)
