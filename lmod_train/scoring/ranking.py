"""ROC and precision-recall curves, the areas under them, and their intervals."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lmod_train.core.types import Score
from lmod_train.scoring.intervals import Floats, fewest, mean_of_defined, ratio
from lmod_train.scoring.shares import NONE, Evidence, evidence_of, share_interval

Indices = NDArray[np.intp]
Points = tuple[Floats, Floats]
"""The x and y coordinates of a curve, each (points), x ascending."""

DRAWS = 1000
_CELLS = 1_000_000  # bootstrap weights in memory at once: 8 MB, and as much for each of a few sums of them


@dataclass(frozen=True, slots=True)
class Ranked:
    """The items ranked by the probability of one class, the largest first.

    Attributes:
        order: Index of each item among the items given, (items).
        true: 1 if the item is of the class, else 0, in ranked order, (items).
        ends: Index of the last item of each run of ties, in ranked order.
    """

    order: Indices
    true: Floats
    ends: Indices


def rank(probabilities: Floats, true: NDArray[np.bool_]) -> Ranked:
    """Return at least one item ranked by the probability of one class.

    Args:
        probabilities: Probability of the class, (items).
        true: Whether the item is of the class, (items).
    """
    order = np.argsort(-probabilities, kind="stable")
    ordered = probabilities[order]
    ends = np.flatnonzero(np.append(ordered[1:] != ordered[:-1], True))
    return Ranked(order, true[order].astype(np.float64), ends)


def areas(ranked: Ranked, weights: Floats) -> tuple[Floats, Floats]:
    """Return the area under the ROC curve and the average precision, for each row of weights.

    The first is the probability that an item of the class ranks before one of the others, ties counting a half (Hanley
    & McNeil 1982). The second is the sum of precision times gain in recall over the distinct probabilities, without
    interpolation. Both equal scikit-learn's with the same sample weights.

    Args:
        ranked: The ranked items.
        weights: Weight of each item, (rows, items), in the order the items were given.

    Returns:
        Two arrays (rows); NaN where all weight is on items of the class, or none is.

    Example:
        >>> areas(rank(np.array([0.9, 0.8, 0.3]), np.array([True, False, True])), np.ones((1, 3)))
        (array([0.5]), array([0.833...]))
    """
    weights = weights[:, ranked.order]
    hits = np.cumsum(weights * ranked.true, axis=1)[:, ranked.ends]
    seen = np.cumsum(weights, axis=1)[:, ranked.ends]
    alarms = seen - hits
    gained = np.diff(hits, axis=1, prepend=0)
    pairs = hits[:, -1] * alarms[:, -1]
    before = (np.diff(alarms, axis=1, prepend=0) * (hits - gained / 2)).sum(axis=1)
    precision = np.divide(hits, seen, out=np.zeros_like(hits), where=seen != 0)
    defined = np.where(pairs == 0, 0, hits[:, -1])
    return ratio(before, pairs), ratio((gained * precision).sum(axis=1), defined)


def area_scores(
    task: str,
    subset: str,
    truths: Indices,
    probabilities: Floats,
    groups: Sequence[str],
    classes: Sequence[int],
    draws: int = DRAWS,
    seed: int = 0,
) -> list[Score]:
    """Return ``auroc_macro`` and ``auprc_macro``: each class against the rest, averaged over those that occur.

    Their variance is the bootstrap variance over patients (Davison & Hinkley 1997, section 3.8). A perfect ranking has
    an exact interval for the first, from as many independent pairs of patients as the rarest class has patients, and
    none for the second, which is no mean of bounded items.

    Args:
        task: Name of the task.
        subset: Name of the subset.
        truths: Index of the true class, (items).
        probabilities: (items, all classes); of several models (models, items, all classes), for their mean area.
        groups: Patient of each item.
        classes: Classes to average over; one for a yes-or-no question.
        draws: Number of bootstrap draws.
        seed: Seed of the draws.

    Returns:
        Two scores; no value and n = 0 if no class has both positive and negative items.
    """
    names, place = np.unique(np.asarray(groups, dtype=str), return_inverse=True)
    models = probabilities if probabilities.ndim > 2 else probabilities[None]
    ranked = [rank(own[:, c], truths == c) for own in models for c in classes] if len(truths) else []
    values = _mean_areas(ranked, np.ones((1, len(truths))))
    drawn = np.full((2, 0), np.nan)
    if len(names) > 1:
        parts = [_mean_areas(ranked, weights) for weights in _weights(place, len(names), draws, seed)]
        drawn = np.concatenate(parts, axis=1)
    scores = []
    for name, (value,), own, bounded in zip(("auroc_macro", "auprc_macro"), values, drawn, (True, False), strict=True):
        if np.isnan(value):
            scores.append(Score(task, subset, name, 0, None))
        else:
            held = _rarest(truths, place, len(names), classes)
            ends = share_interval(float(value), float(np.nanvar(own)), held, bounded) if own.size else NONE
            scores.append(Score(task, subset, name, len(truths), float(value), *ends))
    return scores


def area_difference(right: NDArray[np.bool_], first: Floats, second: Floats, groups: Sequence[str]) -> Score:
    """Return the difference of the areas under the ROC curves of two confidences in the same answers.

    Args:
        right: Whether each answer is right, (items).
        first: First confidence in each answer, (items).
        second: Second confidence in each answer, (items).
        groups: Patient of each answer.

    Returns:
        Metric ``auroc_difference``, the first area minus the second, with the percentile interval of a bootstrap over
        patients that draws both alike; no interval with fewer than three patients, no value and n = 0 unless some
        answers are right and some are wrong.

    Example:
        >>> right, ends = np.array([True, True, False]), (np.array([0.9, 0.8, 0.1]), np.array([0.2, 0.9, 0.5]))
        >>> area_difference(right, *ends, ["a", "b", "c"]).value
        0.5
    """
    if right.all() or not right.any():
        return Score("", "all", "auroc_difference", 0, None)
    ranked = [rank(first, right), rank(second, right)]
    names, place = np.unique(np.asarray(groups, dtype=str), return_inverse=True)

    def gap(weights: Floats) -> Floats:
        difference: Floats = areas(ranked[0], weights)[0] - areas(ranked[1], weights)[0]
        return difference

    value = float(gap(np.ones((1, len(right))))[0])
    low = high = None
    if len(names) > 2:
        drawn = np.concatenate([gap(weights) for weights in _weights(place, len(names), DRAWS, 0)])
        low, high = np.nanquantile(drawn, [0.025, 0.975]).tolist()
    return Score("", "all", "auroc_difference", len(right), value, low, high)


def roc_points(truths: Indices, probabilities: Floats, classes: Sequence[int]) -> Points | None:
    """Return the ROC curve: the mean over classes of the true positive rate at each false positive rate.

    Its area, by trapezoids, is ``auroc_macro``. None if no class has both positive and negative items.
    """
    curves = []
    for hits, alarms, _ in _counts(truths, probabilities, classes):
        rates, starts = np.unique(np.append(0, alarms / alarms[-1]), return_index=True)
        true = np.append(0, hits / hits[-1])
        curves.append((rates, true[starts], true[np.append(starts[1:], len(true)) - 1]))
    if not curves:
        return None
    grid = np.unique(np.concatenate([rates for rates, _, _ in curves]))
    ends = np.mean([_between(grid, *curve) for curve in curves], axis=0)  # (2, grid): where each step starts and ends
    return np.repeat(grid, 2), ends.T.ravel()


def precision_recall_points(truths: Indices, probabilities: Floats, classes: Sequence[int]) -> Points | None:
    """Return the precision-recall curve: recalls and the mean precision over classes, as steps that end at the points.

    The sum of precision times gain in recall is ``auprc_macro``. None if no class has both positive and negative items.
    """
    curves = []
    for hits, _, precision in _counts(truths, probabilities, classes):
        recalls, first = np.unique(hits / hits[-1], return_index=True)
        known = recalls > 0
        curves.append((recalls[known], precision[first][known]))
    if not curves:
        return None
    grid = np.unique(np.concatenate([recalls for recalls, _ in curves]))
    return grid, np.mean([precision[np.searchsorted(recalls, grid)] for recalls, precision in curves], axis=0)


def _counts(truths: Indices, probabilities: Floats, classes: Sequence[int]) -> Iterator[tuple[Floats, Floats, Floats]]:
    """Yield true positives, false positives and precision at each distinct probability, for each class that occurs."""
    for c in classes:
        if 0 < np.sum(truths == c) < len(truths):
            ranked = rank(probabilities[:, c], truths == c)
            hits = np.cumsum(ranked.true)[ranked.ends]
            seen = (ranked.ends + 1).astype(np.float64)
            yield hits, seen - hits, hits / seen


def _between(grid: Floats, rates: Floats, low: Floats, high: Floats) -> Points:
    """Return a curve that rises from `low` to `high` at its `rates`, as lower and upper ends at each rate of `grid`."""
    left = np.searchsorted(rates, grid, side="right") - 1
    right = np.minimum(left + 1, len(rates) - 1)
    share = np.divide(grid - rates[left], rates[right] - rates[left], out=np.zeros_like(grid), where=right > left)
    slope = high[left] + share * (low[right] - high[left])
    at = rates[left] == grid
    return np.where(at, low[left], slope), np.where(at, high[left], slope)


def _mean_areas(ranked: Sequence[Ranked], weights: Floats) -> Floats:
    """Return both areas averaged over the classes, (2, rows)."""
    if not ranked:
        return np.full((2, len(weights)), np.nan)
    return mean_of_defined(np.moveaxis(np.array([areas(one, weights) for one in ranked]), 0, -1))


def _weights(place: Indices, groups: int, draws: int, seed: int) -> Iterator[Floats]:
    """Yield bootstrap weights of the items, (rows, items), from drawing all patients with replacement.

    The blocks have `draws` rows together, few at once, to bound the memory.
    """
    rng = np.random.default_rng(seed)
    block = max(1, _CELLS // len(place))
    for start in range(0, draws, block):
        rows = min(block, draws - start)
        chosen = rng.integers(groups, size=(rows, groups)) + groups * np.arange(rows)[:, None]
        times = np.bincount(chosen.ravel(), minlength=rows * groups).reshape(rows, groups).astype(np.float64)
        yield times[:, place]


def _rarest(truths: Indices, place: Indices, groups: int, classes: Sequence[int]) -> Evidence:
    """Return the evidence of the rarest class or rest of a class, each patient counted once."""
    parts = [truths == c for c in classes]
    sides = [np.bincount(place[part], minlength=groups) > 0 for side in parts for part in (side, ~side)]
    cells = np.array(sides, dtype=np.float64).T
    return evidence_of(cells[:, fewest(cells)])
