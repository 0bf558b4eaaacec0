"""Find replies that fell into a loop."""

from __future__ import annotations

import re
from collections.abc import Sequence

from lmod_train.tasks.failures.case import AskedReply, Span
from lmod_train.tasks.parsing.visible import REPEATS, loop_of, split_repetition

COUNTING = 16
"""Times that a line comes again with only its numbers changed, as in a list of regions without end."""
_LINE = re.compile(r"[^\n.;。!?]+")
_NUMBER = re.compile(r"[0-9]+")
_LONGEST_UNIT = 6


def loop(case: AskedReply) -> Span | None:
    """Return the span from the beginning of the first loop to the end of the reply.

    A loop is what `split_repetition` finds, or a unit of at most six lines or sentences that comes eight times in a
    row, 16 times where only numbers in it change.
    """
    sound, looped = split_repetition(case.text)
    if looped:
        return len(sound), len(case.text)
    lines = [(m.start(), " ".join(m[0].split()).casefold()) for m in _LINE.finditer(case.text) if _has_word(m[0])]
    words = [line for _, line in lines]
    first = _first(words, REPEATS)
    if first is None:
        first = _first([_NUMBER.sub("0", line) for line in words], COUNTING)
    return None if first is None else (lines[first][0], len(case.text))


def _has_word(line: str) -> bool:
    return any(c.isalnum() for c in line)


def _first(lines: Sequence[str], repeats: int) -> int | None:
    """Return the index of the first of the lines that come again and again, None without any."""
    found = (loop_of(lines, unit, repeats) for unit in range(1, _LONGEST_UNIT + 1))
    return next((first for first in found if first is not None), None)
