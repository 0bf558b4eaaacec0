"""ROC and precision-recall curves, the areas under them, and their intervals."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lmod_train.core.types import Score
from lmod_train.scoring.intervals import Floats, mean_of_defined, ratio
from lmod_train.scoring.shares import (
    LEVEL,
    MIN_PATIENTS,
    NONE,
    TINY,
    Interval,
    beta_interval,
    evidence_of,
    share_interval,
)

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

    The interval of the first is that of `Area`, averaged over classes and models; a perfect ranking has the exact
    one of as many independent patients as the rarest class has. The second has its bootstrap variance over patients
    (Davison & Hinkley 1997, section 3.8), and no interval at 1.

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
    (roc,), (precision,) = _mean_areas(ranked, np.ones((1, len(truths))))
    if np.isnan(roc):
        return [Score(task, subset, name, 0, None) for name in ("auroc_macro", "auprc_macro")]
    shown = [(own[:, c], truths == c) for own in models for c in classes if 0 < np.sum(truths == c) < len(truths)]
    found = [_area(*one, place, len(names)) for one in shown]
    few = evidence_of(np.ones(min(area.patients for area in found)))
    drawn = np.full(0, np.nan)
    if len(names) > 1:
        parts = [_mean_areas(ranked, weights)[1] for weights in _weights(place, len(names), draws, seed)]
        drawn = np.concatenate(parts)
    ends = share_interval(float(precision), float(np.nanvar(drawn)), few, False) if drawn.size else NONE
    return [
        Score(task, subset, "auroc_macro", len(truths), float(roc), *_area_interval(float(roc), found)),
        Score(task, subset, "auprc_macro", len(truths), float(precision), *ends),
    ]


@dataclass(frozen=True, slots=True)
class Area:
    """What the interval of one area under a ROC curve is made of.

    The variance is that of Obuchowski (1997, Biometrics 53): patients contribute the sums of the placements of their
    items, here with the correction of Bell & McCaffrey (2002) for patients with a large part of a class. As it is too
    small where few patients show how low a class can reach, it is weighed with an expected variance: that of equal
    normal distributions with this area, and with the correlation within patients that both classes show together,
    `MARGIN` higher.

    Attributes:
        influence: Contribution of each patient to the area minus its value, (2, patients): of the class and the rest.
        expected: Expected variance.
        freedom: Degrees of freedom of the variance (Satterthwaite 1946), patients counted by their effective number.
        patients: Patients of the class or of the rest, the fewer of both.
    """

    influence: Floats
    expected: float
    freedom: float
    patients: int


PRIOR_FREEDOM = 8.0
"""Weight of the expected variance, in degrees of freedom."""
MARGIN = 0.1
"""What is added to the estimated correlation within patients."""


def _area(confidence: Floats, true: NDArray[np.bool_], place: Indices, count: int) -> Area:
    """Return the contributions of at least one item of a class and one other."""
    sides = confidence[true], confidence[~true]
    below, above = (_placements(*pair) for pair in (sides, sides[::-1]))
    value = float(below.mean())
    influence, sizes, freedom, alike, pairs = [], [], [], 0.0, 0.0
    for part, rest in ((place[true], below - value), (place[~true], 1 - above - value)):
        held, sums = np.bincount(part, minlength=count), np.bincount(part, rest, count)
        squares, others = float(rest @ rest), float(np.sum(held * (held - 1.0)))
        alike += (float(sums @ sums) - squares) * len(rest) / max(squares, TINY)
        pairs += others
        sizes.append(1 + others / len(rest))
        influence.append(sums / len(rest) / np.sqrt(np.maximum(1 - held / len(rest), TINY)))
        freedom.append(max(len(rest) / sizes[-1] - 1, TINY))
    correlation = min(1.0, max(0.0, alike / max(pairs, 1.0)) + MARGIN)
    from scipy.special import ndtri, owens_t  # a tenth of a second, which no task that only asks needs

    normal = float(ndtri(value))
    spread = value - 2 * float(owens_t(normal, 3**-0.5)) - value**2 if 0 < value < 1 else 0.0
    effects = sum((1 + (size - 1) * correlation) / n for size, n in zip(sizes, map(len, sides), strict=True))
    both = np.array(influence)
    own = (both**2).sum(axis=1)
    found = float(own.sum() ** 2 / max(np.sum(own**2 / freedom), TINY**2)) if own.any() else 0.0
    patients = min(len(np.unique(place[part])) for part in (true, ~true))
    return Area(both, spread * effects, found, patients)


def _placements(own: Floats, other: Floats) -> Floats:
    """Return the share of the others that each value exceeds, ties counting a half."""
    ordered = np.sort(other)
    sides = np.searchsorted(ordered, own, "left") + np.searchsorted(ordered, own, "right")
    placements: Floats = sides / 2 / len(other)
    return placements


def _area_interval(value: float, found: Sequence[Area]) -> Interval:
    """Return the interval of a mean of areas: that of `shares.beta_interval` on its effective sample size."""
    patients = min(area.patients for area in found)
    if patients < MIN_PATIENTS:
        return NONE
    if value in (0.0, 1.0):
        return beta_interval(value, patients)
    variance = float(np.sum(np.mean([area.influence.sum(axis=0) for area in found], axis=0) ** 2))
    if variance < TINY:
        return NONE
    alone = sum(float(np.sum(area.influence**2)) for area in found)
    freedom = min(area.freedom for area in found)
    weight = PRIOR_FREEDOM / (PRIOR_FREEDOM + freedom)
    variance *= max(1.0, 1 - weight + weight * sum(area.expected for area in found) / alone)
    from scipy.special import ndtri, stdtrit  # a tenth of a second, which no task that only asks needs

    quantile = float(stdtrit(freedom + PRIOR_FREEDOM, (1 + LEVEL) / 2) / ndtri((1 + LEVEL) / 2))
    return beta_interval(value, value * (1 - value) / variance / quantile**2)


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
