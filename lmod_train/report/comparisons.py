"""Comparisons of runs on their common items."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from lmod_train.errors import BadArgument
from lmod_train.report.results import Results
from lmod_train.scoring.comparison import (
    Paired,
    benjamini_hochberg,
    cochran_q,
    cohens_g,
    holm,
    mcnemar,
    mcnemar_by_patient,
    paired_difference,
)
from lmod_train.scoring.headline import HEADLINES, headline_metric
from lmod_train.scoring.items import Item
from lmod_train.scoring.letters import letters
from lmod_train.scoring.merit import merit
from lmod_train.scoring.power import detectable_difference, effective_pairs
from lmod_train.scoring.ways import compared_ids, once_each
from lmod_train.types import Score

Runs = Mapping[str, Mapping[str, Sequence[Item]]]
"""Label of a run -> task -> items."""

ALL, BEST = "all", "best"
FEW = 6
"""Largest number of runs of which all pairs are shown unless a reference is named."""
SIGNIFICANT = 0.05


@dataclass(frozen=True, slots=True)
class Pair:
    """Comparison of two runs on the same items of one task.

    Attributes:
        task: Name of the task.
        first: Label of the first run, the reference if there is one.
        second: Label of the second run.
        test: Exact McNemar test of correct against incorrect answers, each question in one way of asking it.
        p: P value of the same test with patients as the independent units; None without common items.
        difference: Mean score of first - second, with an interval over patients.
        detectable: Difference of shares of right items that these items could detect (see `scoring.power`).
        adjusted: `p`, Holm-adjusted over all compared pairs.
        discovery: `p`, adjusted over them by Benjamini and Hochberg.
    """

    task: str
    first: str
    second: str
    test: Paired
    p: float | None
    difference: Score
    detectable: float | None
    adjusted: float | None = None
    discovery: float | None = None

    @property
    def g(self) -> float | None:
        """Cohen's g, None if the runs never differ."""
        return cohens_g(self.test)


@dataclass(frozen=True, slots=True)
class Place:
    """A run of a task in the letter display: runs that share a letter do not differ significantly."""

    task: str
    run: str
    n: int
    score: float
    letters: str


def comparable(results: Results) -> Runs:
    """Return the items of the tasks whose headline score is the mean of `merit`: accuracy or F1 per image."""
    scored = {t for t in results.tasks for _, run in results.named(t) if headline_metric(run.scores, t) in HEADLINES}
    return {name: {t: own for t, own in items.items() if t in scored} for name, items in results.items.items()}


@dataclass(frozen=True)
class _Scored:
    """The items of one run of a task, by the id that pairs them with those of another run, in the order of these."""

    items: Mapping[str, Item]

    @cached_property
    def merits(self) -> NDArray[np.float64]:
        return np.array([merit(item) for item in self.items.values()], dtype=np.float64)

    @cached_property
    def places(self) -> dict[str, int]:
        return {key: place for place, key in enumerate(self.items)}


@dataclass(frozen=True, slots=True)
class _Common:
    """The scores of two runs on their common items, and on those of them that ask each question once."""

    first: NDArray[np.float64]
    second: NDArray[np.float64]
    groups: list[str]
    once: NDArray[np.intp]

    @property
    def tested(self) -> tuple[list[bool], list[bool], list[str]]:
        """Which questions each run has right (of regions: all), and their patients."""
        right = [(own[self.once] == 1).tolist() for own in (self.first, self.second)]
        return right[0], right[1], [self.groups[k] for k in self.once]


def by_question(items: Sequence[Item]) -> dict[str, Item]:
    """Return the items of a task by the id that pairs them with those of another run, in the order of these ids."""
    ids = compared_ids((item.id, item.tags) for item in items)
    return dict(sorted(((ids[item.id], item) for item in items), key=lambda pair: pair[0]))


def _common(a: _Scored, b: _Scored) -> _Common:
    keys = [key for key in a.items if key in b.items]
    both = [a.items[key] for key in keys]
    asked = {item.id: place for place, item in enumerate(both)}
    once = sorted(asked[id] for id in once_each((item.id, item.tags) for item in both))
    first, second = (own.merits[[own.places[key] for key in keys]] for own in (a, b))
    return _Common(first, second, [item.group for item in both], np.array(once, dtype=np.intp))


