"""The difference of two models that a number of items could detect."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from scipy.special import bdtr
from scipy.stats import binom

from lmod_train.scoring.intervals import Floats
from lmod_train.scoring.shares import evidence_of
from lmod_train.scoring.variance import variance_of

ALPHA, POWER = 0.05, 0.8
_STEPS = 14  # halvings: the difference to 1e-4


def effective_pairs(first: Sequence[bool], second: Sequence[bool], groups: Sequence[str]) -> float:
    """Return how many independent items the items of two models are worth, with several items per patient.

    It is n divided by the design effect of the difference: its variance between patients over that of independent items
    (Kish 1965), at least 1. If the models never differ, a correlation of 0.7 within patients is assumed, as for a share
    of 0 or 1 in `lmod_train.scoring.shares`.

    Args:
        first: Whether the first model has each item right; at least one item.
        second: The same items, in the same order.
        groups: Patient of each item.

    Example:
        >>> first, second = [True, True, False, True, False, False], [False, True, True, False, False, False]
        >>> [round(effective_pairs(first * k, second * k, list("abcdef") * k), 1) for k in (1, 4)]
        [6.0, 5.2]
    """
    lead = np.asarray(first, dtype=np.float64) - np.asarray(second, dtype=np.float64)
    _, place, held = np.unique(np.asarray(groups, dtype=str), return_inverse=True, return_counts=True)
    residual = lead - lead.mean()
    alone = float(variance_of(residual))
    if alone == 0 or len(held) < 2:
        return evidence_of(held.astype(np.float64)).at_edge
    by_patient: Floats = np.bincount(place, residual).astype(np.float64)
    clustered = float(variance_of(by_patient)) * (len(held) / len(lead)) ** 2
    return float(len(lead) / max(1.0, clustered / alone))


def detectable_difference(n: float, discordance: float) -> float | None:
    """Return the least difference of two accuracies that McNemar's exact test detects with 80 % power at p < 0.05.

    The number of discordant items is random, too (Connor 1987, Biometrics 43; here exact instead of normal). The share
    of discordant items is the given one, or the difference itself where that is larger.

    Args:
        n: Number of independent items, rounded; see `effective_pairs`.
        discordance: Share of the items that one of the models only has right, as observed.

    Returns:
        In (0, 1]; None if not even a model that is always right against one that is always wrong would be detected.

    Example:
        >>> round(detectable_difference(200, 0.2), 3), round(detectable_difference(200, 0.0), 3), \
detectable_difference(5, 0.2)
        (0.091, 0.039, None)
    """
    items = round(n)
    low, high = 0.0, 1.0
    if power(items, discordance, high) < POWER:
        return None
    for _ in range(_STEPS):
        middle = (low + high) / 2
        low, high = (low, middle) if power(items, discordance, middle) >= POWER else (middle, high)
    return high


def power(n: int, discordance: float, difference: float) -> float:
    """Return the probability that McNemar's exact test of n independent items has p < 0.05.

    Args:
        n: Number of items.
        discordance: Share of items that one of the models only has right, at least `difference`, else this is taken.
        difference: Difference of the accuracies, in (0, 1].

    Example:
        >>> round(power(100, 0.1, 0.1), 3), power(5, 1.0, 1.0)
        (0.942, 0.0)
    """
    share = max(discordance, difference)
    wins = (share + difference) / (2 * share)
    counts = np.arange(n + 1)
    weights = binom.pmf(counts, n, share)
    likely = weights > 1e-9
    counts, weights, fewest = counts[likely], weights[likely], _critical(1 << n.bit_length())[: n + 1][likely]
    tests = fewest >= 0
    counts, weights, fewest = counts[tests], weights[tests], fewest[tests]
    return float(weights @ (bdtr(fewest, counts, wins) + bdtr(fewest, counts, 1 - wins)))


@lru_cache(maxsize=32)
def _critical(count: int) -> Floats:
    """Return for 0 to `count` discordant items the most that the weaker model may win at p < 0.05; -1 for none."""
    counts = np.arange(count + 1)
    most = binom.ppf(ALPHA / 2, counts, 0.5)
    critical: Floats = np.where(binom.cdf(most, counts, 0.5) * 2 < ALPHA, most, most - 1)
    return critical
