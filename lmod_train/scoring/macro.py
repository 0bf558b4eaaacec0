"""A mean over kinds of questions in which each kind counts alike, however often it was asked."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from lmod_train.scoring.intervals import Columns, Floats, mean_figure, measure, ratio
from lmod_train.scoring.items import Item
from lmod_train.types import Score


def macro_accuracy(task: str, items: Sequence[Item], kind_of: Callable[[Item], str]) -> list[Score]:
    """Return ``accuracy_macro``: the strict accuracy of each kind, averaged over the kinds that occur.

    Args:
        task: Name of the task.
        items: One per record id; none give no score.
        kind_of: What kind of question an item is.

    Example:
        >>> said = [("a", "no", "yes"), ("b", "no", "no"), ("c", "no", "no"), ("x", "no", "yes")]
        >>> items = [Item(i, "answered", answer, truth, ("yes", "no"), group=i) for i, answer, truth in said]
        >>> macro_accuracy("demo", items, lambda item: "rare" if item.id == "x" else "common")[0].value
        0.333...
    """
    if not items:
        return []
    right = [float(item.answer == item.truth) for item in items]
    return macro_mean(task, "accuracy_macro", right, [kind_of(i) for i in items], [i.group for i in items])


def macro_mean(
    task: str, metric: str, values: Sequence[float], kinds: Sequence[str], groups: Sequence[str]
) -> list[Score]:
    """Return the mean value of each kind, averaged over the kinds that occur.

    Args:
        task: Name of the task.
        metric: What the figure is called.
        values: Of each item, in [0, 1]; none give no score.
        kinds: Of each item.
        groups: Cluster of each item; the interval is between whole ones.
    """
    if not values:
        return []
    names, place = np.unique(np.asarray(kinds, dtype=str), return_inverse=True)
    asked = np.eye(len(names))[place]
    columns = {"asked": asked, "value": asked * np.asarray(values, dtype=np.float64)[:, None]}
    figure = mean_figure(metric, _means, lambda c: c["asked"])
    return measure(task, "all", columns, groups, [figure])


def _means(sums: Columns) -> Floats:
    return ratio(sums["value"], sums["asked"])
