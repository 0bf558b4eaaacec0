"""Confidence against accuracy in bins: expected calibration error and reliability curve, by one function of both."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from lmod_train.core.errors import BadArgument
from lmod_train.scoring.intervals import Columns, Floats, ratio

Flags = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Edges:
    """Equally wide bins of a confidence in [0, 1].

    Attributes:
        bins: Number of bins.
        included: Which end of a bin belongs to it: ``lower`` as in [0.25, 0.5), with 1 in the last bin, or ``upper`` as
            in (0.1, 0.2], with 0 in the first.
    """

    bins: int
    included: Literal["lower", "upper"]

    @property
    def ends(self) -> Floats:
        """The ends of all bins, (bins + 1)."""
        return np.linspace(0, 1, self.bins + 1)


QUARTERS = Edges(4, "lower")
"""The example of X-PCR (supplement, equation 7): [0, 0.25), [0.25, 0.5), [0.5, 0.75), [0.75, 1]."""
TENTHS = Edges(10, "upper")
"""The bins of Guo et al. (2017) in number and ends: (0, 0.1], (0.1, 0.2] ... (0.9, 1]."""


def bin_of(confidence: Floats, edges: Edges) -> NDArray[np.intp]:
    """Return the index of the bin of each confidence.

    Raises:
        BadArgument: A confidence is not in [0, 1].

    Example:
        >>> bin_of(np.array([0, 0.25, 1]), QUARTERS), bin_of(np.array([0, 0.1, 1]), TENTHS)
        (array([0, 1, 3]), array([0, 0, 9]))
    """
    outside = ~((confidence >= -1e-9) & (confidence <= 1 + 1e-9))
    if outside.any():
        cure = "divide percentages by 100, and leave missing confidences out"
        raise BadArgument("confidence", float(confidence[outside][0]), "numbers from 0 to 1", cure)
    return np.digitize(confidence, edges.ends[1:-1], right=edges.included == "upper")


def bin_columns(confidence: Floats, right: Flags, edges: Edges) -> dict[str, Floats]:
    """Return three columns (n, bins) whose sums make a reliability curve.

    In the bin of the confidence ``bin_items`` is 1, ``bin_right`` whether the item is right and ``bin_confidence`` the
    confidence; all are 0 in the other bins.

    Args:
        confidence: Confidence of each item in [0, 1], (n).
        right: Whether it is right, (n).
        edges: The bins.
    """
    one, bins = np.arange(len(confidence)), bin_of(confidence, edges)
    columns = {}
    for name, values in (("bin_items", 1.0), ("bin_right", right), ("bin_confidence", confidence)):
        columns[name] = np.zeros((len(one), edges.bins))
        columns[name][one, bins] = values
    return columns


def calibration_error(sums: Columns) -> Floats:
    """Return the expected calibration error from sums of `bin_columns` and of ``items``, in [0, 1]; NaN without any."""
    gap: Floats = np.abs(sums["bin_right"] - sums["bin_confidence"]).sum(axis=-1)
    return ratio(gap, sums["items"])


def ece(confidence: Floats, right: Flags, edges: Edges) -> float:
    """Return the expected calibration error: the mean over items of their bin's |accuracy - mean confidence|.

    It is that of Naeini et al. (2015) and of equation 7 of X-PCR's supplement; NaN without items.
    `debiased_calibration_error` corrects its bias.

    Example:
        >>> ece(np.array([0.9, 0.8, 0.3]), np.array([True, False, False]), QUARTERS)
        0.333...
    """
    return float(calibration_error(bin_sums(confidence, right, edges)))


def debiased_calibration_error(sums: Columns) -> Floats:
    """Return the calibration error less the bias that few items cause, at least 0; NaN without items.

    An accuracy in a bin of few items differs from the confidence by chance, and the absolute value turns the difference
    into error. The bias is the mean error of accuracies drawn from the normal distribution around the observed ones,
    minus the observed error (Kumar, Liang & Ma 2019, Verified uncertainty calibration, and their program for absolute
    errors), here by the mean of the folded normal distribution (Leone, Nelson & Nottingham 1961) instead of draws. It
    takes items as independent: with several items of a patient a part of the bias remains.

    Args:
        sums: Of `bin_sums`, with one or more leading dimensions.
    """
    error, held = calibration_error(sums), sums["bin_items"]
    accuracy = np.nan_to_num(ratio(sums["bin_right"], held))
    gap = accuracy - np.nan_to_num(ratio(sums["bin_confidence"], held))
    deviation = np.sqrt(np.nan_to_num(ratio(accuracy * (1 - accuracy), held)))
    expected = ratio((held * _mean_absolute(gap, deviation)).sum(axis=-1), sums["items"])
    return np.maximum(2 * error - expected, 0.0)


def _mean_absolute(mean: Floats, deviation: Floats) -> Floats:
    """Return the expected absolute value of a normal variable; that of its mean without deviation."""
    from scipy.special import ndtr  # a tenth of a second, which no task that only asks needs

    scaled = np.divide(mean, deviation, out=np.zeros_like(mean), where=deviation > 0)
    spread = deviation * np.sqrt(2 / np.pi) * np.exp(-(scaled**2) / 2) + mean * (1 - 2 * ndtr(-scaled))
    return np.where(deviation > 0, spread, np.abs(mean))


@dataclass(frozen=True, slots=True)
class Reliability:
    """A reliability curve.

    Attributes:
        items: Number of items in each bin.
        confidence: Mean confidence, NaN in an empty bin.
        right: Share of right items, NaN in an empty bin.
    """

    items: Floats
    confidence: Floats
    right: Floats


def reliability_points(confidence: Floats, right: Flags, edges: Edges) -> Reliability:
    """Return the reliability curve, whose mean distance to the diagonal is `ece`; without items, all bins are empty.

    Args:
        confidence: Confidence of each item in [0, 1], (n).
        right: Whether it is right, (n).
        edges: The bins, e.g. `QUARTERS` or `TENTHS`.

    Raises:
        BadArgument: A confidence is not in [0, 1].

    Example:
        >>> curve = reliability_points(np.array([0.8, 0.9]), np.array([True, False]), QUARTERS)
        >>> float(curve.items[3]), float(curve.confidence[3].round(2)), float(curve.right[3])
        (2.0, 0.85, 0.5)
    """
    sums = bin_sums(confidence, right, edges)
    items = sums["bin_items"]
    return Reliability(items, ratio(sums["bin_confidence"], items), ratio(sums["bin_right"], items))


def bin_sums(confidence: Floats, right: Flags, edges: Edges) -> dict[str, Floats]:
    """Return the sums of `bin_columns` over items, and their number as ``items``."""
    columns = {"items": np.ones(len(confidence))} | bin_columns(confidence, right, edges)
    return {name: column.sum(axis=0) for name, column in columns.items()}
