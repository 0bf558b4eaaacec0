"""The total of a quantity over items that are not measured, from a linear model of those that are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

NUMBERS_A_COLUMN = 4
"""Measured items for each further column of a model: with fewer the column is left out."""


@dataclass(frozen=True, slots=True)
class Total:
    """A predicted total.

    Attributes:
        value: The total.
        low: Lower end of its 95 % prediction interval, at least 0; None where there are too few items for one.
        high: Upper end.
    """

    value: float
    low: float | None = None
    high: float | None = None


def total_of(measured: Sequence[Sequence[float]], values: Sequence[float], others: Sequence[Sequence[float]]) -> Total:
    """Return the total over `others` of a quantity that is at least 0, by least squares with an intercept.

    The interval holds the uncertainty of the coefficients and the scatter of the items. A column is used in its order,
    while there are `NUMBERS_A_COLUMN` measured items for each, and if it varies among them.

    Args:
        measured: Columns of each measured item.
        values: Its value.
        others: Columns of each item that is not measured.

    Raises:
        ValueError: Nothing is measured.

    Example:
        >>> total_of([[1], [2], [3], [4], [5], [6], [7], [8]], [3, 5, 7, 9, 11, 13, 15, 17], [[10], [20]])
        Total(value=62.0, low=62.0, high=62.0)
        >>> total_of([[1]], [3], [[10], [20]])
        Total(value=6.0, low=None, high=None)
    """
    if not values:
        raise ValueError("no item is measured")
    if not others:
        return Total(0.0, 0.0, 0.0)
    (x, rest), y = _columns(np.array(measured, float), np.array(others, float)), np.array(values, float)
    inverse = np.linalg.pinv(x.T @ x)
    weights, whole = inverse @ x.T @ y, rest.sum(axis=0)
    value, free = max(0.0, float(whole @ weights)), len(y) - x.shape[1]
    if free < 1:
        return Total(_plain(value))
    scatter = float(((y - x @ weights) ** 2).sum()) / free
    half = float(stdtrit(free, 0.975)) * float(np.sqrt(scatter * (len(rest) + whole @ inverse @ whole)))
    return Total(_plain(value), _plain(max(0.0, value - half)), _plain(value + half))


def _columns(known: NDArray[np.float64], rest: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return an intercept and the columns that are used, standardised, of both kinds of items."""
    most = len(known) // NUMBERS_A_COLUMN - 1
    used = [i for i in range(known.shape[1]) if np.ptp(known[:, i]) > 0][: max(0, most)]
    mean, sd = known[:, used].mean(axis=0), known[:, used].std(axis=0)
    both = [np.column_stack([np.ones(len(part)), (part[:, used] - mean) / sd]) for part in (known, rest)]
    return both[0], both[1]


def _plain(value: float) -> float:
    """Return a number without the noise of its last digits."""
    return float(f"{value:.10g}")
