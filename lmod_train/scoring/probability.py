"""Metrics of the probabilities of the choices."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from lmod_train.core.types import Score
from lmod_train.scoring.calibration import calibration_columns, calibration_measures
from lmod_train.scoring.intervals import Floats, Measure, compute_scores, items_in, ratio, share_measure
from lmod_train.scoring.items import Item
from lmod_train.scoring.ranking import area_scores


def probability_scores(
    task: str,
    subset: str,
    items: Sequence[Item],
    truths: NDArray[np.intp],
    choices: Sequence[str],
    positive: str | None = None,
) -> list[Score]:
    """Return areas under curves and calibration over the items whose reply carries a likelihood of every choice.

    ``auroc_macro`` and ``auprc_macro`` (`lmod_train.scoring.ranking`), ``accuracy_likeliest``, the share whose
    likeliest choice (the first of equals) is the true one, ``brier`` and ``ece`` (`lmod_train.scoring.calibration`),
    each with the n of these items, and ``likelihoods_given``, their share of all items. The text of the reply is not
    used: an unparsed reply with likelihoods counts, an answer without is excluded.

    Args:
        task: Name of the task.
        subset: Name of the subset.
        items: Items of the subset.
        truths: Index of each item's true class.
        choices: The classes.
        positive: The class of the curves; see `curve_classes`.

    Returns:
        The scores; an empty list if no item has likelihoods.
    """
    rows, probabilities = probabilities_of(items, choices)
    if not len(rows):
        return []
    groups = [items[i].group for i in rows]
    scores = area_scores(task, subset, truths[rows], probabilities, groups, curve_classes(choices, positive))
    measures = calibration_measures(len(choices))
    columns = calibration_columns(truths[rows], probabilities)
    scores += compute_scores(task, subset, columns, groups, [_LIKELIEST, *measures])
    given = np.zeros(len(items))
    given[rows] = 1
    shares = {"items": np.ones(len(items)), "given": given}
    return scores + compute_scores(task, subset, shares, [item.group for item in items], [_GIVEN])


def curve_classes(choices: Sequence[str], positive: str | None = None) -> list[int]:
    """Return the indices of the classes of the curves: one of two choices, or all of more, each against the rest.

    With two choices it is the positive one, or else the first; the area under the ROC curve is the same for both.

    Example:
        >>> curve_classes(("TRUE", "FALSE"), "FALSE"), curve_classes(("MALE", "FEMALE")), curve_classes("123")
        ([1], [0], [0, 1, 2])
    """
    if positive is not None:
        return [list(choices).index(positive)]
    return [0] if len(choices) == 2 else list(range(len(choices)))


def probabilities_of(items: Sequence[Item], choices: Sequence[str]) -> tuple[NDArray[np.intp], Floats]:
    """Return the indices of the items with likelihoods, and the softmax of these over the choices.

    Items are excluded if a choice is missing, if a likelihood is NaN, or if all are minus infinity.

    Args:
        items: Any number of items.
        choices: The classes.

    Returns:
        Indices of these items, (n), and their probabilities, (n, choices), each row summing to 1.

    Example:
        >>> sure = Item("a", "answered", "x", "x", likelihoods={"x": -0.1, "y": -0.1, "z": 0.0})
        >>> probabilities_of([Item("b", "answered", "x", "x"), sure], ("x", "y"))
        (array([1]), array([[0.5, 0.5]]))
    """
    rows = [i for i, item in enumerate(items) if all(choice in item.likelihoods for choice in choices)]
    logs = np.array([[items[i].likelihoods[choice] for choice in choices] for i in rows], dtype=np.float64)
    logs = logs.reshape(len(rows), len(choices))
    highest = logs.max(axis=1, initial=-np.inf)  # NaN where one is
    usable = np.isfinite(highest)
    weights = np.exp(logs[usable] - highest[usable, None])
    return np.array(rows, dtype=np.intp)[usable], weights / weights.sum(axis=1, keepdims=True)


_LIKELIEST = Measure("accuracy_likeliest", lambda s: ratio(s["bin_right"].sum(axis=-1), s["items"]), items_in)
_GIVEN = share_measure("likelihoods_given", "given")
