"""Measures that every task has: shares of the reply statuses, and what guesses reach; and measures by subset."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
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

    ``items`` is ones; ``chance`` is that of `chance_of`; ``chance_filled`` is ``chance`` for items without an answer
    and 0 otherwise; and there is one 0/1 column per status.

    Raises:
        BadArgument: An item has no choices.
    """
    for item in items:
        if not item.choices:
            cure = "set `choices` of the question in the task's `ask`"
            raise BadArgument(f"choices of {item.id}", item.choices, "at least one option", cure)
    columns = status_counts(items)
    columns["chance"] = np.array([chance_of([item.choices]) for item in items], dtype=np.float64)
    columns["chance_filled"] = columns["chance"] * [item.status != "answered" for item in items]
    return columns


def status_counts(items: Sequence[Item]) -> dict[str, Floats]:
    """Return ones, and one 0/1 column per status, each of shape (items)."""
    columns: dict[str, Floats] = {"items": np.ones(len(items))}
    for status in STATUSES:
        columns[status] = np.array([item.status == status for item in items], dtype=np.float64)
    return columns


def chance_of(choices: Iterable[Sequence[str]]) -> float | None:
    """Return the expected accuracy of random answers, the mean of 1 / number of choices.

    None without questions, and if one of them has no choices.

    Example:
        >>> chance_of([("yes", "no"), ("a", "b", "c", "d")]), chance_of([("yes", "no"), ()]), chance_of([])
        (0.375, None, None)
    """
    counts = [len(own) for own in choices]
    return sum(1 / count for count in counts) / len(counts) if counts and all(counts) else None


def majority_of(items: Sequence[Item]) -> Floats:
    """Return whether the best constant answer to these items is right, (items): its mean is ``majority``.

    It is the best text, or the best place among the options, for the questions in each language.

    Example:
        >>> items = [Item(i, "answered", "x", truth, ("x", truth)) for i, truth in zip("abc", "yzy")]
        >>> majority_of(items)  # the second option
        array([1., 1., 1.])
    """
    return best_constant([_constants(item) for item in items], [item.language for item in items])


def _constants(item: Item) -> dict[Hashable, float]:
    """Return what may be said to an item, a text or the place of an option, and is right."""
    text = f"{item.truth:g}" if isinstance(item.truth, int | float) else str(item.truth)
    places = [place for place, choice in enumerate(item.choices) if choice == text]
    return dict.fromkeys([text, *places], 1.0)


def best_constant(credit: Sequence[Mapping[Hashable, float]], kinds: Sequence[Hashable]) -> Floats:
    """Return what each item gets if all of its kind have the one answer that gets most over them, (items).

    Args:
        credit: For each item, what gets any credit as its answer, and how much.
        kinds: Kind of each item, e.g. the language of its question.

    Example:
        >>> best_constant([{"a": 1}, {"b": 1}, {"a": 0.5, "b": 0.5}, {"c": 1}], ["x", "x", "x", "y"])
        array([1. , 0. , 0.5, 1. ])
    """
    sums: dict[Hashable, dict[Hashable, float]] = defaultdict(lambda: defaultdict(float))
    for kind, own in zip(kinds, credit, strict=True):
        for answer, share in own.items():
            sums[kind][answer] += share
    best = {kind: max(sorted(own, key=str), key=own.__getitem__) for kind, own in sums.items()}
    return np.array([own.get(best[kind], 0.0) for kind, own in zip(kinds, credit, strict=True)], dtype=np.float64)


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
MAJORITY = share_measure("majority", "majority", interval=False)
BASELINES = (CHANCE, MAJORITY)
"""Mean of 1 / number of choices, and of what the best constant answer gets."""


PENDING = Unparsed("failed", "not judged yet")
"""Verdict on a reply that is to be judged and has no judgement, or only one of an earlier text."""


def is_pending(verdict: Answer | Unparsed | None) -> bool:
    """Return whether a verdict is to come, as the judge was not asked yet or its request has failed."""
    return isinstance(verdict, Unparsed) and verdict.reason == PENDING.reason
