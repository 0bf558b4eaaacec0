"""Confusion matrices of tasks with fixed choices."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import ClassVar

from lmod_train.report.contents import Cell, Column, Figure, Heads, Part, Table, table
from lmod_train.report.results import Results
from lmod_train.report.run_figures import confusion_counts, draw_confusions
from lmod_train.report.section import Section

_ALT = "Number of items by true class (rows) and answer (columns) for {}; the last column has no answer."


class Confusions(Section):
    """A confusion matrix per task and run."""

    title: ClassVar[str] = "Confusion matrices"

    def parts(self, results: Results) -> Iterator[Part]:
        """Yield a figure per task with fixed choices."""
        for task, classes in results.choices.items():
            rows = list(_rows(results, task, classes))
            if rows:
                columns: Heads = ["model", "truth", "answer", Column("items", "count")]
                rows_of_task = table(f"confusion-{task}", columns, rows)
                draw = partial(_draw, results, task)
                yield Figure(rows_of_task.name, f"{task}: confusion matrix", _ALT.format(task), rows_of_task, draw)


def _draw(results: Results, task: str, _: Table, out: Path) -> None:
    draw_confusions(results.names, list(results.items.values()), {task: results.choices[task]}, out)


def _rows(results: Results, task: str, classes: Sequence[str]) -> Iterator[list[Cell]]:
    for name, items in results.items.items():
        counts = confusion_counts(items.get(task, []), classes)
        if counts is not None:
            for truth, row in zip(classes, counts, strict=True):
                for answer, n in zip((*classes, "no answer"), row, strict=True):
                    yield [name, truth, answer, int(n)]
