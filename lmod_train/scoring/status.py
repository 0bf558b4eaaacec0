"""Measures that every task has: shares of the reply statuses, and the chance level."""

from __future__ import annotations

from collections.abc import Sequence
from typing import get_args

import numpy as np

from lmod_train.core.errors import BadArgument
from lmod_train.core.types import Answer, Status, Unparsed
from lmod_train.scoring.intervals import Columns, Floats, Measure, items_in, ratio
from lmod_train.scoring.items import Item

STATUSES: tuple[Status, ...] = get_args(Status)


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
    columns = {"items": np.ones(len(items))}
    columns["chance"] = np.array([1 / len(item.choices) for item in items], dtype=np.float64)
    columns["chance_filled"] = columns["chance"] * [item.status != "answered" for item in items]
    for status in STATUSES:
        columns[status] = np.array([item.status == status for item in items], dtype=np.float64)
    return columns


def _share(status: Status) -> Measure:
    def value(sums: Columns) -> Floats:
        return ratio(sums[status], sums["items"])

    return Measure(f"share_{status}", value, items_in)


STATUS_SHARES = tuple(_share(status) for status in STATUSES if status != "failed")
"""Share of the items with each status; they sum to 1. ``share_refused`` is LMOD's rejection rate (v1, Table 4).

Failed requests are no items (`lmod_train.scoring.items.items_of`); `lmod_train.scoring.completeness` counts them."""

CHANCE = Measure("chance", lambda sums: ratio(sums["chance"], sums["items"]), items_in, interval=False)
"""Mean of 1 / number of choices."""


PENDING = Unparsed("failed", "not judged yet")
"""Verdict on a reply that is to be judged and has no judgement, or only one of an earlier text."""


def is_pending(verdict: Answer | Unparsed | None) -> bool:
    """Return whether a verdict is to come, as the judge was not asked yet or its request has failed."""
    return isinstance(verdict, Unparsed) and verdict.reason == PENDING.reason
