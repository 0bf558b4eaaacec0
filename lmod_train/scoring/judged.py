"""Metrics of replies that were judged by a model or by people, and the agreement of two judges."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from lmod_train.scoring.classification import classification_scores
from lmod_train.scoring.intervals import Columns, Floats, Measure, compute_scores, items_in, ratio
from lmod_train.scoring.items import Item
from lmod_train.scoring.status import STATUS_SHARES, STATUSES
from lmod_train.scoring.subsets import subsets_of
from lmod_train.types import Answer, Score, Unparsed

RIGHT, WRONG = "right", "wrong"

PENDING = Unparsed("failed", "not judged yet")
"""Verdict on a reply that is to be judged and has no judgement, or only one of an earlier text."""


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
    items that were to be judged, ``share_not_sent`` that of items whose outcome is known without a judge (no reply,
    refused, cut off, empty, or in a loop); these shares sum to 1.

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
        "unjudged": np.array([isinstance(v, Unparsed) and v != PENDING for v in found], dtype=np.float64),
        "pending": np.array([verdict == PENDING for verdict in found], dtype=np.float64),
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


AGREEMENT = {"accuracy_strict": "agreement", "kappa": "kappa"}
DETECTION = {"sensitivity": "sensitivity", "specificity": "specificity"}
"""Metric of `classification_scores`, with one judge as the truth -> what it is called."""


def agreement_scores(
    task: str,
    items: Sequence[Item],
    first: tuple[str, Mapping[str, bool]],
    second: tuple[str, Mapping[str, bool]],
    reference: bool = False,
) -> list[Score]:
    """Return how far two judges agree about right and wrong, on the items that both have judged.

    ``agreement_judged`` is the share of equal verdicts and ``kappa_judged`` Cohen's kappa (1960), each followed by the
    names of both; with `reference`, ``sensitivity_judged`` and ``specificity_judged`` are those of the first judge for
    replies that the second judges right.

    Args:
        task: Name of the judged task.
        items: One per record id.
        first: Name of a judge, and record id -> whether the reply is right.
        second: The other judge.
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
    both = [_pair(item, ours[item.id], theirs[item.id]) for item in items if item.id in ours and item.id in theirs]
    wanted = AGREEMENT | (DETECTION if reference else {})
    return [
        replace(score, metric=f"{wanted[score.metric]}_judged:{name}:{other}")
        for score in classification_scores(task, both, (RIGHT, WRONG), positive=RIGHT)
        if score.subset == "all" and score.metric in wanted
    ]


def _pair(item: Item, ours: bool, theirs: bool) -> Item:
    """Return an item whose answer is the first judge's verdict and whose truth is the second's."""
    answer, truth = (RIGHT if right else WRONG for right in (ours, theirs))
    return replace(item, status="answered", answer=answer, truth=truth, choices=(RIGHT, WRONG), likelihoods={})
