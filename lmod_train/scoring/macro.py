"""Macro means: every kind of question has the same weight, however many items it has."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from lmod_train.core.types import Score
from lmod_train.scoring.intervals import Columns, Floats, compute_scores, mean_measure, ratio
from lmod_train.scoring.items import Item


def macro_accuracy(task: str, items: Sequence[Item], kind_of: Callable[[Item], str]) -> list[Score]:
    """Return ``accuracy_macro``: the strict accuracy of each kind, averaged over the kinds that occur.

    Args:
        task: Name of the task.
        items: One per record id; an empty sequence gives no score.
        kind_of: Returns the kind of question of an item.

    Example:
        >>> rows = [("a", "no", "yes"), ("b", "no", "no"), ("c", "no", "no"), ("x", "no", "yes")]
        >>> items = [Item(i, "answered", answer, truth, ("yes", "no"), group=i) for i, answer, truth in rows]
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
        metric: Name of the metric.
        values: Value of each item, in [0, 1]; an empty sequence gives no score.
        kinds: Kind of each item.
        groups: Patient of each item; the interval is clustered by it.
    """
    if not values:
        return []
    names, place = np.unique(np.asarray(kinds, dtype=str), return_inverse=True)
    asked = np.eye(len(names))[place]
    columns = {"asked": asked, "value": asked * np.asarray(values, dtype=np.float64)[:, None]}
    measure = mean_measure(metric, _means, lambda c: c["asked"])
    return compute_scores(task, "all", columns, groups, [measure])


def _means(sums: Columns) -> Floats:
    return ratio(sums["value"], sums["asked"])
