"""Scores of several trainings of one model: their mean, and its interval over patients.

The standard deviation over seeds describes the training: how much a score changes if it is repeated. The interval over
patients describes the sample: how much the mean score of these trainings could differ on other patients. Neither holds
the other, and neither becomes the other with more seeds or more patients.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from lmod_train.core.types import Score
from lmod_train.scoring.classification import MEASURES, classification_columns
from lmod_train.scoring.intervals import (
    Columns,
    Floats,
    Measure,
    compute_scores,
    mean_of_defined,
    share_measure,
)
from lmod_train.scoring.item_score import item_score
from lmod_train.scoring.items import Item
from lmod_train.scoring.probability import curve_classes, probabilities_of
from lmod_train.scoring.ranking import area_scores

CLASSIFICATION = ("accuracy_strict", "balanced_accuracy", "macro_f1", "kappa")
"""Metrics of a single-choice task that have a mean; ``auroc_macro`` is added if every reply has likelihoods."""


def mean_scores(task: str, metric: str, runs: Sequence[Sequence[Item]], choices: Sequence[str]) -> list[Score]:
    """Return the mean scores of several runs on the same items, with intervals clustered by patient.

    The interval is that of a single run, of which every item counts by its mean over the runs; of one run, or of runs
    with equal replies, it is equal to the interval in ``scores.csv``.

    Args:
        task: Name of the task.
        metric: Headline metric of the task.
        runs: Items of each run, with the same ids in the same order.
        choices: The classes; empty if each question has its own.

    Returns:
        The scores; an empty list if there are no items, or if the items of the runs differ.
    """
    ids = [[item.id for item in items] for items in runs]
    if not ids or not ids[0] or any(own != ids[0] for own in ids):
        return []
    groups = [item.group for item in runs[0]]
    if not choices or not all(isinstance(item.truth, str | float) for item in runs[0]):
        return [mean_item_score(task, metric, runs, item_score)]
    columns = [classification_columns(items, choices) for items in runs]
    stacked = {name: np.stack([own[name] for own in columns], axis=-1) for name in columns[0]}
    measures = [mean_over_runs(m, len(runs)) for m in MEASURES if m.name in CLASSIFICATION]
    scores = compute_scores(task, "all", stacked, groups, measures)
    return scores + _areas(task, runs, choices, columns[0]["truths"].argmax(axis=1), groups)


def mean_item_score(task: str, metric: str, runs: Sequence[Sequence[Item]], of: Callable[[Item], float]) -> Score:
    """Return the mean over items and runs of what `of` says of an item, with an interval clustered by patient.

    Args:
        task: Name of the task.
        metric: Name of the score.
        runs: Items of each run, at least one, with the same ids in the same order; without items there is no value.
        of: Maps an item to a number in [0, 1].
    """
    groups = [item.group for item in runs[0]]
    columns = {"items": np.ones((len(groups), len(runs))), "own": np.array([[of(i) for i in r] for r in runs]).T}
    measure = share_measure(metric, "own")
    return compute_scores(task, "all", columns, groups, [mean_over_runs(measure, len(runs))])[0]


def _areas(
    task: str, runs: Sequence[Sequence[Item]], choices: Sequence[str], truths: Floats, groups: list[str]
) -> list[Score]:
    """Return the mean area under the ROC curves; nothing unless every reply has likelihoods."""
    found = [probabilities_of(items, choices) for items in runs]
    if any(len(rows) < len(groups) for rows, _ in found):
        return []
    probabilities = np.stack([own for _, own in found])
    scores = area_scores(task, "all", truths.astype(np.intp), probabilities, groups, curve_classes(choices))
    return [score for score in scores if score.metric == "auroc_macro"]


def mean_over_runs(measure: Measure, runs: int) -> Measure:
    """Return the mean of a measure over runs, as a measure of columns with the runs as their last axis.

    A measure that is undefined for one of the runs has no mean, unless it is a mean of parts.

    Args:
        measure: The measure of one run.
        runs: Number of runs.
    """

    def each(of: Callable[[Columns], Floats], sums: Columns) -> Floats:
        return np.array([of({name: column[..., run] for name, column in sums.items()}) for run in range(runs)])

    def bounds(sums: Columns) -> tuple[float, float]:
        least, largest = each(lambda one: np.array(measure.bounds(one)), sums).mean(axis=0)
        return float(least), float(largest)

    parts = measure.parts

    def mean_parts(sums: Columns) -> Floats:
        assert parts is not None
        return mean_of_defined(np.moveaxis(each(parts, sums), 0, -1))

    def value(sums: Columns) -> Floats:
        mean: Floats = each(measure.value, sums).mean(axis=0) if parts is None else mean_of_defined(mean_parts(sums))
        return mean

    def support(columns: Columns) -> Floats:
        mean: Floats = each(measure.support, columns).mean(axis=0)
        return mean

    return replace(
        measure, value=value, support=support, bounds=bounds, parts=mean_parts if parts is not None else None
    )
