"""Metrics of replies that were judged by a model or by people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from lmod_train.core.types import Answer, Score, Unparsed
from lmod_train.scoring.intervals import Columns, Floats, Measure, compute_scores, items_in, ratio
from lmod_train.scoring.items import Item
from lmod_train.scoring.status import STATUS_SHARES, STATUSES, is_pending
from lmod_train.scoring.subsets import subsets_of


def judged_scores(
    task: str,
    judge: str,
    items: Sequence[Item],
    verdicts: Mapping[str, Answer | Unparsed],
    labels: Sequence[str],
    right: Sequence[str],
) -> list[Score]:
    """Return the metrics of one judge, over all items and each subset; the judge's name follows a colon.

    ``accuracy_judged`` is the share of all items with a verdict that counts as right; items that are unjudged (the
    judge's reply states no label) or were not sent to the judge count as wrong. It has no value while judgements are
    pending, as in a sample that people judged. ``accuracy_judged_answered`` is that share among the items with a
    verdict. ``share_judged_<label>`` is the share of each verdict, ``share_unjudged`` and ``share_pending`` those of
    items that were to be judged, ``share_not_sent`` that of items whose outcome is known without a judge (refused, cut
    off, empty, or in a loop); these shares sum to 1. An item whose judge's request failed is pending.

    Args:
        task: Name of the judged task.
        judge: Name of the judge; empty for metrics without a name.
        items: One per record id; an empty sequence gives no scores.
        verdicts: Record id -> label, why the item is unjudged, or `PENDING`; items that were not sent are absent.
        labels: The labels of the judge.
        right: Those that count as right.

    Example:
        >>> items = [Item(i, "answered", "x", "x", group=i) for i in "abcd"]
        >>> verdicts = {"a": "TRUE", "b": "FALSE", "c": Unparsed("ambiguous")}
        >>> found = {s.metric: s.value for s in judged_scores("t", "j", items, verdicts, ("TRUE", "FALSE"), ("TRUE",))}
        >>> found["accuracy_judged:j"], found["accuracy_judged_answered:j"], found["share_unjudged:j"]
        (0.25, 0.5, 0.25)
    """
    scores: list[Score] = []
    measures = _measures(f":{judge}" if judge else "", labels)
    for subset, members in subsets_of(items).items():
        columns = _columns(members, verdicts, labels, right)
        scores += compute_scores(task, subset, columns, [item.group for item in members], measures)
    return scores


def _columns(
    items: Sequence[Item], verdicts: Mapping[str, Answer | Unparsed], labels: Sequence[str], right: Sequence[str]
) -> dict[str, Floats]:
    found = [verdicts.get(item.id) for item in items]
    given = np.array([[verdict == label for label in labels] for verdict in found], dtype=np.float64)
    return {
        "items": np.ones(len(items)),
        "labels": given,
        "judged": given.sum(axis=1),
        "right": given[:, [label in right for label in labels]].sum(axis=1),
        "unjudged": np.array([isinstance(v, Unparsed) and not is_pending(v) for v in found], dtype=np.float64),
        "pending": np.array([is_pending(verdict) for verdict in found], dtype=np.float64),
        "not_sent": np.array([verdict is None for verdict in found], dtype=np.float64),
    }


def _judged(columns: Columns) -> Floats:
    return columns["judged"]


def _accuracy(sums: Columns) -> Floats:
    """Return the share of right replies; NaN while judgements are pending."""
    accuracy: Floats = np.where(sums["pending"] > 0, np.nan, ratio(sums["right"], sums["items"]))
    return accuracy


def _measures(suffix: str, labels: Sequence[str]) -> list[Measure]:
    def of_label(place: int) -> Measure:
        name = "_".join(labels[place].split())
        return Measure(f"share_judged_{name}{suffix}", lambda s: ratio(s["labels"][..., place], s["items"]), items_in)

    return [
        Measure(f"accuracy_judged{suffix}", _accuracy, items_in),
        Measure(f"accuracy_judged_answered{suffix}", lambda s: ratio(s["right"], s["judged"]), _judged),
        *map(of_label, range(len(labels))),
        Measure(f"share_unjudged{suffix}", lambda s: ratio(s["unjudged"], s["items"]), items_in),
        Measure(f"share_pending{suffix}", lambda s: ratio(s["pending"], s["items"]), items_in),
        Measure(f"share_not_sent{suffix}", lambda s: ratio(s["not_sent"], s["items"]), items_in),
    ]


def account_scores(task: str, items: Sequence[Item]) -> list[Score]:
    """Return the shares of the statuses of a judge's own replies, over all of them and each subset."""
    scores: list[Score] = []
    for subset, members in subsets_of(items).items():
        columns = {"items": np.ones(len(members))}
        columns |= {s: np.array([item.status == s for item in members], dtype=np.float64) for s in STATUSES}
        scores += compute_scores(task, subset, columns, [item.group for item in members], STATUS_SHARES)
    return scores
