"""Discrimination and calibration, from the likelihoods of the choices."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import ClassVar

from lmod_train.report.contents import Cell, Column, Estimate, Figure, N, Part, Table, Text, table
from lmod_train.report.curves import draw_calibration, draw_curves, rankings
from lmod_train.report.results import Results, RunScores
from lmod_train.report.section import Section
from lmod_train.types import Score

NOTE = """Computed on the items whose reply has a likelihood for every choice; "given" is their share. With two
choices, the first is the positive class; with more, the mean over classes, each against the rest."""
MEASURES = {
    "accuracy_likeliest": "accuracy of the likeliest",
    "auroc_macro": "AUROC",
    "auprc_macro": "AUPRC",
    "brier": "Brier",
    "ece": "ECE",
}
"""Measures of `lmod_train.scoring.probability` -> head of the column."""


class Likelihoods(Section):
    """Areas under curves, Brier score and calibration error, with their curves."""

    title: ClassVar[str] = "Discrimination and calibration"

    def parts(self, results: Results) -> Iterator[Part]:
        """Yield the table, and two figures per task; nothing if no run has likelihoods."""
        rows = _table(results)
        if rows.rows:
            yield Text(NOTE)
            yield rows
        for task in results.choices:
            yield from _figures(results, task)


def _table(results: Results) -> Table:
    rows = [row for task in results.tasks for name, run in results.named(task) for row in _rows(task, name, run)]
    columns = [N, Column("given", "percent"), *(Column(head, "estimate") for head in MEASURES.values())]
    return table("likelihoods", ["task", "model", *columns], rows)


def _rows(task: str, name: str, run: RunScores) -> Iterator[list[Cell]]:
    given = run.find(task, "likelihoods_given")
    if given is not None:
        found = [run.find(task, metric) for metric in MEASURES]
        yield [task, name, found[-1].n if found[-1] else 0, given.value, *map(_estimate, found)]


def _estimate(score: Score | None) -> Estimate:
    return Estimate(None) if score is None else Estimate(score.value, score.low, score.high)


def _figures(results: Results, task: str) -> Iterator[Part]:
    items, classes = list(results.items.values()), results.choices[task]
    if not rankings(results.runs, results.names, items, task, classes):
        return
    rows = _table(results)
    own = table(rows.name, rows.columns, [row for row in rows.rows if row[0] == task])
    curves = f"ROC and precision-recall curves of each run for {task}, with the areas under them."
    calibrated = f"Share of correct predictions against the probability of the likeliest class, for {task}."
    draw = partial(_draw, draw_curves, results, task), partial(_draw, draw_calibration, results, task)
    yield Figure(f"curves-{task}", f"{task}: ROC and precision-recall curves", curves, own, draw[0])
    yield Figure(f"calibration-{task}", f"{task}: calibration", calibrated, own, draw[1])


def _draw(drawing: Callable[..., object], results: Results, task: str, _: Table, out: Path) -> None:
    drawing(results.runs, results.names, list(results.items.values()), {task: results.choices[task]}, out)
