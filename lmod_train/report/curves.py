"""ROC curves, precision-recall curves and calibration, from the likelihoods of the choices."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from lmod_train.core.tables import Cell, Estimate
from lmod_train.core.types import Score
from lmod_train.report.figures.curves import CHANCE
from lmod_train.scoring.calibration import reliability
from lmod_train.scoring.classification import classification_columns
from lmod_train.scoring.items import Item
from lmod_train.scoring.probability import curve_classes, probabilities_of
from lmod_train.scoring.ranking import precision_recall_points, roc_points
from lmod_train.tasks.run_scores import RunScores


@dataclass(frozen=True, slots=True)
class Ranking:
    """One run's probabilities for one task.

    Attributes:
        task: Name of the task.
        place: Index of the run among all runs, which determines its colour.
        name: Label of the run.
        run: Scores of the run.
        truths: Index of the true class, (items).
        probabilities: (items, classes).
    """

    task: str
    place: int
    name: str
    run: RunScores
    truths: Any
    probabilities: Any

    def find(self, metric: str) -> Score:
        """Return a score of the run over all items of the task."""
        score = self.run.find(self.task, metric)
        assert score is not None
        return score


def rankings(
    runs: Sequence[RunScores],
    names: Sequence[str],
    outcomes: Sequence[Mapping[str, Sequence[Item]]],
    task: str,
    classes: Sequence[str],
) -> list[Ranking]:
    """Return the runs with likelihoods for the task; items without are left out, as in the scores."""
    found = []
    for place, (run, name, items) in enumerate(zip(runs, names, outcomes, strict=True)):
        score = run.find(task, "auroc_macro")
        if score is None or score.value is None:
            continue
        rows, probabilities = probabilities_of(items[task], classes)
        truths = classification_columns(items[task], classes)["truths"].argmax(axis=1)
        found.append(Ranking(task, place, name, run, truths[rows], probabilities))
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
        rows += _line_rows("ROC", one.name, _estimate(one.find("auroc_macro")), *points)
    shares = [np.mean([np.mean(one.truths == c) for c in about if np.any(one.truths == c)]) for one in ranked]
    if np.ptp(shares) < 0.0005:  # otherwise the runs have different items, and no common chance level
        level = float(shares[0])
        rows += _line_rows("precision-recall", CHANCE, Estimate(level), [0, 1], [level, level])
    for one in ranked:
        points = precision_recall_points(one.truths, one.probabilities, about)
        assert points is not None
        recalls, precision = np.append(0, points[0]), np.append(points[1][0], points[1])
        steps = np.repeat(recalls, 2)[:-1], np.repeat(precision, 2)[1:]
        rows += _line_rows("precision-recall", one.name, _estimate(one.find("auprc_macro")), *steps)
    return rows


def _line_rows(curve: str, model: str, area: Estimate, xs: Any, ys: Any) -> list[list[Cell]]:
    """Return the corners of a line; points between two others on a straight line are left out."""
    x, y = np.asarray(xs, dtype=float), np.asarray(ys, dtype=float)
    turns = np.abs(np.diff(x)[:-1] * np.diff(y)[1:] - np.diff(y)[:-1] * np.diff(x)[1:]) > 1e-12
    kept = np.concatenate([[True], turns, [True]])
    corners = zip(x[kept].tolist(), y[kept].tolist(), strict=True)
    return [[curve, model, None if i else area, a, b] for i, (a, b) in enumerate(corners)]


def _estimate(score: Score) -> Estimate:
    return Estimate(score.value, score.low, score.high, score.n)


def reliability_rows(ranked: Sequence[Ranking]) -> list[list[Any]]:
    """Return the bins of each run, with the columns of `lmod_train.report.figures.reliability`."""
    rows: list[list[Any]] = []
    for one in ranked:
        curve = reliability(one.truths, one.probabilities)
        edges = np.linspace(0, 1, len(curve.items) + 1).round(6).tolist()
        bins = zip(edges, edges[1:], curve.items, curve.confidence, curve.right, strict=False)
        error = one.find("ece").value
        for low, high, items, confidence, right in bins:
            means = [float(confidence), float(right)] if items else [None, None]
            rows.append([one.name, error, low, high, int(items), *means])
    return rows
