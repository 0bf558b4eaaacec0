"""95 % intervals of shares whose items come in patients: exact near 0 and 1, on the effective sample size.

Items of one patient are not independent, so n items prove as much as fewer independent ones: the effective sample
size n* = p (1 - p) / variance, the variance taken between patients. The binomial interval of n* p right ones in n*
is the interval (Korn & Graubard 1998, Survey Methodology 24), n* being multiplied by (t[n - 1] / t[patients - 1])^2, as
few patients tell their own variance badly. Near 0 and 1 it is the exact one (Clopper & Pearson 1934). That one covers
too often elsewhere (up to 98 % at n = 30), so from `MIDDLE` right and wrong on it is Jeffreys' (Brown, Cai & DasGupta
2001), and between `EDGE` and `MIDDLE` one in between.

Where nothing is wrong, nothing tells how alike the items of a patient are: `ALIKE` is assumed, and this assumption
loses weight as wrong ones are seen.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaincinv, stdtrit  # scipy.stats holds both, and takes a second to import

Floats = NDArray[np.float64]
Interval = tuple[float | None, float | None]
NONE: Interval = (None, None)

LEVEL = 0.95
FEWEST = 3
"""Patients from which on there is an interval."""
ALIKE = 0.5
"""Correlation within a patient that is assumed where the items do not tell: at 0 or 1."""
EDGE, MIDDLE = 5.0, 10.0
"""Effective right or wrong items up to which the interval is Clopper's and Pearson's, and from which on Jeffreys'."""
_PRIOR, _FADE = 0.5, 5.0  # what the assumption weighs, in patients, and after how many wrong items it weighs a third
_TINY = 1e-16


@dataclass(frozen=True, slots=True)
class Evidence:
    """What a share rests on.

    Attributes:
        items: Its denominator.
        patients: How many patients hold a part of it.
        at_edge: Effective sample size that is assumed where all of it is right, or all wrong.
        wrong: How many patients keep it from the nearer of 0 and 1, those that do so little counting less.
    """

    items: float
    patients: int
    at_edge: float
    wrong: float = 0.0


def evidence_of(held: Floats, short: Floats | None = None) -> Evidence:
    """Return what a share rests on.

    Args:
        held: Each patient's part of its denominator, (patients).
        short: By how much each patient keeps it from the nearer of 0 and 1, in any unit, (patients).

    Example:
        >>> evidence_of(np.array([1.0, 1.0, 0.0])), evidence_of(np.array([8.0, 8.0])).at_edge
        (Evidence(items=2.0, patients=2, at_edge=2.0, wrong=0.0), 3.55...)
    """
    items = float(held.sum())
    if items == 0:
        return Evidence(0.0, 0, 0.0)
    size = float((held**2).sum()) / items
    return Evidence(items, int(np.count_nonzero(held)), items / (1 + max(0.0, size - 1) * ALIKE), _number(short))


def _number(short: Floats | None) -> float:
    """Return how many patients share a sum: its square over the sum of squares (Kish 1965), 0 where there is none."""
    if short is None or not np.any(short > _TINY):
        return 0.0
    parts = short.clip(0)
    return float(parts.sum() ** 2 / (parts**2).sum())


def share_interval(share: float, variance: float, evidence: Evidence, bounded: bool = True) -> Interval:
    """Return the 95 % interval of a share, or of a mean of quantities in [0, 1].

    No lower end lies above that of a share of 1 with the same evidence, and no upper end below that of 0.

    Args:
        share: In [0, 1].
        variance: Of the share, between patients.
        evidence: What it rests on.
        bounded: Whether it is such a mean. Then 0 and 1 have an interval: all are 1 with a probability of at most the
            mean to the power of their number. Nothing of the kind is known of, say, an average precision.

    Returns:
        None twice with fewer than `FEWEST` patients, and where all patients are alike though not at an extreme, or not
        `bounded`: no spread is seen, and none proven.

    Example:
        >>> share_interval(1.0, 0.0, Evidence(10, 10, 10))
        (0.6915..., 1.0)
    """
    trust = trust_in(evidence.items, evidence.patients)
    low, high = part_interval(share, variance, evidence, trust, bounded)
    perfect, _ = part_interval(1.0, 0.0, evidence, trust)
    if not bounded or low is None or high is None or perfect is None:
        return low, high
    return min(low, perfect), max(high, 1 - perfect)


def part_interval(share: float, variance: float, evidence: Evidence, trust: float, bounded: bool = True) -> Interval:
    """Return the interval of a share that is a part of a figure; `trust` comes from the patients of all parts."""
    if evidence.patients < FEWEST:
        return NONE
    extreme = min(share, 1 - share) < 1e-12
    if variance < _TINY and not (bounded and extreme):
        return NONE
    share = float(round(share)) if extreme else share
    return beta_interval(share, trust * _effective(share, variance, evidence, bounded))


def trust_in(items: float, patients: int) -> float:
    """Return by what the effective sample size falls because the variance comes from few patients."""
    few = stdtrit(max(patients, 2) - 1, (1 + LEVEL) / 2)
    return float(stdtrit(max(items, patients, 2) - 1, (1 + LEVEL) / 2) / few) ** 2


def _effective(share: float, variance: float, evidence: Evidence, bounded: bool) -> float:
    """Return the effective sample size: p (1 - p) / variance, at the edge drawn to what is assumed there."""
    spread = variance * (evidence.items - 1) / evidence.items  # independent items give their own number exactly
    prior = _PRIOR * math.exp(-evidence.wrong / _FADE) if bounded else 0.0
    return (share * (1 - share) + prior / evidence.at_edge) / (spread + prior / evidence.at_edge**2)


def beta_interval(share: float, size: float) -> tuple[float, float]:
    """Return the 95 % interval of a share of `size` > 0 independent items, which need not be a whole number.

    Example:
        >>> beta_interval(0.0, 10)
        (0.0, 0.3084...)
    """
    right, wrong, tail = share * size, (1 - share) * size, (1 - LEVEL) / 2
    inward = min(max((min(right, wrong) - EDGE) / (MIDDLE - EDGE), 0.0), 1.0) / 2
    low = 0.0 if share <= 0 else float(betaincinv(right + inward, wrong + 1 - inward, tail))
    high = 1.0 if share >= 1 else float(betaincinv(right + 1 - inward, wrong + inward, 1 - tail))
    return low, high


def combined_interval(
    shares: Floats, weights: Floats, intervals: Sequence[Interval], correlation: Floats
) -> tuple[float | None, float | None]:
    """Return the interval of a weighted sum of shares from their own (Zou & Donner 2008, Statistics in Medicine 27).

    Unlike an interval from the variance of the sum it holds where some shares are 0 or 1 and do not vary.

    Args:
        shares: (shares).
        weights: Of each, of either sign, (shares).
        intervals: Of each.
        correlation: Between them, (shares, shares), ones on the diagonal.

    Returns:
        None twice where a share has no interval.

    Example:
        >>> low, high = combined_interval(np.array([1.0, 1.0]), np.array([0.5, 0.5]), [(0.9, 1.0)] * 2, np.eye(2))
        >>> round(low, 3), high
        (0.929, 1.0)
    """
    ends = np.array(intervals, dtype=np.float64)  # None becomes NaN
    if np.isnan(ends).any():
        return NONE
    down, up = shares - ends[:, 0], ends[:, 1] - shares
    down, up = np.where(weights > 0, down, up) * weights, np.where(weights > 0, up, down) * weights
    value = float(shares @ weights)
    below, above = (math.sqrt(max(0.0, float(part @ correlation @ part))) for part in (down, up))
    return value - below, value + above
