"""Figures as functions of sums over items, and their 95 % intervals by resampling whole patients.

Several questions about one eye, and two eyes of one patient, are not independent; an interval that takes them as such
is too narrow. So groups are drawn, not items (cluster bootstrap; Davison & Hinkley 1997, section 3.8).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaincinv  # scipy.stats holds it too, and takes a second to import

from lmod_train.types import Score

Floats = NDArray[np.float64]
Columns = Mapping[str, Floats]
"""Name -> array of shape (items, ...): one row an item; its sums over items have the shape (...)."""

LEVEL = 0.95
DRAWS = 1000
_CELLS = 4_000_000  # drawn group indices held at once: 32 MB


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure that depends on the items only through sums of their columns.

    Attributes:
        name: Metric name in ``scores.csv``.
        value: Sums of the columns, each with leading axes (draws), to figures (draws); NaN where undefined.
        support: The column (or a cell of it) whose grand total is the figure's n. Where it has several cells, each is a
            denominator of its own (one a class, say), and the one held by the fewest groups decides how much an extreme
            value proves.
        interval: Whether the figure is an estimate at all; a baseline that follows from the prompt is not.
        share: Whether the figure is a mean of quantities in [0, 1]; an extreme value of anything else (an agreement
            beyond chance, an error in stages) has no interval.
    """

    name: str
    value: Callable[[Columns], Floats]
    support: Callable[[Columns], Floats]
    interval: bool = True
    share: bool = True


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


def measure(
    task: str,
    subset: str,
    columns: Columns,
    groups: Sequence[str],
    figures: Iterable[Figure],
    draws: int = DRAWS,
    seed: int = 0,
) -> list[Score]:
    """Return one score per figure, with a percentile interval of the clustered bootstrap.

    Args:
        task: Name of the task.
        subset: Name of the subset.
        columns: What the figures are made of; all of the same number of rows.
        groups: Cluster of each row.
        figures: What to compute.
        draws: Bootstrap draws.
        seed: The same items in any order give the same interval.

    Returns:
        Figures without support have no value and n = 0. See `interval_of` for where there is no interval.
    """
    names, place = np.unique(np.asarray(groups, dtype=str), return_inverse=True)
    by_group = {name: _sum_by(place, len(names), column) for name, column in columns.items()}
    totals = {name: column.sum(axis=0) for name, column in by_group.items()}
    drawn = draw_sums(by_group, draws, seed) if len(names) > 1 else {}
    scores = []
    for figure in figures:
        n, value = round(float(figure.support(totals).sum())), float(figure.value(totals))
        if n == 0 or np.isnan(value):
            scores.append(Score(task, subset, figure.name, 0, None))
            continue
        low, high = None, None
        if figure.interval and drawn:
            low, high = interval_of(value, figure.value(drawn), _fewest(figure.support(by_group)), figure.share)
        scores.append(Score(task, subset, figure.name, n, value, low, high))
    return scores


def draw_sums(by_group: Columns, draws: int = DRAWS, seed: int = 0) -> dict[str, Floats]:
    """Draw as many groups as there are, with replacement, and sum their columns.

    Args:
        by_group: Columns of the shape (groups, ...), at least one group.
        draws: How often.
        seed: Of the random draws.

    Returns:
        Columns of the shape (draws, ...).
    """
    count = len(next(iter(by_group.values())))
    flat = np.concatenate([column.reshape(count, -1) for column in by_group.values()], axis=1)
    parts = [times @ flat for times in draw_times(count, draws, seed)]
    sums, drawn, at = np.concatenate(parts), {}, 0
    for name, column in by_group.items():
        shape = column.shape[1:]
        width = int(np.prod(shape))
        drawn[name] = sums[:, at : at + width].reshape(draws, *shape)
        at += width
    return drawn


def draw_times(count: int, draws: int = DRAWS, seed: int = 0) -> Iterator[Floats]:
    """Draw `count` of `count` groups, with replacement, and yield how often each came, (rows, count).

    All rows together are `draws`; few come at once, so that many groups do not fill the memory.
    """
    rng = np.random.default_rng(seed)
    block = max(1, _CELLS // count)
    for start in range(0, draws, block):
        rows = min(block, draws - start)
        chosen = rng.integers(count, size=(rows, count)) + count * np.arange(rows)[:, None]
        yield np.bincount(chosen.ravel(), minlength=rows * count).reshape(rows, count).astype(np.float64)


def interval_of(value: float, drawn: Floats, groups: int, share: bool = True) -> tuple[float | None, float | None]:
    """Return the 95 % interval around `value` from bootstrap draws.

    A value of 0 or 1 means that every group sits at the extreme; the bootstrap then draws the same number for ever and
    would claim certainty. There the Clopper-Pearson interval over the groups that speak is given instead, an item's
    share of a group being no independent evidence. It also holds for means of quantities in [0, 1], as the chance that
    all are 1 is at most the mean to the power of their number.

    With few groups the percentile bootstrap is somewhat too narrow.

    Args:
        value: The figure over all items.
        drawn: The figure in each draw, NaN where undefined there (a class missed by the draw, say).
        groups: Groups that speak to the figure.
        share: Whether the figure is a mean of quantities in [0, 1]; only then 0 and 1 are such extremes.

    Returns:
        (None, None) with fewer than two groups, or where the draws do not vary and the value is not extreme.

    Example:
        >>> interval_of(1.0, np.ones(1000), 10)
        (0.6915..., 1.0)
        >>> interval_of(1.0, np.ones(1000), 1)
        (None, None)
    """
    defined = drawn[~np.isnan(drawn)]
    if groups < 2 or len(defined) == 0:
        return None, None
    if share and value in (0.0, 1.0) and np.ptp(defined) == 0:
        return clopper_pearson(round(value) * groups, groups)
    if np.isclose(np.ptp(defined), 0.0, atol=1e-12):
        return None, None
    low, high = np.percentile(defined, [50 * (1 - LEVEL), 50 * (1 + LEVEL)])
    return float(low), float(high)


def clopper_pearson(hits: int, n: int) -> tuple[float, float]:
    """Return the exact binomial 95 % interval of `hits` in `n` > 0 (Clopper & Pearson 1934).

    Example:
        >>> clopper_pearson(0, 10)
        (0.0, 0.3084...)
    """
    tail = (1 - LEVEL) / 2
    low = 0.0 if hits == 0 else float(betaincinv(hits, n - hits + 1, tail))
    high = 1.0 if hits == n else float(betaincinv(hits + 1, n - hits, 1 - tail))
    return low, high


def _sum_by(place: NDArray[np.intp], count: int, column: Floats) -> Floats:
    """Sum the rows of each group: (items, ...) to (groups, ...)."""
    summed = np.zeros((count, *column.shape[1:]))
    np.add.at(summed, place, column)
    return summed


def _fewest(support: Floats) -> int:
    """Return the number of groups behind the denominator that fewest groups hold."""
    cells = support.reshape(len(support), -1)
    held = np.count_nonzero(cells, axis=0)
    return int(held[held > 0].min(initial=len(support)))
