"""Metrics of questions that several choices may be right of, or none."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence

import numpy as np

from lmod_train.core.errors import BadArgument
from lmod_train.core.types import Answer, Score
from lmod_train.scoring.intervals import Columns, Floats, Measure, compute_scores, items_in, mean_measure, ratio
from lmod_train.scoring.items import Item
from lmod_train.scoring.status import STATUS_SHARES, STATUSES
from lmod_train.scoring.subsets import subsets_of


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
    scores: list[Score] = []
    for subset, members in subsets_of(items).items():
        columns = _columns(members, choices, separator)
        frequent = Counter(frozenset(_set_of(item, item.truth, choices, separator)) for item in members)
        columns["majority"] = np.full(len(members), max(frequent.values()) / len(members))
        scores += compute_scores(task, subset, columns, [item.group for item in members], MEASURES)
    return scores


def _columns(items: Sequence[Item], choices: Sequence[str], separator: str) -> dict[str, Floats]:
    truths = [_set_of(item, item.truth, choices, separator) for item in items]
    given = [item.status == "answered" and isinstance(item.answer, str) for item in items]
    answers = [
        _set_of(item, str(item.answer), choices, separator) if own else set[str]()
        for item, own in zip(items, given, strict=True)
    ]
    columns = {"items": np.ones(len(items)), "true": _table(truths, choices), "said": _table(answers, choices)}
    columns["hit"] = columns["true"] * columns["said"]
    for status in STATUSES:
        columns[status] = np.array([item.status == status for item in items], dtype=np.float64)
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


MEASURES = (
    Measure("exact_match", lambda s: ratio(s["exact"], s["items"]), items_in),
    Measure("exact_match_answered", lambda s: ratio(s["exact"], s["answered"]), lambda c: c["answered"]),
    Measure("f1_micro", _f1_micro, items_in),
    mean_measure("f1_macro", _f1s, lambda c: c["true"]),
    Measure("majority", lambda s: ratio(s["majority"], s["items"]), items_in, interval=False),
    *STATUS_SHARES,
)
