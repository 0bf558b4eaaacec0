"""Comparisons of runs on their common items.

Runs are ranked, and the best of them is chosen, only on records that all ranked runs have a reply to. A run that has
too few of the others' records is not ranked, and is named.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from itertools import combinations, groupby
from typing import Literal

import numpy as np

from lmod_train.core.errors import BadArgument
from lmod_train.core.types import Score
from lmod_train.report.asked_alike import asked_ids, settings_of
from lmod_train.report.results import Results
from lmod_train.scoring.comparison import (
    ALPHA,
    Paired,
    benjamini_hochberg,
    cochran_q,
    cohens_g,
    detectable_difference,
    effective_pairs,
    holm,
    letters,
    mcnemar,
    paired_test,
)
from lmod_train.scoring.headline_metrics import HEADLINES, headline_metric
from lmod_train.scoring.item_score import item_score
from lmod_train.scoring.items import Item
from lmod_train.scoring.subset_names import SUBSETS
from lmod_train.scoring.ways import FACTORS, compared_ids, once_each, question_of
from lmod_train.tasks.conditions import Conditions
from lmod_train.tasks.statements import NOT_COMPARED, Place

KEYS: Mapping[str, Callable[[Item], str]] = {
    "modality": SUBSETS["modality"],
    "source": SUBSETS["source"],
    "condition": lambda item: item.variant,
}
"""Keys within whose values runs are compared; ``condition`` only in the task that asks about one at a time."""

Runs = Mapping[str, Mapping[str, Sequence[Item]]]
"""Label of a run -> task -> items."""

ALL, BEST = "all", "best"

FEW = 6
"""Largest number of runs of which all pairs are shown unless a reference is named."""

Family = Literal["task", "report"]
"""Tests over which p values are adjusted: those of one task, so that no other task changes a verdict, or all."""

LEAST_SHARE = 0.5
"""Share of the records of one of the ranked runs that all of them have in common, at least."""


@dataclass(frozen=True, slots=True)
class ComparedRuns:
    """Comparison of two runs on the same items of one task.

    Attributes:
        task: Name of the task.
        first: Label of the first run, the reference if there is one.
        second: Label of the second run.
        test: Exact McNemar test of correct against incorrect answers, each question in one way of asking it.
        p: P value of `difference`, below 0.05 if and only if its interval excludes 0; None without an interval.
        difference: Mean score of first - second, with an interval over patients.
        detectable: Difference of shares of right items that these items could detect (see `scoring.power`).
        alone: Number of items of each run that the other has no reply to, which are not compared.
        subset: ``all``, or the ``key=value`` that the compared items have.
        adjusted: `p`, Holm-adjusted over the compared pairs of its family.
        discovery: `p`, adjusted over them by Benjamini and Hochberg.
    """

    task: str
    first: str
    second: str
    test: Paired
    p: float | None
    difference: Score
    detectable: float | None
    alone: tuple[int, int] = (0, 0)
    subset: str = "all"
    adjusted: float | None = None
    discovery: float | None = None

    @property
    def g(self) -> float | None:
        """Cohen's g, None if the runs never differ."""
        return cohens_g(self.test)


@dataclass(frozen=True, eq=False)  # hashed by identity, so that what is tested of two is kept
class Scored:
    """The items of one run of a task, by the id that pairs them with those of another run, in the order of these.

    Those of constrained replies are ranked and compared with those of constrained ones only, unless a run is named.
    Those of the same weights are if their settings are the same, too.
    """

    items: Mapping[str, Item]
    constrained: bool = False
    weights: str | None = None
    settings: frozenset[str] = frozenset()

    @cached_property
    def item_scores(self) -> dict[str, float]:
        """Id -> score of the item, in the same order."""
        return {key: item_score(item) for key, item in self.items.items()}

    def mean(self, keys: Collection[str]) -> float:
        """Return the mean score on some of the items, in their order; 0 without any."""
        own = [score for key, score in self.item_scores.items() if key in keys]
        return float(np.mean(own)) if own else 0.0


Tables = Mapping[str, Mapping[str, Scored]]
"""Task -> label of each run that has it -> its items."""


