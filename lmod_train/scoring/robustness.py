"""Questions about perturbed images, paired with the same questions about the unchanged image."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace

from lmod_train.core.types import Score
from lmod_train.scoring.comparison import paired_test
from lmod_train.scoring.item_score import item_score
from lmod_train.scoring.items import Item
from lmod_train.scoring.subset_names import GRADE, KIND, Cell, cell_name
from lmod_train.scoring.ways import question_of

CLEAN = "none"
"""Kind of the unchanged image, whose grade is 0."""

Pair = tuple[Item, Item]
"""The item of an unchanged image, and that of the same question about the perturbed one."""


def by_cell(items: Sequence[Item]) -> dict[Cell, list[Item]]:
    """Return the items of each kind and grade, in the order of their names and grades, the unchanged ones first."""
    cells: defaultdict[Cell, list[Item]] = defaultdict(list)
    for item in items:
        if {KIND, GRADE} <= item.tags.keys():
            cells[item.tags[KIND], int(item.tags[GRADE])].append(item)
    return dict(sorted(cells.items(), key=lambda cell: (cell[0][1] > 0, cell[0])))


def pairs(items: Sequence[Item]) -> dict[Cell, list[Pair]]:
    """Return the pairs of each kind and grade; items whose unchanged image was not asked about are in none.

    Example:
        >>> tags = {"perturbation": "none", "grade": "0"}, {"perturbation": "blur", "grade": "3"}
        >>> items = [Item(i, "answered", "x", "x", tags=t) for i, t in zip(("t/s/1", "t/s/1/blur-3"), tags)]
        >>> [(cell, clean.id, item.id) for cell, ((clean, item),) in pairs(items).items()]
        [(('blur', 3), 't/s/1', 't/s/1/blur-3')]
    """
    cells = by_cell(items)
    clean = {item.id: item for (kind, _), own in cells.items() if kind == CLEAN for item in own}
    paired = {
        cell: [(clean[id], item) for item in own if (id := _clean_id(item)) in clean]
        for cell, own in cells.items()
        if cell[0] != CLEAN
    }
    return {cell: own for cell, own in paired.items() if own}


def _clean_id(item: Item) -> str:
    """Return the id of the same question, asked in the same way, about the unchanged image."""
    question = question_of(item.id, item.tags)
    name = f"{item.tags[KIND]}-{item.tags[GRADE]}"
    return question.removesuffix(name)[:-1] + item.id.removeprefix(question)


def drop_scores(task: str, items: Sequence[Item]) -> list[Score]:
    """Return ``drop`` of each kind and grade: the mean score on the unchanged images minus that on the perturbed ones.

    It is over the questions asked of both, with an interval over patients; the score of an item is `item_score`.

    Args:
        task: Name of the task.
        items: As the task scores them; an empty sequence gives no scores.
    """
    cells = ((cell_name(kind, grade), own) for (kind, grade), own in pairs(items).items())
    return [replace(_drop(task, own)[0], subset=subset, metric="drop") for subset, own in cells]


def drop_p(own: Sequence[Pair]) -> float | None:
    """Return p of the drop of a cell, below 0.05 if and only if its interval excludes 0; None without an interval."""
    return _drop("", own)[1]


def _drop(task: str, own: Sequence[Pair]) -> tuple[Score, float | None]:
    first, second = ([item_score(pair[side]) for pair in own] for side in (0, 1))
    return paired_test(task, first, second, [clean.group for clean, _ in own])
