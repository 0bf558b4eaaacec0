"""A mean over kinds of questions in which each kind counts alike, however often it was asked."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from lmod_train.scoring.intervals import Columns, Figure, Floats, mean_of_defined, measure, ratio
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
    kinds = sorted({kind_of(item) for item in items})
    asked, right = np.zeros((2, len(items), len(kinds)))
    for i, item in enumerate(items):
        asked[i, kinds.index(kind_of(item))] = 1
        right[i] = asked[i] * (item.answer == item.truth)
    columns = {"asked": asked, "right": right}
    return measure(task, "all", columns, [item.group for item in items], [_MACRO])


def _mean_accuracy(sums: Columns) -> Floats:
    return mean_of_defined(ratio(sums["right"], sums["asked"]))


_MACRO = Figure("accuracy_macro", _mean_accuracy, lambda c: c["asked"])
