"""Tolerate a small spelling slip, where one word is clearly meant."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

_FAR = 3
"""Slips from which on a spelling can neither be meant nor stand near one that is."""
LONGEST = 40
"""Characters beyond which text is a sentence and not a misspelt word."""


def slips(one: str, other: str) -> int:
    """Return the fewest letters inserted, left out, changed or swapped with a neighbour that turn `one` into `other`.

    Optimal string alignment distance (Damerau 1964 without repeated edits of one place).

    Example:
        >>> slips("optic dsic", "optic disc"), slips("fovae", "fovea"), slips("", "iris")
        (1, 1, 4)
    """
    before: list[int] = []
    last = list(range(len(other) + 1))
    for i, a in enumerate(one, 1):
        row = [i]
        for j, b in enumerate(other, 1):
            cost = min(last[j] + 1, row[j - 1] + 1, last[j - 1] + (a != b))
            if i > 1 and j > 1 and a == other[j - 2] and one[i - 2] == b:
                cost = min(cost, before[j - 2] + 1)
            row.append(cost)
        before, last = last, row
    return last[-1]


def _unlike(one: str, other: str) -> int:
    """Return a lower bound of `slips`, soon counted: letters that one word has more of than the other."""
    letters = Counter(one)
    letters.subtract(other)
    more = sum(n for n in letters.values() if n > 0)
    return max(more, more + len(other) - len(one))


def _digits(word: str) -> str:
    return "".join(c for c in word if c.isdigit())


def nearest(word: str, meant: Mapping[str, str]) -> str | None:
    """Return the choice whose spelling `word` slips from, None where none is clearly nearest.

    A slip is one letter in words of five to eleven letters, two in longer ones, and every other choice must be at
    least two letters further away. A digit is never a slip: "corena" is no "cornea1".

    Args:
        word: Lower-case text.
        meant: Lower-case spelling -> the choice it stands for.

    Example:
        >>> spelled = {"optic disc": "optic disc", "optic cup": "optic cup", "cornea": "Cornea", "cornea1": "cornea1"}
        >>> nearest("optic dics", spelled), nearest("corena", spelled), nearest("elbow", spelled)
        ('optic disc', 'Cornea', None)
    """
    if not 5 <= len(word) <= LONGEST:
        return None
    best: dict[str, int] = {}
    digits = _digits(word)
    for spelling, choice in meant.items():
        if (
            _digits(spelling) == digits
            and len(spelling) >= 4
            and abs(len(spelling) - len(word)) <= 4
            and _unlike(word, spelling) <= _FAR
        ):
            distance = slips(word, spelling)
            best[choice] = min(distance, best.get(choice, distance))
    ranked = sorted(best.items(), key=lambda item: item[1])
    if not ranked or ranked[0][1] > (1 if len(word) < 12 else 2):
        return None
    if len(ranked) > 1 and ranked[1][1] < ranked[0][1] + 2:
        return None
    return ranked[0][0]
