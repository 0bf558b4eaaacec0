"""Confusion matrices of tasks with fixed choices, as figures."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from lmod_train.core.tables import Cell, Column, Heads, Table, table
from lmod_train.report.canvas import undrawn
from lmod_train.report.contents import Figure, Part
from lmod_train.report.figures.heat import draw_heat
from lmod_train.report.figures.lines import Line, distinct, lines, parts
from lmod_train.report.figures.sheet import MOST, SMALL
from lmod_train.report.figures.small_multiples import panels_in_grid
from lmod_train.report.figures.wrapped import wrapped
from lmod_train.report.results import Results
from lmod_train.report.section import Section
from lmod_train.scoring.classification import classification_columns
from lmod_train.scoring.items import Item

_ALT = (
    "Number of items by true class (rows) and answer (columns) for {}; the last column has no answer. A class that no "
    "font has is its number in the order of the table."
)

_MANY = "Share of the items of each true class (panels) by answer (columns) and model (rows) for {}."

_SHARES: Heads = ["panel", "model", "group", Column("items", "count"), Column("share", "number")]


class Confusions(Section):
    """A confusion matrix per task and run."""

    title: ClassVar[str] = "Confusion matrices"
    name: ClassVar[str] = "confusions"

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


# Confusion matrices: items by truth and answer, a panel per model.
COLUMNS: Heads = ["model", "truth", "answer", Column("items", "count")]
"""Columns of the table, a row per cell of a matrix."""


def draw_confusions(table: Table, out: Path) -> None:
    """Draw a matrix per model. Shades are shares of the row, numbers are items.

    Args:
        table: Columns as `COLUMNS`; rows and columns of the matrices are in the order of the table.
        out: Folder to write to.
    """
    panels = list(parts(lines(table), "model"))
    answers = max((len(distinct(own, "answer")) for _, own in panels), default=1)
    across = 3 if answers <= 5 else 2 if answers <= 8 else 1
    longest = max((len(row["answer"]) for row in lines(table)), default=0)
    height = 1.2 + 0.32 * answers + 0.07 * min(longest, 24)
    with panels_in_grid(table, out, len(panels), across, height, 0.2) as axes:
        for axis, (name, own) in zip(axes, panels, strict=True):
            _panel(axis, own)
            axis.set_title(wrapped(name), fontsize=9)


def _panel(axis: Any, own: Sequence[Line]) -> None:
    truths, answers = distinct(own, "truth"), distinct(own, "answer")
    counts = np.zeros((len(truths), len(answers)))
    for row in own:
        counts[truths.index(row["truth"]), answers.index(row["answer"])] = row["items"]
    shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    axis.imshow(shares, cmap="Blues", vmin=0, vmax=1, aspect="auto")
    for (row, column), count in np.ndenumerate(counts):
        shade = "white" if shares[row, column] > 0.55 else "#111111"
        axis.text(column, row, f"{count:.0f}", ha="center", va="center", color=shade, fontsize=SMALL)
    axis.axvline(len(truths) - 0.5, color="#222222", lw=1)
    names = [f"class {n}" if undrawn(name) else name for n, name in enumerate(answers, 1)]
    axis.set_xticks(range(len(answers)), [wrapped(name, 24, 1) for name in names], rotation=90, fontsize=SMALL)
    axis.set_yticks(range(len(truths)), [wrapped(name, 18, 2) for name in names[: len(truths)]], fontsize=SMALL)
    staged = all(name.isdigit() for name in truths)
    axis.set_xlabel("stage answered" if staged else "answer")
    axis.set_ylabel("true stage" if staged else "truth")
