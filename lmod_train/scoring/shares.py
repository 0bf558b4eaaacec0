"""95 % intervals of shares with items clustered by patient, on the effective sample size.

Items of one patient are not independent, so n items count as fewer independent ones: the effective sample size is
n* = p (1 - p) / variance, with the variance between patients. The interval is the binomial one of n* p successes in n*
trials (Korn & Graubard 1998, Survey Methodology 24), with n* multiplied by (t[n - 1] / t[patients - 1])^2, as few
patients estimate the variance poorly. Near 0 and 1 it is exact (Clopper & Pearson 1934). As that interval is
conservative elsewhere (coverage up to 98 % at n = 30), it is Jeffreys' from `MIDDLE` effective right and wrong items on
(Brown, Cai & DasGupta 2001), and interpolated between `EDGE` and `MIDDLE`.

If all items are right, or all wrong, the correlation within patients cannot be estimated: `ASSUMED_CORRELATION` is
assumed, with a weight that falls as patients with items of the other kind are seen, in any part of a measure of several
shares. An interval ends nowhere inside that of a share of 0 or 1 on as many items as this weight makes of the sample.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Interval = tuple[float | None, float | None]
NONE: Interval = (None, None)

LEVEL = 0.95
MIN_PATIENTS = 3
"""Fewest patients for an interval."""
ASSUMED_CORRELATION = 0.7
"""Assumed correlation within a patient for a share of 0 or 1, so that intervals are valid up to it."""
EDGE, MIDDLE = 5.0, 10.0
"""Effective right or wrong items, the fewer of both, up to which the interval is exact, and from which on Jeffreys'."""
_FADE = 5.0  # effective number of wrong patients, or 1 mixed patient, after which the assumption's weight is 1 / e
TINY = 1e-16
"""Variance below which there is none but for rounding."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """The sample behind a share.

    Attributes:
        items: Number of items, the denominator.
        patients: Number of patients with such items.
        at_edge: Assumed effective sample size for a share of 0 or 1.
        wrong: Effective number of patients that keep the share from the nearer of 0 and 1.
        mixed: Sum over patients of 4 f (1 - f), where f is the part of a patient's items that do. A patient with right
            and wrong items shows that its items are not all alike.
    """

    items: float
    patients: int
    at_edge: float
    wrong: float = 0.0
    mixed: float = 0.0

    @property
    def assumed(self) -> float:
        """The weight of the assumed correlation, in patients."""
        return math.exp(-min(self.wrong / _FADE + self.mixed, 50.0))  # never 0: a share of 1 needs it

    def perfect(self) -> Evidence:
        """Return the sample behind a share of 1 that limits the interval, between `at_edge` and `items`."""
        return replace(
            self, at_edge=min(max(self.items, self.at_edge), self.at_edge / self.assumed), wrong=0.0, mixed=0.0
        )


def evidence_of(held: Floats, shortfall: Floats | None = None) -> Evidence:
    """Return the sample behind a share.

    Args:
        held: Each patient's part of the denominator, (patients).
        shortfall: Each patient's part of the distance to the nearer of 0 and 1, in items, (patients).

    Example:
        >>> evidence_of(np.array([1.0, 1.0, 0.0])), evidence_of(np.array([8.0, 8.0])).at_edge
        (Evidence(items=2.0, patients=2, at_edge=2.0, wrong=0.0, mixed=0.0), 2.71...)
    """
    items = float(held.sum())
    if items == 0:
        return Evidence(0.0, 0, 0.0)
    size = float((held**2).sum()) / items
    at_edge = items / (1 + max(0.0, size - 1) * ASSUMED_CORRELATION)
    return Evidence(items, int(np.count_nonzero(held)), at_edge, *_numbers(held, shortfall))


def _numbers(held: Floats, shortfall: Floats | None) -> tuple[float, float]:
    """Return the number of wrong patients, squared sum over sum of squares (Kish 1965), and that of mixed ones."""
    if shortfall is None or not np.any(shortfall > TINY):
        return 0.0, 0.0
    parts = shortfall.clip(0)
    own = np.minimum(1.0, parts / np.maximum(held, TINY))
    return float(parts.sum() ** 2 / (parts**2).sum()), float(np.sum(4 * own * (1 - own)))


def share_interval(share: float, variance: float, evidence: Evidence, bounded: bool = True) -> Interval:
    """Return the 95 % interval of a share, or of a mean of quantities in [0, 1].

    The lower end is at most that of a share of 1 with `Evidence.perfect`, the upper end at least that of a share of 0.

    Args:
        share: The share, in [0, 1].
        variance: Variance of the share between patients.
        evidence: The sample behind the share.
        bounded: Whether it is a mean of quantities in [0, 1]. Only then 0 and 1 have an interval, as all quantities are
            1 with a probability of at most the mean to the power of their number; an average precision has none.

    Returns:
        None twice with fewer than `MIN_PATIENTS` patients, or without variance except for a `bounded` share of 0 or 1.

    Example:
        >>> share_interval(1.0, 0.0, Evidence(10, 10, 10))
        (0.6915..., 1.0)
    """
    factor = df_factor(evidence.items, evidence.patients)
    low, high = part_interval(share, variance, evidence, factor, bounded)
    perfect, _ = part_interval(1.0, 0.0, evidence.perfect(), factor)
    if not bounded or low is None or high is None or perfect is None:
        return low, high
    return min(low, perfect), max(high, 1 - perfect)


def part_interval(
    share: float, variance: float, evidence: Evidence, factor: float, bounded: bool = True, level: float = LEVEL
) -> Interval:
    """Return the interval of a share that is a part of a measure; `factor` is the `df_factor` of all parts."""
    if evidence.patients < MIN_PATIENTS:
        return NONE
    extreme = min(share, 1 - share) < 1e-12
    if variance < TINY and not (bounded and extreme):
        return NONE
    share = float(round(share)) if extreme else share
    return beta_interval(share, factor * _effective(share, variance, evidence, bounded), level)


def df_factor(items: float, patients: int, level: float = LEVEL) -> float:
    """Return the factor on the effective sample size for the degrees of freedom of the variance, at most 1."""
    from scipy.special import stdtrit  # a tenth of a second, which no task that only asks needs

    few = stdtrit(max(patients, 2) - 1, (1 + level) / 2)
    return float(stdtrit(max(items, patients, 2) - 1, (1 + level) / 2) / few) ** 2


def _effective(share: float, variance: float, evidence: Evidence, bounded: bool) -> float:
    """Return the effective sample size p (1 - p) / variance, near 0 and 1 shrunk towards `Evidence.at_edge`."""
    spread = variance * (evidence.items - 1) / evidence.items  # exact for independent items
    prior = evidence.assumed if bounded else 0.0
    return (share * (1 - share) + prior / evidence.at_edge) / (spread + prior / evidence.at_edge**2)


def beta_interval(share: float, size: float, level: float = LEVEL) -> tuple[float, float]:
    """Return the interval of a share of `size` > 0 independent items; `size` may be fractional.

    Example:
        >>> beta_interval(0.0, 10)
        (0.0, 0.3084...)
    """
    from scipy.special import betaincinv  # a tenth of a second, which no task that only asks needs

    right, wrong, tail = share * size, (1 - share) * size, (1 - level) / 2
    inward = min(max((min(right, wrong) - EDGE) / (MIDDLE - EDGE), 0.0), 1.0) / 2
    low = 0.0 if share <= 0 else float(betaincinv(right + inward, wrong + 1 - inward, tail))
    high = 1.0 if share >= 1 else float(betaincinv(right + 1 - inward, wrong + inward, 1 - tail))
    return low, high


def combined_interval(
    shares: Floats, weights: Floats, intervals: Sequence[Interval], correlation: Floats
) -> tuple[float | None, float | None]:
    """Return the interval of a weighted sum of shares from their intervals (Zou & Donner 2008, Stat. in Medicine 27).

    Unlike an interval from the variance of the sum, it is valid if some shares are 0 or 1 without variance.

    Args:
        shares: The shares, (shares).
        weights: Weights of either sign, (shares).
        intervals: Interval of each share.
        correlation: Correlation matrix of the shares, (shares, shares).

    Returns:
        None twice if a share has no interval.

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
