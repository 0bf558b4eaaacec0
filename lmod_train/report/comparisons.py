"""Comparisons of runs on their common items."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from lmod_train.scoring.comparison import Paired, cochran_q, holm, mcnemar, paired_difference
from lmod_train.scoring.items import Item
from lmod_train.scoring.regions import image_score
from lmod_train.scoring.ways import compared_ids, once_each
from lmod_train.types import Score


@dataclass(frozen=True, slots=True)
class Pair:
    """Comparison of two runs on the same items of one task.

    Attributes:
        task: Name of the task.
        first: Label of the first run.
        second: Label of the second run.
        test: Exact McNemar test of correct against incorrect answers, each question in one way of asking it.
        difference: Mean score of first - second, with an interval over patients.
        adjusted: Holm-adjusted p value over all pairs of the report; None without common items.
    """

    task: str
    first: str
    second: str
    test: Paired
    difference: Score
    adjusted: float | None


def merit(item: Item) -> float:
    """Return an item's contribution to the headline score: 1 or 0, or for regions the image's F1 (LMOD+).

    Example:
        >>> merit(Item("a", "answered", "NORMAL", "NORMAL")), merit(Item("b", "answered", {1: "x"}, {1: "x", 2: "y"}))
        (1.0, 0.666...)
    """
    if isinstance(item.truth, Mapping):
        return image_score(item.answer, item.truth).f1
    return float(item.answer == item.truth)


def pairs(runs: Mapping[str, Mapping[str, Sequence[Item]]]) -> list[Pair]:
    """Return the comparisons of all pairs of runs on common tasks; an image is correct if every region is.

    Args:
        runs: Label of a run -> task -> items.
    """
    found: list[tuple[str, str, str, Paired, Score]] = []
    for task in dict.fromkeys(task for items in runs.values() for task in items):
        having = [label for label in runs if task in runs[label]]
        for first, second in combinations(having, 2):
            a, b = (by_question(runs[label][task]) for label in (first, second))
            both = [(a[key], b[key]) for key in sorted(a.keys() & b.keys())]
            scores = [(merit(x), merit(y)) for x, y in both]
            once = set(once_each((x.id, x.tags) for x, _ in both))
            tested = [(x == 1, y == 1) for (x, y), (one, _) in zip(scores, both, strict=True) if one.id in once]
            test = mcnemar([x for x, _ in tested], [y for _, y in tested])
            groups = [x.group for x, _ in both]
            gap = paired_difference(task, [x for x, _ in scores], [y for _, y in scores], groups)
            found.append((task, first, second, test, gap))
    adjusted = holm([test.p for *_, test, _ in found])
    return [Pair(*row, adjusted=p) for row, p in zip(found, adjusted, strict=True)]


def by_question(items: Sequence[Item]) -> dict[str, Item]:
    """Return the items of a task by the id that pairs them with those of another run."""
    ids = compared_ids((item.id, item.tags) for item in items)
    return {ids[item.id]: item for item in items}


def joint(runs: Mapping[str, Mapping[str, Sequence[Item]]]) -> list[tuple[str, int, int, float, float]]:
    """Return (task, runs, common questions, Q, p) of Cochran's Q test per task that three or more runs share."""
    rows = []
    for task in dict.fromkeys(task for items in runs.values() for task in items):
        paired = [by_question(items[task]) for items in runs.values() if task in items]
        tables = [{key: merit(item) == 1 for key, item in table.items()} for table in paired]
        shared = set.intersection(*(set(t) for t in tables))
        asked = {paired[0][key].id: key for key in shared}
        common = [asked[id] for id in once_each((id, paired[0][key].tags) for id, key in asked.items())]
        if len(tables) > 2 and common:
            q, p = cochran_q([[t[key] for t in tables] for key in common])
            assert p is not None
            rows.append((task, len(tables), len(common), q, p))
    return rows
