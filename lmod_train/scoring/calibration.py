"""Whether probabilities mean what they say: Brier score, calibration error and the reliability curve."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lmod_train.scoring.intervals import Columns, Figure, Floats, items_in, ratio

BINS = 10
"""Equally wide bins of the largest probability, each with its upper end: (0, 0.1], (0.1, 0.2] ... (0.9, 1]."""


def calibration_columns(truths: NDArray[np.intp], probabilities: Floats) -> dict[str, Floats]:
    """Return the columns of both figures: ``items`` and ``brier`` (n), and three of the shape (n, bins).

    ``bin_items``, ``bin_right`` and ``bin_confidence`` hold one, whether the likeliest class is the true one (the first
    of equals), and its probability, at the bin of that probability; 0 elsewhere.

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


def calibration_figures(classes: int) -> tuple[Figure, ...]:
    """Return both figures of a question with so many classes.

    ``brier`` is the mean squared error of the probabilities: of the positive class alone in a question with two classes
    ([0, 1]), summed over the classes where there are more ([0, 2]; Brier 1950, and scikit-learn's default). ``ece`` is
    the expected calibration error of the likeliest class over `BINS` bins (Naeini et al. 2015, Guo et al. 2017), in
    [0, 1]. With few items it lies above 0 even for perfect probabilities, as the gap of a bin has no sign (Roelofs et
    al. 2022, Mitigating bias in calibration error estimation); an interval around it misses the true error nearly
    always, so it has none.
    """
    worst = 1.0 if classes == 2 else 2.0
    return (
        Figure("brier", lambda s: ratio(s["brier"], s["items"]), items_in, bounds=lambda _: (0.0, worst)),
        Figure("ece", _calibration_error, items_in, interval=False),
    )


@dataclass(frozen=True, slots=True)
class Reliability:
    """The reliability curve over `BINS` bins of the largest probability.

    Attributes:
        items: Items in each bin.
        confidence: Their mean probability of the likeliest class, NaN in an empty bin.
        right: Share of them whose likeliest class is the true one, NaN in an empty bin.
    """

    items: Floats
    confidence: Floats
    right: Floats


def reliability(truths: NDArray[np.intp], probabilities: Floats) -> Reliability:
    """Return the curve of which ``ece`` is the mean distance to the diagonal; all bins empty without items.

    Example:
        >>> curve = reliability(np.array([0, 1]), np.array([[0.85, 0.15], [0.9, 0.1]]))
        >>> float(curve.items[8]), float(curve.confidence[8]), float(curve.right[8])
        (2.0, 0.875, 0.5)
    """
    sums = {name: column.sum(axis=0) for name, column in calibration_columns(truths, probabilities).items()}
    items = sums["bin_items"]
    return Reliability(items, ratio(sums["bin_confidence"], items), ratio(sums["bin_right"], items))
