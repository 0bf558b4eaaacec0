"""The compact letter display of many pairwise comparisons."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from itertools import combinations
from string import ascii_lowercase

from lmod_train.core.errors import BadArgument

Members = frozenset[int]


def letters(count: int, differing: Collection[tuple[int, int]]) -> list[str]:
    """Return the letters of each of `count` models; two models share a letter if and only if they do not differ.

    Made by insertion and absorption (Piepho 2004, J. Comput. Graph. Stat. 13): all models begin with one letter; a
    letter of two models that differ is split into one without the first and one without the second; letters that no
    pair needs are dropped. In the order of the models, so that ``a`` is a letter of the first one. After ``z`` come
    ``a1`` to ``z1``, ``a2`` ...

    Args:
        count: Number of models, usually ordered by their scores.
        differing: Pairs of places of models that differ significantly.

    Raises:
        BadArgument: A pair is not of two models below `count`.

    Example:
        >>> letters(3, {(0, 2)})
        ['a', 'ab', 'b']
    """
    groups = [frozenset(range(count))] if count else []
    for first, second in sorted(tuple(sorted(pair)) for pair in differing):
        if not 0 <= first < second < count:
            raise BadArgument("differing", (first, second), f"two different places below {count}", "number the models")
        groups = _needed(_split(groups, first, second))
    ordered = sorted(groups, key=sorted)
    return ["".join(_letter(k) for k, group in enumerate(ordered) if model in group) for model in range(count)]


def _split(groups: Iterable[Members], first: int, second: int) -> list[Members]:
    """Return the groups, those of both models split into one without each."""
    parted = []
    for group in groups:
        parted += [group - {first}, group - {second}] if {first, second} <= group else [group]
    return sorted(set(parted), key=lambda group: (-len(group), sorted(group)))


def _needed(groups: list[Members]) -> list[Members]:
    """Return the groups without those whose every pair of models, or single model, is in a larger one."""
    kept: list[Members] = []
    covered: set[tuple[int, ...]] = set()
    for group in groups:
        held = {(model,) for model in group} | set(combinations(sorted(group), 2))
        if not held <= covered:
            kept.append(group)
            covered |= held
    return kept


def _letter(place: int) -> str:
    round_, letter = divmod(place, len(ascii_lowercase))
    return ascii_lowercase[letter] + (str(round_) if round_ else "")
