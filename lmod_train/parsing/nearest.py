"""Match a misspelt word to the one choice that is clearly nearest."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

_FAR = 3
"""Edit distance above which a spelling is no candidate and no rival of one."""
LONGEST = 40
"""Longest misspelt word, in characters; longer text is a sentence."""


def edit_distance(one: str, other: str) -> int:
    """Return the optimal string alignment distance of two words.

    The number of insertions, deletions, substitutions and transpositions of neighbours (Damerau 1964, without repeated
    edits of one place).

    Example:
        >>> edit_distance("optic dsic", "optic disc"), edit_distance("fovae", "fovea"), edit_distance("", "iris")
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
    """Return a cheap lower bound of `edit_distance`, from letter counts."""
    letters = Counter(one)
    letters.subtract(other)
    more = sum(n for n in letters.values() if n > 0)
    return max(more, more + len(other) - len(one))


def _digits(word: str) -> str:
    return "".join(c for c in word if c.isdigit())


def nearest(word: str, meant: Mapping[str, str]) -> str | None:
    """Return the choice whose spelling is nearest to `word`, None where none is clearly nearest.

    One edit is tolerated in words of five to eleven letters, two in longer ones, and every other choice must be at
    least two edits further away. Digits must be equal: "corena" is not "cornea1".

    Args:
        word: Lower-case text.
        meant: Lower-case spelling -> choice.

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
            distance = edit_distance(word, spelling)
            best[choice] = min(distance, best.get(choice, distance))
    ranked = sorted(best.items(), key=lambda item: item[1])
    if not ranked or ranked[0][1] > (1 if len(word) < 12 else 2):
        return None
    if len(ranked) > 1 and ranked[1][1] < ranked[0][1] + 2:
        return None
    return ranked[0][0]
