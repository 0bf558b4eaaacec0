"""Discrimination and calibration, from the likelihoods of the choices."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import ClassVar

from lmod_train.core.tables import Cell, Column, Estimate, Heads, N, Table, table
from lmod_train.core.types import Score
from lmod_train.report.contents import Figure, Part, Text
from lmod_train.report.curves import Ranking, curve_rows, rankings, reliability_rows
from lmod_train.report.figures.curves import COLUMNS as CURVE_COLUMNS
from lmod_train.report.figures.curves import draw_curves
from lmod_train.report.figures.dots import COLUMNS as DOT_COLUMNS
from lmod_train.report.figures.dots import draw_dots
from lmod_train.report.figures.heat import draw_heat
from lmod_train.report.figures.reliability import COLUMNS as BIN_COLUMNS
from lmod_train.report.figures.reliability import draw_reliability
from lmod_train.report.figures.sheet import MOST
from lmod_train.report.results import Results
from lmod_train.report.section import Section
from lmod_train.scoring.probability import curve_classes
from lmod_train.tasks.run_scores import RunScores

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

CURVES = "ROC and precision-recall curves of each run for {}, with the areas under them."
CALIBRATION = "Share of correct predictions against the probability of the likeliest class, for {}."
_MEAN = "mean over {} classes, each against the rest"
_GAP = "share correct minus probability of the likeliest class"


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


def _figures(results: Results, task: str) -> Iterator[Figure]:
    """Yield both figures of a task; of more than six models, areas as dots and a heat map of the calibration."""
    items, classes = list(results.items.values()), results.choices[task]
    ranked = rankings(results.runs, results.names, items, task, classes)
    if len(ranked) > MOST:
        yield _areas(task, ranked)
        yield _gaps(task, ranked)
    elif ranked:
        about = curve_classes(classes)
        of = f"{classes[about[0]]} is positive" if len(about) == 1 else _MEAN.format(len(about))
        curves = table(f"curves-{task}", CURVE_COLUMNS, curve_rows(ranked, classes), f"{task}: {of}")
        yield Figure(curves.name, f"{task}: ROC and precision-recall curves", CURVES.format(task), curves, draw_curves)
        bins = table(f"calibration-{task}", BIN_COLUMNS, reliability_rows(ranked), f"{task}: calibration")
        yield Figure(bins.name, bins.title, CALIBRATION.format(task), bins, draw_reliability)


def _areas(task: str, ranked: Sequence[Ranking]) -> Figure:
    rows = [
        [f"{task}: {MEASURES[metric]}", one.name, metric, s.n, s.value, (s.low, s.high), None, None]
        for metric in ("auroc_macro", "auprc_macro")
        for one in ranked
        for s in (one.find(metric),)
    ]
    alt = f"Areas under the curves of each run for {task}; of more than {MOST} models, the curves are not drawn."
    name = f"curves-{task}"
    return Figure(name, f"{task}: areas under the curves", alt, table(name, DOT_COLUMNS, rows), draw_dots)


def _gaps(task: str, ranked: Sequence[Ranking]) -> Figure:
    rows = [
        [f"{task}: {_GAP}", name, f"{low:.1f}-{high:.1f}", items, None if right is None else right - probability]
        for name, _, low, high, items, probability, right in reliability_rows(ranked)
    ]
    heads: Heads = ["panel", "model", "group", Column("items", "count"), Column("difference", "signed")]
    name = f"calibration-{task}"
    alt = f"Heat map of the {_GAP} for {task}, by model (rows) and bin of probability (columns)."
    return Figure(name, f"{task}: calibration", alt, table(name, heads, rows), draw_heat)
