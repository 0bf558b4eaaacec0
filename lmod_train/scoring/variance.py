"""Variance of a share between patients who have different numbers of items.

The jackknife variance is too small where a share is near 0 or 1, and a few patients have most of the items: if these
patients happen to be all right, their part of the variance is missing, and the interval ends before the true share. All
patients together, each with its number of items, show how the variance of a patient increases with that number; the
variance expected from this is more stable (Kish 1965; method of moments with one correlation, Kleinman 1973, JASA 68).
As in the corrected sandwich variance of Morel, Bokossa & Neerchal (2003, Biometrical Journal 45), the expected variance
is added with a weight that falls with the number of patients, and never makes the variance smaller.
`scripts/benchmarks/coverage_grid.py` measures the coverage with it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]

HALF = 20.0
"""Effective number of patients against a share at which the jackknife and the expected variance have equal weight."""
_TINY = 1e-12


def between_patients(share: ArrayLike, deviations: Floats, held: Floats, wrong: ArrayLike) -> Floats:
    """Return the variance of a share: the jackknife variance, or a larger one towards the expected variance.

    With the same number of items from every patient, both are equal. Leading axes are independent shares.

    Args:
        share: The share, in [0, 1], (...).
        deviations: Centred jackknife pseudovalues, (..., patients).
        held: Each patient's part of the denominator, (..., patients).
        wrong: Effective number of patients that keep the share from the nearer of 0 and 1, (...).

    Returns:
        Variances, (...); 0 for one patient.

    Example:
        >>> deviations = np.array([-0.2, 0.2, 0.4, -0.4])
        >>> float(between_patients(0.5, deviations, np.ones(4), 2.0).round(4))
        0.0333
    """
    jackknife = variance_of(deviations)
    if np.all(held == held[..., :1]):
        return jackknife
    weight = HALF / (HALF + np.asarray(wrong))
    return np.maximum(jackknife, (1 - weight) * jackknife + weight * expected_variance(share, deviations, held))


def variance_of(deviations: Floats) -> Floats:
    """Return the jackknife variance of measures from their centred pseudovalues, (..., patients); 0 for one patient."""
    count = deviations.shape[-1]
    variance: Floats = (deviations**2).sum(axis=-1) / max(1, count * (count - 1))
    return variance


def expected_variance(share: ArrayLike, deviations: Floats, held: Floats) -> Floats:
    """Return the variance of a share if its items have one correlation within patients, (...).

    The squared deviation of a patient with m items is m (a + b m) in expectation, where a + b is at most p (1 - p).
    Both are estimated from the squared deviations per item. Patients without items contribute their own squares.
    """
    count, items = deviations.shape[-1], held.sum(axis=-1)
    squares = (deviations * (items[..., None] / count)) ** 2
    asked = held > 0
    per_item = np.divide(squares, held, out=np.zeros_like(squares), where=asked).sum(axis=-1)
    patients, largest = asked.sum(axis=-1), np.asarray(share) * (1 - np.asarray(share))
    together = np.maximum(per_item - largest * patients, 0) / np.maximum(items - patients, _TINY)
    together = np.minimum(together, largest)
    alone = np.minimum(largest, np.maximum(per_item / np.maximum(patients, 1), together)) - together
    beyond = per_item > largest * items
    together = np.where(beyond, per_item / np.maximum(items, _TINY), together)
    alone = np.where(beyond, 0.0, alone)
    total = alone * items + together * (held**2).sum(axis=-1) + np.where(asked, 0.0, squares).sum(axis=-1)
    expected: Floats = total / np.maximum(items, _TINY) ** 2 * (count / max(1, count - 1))
    return expected
