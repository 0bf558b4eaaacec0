"""Figures that need more than the answer: how likely the model held each choice to be."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from lmod_train.scoring.calibration import calibration_columns, calibration_figures
from lmod_train.scoring.intervals import Figure, Floats, items_in, measure, ratio
from lmod_train.scoring.items import Item
from lmod_train.scoring.ranking import area_scores
from lmod_train.types import Score


def probability_scores(
    task: str,
    subset: str,
    items: Sequence[Item],
    truths: NDArray[np.intp],
    choices: Sequence[str],
    positive: str | None = None,
) -> list[Score]:
    """Return areas under curves and calibration over the items whose reply carries a likelihood of every choice.

    ``auroc_macro`` and ``auprc_macro`` (`lmod_train.scoring.ranking`), ``brier`` and ``ece``
    (`lmod_train.scoring.calibration`), each with the n of these items, and ``likelihoods_given``, their share of all.
    The reply's text plays no part: an unparsed reply with likelihoods counts, an answer without is left out.

    Args:
        task: Name of the task.
        subset: Name of the subset.
        items: Of the subset.
        truths: Index of each item's true class.
        choices: The classes.
        positive: The class that the areas are about; see `curve_classes`.

    Returns:
        No scores where no item has likelihoods.
    """
    rows, probabilities = probabilities_of(items, choices)
    if not len(rows):
        return []
    groups = [items[i].group for i in rows]
    scores = area_scores(task, subset, truths[rows], probabilities, groups, curve_classes(choices, positive))
    figures = calibration_figures(len(choices))
    scores += measure(task, subset, calibration_columns(truths[rows], probabilities), groups, figures)
    given = np.zeros(len(items))
    given[rows] = 1
    columns = {"items": np.ones(len(items)), "given": given}
    return scores + measure(task, subset, columns, [item.group for item in items], [_GIVEN])


def curve_classes(choices: Sequence[str], positive: str | None = None) -> list[int]:
    """Return the classes that areas and curves are about: the positive one of two, otherwise each against the rest.

    Of two choices without a positive one it is the first. (The area under the ROC curve is the same for both.)

    Example:
        >>> curve_classes(("TRUE", "FALSE"), "FALSE"), curve_classes(("MALE", "FEMALE")), curve_classes("123")
        ([1], [0], [0, 1, 2])
    """
    if positive is not None:
        return [list(choices).index(positive)]
    return [0] if len(choices) == 2 else list(range(len(choices)))


def probabilities_of(items: Sequence[Item], choices: Sequence[str]) -> tuple[NDArray[np.intp], Floats]:
    """Return which items have likelihoods, and the probability of each choice: a softmax over the choices alone.

    An item has none where its reply lacks a choice, has one that is no number, or holds every choice impossible.

    Args:
        items: Any number.
        choices: The classes.

    Returns:
        Places of these items, (n), and their probabilities, (n, choices), each row summing to 1.

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


_GIVEN = Figure("likelihoods_given", lambda sums: ratio(sums["given"], sums["items"]), items_in)
