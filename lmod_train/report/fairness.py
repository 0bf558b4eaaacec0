"""Scores of groups of patients and images, and the tests and gaps between them, per run, task and key."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from lmod_train.core.types import Score
from lmod_train.report.comparisons import Runs
from lmod_train.scoring.association import Independence, Relabelling, independence, permutation_p, relabelling
from lmod_train.scoring.classification import label_of
from lmod_train.scoring.comparison import holm
from lmod_train.scoring.item_score import item_score
from lmod_train.scoring.items import Item
from lmod_train.scoring.subgroups import Gap, Group, equal_opportunity, gap, group_scores, worst_group
from lmod_train.scoring.subsets import SUBGROUPS
from lmod_train.scoring.ways import once_each

ENOUGH = 20
"""Number of patients of a group that can be the best or the worst one; a smaller group is so by chance."""


@dataclass(frozen=True, slots=True)
class Fairness:
    """How one run does in the groups of one key.

    Attributes:
        task: Name of the task.
        run: Label of the run.
        key: Name in `lmod_train.scoring.subsets.SUBGROUPS`.
        groups: The groups, two or more, in the order of their names.
        overall: Score of all items whose group is known.
        unknown: Number of items whose group is not known.
        test: Chi-square and Fisher's test, each question in one way of asking it.
        p: P value by permuting groups over patients.
        exact: Whether all permutations were counted.
        gap: Difference of the best and the worst group of enough patients; None with fewer than two of these.
        opportunity: Class and gap of its recall; None for tasks without classes.
        worst: Score of the worst group of enough patients.
        left_out: The groups of fewer patients or without an interval, in which neither gaps nor the worst group are.
        adjusted: `p`, Holm-adjusted over the keys of this run and task.
    """

    task: str
    run: str
    key: str
    groups: tuple[Group, ...]
    overall: Score
    unknown: int
    test: Independence | None
    p: float | None
    exact: bool
    gap: Gap | None
    opportunity: tuple[str, Gap] | None
    worst: Score | None
    left_out: tuple[Group, ...]
    adjusted: float | None = None


@dataclass(frozen=True, slots=True)
class _Known:
    """The items of a run whose group is known, with the group, score and patient of each."""

    items: list[Item]
    labels: list[str]
    values: list[float]
    patients: list[str]


def fairness(
    runs: Runs, choices: Mapping[str, Sequence[str]], keys: Sequence[str] = tuple(SUBGROUPS), least: int = ENOUGH
) -> list[Fairness]:
    """Return a result per task, key and run, in this order, where two or more groups are known.

    Args:
        runs: Label of a run -> task -> items.
        choices: Task -> its choices; of two, equal opportunity is about the first.
        keys: Names in `SUBGROUPS`.
        least: Number of patients that a group has at least, to be compared as the best or the worst one.
    """
    tasks = dict.fromkeys(task for items in runs.values() for task in items)
    found = [one for task in tasks for key in keys for one in _of_key(runs, task, key, choices.get(task, ()), least)]
    return [adjusted for one in found if (adjusted := _adjusted(one, found))]


def _of_key(runs: Runs, task: str, key: str, choices: Sequence[str], least: int) -> Iterator[Fairness]:
    drawn: dict[tuple[tuple[str, ...], tuple[str, ...]], Relabelling] = {}  # runs of the same items share permutations
    for run, items in runs.items():
        known = _known(items.get(task, ()), key)
        if len(set(known.labels)) < 2:
            continue
        same = tuple(known.labels), tuple(known.patients)
        if same not in drawn:
            drawn = {same: relabelling(known.labels, known.patients)}
        unknown = len(items[task]) - len(known.items)
        yield _fairness(task, run, key, known, unknown, drawn[same], choices, least)


def _known(items: Sequence[Item], key: str) -> _Known:
    rows = [(item, SUBGROUPS[key](item)) for item in items]
    held = [(item, label, item_score(item), item.group) for item, label in rows if label]
    item, label, value, patient = (list(column) for column in zip(*held, strict=True)) if held else ([], [], [], [])
    return _Known(item, label, value, patient)


def _fairness(
    task: str,
    run: str,
    key: str,
    known: _Known,
    unknown: int,
    permuted: Relabelling,
    choices: Sequence[str],
    least: int,
) -> Fairness:
    own = (known.values, known.labels, known.patients)
    groups = tuple(group_scores(task, key, *own))
    return Fairness(
        task,
        run,
        key,
        groups,
        overall=group_scores(task, key, known.values, ["known"] * len(known.labels), known.patients)[0].score,
        unknown=unknown,
        test=_test(known, groups),
        p=permutation_p(known.values, permuted),
        exact=permuted.exact,
        gap=gap(task, *own, least=least),
        opportunity=_opportunity(task, known, choices, least),
        worst=worst_group(task, groups, least),
        left_out=tuple(g for g in groups if g.patients < least or g.score.low is None),
    )


def _test(known: _Known, groups: Sequence[Group]) -> Independence | None:
    once = set(once_each((item.id, item.tags) for item in known.items))
    asked = [row for row in zip(known.items, known.labels, known.values, strict=True) if row[0].id in once]
    right = [sum(value == 1 for _, label, value in asked if label == group.name) for group in groups]
    return independence(right, [sum(label == group.name for _, label, _ in asked) for group in groups])


def _opportunity(task: str, known: _Known, choices: Sequence[str], least: int) -> tuple[str, Gap] | None:
    if not choices or any(isinstance(item.truth, Mapping) for item in known.items):
        return None
    truths, positive = [label_of(item.truth) for item in known.items], choices[0] if len(choices) == 2 else None
    return equal_opportunity(task, known.values, truths, known.labels, known.patients, positive, least)


def _adjusted(one: Fairness, every: Sequence[Fairness]) -> Fairness:
    family = [other for other in every if (other.task, other.run) == (one.task, one.run)]
    adjusted = holm([other.p for other in family])
    return replace(one, adjusted=next(p for other, p in zip(family, adjusted, strict=True) if other is one))
