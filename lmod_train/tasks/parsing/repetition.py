"""Detect text that fell into a loop.

The threshold is measured: the collapses printed by the papers repeat a unit of one word 39, 946 (LMOD, figure 13) and
more than 20 times (LMOD+, figure 7); no other labelled reply of the tests repeats a unit of up to eight words more than
three times in a row.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

REPEATS = 8
LONGEST_UNIT = 8

_WORD = re.compile(r"[^\W\d_]{1,24}|[0-9]{1,24}")
_SPACELESS = re.compile(r"([^\W\d_]{1,12}?)\1{7,}")  # bounded unit and bounded work before a mismatch: linear


def split_repetition(text: str) -> tuple[str, bool]:
    """Return the text before the first loop, and whether there was one.

    A loop is a unit of at most eight words, or twelve letters without a blank, repeated at least eight times in a row;
    punctuation and case are ignored.

    Example:
        >>> split_repetition("Optic " * 39 + "Opt " * 946)
        ('', True)
        >>> split_repetition("Region ID: 1; Type: Choroid. " + "sign, " * 30)
        ('Region ID: 1; Type: Choroid. ', True)
        >>> split_repetition("no signs of glaucoma, no signs of cataract")
        ('no signs of glaucoma, no signs of cataract', False)
    """
    start = _loop_of_letters(text)
    words = list(_WORD.finditer(text))
    folded = [w[0].casefold() for w in words]
    for unit in range(1, LONGEST_UNIT + 1):
        first = loop_of(folded, unit)
        if first is not None:
            start = min(words[first].start(), len(text) if start is None else start)
    return (text, False) if start is None else (text[:start], True)


def loop_of(words: Sequence[str], unit: int, repeats: int = REPEATS) -> int | None:
    """Return the index of the first word of the first loop of `unit` words, None without a loop.

    Example:
        >>> loop_of(["no", "sign", "of", "of", "of"], 1, repeats=3)
        2
    """
    run = 0
    for i in range(unit, len(words)):
        run = run + 1 if words[i] == words[i - unit] else 0
        if run == unit * (repeats - 1):
            return i - run - unit + 1
    return None


def _loop_of_letters(text: str) -> int | None:
    """Return the index of the first letter of the first loop without blanks, None without a loop."""
    found = _SPACELESS.search(text)
    return found.start() if found else None
