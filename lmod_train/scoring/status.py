"""Measures that every task has: shares of the reply statuses, and the chance level; and measures by subset."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import get_args

import numpy as np

from lmod_train.core.errors import BadArgument
from lmod_train.core.types import Answer, Score, Status, Unparsed
from lmod_train.scoring.intervals import Columns, Floats, Measure, compute_scores, share_measure
from lmod_train.scoring.items import Item
from lmod_train.scoring.subset_names import Keys, subsets_of

STATUSES: tuple[Status, ...] = get_args(Status)

ColumnsOf = Callable[[Sequence[Item]], Columns]
"""Makes the columns of a measure from its items."""


def status_columns(items: Sequence[Item]) -> dict[str, Floats]:
    """Return the columns that every task has, each of shape (items).

    ``items`` is ones; ``chance`` is 1 / number of choices; ``chance_filled`` is ``chance`` for items without an answer
    and 0 otherwise; and there is one 0/1 column per status.

    Raises:
        BadArgument: An item has no choices.
    """
    for item in items:
        if not item.choices:
            cure = "set `choices` of the question in the task's `ask`"
            raise BadArgument(f"choices of {item.id}", item.choices, "at least one option", cure)
    columns = status_counts(items)
    columns["chance"] = np.array([1 / len(item.choices) for item in items], dtype=np.float64)
    columns["chance_filled"] = columns["chance"] * [item.status != "answered" for item in items]
    return columns


def status_counts(items: Sequence[Item]) -> dict[str, Floats]:
    """Return ones, and one 0/1 column per status, each of shape (items)."""
    columns: dict[str, Floats] = {"items": np.ones(len(items))}
    for status in STATUSES:
        columns[status] = np.array([item.status == status for item in items], dtype=np.float64)
    return columns


def scores_by_subset(
    task: str, items: Sequence[Item], columns_of: ColumnsOf, measures: Sequence[Measure], keys: Keys | None = None
) -> list[Score]:
    """Return the scores of measures over all items and each subset (`subsets_of`), by the columns of its items."""
    return [
        score
        for subset, members in subsets_of(items, keys).items()
        for score in compute_scores(task, subset, columns_of(members), [i.group for i in members], measures)
    ]


STATUS_SHARES = tuple(share_measure(f"share_{status}", status) for status in STATUSES if status != "failed")
"""Share of the items with each status; they sum to 1. ``share_refused`` is LMOD's rejection rate (v1, Table 4).

Failed requests are no items (`lmod_train.scoring.items.items_of`); `lmod_train.scoring.completeness` counts them."""

CHANCE = share_measure("chance", "chance", interval=False)
"""Mean of 1 / number of choices."""


PENDING = Unparsed("failed", "not judged yet")
"""Verdict on a reply that is to be judged and has no judgement, or only one of an earlier text."""


def is_pending(verdict: Answer | Unparsed | None) -> bool:
    """Return whether a verdict is to come, as the judge was not asked yet or its request has failed."""
    return isinstance(verdict, Unparsed) and verdict.reason == PENDING.reason
