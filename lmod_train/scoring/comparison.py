"""Do two models, or more, differ on the same items, and how sure is that over a whole grid of comparisons?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import binomtest, chi2, false_discovery_control

from lmod_train.errors import BadArgument
from lmod_train.scoring.intervals import Columns, Figure, Floats, items_in, measure, ratio
from lmod_train.types import Score


@dataclass(frozen=True, slots=True)
class Paired:
    """A test on paired outcomes.

    Attributes:
        n: Items compared.
        only_first: Items that only the first model has right.
        only_second: Items that only the second model has right.
        p: Two-sided p value; 1 where they never differ, None where there is no item.
    """

    n: int
    only_first: int
    only_second: int
    p: float | None


def mcnemar(first: Sequence[bool], second: Sequence[bool]) -> Paired:
    """Return the exact McNemar test (McNemar 1947, binomial on the discordant items).

    It takes items as independent; where patients gave several images, read `paired_difference` beside it.

    Args:
        first: Whether the first model has each item right.
        second: The same items, in the same order.

    Raises:
        BadArgument: The lengths differ.

    Example:
        >>> mcnemar([True, True, True, True, True, False], [False, False, False, False, False, False])
        Paired(n=6, only_first=5, only_second=0, p=0.0625)
    """
    a, b = _same_items(first, second)
    only_first, only_second = int(np.sum(a & ~b)), int(np.sum(b & ~a))
    discordant = only_first + only_second
    p = 1.0 if discordant == 0 else float(binomtest(only_first, discordant).pvalue)
    return Paired(len(a), only_first, only_second, p if len(a) else None)


def cochran_q(right: ArrayLike) -> tuple[float, float | None]:
    """Return Cochran's Q and its p value (Cochran 1950): do several models differ at all?

    Args:
        right: Of shape (items, models), at least two models; 1 where the model has the item right.

    Returns:
        Q and p from the chi-square distribution with models - 1 degrees of freedom; 0 and 1 where no item tells the
        models apart; 0 and None without items.

    Raises:
        BadArgument: Fewer than two models.

    Example:
        >>> q, p = cochran_q([[1, 1, 0], [1, 0, 0], [1, 1, 1], [1, 0, 0]])
        >>> round(q, 3), round(p, 4)
        (4.667, 0.097)
    """
    table = np.asarray(right, dtype=np.float64)
    if table.ndim != 2 or table.shape[1] < 2:
        cure = "give one column a model; compare two or more runs"
        raise BadArgument("right", f"array of shape {table.shape}", "an array (items, models >= 2)", cure)
    models, rows, columns = table.shape[1], table.sum(axis=1), table.sum(axis=0)
    spread = float(np.sum(rows * (models - rows)))
    if spread == 0:
        return 0.0, 1.0 if len(table) else None
    q = float((models - 1) * models * np.sum((columns - columns.mean()) ** 2) / spread)
    return q, float(chi2.sf(q, models - 1))


def paired_difference(task: str, first: Sequence[float], second: Sequence[float], groups: Sequence[str]) -> Score:
    """Return the mean of first - second with its 95 % interval between patients.

    It is what the first model gains minus what it loses, two shares with intervals of their own; so models that never
    differ have an interval too, which tells how large a difference the items could have missed.

    Args:
        task: Name of the task.
        first: Score of the first model on each item, in [0, 1].
        second: The same items, in the same order.
        groups: Patient of each item.

    Returns:
        Metric ``difference``; no value for no items, no interval with fewer than three patients.

    Raises:
        BadArgument: The lengths differ.

    Example:
        >>> paired_difference("demo", [1, 1, 0, 1], [0, 1, 0, 0], ["a", "b", "c", "d"]).value
        0.5
    """
    if not len(first) == len(second) == len(groups):
        raise _unequal(len(first), len(second))
    if not len(first):
        return Score(task, "all", "difference", 0, None)
    lead = np.asarray(first, dtype=np.float64) - np.asarray(second, dtype=np.float64)
    columns = {"items": np.ones(len(lead)), "sides": np.stack([lead.clip(0), (-lead).clip(0)], axis=1)}
    return measure(task, "all", columns, groups, [_DIFFERENCE])[0]


def _sides(sums: Columns) -> Floats:
    return ratio(sums["sides"], sums["items"][..., None])


_DIFFERENCE = Figure(
    "difference", lambda s: _sides(s) @ np.array([1.0, -1.0]), items_in, parts=_sides, signs=(1.0, -1.0)
)


def holm(p: Sequence[float]) -> list[float]:
    """Return p values adjusted for the family-wise error (Holm 1979), in the given order.

    Example:
        >>> [round(value, 2) for value in holm([0.01, 0.04, 0.03])]
        [0.03, 0.06, 0.06]
    """
    values = np.asarray(p, dtype=np.float64)
    order = np.argsort(values, kind="stable")
    steps = np.maximum.accumulate(values[order] * np.arange(len(values), 0, -1)) if len(values) else values
    adjusted = np.empty_like(values)
    adjusted[order] = np.minimum(steps, 1.0)
    return [float(value) for value in adjusted]


def benjamini_hochberg(p: Sequence[float]) -> list[float]:
    """Return p values adjusted for the false discovery rate (Benjamini & Hochberg 1995), in the given order.

    Example:
        >>> [round(value, 3) for value in benjamini_hochberg([0.01, 0.04, 0.03])]
        [0.03, 0.04, 0.04]
    """
    return [float(value) for value in false_discovery_control(p)] if len(p) else []


def _same_items(first: Sequence[bool], second: Sequence[bool]) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    if len(first) != len(second):
        raise _unequal(len(first), len(second))
    return np.asarray(first, dtype=np.bool_), np.asarray(second, dtype=np.bool_)


def _unequal(first: int, second: int) -> BadArgument:
    return BadArgument("second", f"{second} items", f"the {first} items of the first model", "pair the items by id")
