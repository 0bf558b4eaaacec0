"""Figures as functions of sums over items, and their 95 % intervals between whole patients.

Several questions about one eye, and two eyes of one patient, are not independent; an interval that takes them as such
is too narrow. So the variance of a figure is that of leaving out one patient after the other (jackknife; Shao & Tu
1995, section 2.2), and the interval that of `lmod_train.scoring.shares` on the effective sample size.
`scripts/benchmarks/coverage.py` counts how often the intervals hold the truth.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lmod_train.scoring.shares import (
    NONE,
    Evidence,
    Interval,
    combined_interval,
    evidence_of,
    part_interval,
    share_interval,
    trust_in,
)
from lmod_train.types import Score

Floats = NDArray[np.float64]
Columns = Mapping[str, Floats]
"""Name -> array of shape (items, ...): one row an item; its sums over items have the shape (...)."""

_CELLS = 4_000_000  # sums without one patient held at once: 32 MB


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure that depends on the items only through sums of their columns.

    Attributes:
        name: Metric name in ``scores.csv``.
        value: Sums of the columns, each with leading axes (rows), to figures (rows); NaN where undefined.
        support: The column (or a cell of it) whose grand total is the figure's n. Where it has several cells, each is a
            denominator of its own (one a class, say).
        interval: Whether the figure is an estimate with an interval at all; a baseline that follows from the prompt is
            none, and what is biased has none that would hold.
        bounds: Sums to the least and the largest possible value.
        bounded: Whether the figure is a mean of quantities within the bounds, so that an extreme value has an interval.
        parts: Sums to shares (rows, parts) whose mean the figure is; NaN where undefined. Each share has an interval
            of its own, from which the figure's is combined. Their denominators are the cells of `support`.
        signs: Of the parts, where the figure is their sum with these signs instead of their mean.
    """

    name: str
    value: Callable[[Columns], Floats]
    support: Callable[[Columns], Floats]
    interval: bool = True
    bounds: Callable[[Columns], tuple[float, float]] = lambda _: (0.0, 1.0)
    bounded: bool = True
    parts: Callable[[Columns], Floats] | None = None
    signs: tuple[float, ...] | None = None


def mean_figure(name: str, parts: Callable[[Columns], Floats], support: Callable[[Columns], Floats]) -> Figure:
    """Return the figure that is the mean of those of its parts that are defined."""
    return Figure(name, lambda sums: mean_of_defined(parts(sums)), support, parts=parts)


def items_in(columns: Columns) -> Floats:
    """Return the column of ones: support of whatever is a mean over items."""
    return columns["items"]


def ratio(part: Floats, whole: Floats) -> Floats:
    """Return ``part / whole``, NaN where `whole` is 0.

    Example:
        >>> ratio(np.array([66.0, 0.0]), np.array([122.0, 0.0])).round(4)
        array([0.541,   nan])
    """
    quotient: Floats = np.full(np.broadcast(part, whole).shape, np.nan)
    return np.divide(part, whole, out=quotient, where=whole != 0)


def mean_of_defined(values: Floats) -> Floats:
    """Return the mean over the last axis of what is not NaN; NaN where nothing is."""
    return ratio(np.nansum(values, axis=-1), np.sum(~np.isnan(values), axis=-1))


def measure(task: str, subset: str, columns: Columns, groups: Sequence[str], figures: Iterable[Figure]) -> list[Score]:
    """Return one score per figure, with its 95 % interval.

    Args:
        task: Name of the task.
        subset: Name of the subset.
        columns: What the figures are made of; all of the same number of rows.
        groups: Patient of each row.
        figures: What to compute.

    Returns:
        Figures without support have no value and n = 0. See `share_interval` for where there is no interval.
    """
    names, place = np.unique(np.asarray(groups, dtype=str), return_inverse=True)
    by_group = {name: _sum_by(place, len(names), column) for name, column in columns.items()}
    totals = {name: column.sum(axis=0) for name, column in by_group.items()}
    scores = []
    for figure in figures:
        n, value = round(float(figure.support(totals).sum())), float(figure.value(totals))
        if n == 0 or np.isnan(value):
            scores.append(Score(task, subset, figure.name, 0, None))
        else:
            scores.append(Score(task, subset, figure.name, n, value, *_interval(figure, value, totals, by_group)))
    return scores


def _interval(figure: Figure, value: float, totals: Columns, by_group: Columns) -> Interval:
    if not figure.interval:
        return NONE
    held = figure.support(by_group)
    cells = held.reshape(len(held), -1)
    if figure.parts is not None:
        return _of_parts(figure, figure.parts, totals, by_group, cells)
    least, largest = figure.bounds(totals)  # of a kappa it may lie below -1, which no figure does
    width = largest - least
    gaps = pseudovalues(figure.value, totals, by_group)[:, 0] / width
    share, rarest = (value - least) / width, fewest(cells)
    evidence = evidence_of(cells[:, rarest], _short(share, gaps, cells[:, rarest]))
    low, high = share_interval(share, variance_of(gaps), evidence, figure.bounded)
    return NONE if low is None or high is None else (max(-1.0, least + width * low), least + width * high)


