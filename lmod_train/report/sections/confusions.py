"""Confusion matrices of tasks with fixed choices."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

from lmod_train.core.tables import Cell, Column, Heads, table
from lmod_train.report.contents import Figure, Part
from lmod_train.report.figures.confusion import COLUMNS, draw_confusions
from lmod_train.report.figures.heat import draw_heat
from lmod_train.report.figures.sheet import MOST
from lmod_train.report.results import Results
from lmod_train.report.section import Section
from lmod_train.scoring.classification import classification_columns
from lmod_train.scoring.items import Item

_ALT = "Number of items by true class (rows) and answer (columns) for {}; the last column has no answer."

_MANY = "Share of the items of each true class (panels) by answer (columns) and model (rows) for {}."
_SHARES: Heads = ["panel", "model", "group", Column("items", "count"), Column("share", "number")]


class Confusions(Section):
    """A confusion matrix per task and run."""

    title: ClassVar[str] = "Confusion matrices"

    def parts(self, results: Results) -> Iterator[Part]:
        """Yield a figure per task with fixed choices."""
        for task, classes in results.choices.items():
            rows = list(_rows(results, task, classes))
            if rows:
                yield _figure(task, rows)


def _figure(task: str, rows: Sequence[Sequence[Cell]]) -> Figure:
    """Return the matrices of up to six models, of more a heat map with a row per model."""
    name, title = f"confusion-{task}", f"{task}: confusion matrix"
    if len({row[0] for row in rows}) <= MOST:
        return Figure(name, title, _ALT.format(task), table(name, COLUMNS, rows, task), draw_confusions)
    return Figure(name, title, _MANY.format(task), table(name, _SHARES, list(_shares(rows)), task), draw_heat)


def _shares(rows: Sequence[Sequence[Cell]]) -> Iterator[list[Cell]]:
    totals: Counter[tuple[Cell, Cell]] = Counter()
    for model, truth, _, items in rows:
        totals[model, truth] += items  # type: ignore[assignment,operator]
    for model, truth, answer, items in rows:
        all_items = totals[model, truth]
        share = items / all_items if all_items else None  # type: ignore[operator]
        yield [f"truth: {truth}", model, answer, items, share]


def _rows(results: Results, task: str, classes: Sequence[str]) -> Iterator[list[Cell]]:
    for name, items in results.items.items():
        counts = confusion_counts(items.get(task, []), classes)
        if counts is not None:
            for truth, row in zip(classes, counts, strict=True):
                for answer, n in zip((*classes, "no answer"), row, strict=True):
                    yield [name, truth, answer, int(n)]


def confusion_counts(items: Sequence[Item], classes: Sequence[str]) -> Any:
    """Return the number of items by truth and answer, (classes, classes + 1); the last column is without an answer.

    None for no items, for tasks without fixed choices, and for regions.
    """
    if not items or not classes or any(isinstance(i.truth, Mapping) for i in items):
        return None
    return classification_columns(items, classes)["confusion"].sum(axis=0)
