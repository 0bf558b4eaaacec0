"""Metrics of questions that are answered with a number."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from lmod_train.core.errors import BadArgument
from lmod_train.core.types import Answer, Score
from lmod_train.scoring.intervals import Columns, Floats, Measure, compute_scores, items_in, ratio
from lmod_train.scoring.items import Item
from lmod_train.scoring.status import STATUS_SHARES, STATUSES
from lmod_train.scoring.subsets import subsets_of


def number_scores(task: str, items: Sequence[Item]) -> list[Score]:
    """Return the metrics of answers that are numbers, over all items and each subset, in the unit of the question.

    ``exact_match`` is the share of items whose number is the right one, a missing answer is wrong;
    ``mean_absolute_error`` is over the answered items. Two baselines say what a constant answer gives:
    ``mean_absolute_error_median`` that of always answering the median of these truths, and ``majority`` the exact match
    of always answering the most frequent one. ``share_<status>`` are the shares of the reply statuses.

    Args:
        task: Name of the task.
        items: One per record id; an empty sequence gives no scores.

    Raises:
        BadArgument: A truth or an answer is no number.

    Example:
        >>> items = [Item(i, "answered", a, t, group=i) for i, a, t in [("a", 0.5, 0.5), ("b", 0.5, 0.75), ("c", 1, 0)]]
        >>> scores = {s.metric: (s.value, s.n) for s in number_scores("acuity", items)}
        >>> scores["exact_match"], round(scores["mean_absolute_error"][0], 3), scores["mean_absolute_error_median"]
        ((0.333..., 3), 0.417, (0.25, 3))
    """
    scores: list[Score] = []
    for subset, members in subsets_of(items).items():
        columns = _columns(members)
        groups = [item.group for item in members]
        scores += compute_scores(task, subset, columns, groups, (EXACT, *_errors(columns), MAJORITY, *STATUS_SHARES))
    return scores


def _columns(items: Sequence[Item]) -> dict[str, Floats]:
    truths = np.array([_number(item, item.truth) for item in items], dtype=np.float64)
    columns = {"items": np.ones(len(items))}
    for status in STATUSES:
        columns[status] = np.array([item.status == status for item in items], dtype=np.float64)
    given = columns["answered"] > 0
    answers = np.array(
        [_number(i, i.answer) if own else np.nan for i, own in zip(items, given, strict=True)],  # type: ignore[arg-type]
        dtype=np.float64,
    )
    columns["error"] = np.where(given, np.abs(answers - truths), 0.0)
    columns["exact"] = np.where(given, answers == truths, 0.0)
    columns["of_median"] = np.abs(truths - np.median(truths))
    _, counts = np.unique(truths, return_counts=True)
    columns["majority"] = np.full(len(items), counts.max() / len(items))
    return columns


def _number(item: Item, answer: Answer) -> float:
    if isinstance(answer, bool) or not isinstance(answer, int | float):
        cure = "score the run by the question that it asked, or curate again"
        raise BadArgument(f"answer of {item.id}", answer, "a number", cure)
    return float(answer)


def _errors(columns: Columns) -> tuple[Measure, Measure]:
    """Return the errors; what bounds them is the largest error of these items, or of the median's."""
    largest = max(float(columns["error"].max()), float(columns["of_median"].max()), 1e-9)
    return (
        Measure(
            "mean_absolute_error",
            lambda s: ratio(s["error"], s["answered"]),
            lambda c: c["answered"],
            bounds=lambda _: (0.0, largest),
        ),
        Measure("mean_absolute_error_median", lambda s: ratio(s["of_median"], s["items"]), items_in, interval=False),
    )


EXACT = Measure("exact_match", lambda s: ratio(s["exact"], s["items"]), items_in)
MAJORITY = Measure("majority", lambda s: ratio(s["majority"], s["items"]), items_in, interval=False)