def _of_parts(
    figure: Figure, parts: Callable[[Columns], Floats], totals: Columns, by_group: Columns, cells: Floats
) -> Interval:
    values = parts(totals)
    held = np.broadcast_to(cells, (len(cells), len(values))).T
    gaps = pseudovalues(parts, totals, by_group)
    evidence = [evidence_of(h, _short(v, g, h)) for h, v, g in zip(held, values, gaps.T, strict=True)]
    patients = len(np.flatnonzero(cells.any(axis=1)))
    trust = trust_in(sum(e.items for e in evidence), patients)
    defined = np.flatnonzero(~np.isnan(values))
    weights = np.ones(len(values)) / len(defined) if figure.signs is None else np.array(figure.signs)
    own = [_of_part(float(values[i]), variance_of(gaps[:, i]), evidence[i], trust) for i in defined]
    alike = _correlation(gaps[:, defined])
    low, high = combined_interval(values[defined], weights[defined], own, alike)
    if low is None or high is None or figure.signs is not None:
        return low, high
    perfect = _perfect(evidence, trust)
    return min(low, perfect), max(high, 1 - perfect)


def _of_part(share: float, variance: float, evidence: Evidence, trust: float) -> Interval:
    """Return the interval of one part; a class that is answered but never true is 0 for certain."""
    return part_interval(share, variance, evidence, trust) if evidence.items else (share, share)


def _perfect(evidence: Sequence[Evidence], trust: float) -> float:
    """Return the lower end where every part is 1, which no worse figure exceeds."""
    held = [e for e in evidence if e.items]
    ends = [part_interval(1.0, 0.0, e, trust) for e in held]
    ones = np.ones(len(held))
    return combined_interval(ones, ones / len(held), ends, np.eye(len(held)))[0] or 0.0


def _correlation(gaps: Floats) -> Floats:
    """Return the correlations of pseudovalues; 0 with what does not vary."""
    spread = gaps.T @ gaps
    deviation = np.sqrt(np.diag(spread))
    correlation = ratio(spread, deviation[:, None] * deviation[None, :])
    correlation[np.isnan(correlation)] = 0
    np.fill_diagonal(correlation, 1)
    return np.clip(correlation, -1, 1)


def pseudovalues(value: Callable[[Columns], Floats], totals: Columns, by_group: Columns) -> Floats:
    """Return by how much each patient draws each figure up or down, (patients, figures), with a mean of 0.

    These are the jackknife's pseudovalues less their mean. A patient without whom a figure is undefined tells nothing
    about it.
    """
    count = len(next(iter(by_group.values())))
    width = sum(column[0].size for column in by_group.values())
    rows = max(1, _CELLS // max(1, width))
    left = np.concatenate([_without(value, totals, by_group, slice(at, at + rows)) for at in range(0, count, rows)])
    gaps = ratio(np.nansum(left, axis=0), np.sum(~np.isnan(left), axis=0).astype(np.float64)) - left
    gaps[np.isnan(gaps)] = 0
    drawn: Floats = (count - 1) * gaps
    return drawn


def variance_of(gaps: Floats) -> float:
    """Return the variance of a figure between patients, from its pseudovalues less their mean, (patients)."""
    count = len(gaps)
    return float(gaps @ gaps) / (count * (count - 1)) if count > 1 else 0.0


def _short(share: float, gaps: Floats, held: Floats) -> Floats:
    """Return by how much each patient keeps a share from the nearer of 0 and 1."""
    size = held / held.mean() if held.any() else held
    return (1 - share) * size - gaps if share > 0.5 else share * size + gaps


def _without(value: Callable[[Columns], Floats], totals: Columns, by_group: Columns, some: slice) -> Floats:
    """Return the figures without each of some patients, (patients, figures)."""
    left = value({name: totals[name] - column[some] for name, column in by_group.items()})
    return left.reshape(len(left), -1)


def fewest(cells: Floats) -> int:
    """Return which denominator the fewest patients hold, above none; `cells` is (patients, denominators)."""
    held, items = np.count_nonzero(cells, axis=0), cells.sum(axis=0)
    return min((c for c in range(len(held)) if held[c]), key=lambda c: (held[c], items[c]), default=0)


def _sum_by(place: NDArray[np.intp], count: int, column: Floats) -> Floats:
    """Sum the rows of each group: (items, ...) to (groups, ...)."""
    summed = np.zeros((count, *column.shape[1:]))
    np.add.at(summed, place, column)
    return summed
