"""Find replies without a word."""

from __future__ import annotations

import re

from lmod_train.tasks.failures.case import Case, Span
from lmod_train.tasks.failures.loop import loop
from lmod_train.tasks.failures.tokens import TOKEN

_BREAK = re.compile(r"</?br\s?/?>|&nbsp;", re.IGNORECASE)


def empty(case: Case) -> Span | None:
    """Return the span of the whole reply if no letter or digit is left without thinking, markup and special tokens.

    A reply that was cut off while thinking, that a service withheld, or that is a loop of tokens, is not empty.
    """
    if not case.closed or case.reason in ("refused", "truncated") or case.of(loop):
        return None
    text = _BREAK.sub(" ", TOKEN.sub(" ", case.text))
    return None if any(c.isalnum() for c in text) else (0, len(case.reply))
