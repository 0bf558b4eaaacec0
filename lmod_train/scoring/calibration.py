"""Calibration of probabilities: Brier score, expected calibration error and the reliability curve."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from lmod_train.scoring.intervals import Floats, Measure, items_in, share_measure
from lmod_train.scoring.reliability import TENTHS, Reliability, bin_columns, calibration_error, reliability_points


def calibration_columns(truths: NDArray[np.intp], probabilities: Floats) -> dict[str, Floats]:
    """Return the columns of both measures: ``items`` and ``brier`` of shape (n), and three of shape (n, bins).

    In the bin of the largest probability, ``bin_items`` is 1, ``bin_right`` whether the likeliest class is the true one
    (the first of equals), and ``bin_confidence`` that probability; all are 0 in the other bins.

    Args:
        truths: Index of the true class, (n).
        probabilities: (n, classes), each row summing to 1.
    """
    n, classes = probabilities.shape
    error = probabilities.copy()
    error[np.arange(n), truths] -= 1
    columns = {"items": np.ones(n), "brier": (error**2).sum(axis=1) / (2 if classes == 2 else 1)}
    return columns | bin_columns(*_likeliest(truths, probabilities), TENTHS)


def _likeliest(truths: NDArray[np.intp], probabilities: Floats) -> tuple[Floats, NDArray[np.bool_]]:
    """Return the probability of the likeliest class, and whether it is the true one."""
    return probabilities.max(axis=1), probabilities.argmax(axis=1) == truths


def calibration_measures(classes: int) -> tuple[Measure, ...]:
    """Return Brier score and expected calibration error for a task with `classes` classes.

    ``brier`` is the mean squared error of the probabilities: of one class for two classes ([0, 1]), summed over the
    classes for more ([0, 2]; Brier 1950, and scikit-learn's default). ``ece`` is the expected calibration error of the
    likeliest class over ten equal bins (Naeini et al. 2015, Guo et al. 2017), in [0, 1]. With few items it is biased
    upwards even for perfect probabilities (Roelofs et al. 2022, Mitigating bias in calibration error estimation), so
    that an interval around it nearly always misses the true error; it has none.
    """
    worst = 1.0 if classes == 2 else 2.0
    return (
        share_measure("brier", "brier", bounds=lambda _: (0.0, worst)),
        Measure("ece", calibration_error, items_in, interval=False),
    )


def reliability(truths: NDArray[np.intp], probabilities: Floats) -> Reliability:
    """Return the reliability curve, whose mean distance to the diagonal is ``ece``; without items, all bins are empty.

    Example:
        >>> curve = reliability(np.array([0, 1]), np.array([[0.85, 0.15], [0.9, 0.1]]))
        >>> float(curve.items[8]), float(curve.confidence[8]), float(curve.right[8])
        (2.0, 0.875, 0.5)
    """
    return reliability_points(*_likeliest(truths, probabilities), TENTHS)
