"""Agreement of judges and of readers: raw, Cohen's and Fleiss' kappa, clustered by patient as in `intervals`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from lmod_train.core.errors import BadArgument
from lmod_train.core.types import Score
from lmod_train.scoring.classification import ACCURACY, KAPPA, detection
from lmod_train.scoring.intervals import Columns, Floats, Measure, compute_scores, items_in, ratio
from lmod_train.scoring.items import Item

RIGHT, WRONG = "right", "wrong"
Rater = tuple[str, Mapping[str, bool]]
"""Name of a judge or rule, and record id -> whether the reply is right."""
AGREEMENT = (replace(ACCURACY, name="agreement"), KAPPA)


def agreement_scores(
    task: str, items: Sequence[Item], first: Rater, second: Rater, reference: bool = False
) -> list[Score]:
    """Return how far two judges agree about right and wrong, on the items that both have judged.

    ``agreement_judged`` is the share of equal verdicts and ``kappa_judged`` Cohen's kappa (1960), each followed by the
    names of both; with `reference`, ``sensitivity_judged`` and ``specificity_judged`` are those of the first judge for
    replies that the second judges right. Of questions in several languages, each is a subset too.

    Args:
        task: Name of the judged task.
        items: One per record id.
        first: Name of a judge, and record id -> whether the reply is right.
        second: The other judge, or a rule.
        reference: Whether the second is the reference, such as people.

    Returns:
        No scores if there is no item that both have judged.

    Example:
        >>> items = [Item(i, "answered", "x", "x", group=i) for i in "abcd"]
        >>> one, two = dict.fromkeys("abcd", True) | {"d": False}, dict.fromkeys("abcd", True) | {"c": False}
        >>> [(s.metric, s.value) for s in agreement_scores("t", items, ("m", one), ("n", two))]
        [('agreement_judged:m:n', 0.5), ('kappa_judged:m:n', -0.333...)]
    """
    (name, ours), (other, theirs) = first, second
    both = [item for item in items if item.id in ours and item.id in theirs]
    scores: list[Score] = []
    for subset, members in by_language(both).items():
        one, two = ([RIGHT if verdicts[item.id] else WRONG for item in members] for verdicts in (ours, theirs))
        found = pair_scores(task, one, two, [item.group for item in members], RIGHT if reference else None)
        scores += [replace(s, subset=subset, metric=f"{s.metric}_judged:{name}:{other}") for s in found]
    return scores


def by_language(items: Sequence[Item]) -> dict[str, list[Item]]:
    """Return ``all``, and a subset for each language if there are several; none without items."""
    found = sorted({item.language for item in items})
    each = {f"language={one}": [i for i in items if i.language == one] for one in found if one and len(found) > 1}
    return {"all": list(items), **each} if items else {}


def pair_scores(
    task: str, first: Sequence[str], second: Sequence[str], groups: Sequence[str], positive: str | None = None
) -> list[Score]:
    """Return ``agreement``, the share of equal labels of two readers, and ``kappa``, Cohen's kappa (1960).

    Args:
        task: Name of the task.
        first: Label of each item by the first reader; a missing answer is a label of its own if it has one.
        second: The same items, in the same order, by the second.
        groups: Patient of each item; the intervals are clustered by it.
        positive: With the second reader as the reference, the label of ``sensitivity`` and ``specificity`` of the first
            reader; None leaves both out.

    Returns:
        No scores without items. Kappa has no value if both readers give one and the same label to all items;
        sensitivity and specificity have none if the reference has no item of their kind.

    Raises:
        BadArgument: The lengths differ.

    Example:
        >>> [(s.metric, round(s.value, 3)) for s in pair_scores("t", list("aabb"), list("aaab"), list("wxyz"))]
        [('agreement', 0.75), ('kappa', 0.5)]
    """
    if not len(first) == len(second) == len(groups):
        raise _unequal("second", len(second), len(first))
    if not len(first):
        return []
    labels = sorted({*first, *second} | ({positive} if positive is not None else set()))
    columns = _columns(first, second, labels)
    measures = AGREEMENT if positive is None else (*AGREEMENT, *detection(labels.index(positive)))
    return compute_scores(task, "all", columns, groups, measures)


def _columns(first: Sequence[str], second: Sequence[str], labels: Sequence[str]) -> dict[str, Floats]:
    """Return the columns of `classification`, with the second reader as the truth."""
    place = {label: i for i, label in enumerate(labels)}
    confusion = np.zeros((len(first), len(labels), len(labels) + 1))  # the last column, no answer, is empty
    confusion[np.arange(len(first)), [place[label] for label in second], [place[label] for label in first]] = 1
    return {"items": np.ones(len(first)), "confusion": confusion, "truths": confusion.sum(axis=2)}


def fleiss_scores(task: str, ratings: Sequence[Sequence[str | None]], groups: Sequence[str]) -> list[Score]:
    """Return ``agreement``, the share of pairs of readers with equal labels, and ``kappa_fleiss`` (Fleiss 1971).

    Args:
        task: Name of the task.
        ratings: Label of each item by each reader, (items, readers), two readers or more. An item without a label of
            each reader (None) is left out.
        groups: Patient of each item; the intervals are clustered by it.

    Returns:
        No scores without items that all readers have labelled. Kappa has no value if all labels are the same.

    Raises:
        BadArgument: Fewer than two readers, the items have different numbers of them, or the lengths differ.

    Example:
        >>> [(s.metric, round(s.value, 3)) for s in fleiss_scores("t", ["aaa", "aab", "bbb"], ["x", "y", "z"])]
        [('agreement', 0.778), ('kappa_fleiss', 0.55)]
    """
    if len(ratings) != len(groups):
        raise _unequal("groups", len(groups), len(ratings))
    readers = {len(row) for row in ratings}
    if len(readers) > 1 or min(readers, default=2) < 2:
        raise BadArgument("ratings", f"{sorted(readers)} labels per item", "one per reader", "give two or more readers")
    whole = [
        (row, group) for row, group in zip(ratings, groups, strict=True) if all(label is not None for label in row)
    ]
    if not whole:
        return []
    labels = sorted({str(label) for row, _ in whole for label in row})
    counts = np.array([[list(row).count(label) for label in labels] for row, _ in whole], dtype=np.float64)
    columns = {"items": np.ones(len(counts)), "labels": counts / counts.sum(axis=1, keepdims=True)}
    columns["equal"] = (counts * (counts - 1)).sum(axis=1) / (counts.sum(axis=1) * (counts.sum(axis=1) - 1))
    return compute_scores(task, "all", columns, [group for _, group in whole], _OF_SEVERAL)


def _equal(sums: Columns) -> Floats:
    return ratio(sums["equal"], sums["items"])


def _unequal_by_chance(sums: Columns) -> Floats:
    """Return the share of pairs with unequal labels expected of readers who draw from the labels of all."""
    unequal = 1 - (ratio(sums["labels"], sums["items"][..., None]) ** 2).sum(axis=-1)
    return np.where(unequal < 1e-12, 0.0, unequal)  # one label only: the shares sum to 1 but for rounding


def _fleiss(sums: Columns) -> Floats:
    kappa: Floats = 1 - ratio(1 - _equal(sums), _unequal_by_chance(sums))
    return kappa


_OF_SEVERAL = (
    Measure("agreement", _equal, items_in),
    Measure("kappa_fleiss", _fleiss, items_in, bounds=lambda sums: (1 - 1 / float(_unequal_by_chance(sums)), 1.0)),
)


def _unequal(argument: str, found: int, expected: int) -> BadArgument:
    return BadArgument(argument, f"{found} items", f"the {expected} items of the first", "pair the items by id")
