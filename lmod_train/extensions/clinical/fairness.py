"""Scores of subgroups: sizes, tests, gaps, equal opportunity, the worst group; scores, figure, section."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import comb
from typing import ClassVar

import numpy as np
from scipy.special import ndtri

from lmod_train.core.errors import BadArgument
from lmod_train.core.tables import Cell, score_cells, table
from lmod_train.core.types import Score
from lmod_train.report.contents import Figure, Part, Text, heads, texts
from lmod_train.report.figures.groups import group_figure
from lmod_train.report.paired_runs import Tables, comparable
from lmod_train.report.results import Results
from lmod_train.report.section import Section
from lmod_train.scoring.association import DRAWS, Independence, Relabelling, independence, permutation_p, relabelling
from lmod_train.scoring.classification import label_of
from lmod_train.scoring.comparison import holm
from lmod_train.scoring.intervals import Columns, Floats, Measure, compute_scores, ratio, share_measure
from lmod_train.scoring.item_score import item_score
from lmod_train.scoring.items import Item
from lmod_train.scoring.shares import LEVEL, MIN_PATIENTS
from lmod_train.scoring.subset_names import SUBGROUPS
from lmod_train.scoring.ways import once_each

_TEXTS, _HEADS = texts(__file__), heads(__file__)

DRAWN = 8
"""Largest number of groups that are drawn, those with the most items."""

# Scores of groups of patients and images, and the tests and gaps between them, per run, task and key.
ENOUGH = 20
"""Number of patients of a group that can be the best or the worst one; a smaller group is so by chance."""


class SubgroupFairness(Section):
    """Scores by age, sex, laterality, camera, quality and source.

    Args:
        keys: The keys to compare; by default all for which two or more groups are known.
        least_patients: Number of patients, from 3, of a group whose score is compared as the best or the worst one.
    """

    title: ClassVar[str] = "Subgroups and fairness"
    name: ClassVar[str] = "fairness"

    def __init__(self, keys: list[str] | None = None, least_patients: int = ENOUGH) -> None:
        if least_patients < MIN_PATIENTS:
            cure = f"set it in the config of the report, e.g. `least_patients: {ENOUGH}`"
            raise BadArgument("least_patients", least_patients, f"{MIN_PATIENTS} or more", cure)
        unknown = [key for key in keys or () if key not in SUBGROUPS]
        if unknown:
            raise BadArgument("keys", unknown, f"some of {', '.join(SUBGROUPS)}", "correct the config of the report")
        self.keys = list(SUBGROUPS) if keys is None else keys
        self.least_patients = least_patients

    def parts(self, results: Results) -> Iterator[Part]:
        """Yield the tables of sizes, scores, tests and gaps, and a figure per task and key."""
        found = fairness(comparable(results), results.choices, self.keys, self.least_patients)
        if found:
            yield Text(_TEXTS["note"])
            rows = [[f.task, f.key, g.name, f.run, *_group(g)] for f in found for g in f.groups]
            tests, gaps = _TEXTS["tests"].format(f"{DRAWS:,}"), _TEXTS["gaps"].format(self.least_patients)
            yield table("subgroup_sizes", _HEADS["sizes"], list(_sizes(found)), "Sizes of the groups")
            yield table("subgroups", _HEADS["scores"], rows, "Scores of the groups")
            yield table("subgroup_tests", _HEADS["test"], [*map(_test, found)], "Tests between the groups", tests)
            yield table("subgroup_gaps", _HEADS["gap"], [*map(_gap, found)], "Gaps between the groups", gaps)
            for task, key in dict.fromkeys((f.task, f.key) for f in found):
                yield _figure(task, key, [f for f in found if (f.task, f.key) == (task, key)])


def _sizes(found: Sequence[Fairness]) -> Iterator[list[Cell]]:
    """Yield a row per group and size, with the runs that have it."""
    for task, key in dict.fromkeys((f.task, f.key) for f in found):
        own = [f for f in found if (f.task, f.key) == (task, key)]
        sizes: dict[tuple[str, int, int | None], list[str]] = {}
        for f in own:
            groups = [(g.name, g.score.n, g.patients) for g in f.groups]
            for size in (*groups, *([("unknown", f.unknown, None)] if f.unknown else ())):
                sizes.setdefault(size, []).append(f.run)
        for (name, n, patients), runs in sorted(sizes.items(), key=lambda size: (size[0][2] is None, size[0][0])):
            yield [task, key, name, n, patients, "all" if len(runs) == len(own) else ", ".join(runs)]


def _group(group: Group) -> list[Cell]:
    return [group.score.n, group.patients, group.score.value, (group.score.low, group.score.high)]


def _test(f: Fairness) -> list[Cell]:
    by_rule, chi_square, fisher = None, None, None
    if f.test:
        by_rule, chi_square, fisher = f.test.chosen, f.test.p_chi_square, f.test.p_fisher
        by_rule += " (Fisher simulated)" if f.test.simulated else ""
    permutations = "all" if f.exact else f"{DRAWS:,} drawn"
    return [f.task, f.key, f.run, len(f.groups), chi_square, fisher, by_rule, f.p, permutations, f.adjusted]


def _gap(f: Fairness) -> list[Cell]:
    name, opportunity = f.opportunity or (None, None)
    ends = [(s.value, (s.low, s.high)) if s else (None, None) for s in (_of(f.gap), _of(opportunity), f.worst)]
    groups = [f.gap.best, f.gap.worst] if f.gap else [None, None]
    left_out = ", ".join(f"{g.name} ({g.patients})" for g in f.left_out)
    return [f.task, f.key, f.run, *groups, *ends[0], name, *ends[1], *ends[2], left_out]


def _of(gap: Gap | None) -> Score | None:
    return gap.difference if gap else None


def _figure(task: str, key: str, found: Sequence[Fairness]) -> Figure:
    """Return the scores of the groups with the most items, run by run."""
    sizes: Counter[str] = Counter()
    for group in (group for f in found for group in f.groups):
        sizes |= Counter({group.name: group.score.n})
    largest = {name for name, _ in sizes.most_common(DRAWN)}
    title = f"{task} by {key}" + (f", the {DRAWN} largest of {len(sizes)} groups" if len(sizes) > DRAWN else "")
    rows = [[title, f.run, g.name, *score_cells(g.score), None] for f in found for g in f.groups if g.name in largest]
    alt = f"Score with 95 % interval of each model for {', '.join(sorted(largest))}."
    return group_figure(f"subgroups-{task}-{key}", title, alt, rows, round=False)


@dataclass(frozen=True, slots=True)
class Fairness:
    """How one run does in the groups of one key.

    Attributes:
        task: Name of the task.
        run: Label of the run.
        key: Name in `lmod_train.scoring.subset_names.SUBGROUPS`.
        groups: The groups, two or more, in the order of their names.
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
    tables: Tables, choices: Mapping[str, Sequence[str]], keys: Sequence[str] = tuple(SUBGROUPS), least: int = ENOUGH
) -> list[Fairness]:
    """Return a result per task, key and run, in this order, where two or more groups are known.

    Args:
        tables: Task -> label of a run -> items.
        choices: Task -> its choices; of two, equal opportunity is about the first.
        keys: Names in `SUBGROUPS`.
        least: Number of patients that a group has at least, to be compared as the best or the worst one.
    """
    found = [
        one
        for task, runs in tables.items()
        for key in keys
        for one in _of_key({run: list(own.items.values()) for run, own in runs.items()}, task, key, choices, least)
    ]
    return [adjusted for one in found if (adjusted := _adjusted(one, found))]


