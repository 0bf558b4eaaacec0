"""Mean score of several readers, and models against it, for the populations of readers and of patients.

Readers differ, and all of them see the same images, so that their scores are correlated. The variance of their mean is
that of Obuchowski and Rockette (1995, Communications in Statistics 24) for one modality, with the covariance of readers
by the delete-one-patient jackknife: ``MS(R) / J + max(Cov2, 0)`` for J readers, where MS(R) is the variance of their
scores and Cov2 the mean covariance of two readers (Hillis 2007, Statistics in Medicine 26). With one item per patient
this is the variance of the two-way random-effects analysis of variance. A model is compared with the mean reader by the
same analysis of its differences from each reader, as a standalone program with radiologists by Chakraborty (2017,
Observer Performance Methods for Diagnostic Imaging; ``1T-RRRC`` of RJafroc).

The t quantile is that of Cochran (1964, Biometrics 20): the quantiles for J - 1 and for patients - 1 degrees of
freedom, weighted by the parts of the variance. With Satterthwaite's degrees of freedom, the intervals contained the
truth in 87 % of the simulations with two readers, as two may have equal scores by chance.

An interval is never narrower than that of the same readers on other patients (`intervals`, `paired_difference`), which
alone is given for one reader: it then says nothing about other readers.
`scripts/benchmarks/readers.py` measures the coverage.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from scipy.special import stdtrit

from lmod_train.core.errors import BadArgument
from lmod_train.core.types import Score
from lmod_train.scoring.comparison import paired_difference
from lmod_train.scoring.intervals import Columns, Floats, compute_scores, pseudovalues, ratio, share_measure, sum_by
from lmod_train.scoring.shares import LEVEL, MIN_PATIENTS, TINY, Interval, beta_interval


def mean_reader(task: str, item_scores: Floats, groups: Sequence[str]) -> Score:
    """Return the mean score of readers with its 95 % interval over readers and patients.

    Args:
        task: Name of the task.
        item_scores: Score of each reader on each item, in [0, 1], (items, readers), at least one reader.
        groups: Patient of each item.

    Returns:
        Metric ``mean_reader``; n is the number of items. Without items no value, with fewer than three patients no
        interval.

    Raises:
        BadArgument: `item_scores` is not of this shape, or `groups` not of its length.

    Example:
        >>> one = mean_reader("demo", np.array([[1, 1], [1, 0], [0, 0], [1, 1]]), ["a", "b", "c", "d"])
        >>> one.value, one.n
        (0.625, 4)
    """
    item_scores = _checked(item_scores, groups)
    columns = {"items": np.ones(len(item_scores)), "item_score": item_scores.mean(axis=1)}
    (score,) = compute_scores(task, "all", columns, groups, [_MEAN])
    if score.value is None or score.low is None or score.high is None:
        return score
    variance, quantile = variance_of_mean(item_scores, groups)
    if variance < TINY or not 0 < score.value < 1:
        return score
    factor = (_t(max(len(item_scores) - 1, 1)) / quantile) ** 2
    low, high = beta_interval(score.value, factor * score.value * (1 - score.value) / variance)
    return Score(task, "all", "mean_reader", score.n, score.value, min(low, score.low), max(high, score.high))


def against_readers(task: str, model: Sequence[float], item_scores: Floats, groups: Sequence[str]) -> Score:
    """Return the score of a model minus the mean score of readers, with its 95 % interval over readers and patients.

    Args:
        task: Name of the task.
        model: Score of the model on each item, in [0, 1].
        item_scores: Score of each reader on the same items, in [0, 1], (items, readers), at least one reader.
        groups: Patient of each item.

    Returns:
        Metric ``difference``; without items no value, with fewer than three patients no interval.

    Raises:
        BadArgument: `item_scores` is not of this shape, or the lengths differ.

    Example:
        >>> against_readers("demo", [1, 1], np.array([[1, 0], [1, 1]]), ["a", "b"]).value
        0.25
    """
    item_scores = _checked(item_scores, groups)
    same = paired_difference(task, model, [float(mean) for mean in item_scores.mean(axis=1)], groups)
    if same.value is None or len(set(groups)) < MIN_PATIENTS:
        return same
    variance, quantile = variance_of_mean(np.asarray(model, dtype=np.float64)[:, None] - item_scores, groups)
    half = quantile * math.sqrt(variance)
    low, high = _wider((same.value - half, same.value + half), (same.low, same.high))
    return Score(task, "all", same.metric, same.n, same.value, low, high)


def variance_of_mean(item_scores: Floats, groups: Sequence[str]) -> tuple[float, float]:
    """Return the variance of the mean over readers and items, and the t quantile of its 95 % interval.

    Args:
        item_scores: (items, readers), at least one item and reader.
        groups: Patient of each item.

    Returns:
        With one reader, a variance of 0, as that between readers is not known.
    """
    names, place = np.unique(np.asarray(groups, dtype=str), return_inverse=True)
    patients, readers = len(names), item_scores.shape[1]
    if readers < 2 or patients < 2:
        return 0.0, _t(1)
    by_group = {
        "items": sum_by(place, patients, np.ones(len(item_scores))),
        "item_score": sum_by(place, patients, item_scores),
    }
    totals = {name: column.sum(axis=0) for name, column in by_group.items()}
    deviations = pseudovalues(_each, totals, by_group)
    covariance = deviations.T @ deviations / (patients * (patients - 1))
    common = max(0.0, float(covariance.sum() - np.trace(covariance)) / (readers * (readers - 1)))
    between = float(np.var(_each(totals), ddof=1)) / readers
    variance = between + common
    weight = between / variance if variance > 0 else 0.0
    return variance, weight * _t(readers - 1) + (1 - weight) * _t(patients - 1)


def _t(df: int) -> float:
    return float(stdtrit(df, (1 + LEVEL) / 2))


def _each(sums: Columns) -> Floats:
    """Return the mean of each reader."""
    return ratio(sums["item_score"], sums["items"][..., None])


_MEAN = share_measure("mean_reader", "item_score")


def _wider(first: tuple[float, float], second: Interval) -> tuple[float, float]:
    """Return the interval that contains both, within the least and the largest difference."""
    low, high = (first[0] if second[0] is None else second[0], first[1] if second[1] is None else second[1])
    return max(-1.0, min(first[0], low)), min(1.0, max(first[1], high))


def _checked(item_scores: Floats, groups: Sequence[str]) -> Floats:
    found = np.asarray(item_scores, dtype=np.float64)
    if found.ndim != 2 or not found.shape[1] or len(found) != len(groups):
        expected = f"an array (items, readers >= 1) of the {len(groups)} items of `groups`"
        raise BadArgument("item_scores", f"array of shape {found.shape}", expected, "give one column per reader")
    return found
