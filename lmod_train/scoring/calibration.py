"""Calibration of probabilities: Brier score, expected calibration error, the reliability curve, and recalibration.

Recalibration is fitted on some items, those of a validation split, and applied to others.
"""

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


LEAST, MOST = 0.05, 20.0
"""Bounds of a fitted temperature, which has no optimum where the likeliest class is always, or never, the true one."""

_TINY = 1e-12

Curve = tuple[Floats, Floats]
"""Ascending probabilities, and the frequencies at them."""


def temperature_of(truths: NDArray[np.intp], probabilities: Floats) -> float:
    """Return the temperature with the least mean negative log-likelihood of the true classes (Guo et al. 2017).

    Args:
        truths: Index of the true class, (n), of at least one item.
        probabilities: (n, classes), each row summing to 1.

    Example:
        >>> sure = np.array([[0.99, 0.01]] * 4)
        >>> round(temperature_of(np.array([0, 0, 0, 1]), sure), 2)
        4.18
    """
    logs = np.log(np.maximum(probabilities, _TINY))
    true = logs[np.arange(len(logs)), truths]

    def slope(log: float) -> float:
        """Derivative of the negative log-likelihood by the inverse temperature, which grows with it."""
        expected: Floats = (_softmax(logs * np.exp(-log)) * logs).sum(axis=1)
        return float((expected - true).mean())

    from scipy.optimize import brentq  # a tenth of a second, which no task that only asks needs

    low, high = np.log(LEAST), np.log(MOST)
    if slope(low) <= 0 or slope(high) >= 0:
        return LEAST if slope(low) <= 0 else MOST
    return float(np.exp(brentq(slope, low, high, xtol=1e-10)))


def with_temperature(probabilities: Floats, temperature: float) -> Floats:
    """Return the softmax of the log-probabilities divided by a temperature; the order of the classes stays.

    Example:
        >>> with_temperature(np.array([[0.9, 0.1]]), 2.0).round(2)
        array([[0.75, 0.25]])
    """
    return _softmax(np.log(np.maximum(probabilities, _TINY)) / temperature)


def _softmax(logs: Floats) -> Floats:
    weights: Floats = np.exp(logs - logs.max(axis=1, keepdims=True))
    shares: Floats = weights / weights.sum(axis=1, keepdims=True)
    return shares


def isotonic_of(truths: NDArray[np.intp], probabilities: Floats) -> list[Curve]:
    """Return for each class the non-decreasing curve of its frequency by its probability with the least squared error.

    Args:
        truths: Index of the true class, (n), of at least one item.
        probabilities: (n, classes), each row summing to 1.
    """
    from scipy.optimize import isotonic_regression  # a tenth of a second, which no task that only asks needs

    curves = []
    for place in range(probabilities.shape[1]):
        at, where, held = np.unique(probabilities[:, place], return_inverse=True, return_counts=True)
        means = np.bincount(where, truths == place) / held
        curves.append((at, np.asarray(isotonic_regression(means, weights=held).x)))
    return curves


def with_isotonic(probabilities: Floats, curves: list[Curve]) -> Floats:
    """Return the frequencies on the curves of `isotonic_of`, in between by straight lines, divided by their sum.

    Equal probabilities where all are 0 (Zadrozny & Elkan 2002, each class against the rest).

    Example:
        >>> curves = isotonic_of(np.array([0, 0, 1]), np.array([[0.9, 0.1], [0.4, 0.6], [0.3, 0.7]]))
        >>> with_isotonic(np.array([[0.95, 0.05], [0.35, 0.65]]), curves).round(2)
        array([[1. , 0. ],
               [0.5, 0.5]])
    """
    found = np.stack([np.interp(probabilities[:, i], *curve) for i, curve in enumerate(curves)], axis=1)
    sums = found.sum(axis=1, keepdims=True)
    shares: Floats = np.where(sums > 0, found / np.where(sums > 0, sums, 1), 1 / len(curves))
    return shares