@lru_cache(maxsize=1)  # several sections compare the same runs
def comparable(results: Results) -> Tables:
    """Return the items of the tasks whose headline score is the mean of `item_score`: accuracy or F1 per image.

    Where questions are asked in several ways, one of which failed, the question is left out: its other ways must not
    be paired with another way of another run. Nor is a question that was asked otherwise (`Results.compare`): its id is
    another one. A run without items of a task does not have it.
    """
    scored = {t for t in results.tasks for _, run in results.named(t) if headline_metric(run.scores, t) in HEADLINES}
    found: dict[str, dict[str, Sequence[Item]]] = {}
    for name, outcomes in results.outcomes.items():
        lost = {question_of(i.id, i.tags) for i in outcomes.failed if any(factor in i.tags for factor in FACTORS)}
        own = {t: [i for i in items if question_of(i.id, i.tags) not in lost] for t, items in outcomes.items.items()}
        found[name] = {t: items for t, items in own.items() if t in scored and items}
    constrained = {name: outcomes.constrained for name, outcomes in results.outcomes.items()}
    tables: dict[str, dict[str, Scored]] = {}
    for task, table in paired(found).items():
        asked, tables[task] = asked_ids(results, task), {}
        for label, scored_run in table.items():
            items = {asked[label].get(id, id): item for id, item in scored_run.items.items()}
            tables[task][label] = Scored(items, task in constrained[label], *settings_of(results, task, label))
    return tables


def paired(runs: Runs) -> Tables:
    """Return the items of runs by task, run and question."""
    tasks = dict.fromkeys(task for items in runs.values() for task in items)
    return {t: {label: Scored(by_question(items[t])) for label, items in runs.items() if t in items} for t in tasks}


def by_question(items: Sequence[Item]) -> dict[str, Item]:
    """Return the items of a task by the id that pairs them with those of another run, in the order of these ids."""
    ids = compared_ids((item.id, item.tags) for item in items)
    return dict(sorted(((ids[item.id], item) for item in items), key=lambda pair: pair[0]))


def _difference(task: str, a: Scored, b: Scored, common: Mapping[str, Item]) -> tuple[Score, float | None]:
    own, theirs = ([run.item_scores[key] for key in common] for run in (a, b))
    return paired_test(task, own, theirs, [item.group for item in common.values()])


def _common(a: Scored, b: Scored, among: Collection[str] | None = None) -> dict[str, Item]:
    return {key: item for key, item in a.items.items() if key in b.items and (among is None or key in among)}


def _tested(a: Scored, b: Scored, common: Mapping[str, Item]) -> tuple[list[bool], list[bool], list[str]]:
    """Return which common questions each run has right (of regions: all), each asked once, and their patients."""
    once = set(once_each((item.id, item.tags) for item in common.values()))
    keys = [key for key, item in common.items() if item.id in once]
    right = [[run.item_scores[key] == 1 for key in keys] for run in (a, b)]
    return right[0], right[1], [common[key].group for key in keys]


@dataclass(frozen=True, slots=True)
class Ranking:
    """The runs of a task that are ranked on their common records, and those that are not.

    Attributes:
        order: Labels from the highest mean score on the common records to the lowest; of equal ones the first is first.
        keys: Ids of the common records.
        left_out: Labels of the runs that share too few records with the others.
    """

    order: tuple[str, ...]
    keys: frozenset[str]
    left_out: tuple[str, ...]


def _ranking(table: Mapping[str, Scored], least: float) -> Ranking:
    """Return the ranking of the largest run and those that share enough records with it.

    If none does, e.g. as it was asked about all splits, the ranking is that of the next run that others share records
    with.
    """
    by_size = sorted(table, key=lambda label: (table[label].constrained, -len(table[label].items)))
    rankings = [_with(table, by_size, first, least) for first in by_size]
    kept, keys = next((one for one in rankings if len(one[0]) > 1), rankings[0])
    ranked = [label for label in table if label in kept]
    order = sorted(ranked, key=lambda label: -table[label].mean(keys))
    return Ranking(tuple(order), keys, tuple(label for label in table if label not in kept))


def _with(
    table: Mapping[str, Scored], by_size: Sequence[str], first: str, least: float
) -> tuple[set[str], frozenset[str]]:
    """Return the runs that share enough records with one of them, and the records that all of these have."""
    keys = frozenset(table[first].items)
    needed, kept = least * len(keys), {first}
    for label in by_size:
        shared = keys & table[label].items.keys()
        if all(_alike(table, label, other) for other in kept) and shared and len(shared) >= needed:
            keys, kept = shared, kept | {label}
    return kept, frozenset(keys)  # an intersection with keys of a dict is a set


