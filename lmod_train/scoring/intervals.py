"""Measures as functions of sums over items, and their 95 % intervals, clustered by patient.

Several questions about one eye, and two eyes of one patient, are not independent; an interval that treats them as
independent is too narrow. The variance of a measure is therefore the delete-one-patient jackknife (Shao & Tu 1995,
section 2.2), for patients with different numbers of items adjusted by `lmod_train.scoring.variance`. Its interval is
that of `lmod_train.scoring.shares` on the effective sample size. `scripts/benchmarks/coverage.py` and
`scripts/benchmarks/coverage_grid.py` measure the coverage of the intervals.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lmod_train.core.types import Score
from lmod_train.scoring.shares import (
    LEVEL,
    NONE,
    Evidence,
    Interval,
    combined_interval,
    df_factor,
    evidence_of,
    part_interval,
    share_interval,
)
from lmod_train.scoring.variance import between_patients

Floats = NDArray[np.float64]
Columns = Mapping[str, Floats]
"""Name -> array of shape (items, ...), one row per item; its sum over items has the shape (...)."""

_CELLS = 4_000_000  # leave-one-out sums in memory at once: 32 MB


@dataclass(frozen=True, slots=True)
class Measure:
    """The definition of a metric that depends on the items only through sums of their columns.

    Attributes:
        name: Name of the metric in ``scores.csv``.
        value: Maps sums of the columns, each with leading axes (rows), to values (rows); NaN where undefined.
        support: Maps the columns to the one (or a cell of it) whose total is n. Several cells are several denominators,
            for example one per class.
        interval: Whether the metric has an interval; False for baselines, which follow from the prompt, and for biased
            estimates.
        bounds: Maps sums to the least and the largest possible value.
        bounded: Whether the metric is a mean of quantities within the bounds, so that an extreme value has an interval.
        parts: Maps sums to the shares (rows, parts) whose mean the metric is; NaN where undefined. The interval is
            combined from the intervals of the shares, whose denominators are the cells of `support`.
        signs: Signs of the parts, if the metric is their signed sum instead of their mean.
    """

    name: str
    value: Callable[[Columns], Floats]
    support: Callable[[Columns], Floats]
    interval: bool = True
    bounds: Callable[[Columns], tuple[float, float]] = lambda _: (0.0, 1.0)
    bounded: bool = True
    parts: Callable[[Columns], Floats] | None = None
    signs: tuple[float, ...] | None = None


def mean_measure(name: str, parts: Callable[[Columns], Floats], support: Callable[[Columns], Floats]) -> Measure:
    """Return a measure that is the mean of its defined parts."""
    return Measure(name, lambda sums: mean_of_defined(parts(sums)), support, parts=parts)


def share_measure(name: str, column: str, of: str = "items", **options: Any) -> Measure:
    """Return a measure that is the sum of one column by that of another, whose sum is its number of items."""
    return Measure(name, lambda sums: ratio(sums[column], sums[of]), lambda columns: columns[of], **options)


def items_in(columns: Columns) -> Floats:
    """Return the column of ones, the support of means over items."""
    return columns["items"]


def ratio(numerator: Floats, denominator: Floats) -> Floats:
    """Return ``numerator / denominator``, NaN where the denominator is 0.

    Example:
        >>> ratio(np.array([66.0, 0.0]), np.array([122.0, 0.0])).round(4)
        array([0.541,   nan])
    """
    quotient: Floats = np.full(np.broadcast(numerator, denominator).shape, np.nan)
    return np.divide(numerator, denominator, out=quotient, where=denominator != 0)


def mean_of_defined(values: Floats) -> Floats:
    """Return the mean over the last axis without NaN; NaN where all are."""
    return ratio(np.nansum(values, axis=-1), np.sum(~np.isnan(values), axis=-1))


def compute_scores(
    task: str, subset: str, columns: Columns, groups: Sequence[str], measures: Iterable[Measure]
) -> list[Score]:
    """Return one score per measure, with its 95 % interval.

    Args:
        task: Name of the task.
        subset: Name of the subset.
        columns: Columns that the measures need, one row per item.
        groups: Patient of each row.
        measures: The measures to compute.

    Returns:
        Scores in the order of the measures; without support, no value and n = 0. `share_interval` lists the cases
        without an interval.
    """
    totals, by_group = sums_by_patient(columns, groups)
    scores = []
    for measure in measures:
        n, value = round(float(measure.support(totals).sum())), float(measure.value(totals))
        if n == 0 or np.isnan(value):
            scores.append(Score(task, subset, measure.name, 0, None))
        else:
            scores.append(Score(task, subset, measure.name, n, value, *_interval(measure, value, totals, by_group)))
    return scores


def sums_by_patient(columns: Columns, groups: Sequence[str]) -> tuple[Columns, Columns]:
    """Return the sums over all items, and over those of each patient."""
    names, place = np.unique(np.asarray(groups, dtype=str), return_inverse=True)
    by_group = {name: sum_by(place, len(names), column) for name, column in columns.items()}
    return {name: column.sum(axis=0) for name, column in by_group.items()}, by_group


def _interval(measure: Measure, value: float, totals: Columns, by_group: Columns) -> Interval:
    if not measure.interval:
        return NONE
    held = measure.support(by_group)
    cells = held.reshape(len(held), -1)
    if measure.parts is not None:
        return interval_of_parts(measure, measure.parts, totals, by_group)(LEVEL)
    least, largest = measure.bounds(totals)  # the least value of a kappa may be below -1, its interval ends at -1
    width = largest - least
    deviations = pseudovalues(measure.value, totals, by_group)[:, 0] / width
    share, rare = (value - least) / width, cells[:, fewest(cells)]
    evidence = evidence_of(rare, _shortfall(share, deviations, rare))
    variance = float(between_patients(share, deviations, rare, evidence.wrong))
    low, high = share_interval(share, variance, evidence, measure.bounded)
    return NONE if low is None or high is None else (max(-1.0, least + width * low), least + width * high)


def interval_of_parts(
    measure: Measure, parts: Callable[[Columns], Floats], totals: Columns, by_group: Columns
) -> Callable[[float], Interval]:
    """Return a function from a level to the interval of the mean, or of the signed sum, of several shares."""
    held = measure.support(by_group)
    cells, values = held.reshape(len(held), -1), parts(totals)
    held = np.broadcast_to(cells, (len(cells), len(values))).T
    deviations = pseudovalues(parts, totals, by_group)
    evidence = [evidence_of(h, _shortfall(v, g, h)) for h, v, g in zip(held, values, deviations.T, strict=True)]
    patients = len(np.flatnonzero(cells.any(axis=1)))
    defined = np.flatnonzero(~np.isnan(values))
    weights = np.ones(len(values)) / len(defined) if measure.signs is None else np.array(measure.signs)
    variances = between_patients(values, deviations.T, held, np.array([e.wrong for e in evidence]))
    wrong, mixed = sum(e.wrong for e in evidence), sum(e.mixed for e in evidence)
    evidence = [replace(e, wrong=wrong, mixed=mixed) for e in evidence]  # all show how items of a patient correlate
    correlation = _correlation(deviations[:, defined])

    def interval(level: float) -> Interval:
        factor = df_factor(sum(e.items for e in evidence), patients, level)
        own = [_of_part(float(values[i]), float(variances[i]), evidence[i], factor, level) for i in defined]
        low, high = combined_interval(values[defined], weights[defined], own, correlation)
        if low is None or high is None or measure.signs is not None:
            return low, high
        perfect = _perfect(evidence, factor)
        return min(low, perfect), max(high, 1 - perfect)

    return interval


def _of_part(share: float, variance: float, evidence: Evidence, factor: float, level: float) -> Interval:
    """Return the interval of one part; that of a class that is answered but never true is 0 to 0."""
    return part_interval(share, variance, evidence, factor, level=level) if evidence.items else (share, share)


def _perfect(evidence: Sequence[Evidence], factor: float) -> float:
    """Return the lower end of the interval if every part were 1, on the samples of `Evidence.perfect`."""
    held = [e.perfect() for e in evidence if e.items]
    ends = [part_interval(1.0, 0.0, e, factor) for e in held]
    ones = np.ones(len(held))
    return combined_interval(ones, ones / len(held), ends, np.eye(len(held)))[0] or 0.0


def _correlation(deviations: Floats) -> Floats:
    """Return the correlation matrix of pseudovalues; 0 with a constant."""
    spread = deviations.T @ deviations
    deviation = np.sqrt(np.diag(spread))
    correlation = ratio(spread, deviation[:, None] * deviation[None, :])
    correlation[np.isnan(correlation)] = 0
    np.fill_diagonal(correlation, 1)
    return np.clip(correlation, -1, 1)


def pseudovalues(value: Callable[[Columns], Floats], totals: Columns, by_group: Columns) -> Floats:
    """Return the centred jackknife pseudovalues of each measure, (patients, measures).

    A patient without whom a measure is undefined has the value 0.
    """
    count = len(next(iter(by_group.values())))
    width = sum(column[0].size for column in by_group.values())
    rows = max(1, _CELLS // max(1, width))
    left = np.concatenate([_without(value, totals, by_group, slice(at, at + rows)) for at in range(0, count, rows)])
    deviations = ratio(np.nansum(left, axis=0), np.sum(~np.isnan(left), axis=0).astype(np.float64)) - left
    deviations[np.isnan(deviations)] = 0
    scaled: Floats = (count - 1) * deviations
    return scaled


def _shortfall(share: float, deviations: Floats, held: Floats) -> Floats:
    """Return each patient's contribution to the distance of a share from the nearer of 0 and 1, in items."""
    missed = deviations * held.mean()
    short: Floats = (1 - share) * held - missed if share > 0.5 else share * held + missed
    return short


def _without(value: Callable[[Columns], Floats], totals: Columns, by_group: Columns, some: slice) -> Floats:
    """Return the measures with one of some patients left out, (patients, measures)."""
    left = value({name: totals[name] - column[some] for name, column in by_group.items()})
    return left.reshape(len(left), -1)


def fewest(cells: Floats) -> int:
    """Return the index of the denominator with the fewest patients, but at least one; `cells` is (patients, cells)."""
    held, items = np.count_nonzero(cells, axis=0), cells.sum(axis=0)
    return min((c for c in range(len(held)) if held[c]), key=lambda c: (held[c], items[c]), default=0)


def sum_by(place: NDArray[np.intp], count: int, column: Floats) -> Floats:
    """Return the sum of the rows of each group: (items, ...) to (groups, ...)."""
    summed = np.zeros((count, *column.shape[1:]))
    np.add.at(summed, place, column)
    return summed