def _tables(runs: Runs) -> dict[str, dict[str, _Scored]]:
    """Return task -> label of each run that has it -> items."""
    tasks = dict.fromkeys(task for items in runs.values() for task in items)
    return {t: {label: _Scored(by_question(items[t])) for label, items in runs.items() if t in items} for t in tasks}


def pairs(runs: Runs, against: str = ALL) -> list[Pair]:
    """Return the comparisons of runs on common tasks; an image is correct if every region is.

    Args:
        runs: The runs.
        against: ``all`` for all pairs, ``best`` for the best run of each task (by its mean score, the first of equal
            ones) against each other run, or the label of a run for this run against each other.

    Raises:
        BadArgument: No run has the label `against`.
    """
    if against not in (ALL, BEST, *runs):
        expected = f"{ALL}, {BEST}, or the label of a run: {', '.join(repr(label) for label in runs)}"
        raise BadArgument("against", against, expected, "e.g. `python -m lmod_train report RUN... --against best`")
    found = [
        _compared(task, first, second, _common(table[first], table[second]))
        for task, table in _tables(runs).items()
        for first, second in _chosen(table, against)
    ]
    ps = [pair.p for pair in found]
    both = zip(found, holm(ps), benjamini_hochberg(ps), strict=True)
    return [replace(pair, adjusted=adjusted, discovery=discovery) for pair, adjusted, discovery in both]


def _chosen(table: Mapping[str, _Scored], against: str) -> Iterator[tuple[str, str]]:
    if against == ALL:
        yield from combinations(table, 2)
        return
    reference = _ranked(table)[0] if against == BEST else against
    if reference in table:
        yield from ((reference, label) for label in table if label != reference)


def _ranked(table: Mapping[str, _Scored]) -> list[str]:
    """Return the labels of the runs from the highest mean score to the lowest."""
    return sorted(table, key=lambda label: -_mean(table[label]))


def _mean(scored: _Scored) -> float:
    return float(scored.merits.mean()) if len(scored.merits) else 0.0


def _compared(task: str, first: str, second: str, common: _Common) -> Pair:
    right, other, patients = common.tested
    test = mcnemar(right, other)
    difference = paired_difference(task, common.first.tolist(), common.second.tolist(), common.groups)
    detectable = None
    if test.n:
        share = (test.only_first + test.only_second) / test.n
        detectable = detectable_difference(effective_pairs(right, other, patients), share)
    return Pair(task, first, second, test, mcnemar_by_patient(right, other, patients), difference, detectable)


def letter_display(runs: Runs) -> tuple[list[Place], int]:
    """Return the runs of each task that three or more runs have, with their letters, and the number of tested pairs.

    Two runs differ if p by patient, Holm-adjusted over all pairs of all these tasks, is below 0.05. Runs without common
    items share a letter.

    Args:
        runs: The runs.
    """
    tables = {task: table for task, table in _tables(runs).items() if len(table) > 2}
    ranked = {task: _ranked(table) for task, table in tables.items()}
    tested = [(task, i, j) for task in tables for i, j in combinations(range(len(ranked[task])), 2)]
    ps = [
        mcnemar_by_patient(*_common(tables[task][ranked[task][i]], tables[task][ranked[task][j]]).tested)
        for task, i, j in tested
    ]
    apart = [pair for pair, p in zip(tested, holm(ps), strict=True) if p is not None and p < SIGNIFICANT]
    places = []
    for task, order in ranked.items():
        found = letters(len(order), [(i, j) for own, i, j in apart if own == task])
        rows = zip(order, found, strict=True)
        places += [Place(task, run, len(tables[task][run].items), _mean(tables[task][run]), own) for run, own in rows]
    return places, sum(p is not None for p in ps)


def joint(runs: Runs) -> list[tuple[str, int, int, float, float]]:
    """Return (task, runs, common questions, Q, p) of Cochran's Q test per task that three or more runs share."""
    rows = []
    for task, table in _tables(runs).items():
        tables = list(table.values())
        shared = set.intersection(*(set(scored.items) for scored in tables))
        asked = {tables[0].items[key].id: key for key in shared}
        common = [asked[id] for id in once_each((id, tables[0].items[key].tags) for id, key in asked.items())]
        if len(tables) > 2 and common:
            q, p = cochran_q([[t.merits[t.places[key]] == 1 for t in tables] for key in common])
            assert p is not None
            rows.append((task, len(tables), len(common), q, p))
    return rows
