"""Metrics of questions that are answered with a number, or with several values."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np

from lmod_train.core.errors import BadArgument
from lmod_train.core.types import Answer, Score
from lmod_train.scoring.intervals import (
    Columns,
    Floats,
    Measure,
    compute_scores,
    items_in,
    mean_measure,
    ratio,
    share_measure,
)
from lmod_train.scoring.items import Item
from lmod_train.scoring.status import MAJORITY, STATUS_SHARES, best_constant, scores_by_subset, status_counts
from lmod_train.scoring.subset_names import subsets_of


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
    columns = status_counts(items)
    given = columns["answered"] > 0
    answers = np.array(
        [_number(i, i.answer) if own else np.nan for i, own in zip(items, given, strict=True)],  # type: ignore[arg-type]
        dtype=np.float64,
    )
    columns["error"] = np.where(given, np.abs(answers - truths), 0.0)
    columns["exact"] = np.where(given, answers == truths, 0.0)
    columns["of_median"] = np.abs(truths - np.median(truths))
    columns["majority"] = best_constant([{truth: 1.0} for truth in truths.tolist()], [""] * len(items))
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
        share_measure("mean_absolute_error", "error", "answered", bounds=lambda _: (0.0, largest)),
        share_measure("mean_absolute_error_median", "of_median", interval=False),
    )


EXACT = share_measure("exact_match", "exact")

# Metrics of questions that several choices may be right of, or none.


def several_scores(task: str, items: Sequence[Item], choices: Sequence[str], separator: str = "; ") -> list[Score]:
    """Return the metrics of answers that are sets of choices, over all items and each subset.

    ``exact_match`` is the share of items whose set is the right one, ``exact_match_answered`` that of the answered
    items. ``f1_micro`` counts each choice of each item once, ``f1_macro`` is the mean F1 of the choices that occur as
    truth or answer; in both a missing answer misses all that is true. Both have no value where nothing is true and
    nothing answered. ``majority`` is the exact match of always answering the most frequent set. ``share_<status>`` are
    the shares of the reply statuses.

    Args:
        task: Name of the task.
        items: One per record id; truths and answers are choices joined by the separator, empty for none.
        choices: The classes.
        separator: Between choices.

    Raises:
        BadArgument: A truth or an answer holds something else.

    Example:
        >>> rows = [("a", "drusen", "drusen"), ("b", "drusen; exudates", "drusen"), ("c", "", "")]
        >>> items = [Item(i, "answered", answer, truth, group=i) for i, answer, truth in rows]
        >>> scores = {s.metric: s.value for s in several_scores("signs", items, ("drusen", "exudates"))}
        >>> round(scores["exact_match"], 3), scores["f1_micro"], scores["f1_macro"], round(scores["majority"], 3)
        (0.667, 0.8, 0.5, 0.667)
    """
    return scores_by_subset(
        task, items, lambda members: _columns_several(members, choices, separator), SEVERAL_MEASURES
    )


def _columns_several(items: Sequence[Item], choices: Sequence[str], separator: str) -> dict[str, Floats]:
    truths = [_set_of(item, item.truth, choices, separator) for item in items]
    given = [item.status == "answered" and isinstance(item.answer, str) for item in items]
    answers = [
        _set_of(item, str(item.answer), choices, separator) if own else set[str]()
        for item, own in zip(items, given, strict=True)
    ]
    columns = {**status_counts(items), "true": _table(truths, choices), "said": _table(answers, choices)}
    columns["hit"] = columns["true"] * columns["said"]
    columns["majority"] = best_constant([{frozenset(truth): 1.0} for truth in truths], [""] * len(items))
    same = [own and truth == answer for own, truth, answer in zip(given, truths, answers, strict=True)]
    return columns | {"exact": np.array(same, dtype=np.float64)}


def _table(sets: Sequence[Collection[str]], choices: Sequence[str]) -> Floats:
    rows = [[float(choice in one) for choice in choices] for one in sets]
    return np.array(rows, dtype=np.float64).reshape(len(sets), len(choices))


def _set_of(item: Item, answer: Answer, choices: Sequence[str], separator: str) -> set[str]:
    found = set(str(answer).split(separator)) - {""}
    if not found <= set(choices):
        raise BadArgument(
            f"answer of {item.id}",
            answer,
            f"some of {tuple(choices)}, joined by {separator!r}",
            "score the run by the question that it asked, or curate again",
        )
    return found


def _f1_micro(sums: Columns) -> Floats:
    return ratio(2 * sums["hit"].sum(axis=-1), sums["true"].sum(axis=-1) + sums["said"].sum(axis=-1))


def _f1s(sums: Columns) -> Floats:
    return ratio(2 * sums["hit"], sums["true"] + sums["said"])


SEVERAL_MEASURES = (
    EXACT,
    share_measure("exact_match_answered", "exact", "answered"),
    Measure("f1_micro", _f1_micro, items_in),
    mean_measure("f1_macro", _f1s, lambda c: c["true"]),
    MAJORITY,
    *STATUS_SHARES,
)
