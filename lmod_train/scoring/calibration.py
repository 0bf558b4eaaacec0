"""Calibration of probabilities: Brier score, expected calibration error and the reliability curve."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lmod_train.scoring.intervals import Columns, Floats, Measure, items_in, ratio

BINS = 10
"""Equally wide bins of the largest probability, upper ends included: (0, 0.1], (0.1, 0.2] ... (0.9, 1]."""


def calibration_columns(truths: NDArray[np.intp], probabilities: Floats) -> dict[str, Floats]:
    """Return the columns of both measures: ``items`` and ``brier`` of shape (n), and three of shape (n, bins).

    In the bin of the largest probability, ``bin_items`` is 1, ``bin_right`` whether the likeliest class is the true one
    (the first of equals), and ``bin_confidence`` that probability; all are 0 in the other bins.

    Args:
        truths: Index of the true class, (n).
        probabilities: (n, classes), each row summing to 1.
    """
    n, classes = probabilities.shape
    one = np.arange(n)
    error = probabilities.copy()
    error[one, truths] -= 1
    confidence = probabilities.max(axis=1)
    right = probabilities.argmax(axis=1) == truths
    bins = np.digitize(confidence, np.linspace(0, 1, BINS + 1)[1:-1], right=True)
    columns = {"items": np.ones(n), "brier": (error**2).sum(axis=1) / (2 if classes == 2 else 1)}
    for name, values in (("bin_items", 1.0), ("bin_right", right), ("bin_confidence", confidence)):
        columns[name] = np.zeros((n, BINS))
        columns[name][one, bins] = values
    return columns


def _calibration_error(sums: Columns) -> Floats:
    gap: Floats = np.abs(sums["bin_right"] - sums["bin_confidence"]).sum(axis=-1)
    return ratio(gap, sums["items"])


def calibration_measures(classes: int) -> tuple[Measure, ...]:
    """Return Brier score and expected calibration error for a task with `classes` classes.

    ``brier`` is the mean squared error of the probabilities: of one class for two classes ([0, 1]), summed over the
    classes for more ([0, 2]; Brier 1950, and scikit-learn's default). ``ece`` is the expected calibration error of the
    likeliest class over `BINS` bins (Naeini et al. 2015, Guo et al. 2017), in [0, 1]. With few items it is biased
    upwards even for perfect probabilities (Roelofs et al. 2022, Mitigating bias in calibration error estimation), so
    that an interval around it nearly always misses the true error; it has none.
    """
    worst = 1.0 if classes == 2 else 2.0
    return (
        Measure("brier", lambda s: ratio(s["brier"], s["items"]), items_in, bounds=lambda _: (0.0, worst)),
        Measure("ece", _calibration_error, items_in, interval=False),
    )


@dataclass(frozen=True, slots=True)
class Reliability:
    """The reliability curve over `BINS` bins of the largest probability.

    Attributes:
        items: Number of items in each bin.
        confidence: Mean probability of the likeliest class, NaN in an empty bin.
        right: Share of items whose likeliest class is the true one, NaN in an empty bin.
    """

    items: Floats
    confidence: Floats
    right: Floats


def reliability(truths: NDArray[np.intp], probabilities: Floats) -> Reliability:
    """Return the reliability curve, whose mean distance to the diagonal is ``ece``; without items, all bins are empty.

    Example:
        >>> curve = reliability(np.array([0, 1]), np.array([[0.85, 0.15], [0.9, 0.1]]))
        >>> float(curve.items[8]), float(curve.confidence[8]), float(curve.right[8])
        (2.0, 0.875, 0.5)
    """
    sums = {name: column.sum(axis=0) for name, column in calibration_columns(truths, probabilities).items()}
    items = sums["bin_items"]
    return Reliability(items, ratio(sums["bin_confidence"], items), ratio(sums["bin_right"], items))