def not_ranked(tables: Tables, least: float = LEAST_SHARE) -> Iterator[str]:
    """Yield a sentence for each task that is not ranked on all records: on how many, and which runs are not ranked."""
    for task, table in tables.items():
        found = _ranking(table, least)
        if len(table) < 2 or all(len(scored.items) == len(found.keys) for scored in table.values()):
            continue
        named = ", ".join(f"{label} ({len(table[label].items)})" for label in found.left_out)
        most = max(len(table[label].items) for label in found.order)
        left = f"; not ranked, with the number of their records: {named}" if named else ""
        yield (
            f"{task}: {len(found.order)} runs are ranked on the {len(found.keys)} records that all of them have a "
            f"reply to (of up to {most}){left}"
        )


def pairs(
    tables: Tables, against: str = ALL, least: float = LEAST_SHARE, family: Family = "task"
) -> list[ComparedRuns]:
    """Return the comparisons of runs on common tasks; an image is correct if every region is.

    Args:
        tables: The runs.
        against: ``all`` for all pairs, ``best`` for the best run of each task (by its mean score on the common records,
            the first of equal ones) against each other run, or the label of a run for this run against each other.
        least: Share of the records of one ranked run that all have in common, at least.
        family: The pairs over which p values are adjusted.

    Raises:
        BadArgument: No run has the label `against`.
    """
    return _with_corrections(
        [
            _compared(task, first, second, table[first], table[second])
            for task, table in tables.items()
            for first, second in _chosen(tables, table, against, least)
        ],
        family,
    )


def pairs_by_subset(
    tables: Tables, against: str = ALL, least: float = LEAST_SHARE, family: Family = "task"
) -> list[ComparedRuns]:
    """Return the comparisons of `pairs` within each modality, source and condition with items of both runs.

    A key with one value among the common items has none.

    Args:
        tables: As those of `pairs`.
        against: As that of `pairs`.
        least: As that of `pairs`.
        family: As that of `pairs`.

    Raises:
        BadArgument: No run has the label `against`.
    """
    return _with_corrections(
        [
            _compared(task, first, second, table[first], table[second], subset, among)
            for task, table in tables.items()
            for first, second in _chosen(tables, table, against, least)
            for subset, among in _subsets(task, _common(table[first], table[second]))
        ],
        family,
    )


def _subsets(task: str, common: Mapping[str, Item]) -> Iterator[tuple[str, set[str]]]:
    """Yield ``key=value`` and the ids of the common items that have it."""
    for name, value_of in KEYS.items():
        if name == "condition" and task != Conditions.name:
            continue
        values = {key: value_of(item) for key, item in common.items()}
        if len(named := set(values.values()) - {""}) > 1:
            for value in sorted(named):
                yield f"{name}={value}", {key for key, own in values.items() if own == value}


def _with_corrections(found: Sequence[ComparedRuns], family: Family) -> list[ComparedRuns]:
    """Return comparisons with p values adjusted within their families; those of a task stand together."""
    made = []
    for _, own in groupby(found, key=lambda pair: pair.task if family == "task" else ""):
        members = list(own)
        ps = [pair.p for pair in members]
        both = zip(members, holm(ps), benjamini_hochberg(ps), strict=True)
        made += [replace(pair, adjusted=adjusted, discovery=discovery) for pair, adjusted, discovery in both]
    return made


def _chosen(tables: Tables, table: Mapping[str, Scored], against: str, least: float) -> Iterator[tuple[str, str]]:
    """Yield the labels of each two runs of a task to compare."""
    every = dict.fromkeys(label for one in tables.values() for label in one)
    if against not in (ALL, BEST, *every):
        expected = f"{ALL}, {BEST}, or the label of a run: {', '.join(map(repr, every))}"
        raise BadArgument("against", against, expected, "e.g. `python -m lmod_train report RUN... --against best`")
    if against == ALL:
        yield from (pair for pair in combinations(table, 2) if _alike(table, *pair))
        return
    reference = _ranking(table, least).order[0] if against == BEST else against
    for label in table if reference in table else ():
        alike = _alike(table, reference, label) if against == BEST else not _clash(table[reference], table[label])
        if label != reference and alike:
            yield reference, label


