"""Scores of groups of patients or images, the gap between them, equal opportunity and the worst group."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import comb

import numpy as np
from scipy.special import ndtri

from lmod_train.core.errors import BadArgument
from lmod_train.core.types import Score
from lmod_train.scoring.intervals import Columns, Floats, Measure, compute_scores, items_in, ratio
from lmod_train.scoring.shares import LEVEL, MIN_PATIENTS

_TAIL = (1 - LEVEL) / 2


@dataclass(frozen=True, slots=True)
class Group:
    """The score of a group.

    Attributes:
        name: Value of the key, e.g. ``female``.
        patients: Number of patients.
        score: Mean score of its items, with its interval over patients.
    """

    name: str
    patients: int
    score: Score


@dataclass(frozen=True, slots=True)
class Gap:
    """The largest difference of two groups, with an interval that takes into account that both are chosen."""

    best: str
    worst: str
    difference: Score


def group_scores(
    task: str, key: str, values: Sequence[float], labels: Sequence[str], patients: Sequence[str]
) -> list[Group]:
    """Return the mean score of each group, in the order of their names.

    Args:
        task: Name of the task.
        key: What the groups differ in; their subsets are ``key=name``.
        values: Score of each item, in [0, 1].
        labels: Group of each item.
        patients: Patient of each item.

    Raises:
        BadArgument: The lengths differ.

    Example:
        >>> [(g.name, g.patients, g.score.value) for g in group_scores("t", "sex", [1, 1, 0], list("mmf"), list("abc"))]
        [('f', 1, 0.0), ('m', 2, 1.0)]
    """
    if not len(values) == len(labels) == len(patients):
        found = f"{len(values)} values, {len(labels)} labels, {len(patients)} patients"
        raise BadArgument("values", found, "one of each per item", "take all three of the same items")
    return [_group(task, key, name, values, labels, patients) for name in sorted(set(labels))]


def _group(
    task: str, key: str, name: str, values: Sequence[float], labels: Sequence[str], patients: Sequence[str]
) -> Group:
    own = [(v, p) for v, label, p in zip(values, labels, patients, strict=True) if label == name]
    columns = {"items": np.ones(len(own)), "value": np.array([v for v, _ in own], dtype=np.float64)}
    score = compute_scores(task, f"{key}={name}", columns, [p for _, p in own], [_MEAN])[0]
    return Group(name, len({p for _, p in own}), score)


def compared_groups(groups: Sequence[Group], least: int = MIN_PATIENTS) -> list[Group]:
    """Return the groups with an interval, of at least some patients, from the lowest score to the highest."""
    held = [g for g in groups if g.patients >= max(least, MIN_PATIENTS) and g.score.low is not None]
    return sorted(held, key=lambda g: g.score.value or 0.0)


def gap(
    task: str,
    values: Sequence[float],
    labels: Sequence[str],
    patients: Sequence[str],
    classes: int = 1,
    least: int = MIN_PATIENTS,
) -> Gap | None:
    """Return the difference of the best and the worst group, with its interval clustered by patient.

    A patient may have items in both groups, e.g. both eyes. Groups of fewer than `least` patients are left out. As the
    largest of several differences is chosen, the interval is widened for the number of pairs of groups (by the normal
    quantiles of Bonferroni); that of two groups is not.

    Args:
        task: Name of the task.
        values: Score of each item, in [0, 1].
        labels: Group of each item.
        patients: Patient of each item.
        classes: Number of classes of which the one with the largest gap is chosen.
        least: Number of patients that a group has at least, from `MIN_PATIENTS`.

    Returns:
        Metric ``gap``; None with fewer than two groups.

    Example:
        >>> found = gap("t", [1, 1, 1, 1, 0, 0], list("mmmfff"), list("abcdef"))
        >>> found.best, found.worst, round(found.difference.value, 3)
        ('m', 'f', 0.667)
    """
    held = compared_groups(group_scores(task, "", values, labels, patients), least)
    if len(held) < 2:
        return None
    worst, best = held[0].name, held[-1].name
    own = [row for row in zip(values, labels, patients, strict=True) if row[1] in (best, worst)]
    member = np.array([[label == best, label == worst] for _, label, _ in own], dtype=np.float64)
    columns = {"member": member, "sides": member * np.array([[v] for v, _, _ in own], dtype=np.float64)}
    score = compute_scores(task, "all", columns, [p for *_, p in own], [_GAP])[0]
    low, high = _widened(score, classes * comb(len(held), 2))
    return Gap(best, worst, replace(score, low=low, high=high))


def _widened(score: Score, chosen_of: int) -> tuple[float | None, float | None]:
    """Return the interval of a score that was chosen among several, each with an interval."""
    if score.value is None or score.low is None or score.high is None:
        return score.low, score.high
    factor = float(ndtri(1 - _TAIL / chosen_of) / ndtri(1 - _TAIL))
    low, high = (score.value + factor * (end - score.value) for end in (score.low, score.high))
    return max(-1.0, low), min(1.0, high)


def equal_opportunity(
    task: str,
    right: Sequence[float],
    truths: Sequence[str],
    labels: Sequence[str],
    patients: Sequence[str],
    positive: str | None = None,
    least: int = MIN_PATIENTS,
) -> tuple[str, Gap] | None:
    """Return the class with the largest gap of recall between groups, and this gap.

    With a positive class, it is the difference of true positive rates (Hardt, Price & Srebro 2016, equal opportunity).
    With more classes, each is asked about in turn, and the largest is given, which is at most 1 and 0 if the recall of
    each class is the same in all groups.

    Args:
        task: Name of the task.
        right: Whether each item is right.
        truths: Class of each item.
        labels: Group of each item.
        patients: Patient of each item.
        positive: The class to consider; None considers all.
        least: Number of patients that a group has at least among the items of a class, from `MIN_PATIENTS`.

    Returns:
        None if no considered class occurs in two groups of so many patients.
    """
    found, classes = [], sorted(set(truths)) if positive is None else [positive]
    for name in classes:
        places = [i for i, truth in enumerate(truths) if truth == name]
        hits, groups, people = [right[i] for i in places], [labels[i] for i in places], [patients[i] for i in places]
        own = gap(task, hits, groups, people, len(classes), least)
        found += [(name, own)] if own else []
    return max(found, key=lambda pair: pair[1].difference.value or 0.0, default=None)


def worst_group(task: str, groups: Sequence[Group], least: int = MIN_PATIENTS) -> Score | None:
    """Return the score of the worst group, of those with an interval and at least some patients.

    As the group is chosen on these data, its own interval would be too narrow: the interval is from the lowest lower
    end of all groups to the lowest upper end, these widened for the number of groups as in `gap`.

    Returns:
        Metric ``worst_group``, n of the group; None without groups that have an interval.

    Example:
        >>> two = [Group(k, 9, Score("t", "", "score", 9, v, v - 0.1, v + 0.1)) for k, v in (("f", 0.5), ("m", 0.75))]
        >>> worst_group("t", two).value
        0.5
    """
    held = compared_groups(groups, least)
    if not held:
        return None
    low = min(g.score.low for g in held if g.score.low is not None)
    high = min(end for g in held if (end := _widened(g.score, len(held))[1]) is not None)
    return Score(task, held[0].score.subset, "worst_group", held[0].score.n, held[0].score.value, low, high)


def _sides(sums: Columns) -> Floats:
    return ratio(sums["sides"], sums["member"])


_MEAN = Measure("score", lambda s: ratio(s["value"], s["items"]), items_in)
_GAP = Measure(
    "gap", lambda s: _sides(s) @ np.array([1.0, -1.0]), lambda c: c["member"], parts=_sides, signs=(1.0, -1.0)
)