def _of_key(
    runs: Mapping[str, Sequence[Item]], task: str, key: str, choices: Mapping[str, Sequence[str]], least: int
) -> Iterator[Fairness]:
    drawn: dict[tuple[tuple[str, ...], tuple[str, ...]], Relabelling] = {}  # runs of the same items share permutations
    for run, items in runs.items():
        known = _known(items, key)
        if len(set(known.labels)) < 2:
            continue
        same = tuple(known.labels), tuple(known.patients)
        if same not in drawn:
            drawn = {same: relabelling(known.labels, known.patients)}
        unknown = len(items) - len(known.items)
        yield _fairness(task, run, key, known, unknown, drawn[same], choices.get(task, ()), least)


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
        unknown=unknown,
        test=_test_fairness(known, groups),
        p=permutation_p(known.values, permuted),
        exact=permuted.exact,
        gap=gap(task, *own, least=least),
        opportunity=_opportunity(task, known, choices, least),
        worst=worst_group(task, groups, least),
        left_out=tuple(g for g in groups if g.patients < least or g.score.low is None),
    )


def _test_fairness(known: _Known, groups: Sequence[Group]) -> Independence | None:
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


# Scores of groups of patients or images, the gap between them, equal opportunity and the worst group.
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
    return [_group_subgroups(task, key, name, values, labels, patients) for name in sorted(set(labels))]


def _group_subgroups(
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
    score = compute_scores(task, "all", columns, [p for *_, p in own], [_GAP_SUBGROUPS])[0]
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


_MEAN = share_measure("score", "value")

_GAP_SUBGROUPS = Measure(
    "gap", lambda s: _sides(s) @ np.array([1.0, -1.0]), lambda c: c["member"], parts=_sides, signs=(1.0, -1.0)
)