def _alike(table: Mapping[str, Scored], first: str, second: str) -> bool:
    """Return whether the replies of two runs are both constrained or both free, and no two settings of one model."""
    return table[first].constrained == table[second].constrained and not _clash(table[first], table[second])


def _clash(one: Scored, other: Scored) -> bool:
    return one.weights is not None and one.weights == other.weights and one.settings != other.settings


def _compared(
    task: str, first: str, second: str, a: Scored, b: Scored, subset: str = "all", among: Collection[str] | None = None
) -> ComparedRuns:
    common = _common(a, b, among)
    right, other, patients = _tested(a, b, common)
    test = mcnemar(right, other)
    difference, p = _difference(task, a, b, common)
    detectable = None
    if test.n:
        share = (test.only_first + test.only_second) / test.n
        detectable = detectable_difference(effective_pairs(right, other, patients), share)
    shared = len(a.items.keys() & b.items.keys())
    alone = (len(a.items) - shared, len(b.items) - shared)
    return ComparedRuns(task, first, second, test, p, difference, detectable, alone, subset)


def letter_display(
    every: Tables, least: float = LEAST_SHARE, fewest: int = 3, family: Family = "task"
) -> tuple[list[Place], int]:
    """Return the runs of each task that `fewest` or more runs have, with their letters, and the number of tested pairs.

    Scores and tests are on the records that all ranked runs have. Two runs differ if p of their difference,
    Holm-adjusted over all pairs of the task (`family`: of all these tasks), is below 0.05. A run that is not ranked has
    `NOT_COMPARED` instead of letters.

    Args:
        every: The runs.
        least: Share of the records of one ranked run that all have in common, at least.
        fewest: Number of runs of a task from which it is shown.
        family: The pairs over which p values are adjusted.
    """
    tables = {task: table for task, table in every.items() if len(table) >= fewest}
    ranked = {task: _ranking(table, least) for task, table in tables.items()}
    tested = {task: _pairs_tested(tables[task], ranking) for task, ranking in ranked.items()}
    whole = holm([p for own in tested.values() for _, p in own])
    places, at = [], 0
    for task, one in ranked.items():
        own = tested[task]
        adjusted = holm([p for _, p in own]) if family == "task" else whole[at : at + len(own)]
        at += len(own)
        judged = zip(own, adjusted, strict=True)
        apart = [pair for (pair, _), p in judged if p is not None and p < ALPHA]
        found = letters(len(one.order), apart) if len(one.order) > 1 else [NOT_COMPARED]
        for run, shared in zip(one.order, found, strict=True):
            places.append(Place(task, run, len(one.keys), tables[task][run].mean(one.keys), shared))
        for run in one.left_out:
            alone = tables[task][run]
            places.append(Place(task, run, len(alone.items), alone.mean(alone.items), NOT_COMPARED))
    return places, sum(p is not None for own in tested.values() for _, p in own)


def _pairs_tested(table: Mapping[str, Scored], ranking: Ranking) -> list[tuple[tuple[int, int], float | None]]:
    """Return each two places of a ranking with p of their difference."""
    pairs = list(combinations(range(len(ranking.order)), 2))
    scored = [table[label] for label in ranking.order]
    return [(pair, _p_of_two(scored[pair[0]], scored[pair[1]], ranking.keys)) for pair in pairs]


@lru_cache(maxsize=4096)  # the first screen and a section show the same tests
def _p_of_two(first: Scored, second: Scored, keys: frozenset[str]) -> float | None:
    return _difference("", first, second, _common(first, second, keys))[1]


def joint(every: Tables, least: float = LEAST_SHARE) -> list[tuple[str, int, int, float, float]]:
    """Return (task, runs, common questions, Q, p) of Cochran's Q test per task of which three or more runs are ranked.

    Args:
        every: The runs.
        least: Share of the records of one ranked run that all have in common, at least.
    """
    rows = []
    for task, table in every.items():
        ranking = _ranking(table, least)
        tables = [table[label] for label in ranking.order]
        asked = {tables[0].items[key].id: key for key in ranking.keys}
        common = [asked[id] for id in once_each((id, tables[0].items[key].tags) for id, key in asked.items())]
        if len(tables) > 2 and common:
            q, p = cochran_q([[t.item_scores[key] == 1 for t in tables] for key in common])
            assert p is not None
            rows.append((task, len(tables), len(common), q, p))
    return rows
