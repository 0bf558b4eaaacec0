"""Discrimination and calibration, from the likelihoods of the choices: tables, curves, reliability diagrams."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from lmod_train.core.package_data import package_data
from lmod_train.core.tables import Cell, Column, Estimate, Heads, N, table
from lmod_train.core.types import Score
from lmod_train.report.contents import Figure, Part, noted, texts
from lmod_train.report.figures.curves import CHANCE, draw_curves
from lmod_train.report.figures.curves import COLUMNS as CURVE_COLUMNS
from lmod_train.report.figures.dots import COLUMNS as DOT_COLUMNS
from lmod_train.report.figures.dots import draw_dots
from lmod_train.report.figures.heat import draw_heat
from lmod_train.report.figures.reliability_diagram import COLUMNS as RELIABILITY
from lmod_train.report.figures.reliability_diagram import draw_reliability
from lmod_train.report.figures.sheet import MOST
from lmod_train.report.results import Results
from lmod_train.report.section import Section
from lmod_train.report.sections.metrics import few_patients
from lmod_train.scoring.calibration import reliability
from lmod_train.scoring.classification import classification_columns
from lmod_train.scoring.probability import curve_classes, probabilities_of
from lmod_train.scoring.ranking import precision_recall_points, roc_points
from lmod_train.tasks.run_scores import RunScores

MEASURES: Mapping[str, str] = package_data(__file__, "words.yaml")["likelihoods"]["measures"]
"""Measures of `lmod_train.scoring.probability` -> head of the column."""

CURVES = "ROC and precision-recall curves of each run for {}, with the areas under them."

CALIBRATION = "Share of correct predictions against the probability of the likeliest class, for {}."

_MEAN = "mean over {} classes, each against the rest"

_GAP = "share correct minus probability of the likeliest class"


class Likelihoods(Section):
    """Areas under curves, Brier score and calibration error, with their curves."""

    title: ClassVar[str] = "Discrimination and calibration"
    name: ClassVar[str] = "likelihoods"

    def parts(self, results: Results) -> Iterator[Part]:
        """Yield the table, and two figures per task; nothing if no run has likelihoods."""
        rows = [row for task, name, run in results.each() for row in _rows(task, name, run)]
        columns = [N, Column("given", "percent"), *(Column(head, "estimate") for head in MEASURES.values())]
        few = [text for task in results.tasks for text in few_patients(results, task)] if rows else []
        yield from noted(
            " ".join([texts(__file__)["note"], *few]), table("likelihoods", ["task", "model", *columns], rows)
        )
        for task in results.choices:
            yield from _figures(results, task)


def _rows(task: str, name: str, run: RunScores) -> Iterator[list[Cell]]:
    given = run.find(task, "likelihoods_given")
    if given is not None:
        found = [run.find(task, metric) for metric in MEASURES]
        cells = [Estimate(s.value, s.low, s.high) if s else Estimate(None) for s in found]
        yield [task, name, found[-1].n if found[-1] else 0, given.value, *cells]


def _figures(results: Results, task: str) -> Iterator[Figure]:
    """Yield both figures of a task; of more than six models, areas as dots and a heat map of the calibration."""
    classes = results.choices[task]
    ranked = rankings(results, task, classes)
    if len(ranked) > MOST:
        yield _areas(task, ranked)
        yield _gaps(task, ranked)
    elif ranked:
        about = curve_classes(classes)
        of = f"{classes[about[0]]} is positive" if len(about) == 1 else _MEAN.format(len(about))
        curves = table(f"curves-{task}", CURVE_COLUMNS, curve_rows(ranked, classes), f"{task}: {of}")
        yield Figure(curves.name, f"{task}: ROC and precision-recall curves", CURVES.format(task), curves, draw_curves)
        bins = table(f"calibration-{task}", RELIABILITY, reliability_rows(ranked), f"{task}: calibration")
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
        for name, _, _, _, low, high, items, probability, right in reliability_rows(ranked)
    ]
    heads: Heads = ["panel", "model", "group", Column("items", "count"), Column("difference", "signed")]
    name = f"calibration-{task}"
    alt = f"Heat map of the {_GAP} for {task}, by model (rows) and bin of probability (columns)."
    return Figure(name, f"{task}: calibration", alt, table(name, heads, rows), draw_heat)


# ROC curves, precision-recall curves and calibration, from the likelihoods of the choices.


@dataclass(frozen=True, slots=True)
class Ranking:
    """One run's probabilities for one task.

    Attributes:
        task: Name of the task.
        name: Label of the run.
        run: Scores of the run.
        truths: Index of the true class, (items).
        probabilities: (items, classes).
    """

    task: str
    name: str
    run: RunScores
    truths: Any
    probabilities: Any

    def find(self, metric: str) -> Score:
        """Return a score of the run over all items of the task."""
        score = self.run.find(self.task, metric)
        assert score is not None
        return score


def rankings(results: Results, task: str, classes: Sequence[str]) -> list[Ranking]:
    """Return the runs with likelihoods for the task; items without are left out, as in the scores."""
    found = []
    for name, run in results.named(task):
        score, items = run.find(task, "auroc_macro"), results.items[name].get(task, [])
        if score is not None and score.value is not None:
            rows, probabilities = probabilities_of(items, classes)
            truths = classification_columns(items, classes)["truths"].argmax(axis=1)
            found.append(Ranking(task, name, run, truths[rows], probabilities))
    return found


def curve_rows(ranked: Sequence[Ranking], classes: Sequence[str]) -> list[list[Cell]]:
    """Return the corners of both curves of each run, with the columns of `lmod_train.report.figures.curves`.

    With two choices, the first is the positive class. With more, the curves are means over the classes, each against
    the rest, and enclose exactly the areas of ``scores.csv``.
    """
    about = curve_classes(classes)
    rows = _line_rows("ROC", CHANCE, Estimate(0.5), [0, 1], [0, 1])
    for one in ranked:
        points = roc_points(one.truths, one.probabilities, about)
        assert points is not None
        rows += _line_rows("ROC", one.name, Estimate.of(one.find("auroc_macro")), *points)
    shares = [np.mean([np.mean(one.truths == c) for c in about if np.any(one.truths == c)]) for one in ranked]
    if np.ptp(shares) < 0.0005:  # otherwise the runs have different items, and no common chance level
        level = float(shares[0])
        rows += _line_rows("precision-recall", CHANCE, Estimate(level), [0, 1], [level, level])
    for one in ranked:
        points = precision_recall_points(one.truths, one.probabilities, about)
        assert points is not None
        recalls, precision = np.append(0, points[0]), np.append(points[1][0], points[1])
        steps = np.repeat(recalls, 2)[:-1], np.repeat(precision, 2)[1:]
        rows += _line_rows("precision-recall", one.name, Estimate.of(one.find("auprc_macro")), *steps)
    return rows


def _line_rows(curve: str, model: str, area: Estimate, xs: Any, ys: Any) -> list[list[Cell]]:
    """Return the corners of a line; points between two others on a straight line are left out."""
    x, y = np.asarray(xs, dtype=float), np.asarray(ys, dtype=float)
    turns = np.abs(np.diff(x)[:-1] * np.diff(y)[1:] - np.diff(y)[:-1] * np.diff(x)[1:]) > 1e-12
    kept = np.concatenate([[True], turns, [True]])
    corners = zip(x[kept].tolist(), y[kept].tolist(), strict=True)
    return [[curve, model, None if i else area, a, b] for i, (a, b) in enumerate(corners)]


def reliability_rows(ranked: Sequence[Ranking]) -> list[list[Any]]:
    """Return the bins of each run, with the columns of `lmod_train.report.figures.reliability_diagram`."""
    rows: list[list[Any]] = []
    for one in ranked:
        curve = reliability(one.truths, one.probabilities)
        edges = np.linspace(0, 1, len(curve.items) + 1).round(6).tolist()
        bins = zip(edges, edges[1:], curve.items, curve.confidence, curve.right, strict=False)
        about = [one.name, "probability of the likeliest class", len(one.truths), one.find("ece").value]
        for low, high, items, confidence, right in bins:
            means = [float(confidence), float(right)] if items else [None, None]
            rows.append([*about, low, high, int(items), *means])
    return rows
