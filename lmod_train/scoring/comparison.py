"""Statistical tests of models on the same items, and corrections for multiple comparisons."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import binomtest, chi2, false_discovery_control

from lmod_train.errors import BadArgument
from lmod_train.scoring.intervals import Columns, Floats, Measure, compute_scores, items_in, ratio
from lmod_train.types import Score


@dataclass(frozen=True, slots=True)
class Paired:
    """The result of a test on paired outcomes.

    Attributes:
        n: Number of items.
        only_first: Items right for the first model only.
        only_second: Items right for the second model only.
        p: Two-sided p value; 1 if the models never differ, None without items.
    """

    n: int
    only_first: int
    only_second: int
    p: float | None


def mcnemar(first: Sequence[bool], second: Sequence[bool]) -> Paired:
    """Return the exact McNemar test (McNemar 1947, binomial on the discordant items).

    It treats items as independent; with several images per patient, see also `paired_difference`.

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
    """Return Cochran's Q and its p value (Cochran 1950), a test of equal accuracy of several models.

    Args:
        right: Shape (items, models), at least two models; 1 where the model is right.

    Returns:
        Q and p from the chi-square distribution with models - 1 degrees of freedom; 0 and 1 if no item separates the
        models; 0 and None without items.

    Raises:
        BadArgument: Fewer than two models.

    Example:
        >>> q, p = cochran_q([[1, 1, 0], [1, 0, 0], [1, 1, 1], [1, 0, 0]])
        >>> round(q, 3), round(p, 4)
        (4.667, 0.097)
    """
    outcomes = np.asarray(right, dtype=np.float64)
    if outcomes.ndim != 2 or outcomes.shape[1] < 2:
        cure = "give one column per model; compare two or more runs"
        raise BadArgument("right", f"array of shape {outcomes.shape}", "an array (items, models >= 2)", cure)
    models, rows, columns = outcomes.shape[1], outcomes.sum(axis=1), outcomes.sum(axis=0)
    spread = float(np.sum(rows * (models - rows)))
    if spread == 0:
        return 0.0, 1.0 if len(outcomes) else None
    q = float((models - 1) * models * np.sum((columns - columns.mean()) ** 2) / spread)
    return q, float(chi2.sf(q, models - 1))


def paired_difference(task: str, first: Sequence[float], second: Sequence[float], groups: Sequence[str]) -> Score:
    """Return the mean of first - second with its 95 % interval, clustered by patient.

    It is the mean gain minus the mean loss of the first model, two shares with an interval each; so models that never
    differ have an interval too.

    Args:
        task: Name of the task.
        first: Score of the first model on each item, in [0, 1].
        second: The same items, in the same order.
        groups: Patient of each item.

    Returns:
        Metric ``difference``; without items no value, with fewer than three patients no interval.

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
    return compute_scores(task, "all", columns, groups, [_DIFFERENCE])[0]


def _sides(sums: Columns) -> Floats:
    return ratio(sums["sides"], sums["items"][..., None])


_DIFFERENCE = Measure(
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
