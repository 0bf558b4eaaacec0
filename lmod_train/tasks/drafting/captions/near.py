"""Check for questions about one image that occur twice, or that contradict each other."""

from __future__ import annotations

from collections.abc import Sequence

from lmod_train.tasks.captioned.pair import Half
from lmod_train.tasks.captioned.reading import compared
from lmod_train.tasks.drafting.captions.item import Item, Left

STEP = "duplicate"
ALIKE = 0.8
"""Share of common runs of three letters from which two texts are near duplicates; ours."""


def duplicates(items: Sequence[Item], alike: float = ALIKE) -> list[Left]:
    """Return the questions that repeat an earlier one about the same image, and those that contradict one.

    A question is a near duplicate if question and options of both languages share most runs of three letters with
    those of an earlier one and the answers are the same; of several the first stays. Equal questions with different
    answers are all left out, as it is not known which is right.

    Args:
        items: In any order; the earlier one is the first of them.
        alike: Least share of common runs, above 0, up to 1.
    """
    left: dict[str, Left] = {}
    groups: dict[tuple[str, str], list[Item]] = {}
    for item in items:
        groups.setdefault((item.image, item.kind), []).append(item)
    for group in groups.values():
        for place, item in enumerate(group):
            for earlier in group[:place]:
                for one, other in _found(earlier, item, alike):
                    left.setdefault(one.id, Left(one.id, STEP, other[0], other[1]))
    return [left[item.id] for item in items if item.id in left]


def _found(earlier: Item, item: Item, alike: float) -> list[tuple[Item, tuple[str, str]]]:
    same_answer = _answers(earlier) == _answers(item)
    if not same_answer and _asked(earlier) == _asked(item):
        return [(one, ("two_answers", f"as {other.id}")) for one, other in ((earlier, item), (item, earlier))]
    if same_answer and all(likeness(a, b) >= alike for a, b in zip(_asked(earlier), _asked(item), strict=True)):
        return [(item, ("near_duplicate", f"of {earlier.id}"))]
    return []


def _asked(item: Item) -> tuple[str, str]:
    """Return question and options of both languages; the order of the options does not matter."""
    return _words(item.pair.en), _words(item.pair.zh)


def _words(half: Half) -> str:
    return " ".join([compared(half.question), *sorted(map(compared, half.options))])


def _answers(item: Item) -> tuple[str, str]:
    return compared(item.pair.en.answer), compared(item.pair.zh.answer)


def likeness(one: str, other: str) -> float:
    """Return the number of common runs of three letters by that of all, in [0, 1].

    Example:
        >>> likeness("disc is pale", "disc is pale"), round(likeness("disc is pale", "disc is pallid"), 2)
        (1.0, 0.69)
    """
    ours, theirs = _runs(one), _runs(other)
    return len(ours & theirs) / len(ours | theirs)


def _runs(text: str) -> set[str]:
    return {text[place : place + 3] for place in range(max(len(text) - 2, 1))}
