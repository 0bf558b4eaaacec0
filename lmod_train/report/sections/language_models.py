"""Models compared on each subset of the questions in two languages, on the same questions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import ClassVar

from lmod_train.core.tables import Cell, Column, Heads, N, table
from lmod_train.core.types import Score
from lmod_train.report.contents import Part, Text
from lmod_train.report.languages import KINDS, OPEN, SUBSETS, verdicts
from lmod_train.report.results import Results
from lmod_train.report.section import Section
from lmod_train.scoring.comparison import (
    Paired,
    benjamini_hochberg,
    holm,
    mcnemar,
    mcnemar_by_patient,
    paired_difference,
)

NOTE = """Every two runs on the questions of a subset that both were asked: McNemar's exact test, and the same with
patients as units; the paper tests each model against the best one of a column, a choice made after seeing the results.
Holm and Benjamini-Hochberg adjust the p values of questions over this whole table. Open answers are right by the
verdicts of a judge of the same name in both runs."""
_COLUMNS: Heads = [
    "subset", "judged by", "first", "second", N, Column("first only", "count"), Column("second only", "count"),
    Column("difference", "signed"), Column("95 % interval", "signed_interval"), Column("p", "p"),
    Column("p by patient", "p"), Column("Holm", "p"), Column("BH", "p"),
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Outcomes:
    """Whether the replies of a run to the questions of a subset are right, and their patients, by record id."""

    right: Mapping[str, bool]
    groups: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class _Pair:
    place: tuple[str, str]
    first: str
    second: str
    test: Paired
    difference: Score
    p_by_patient: float | None


class LanguageModels(Section):
    """McNemar's exact test of every two runs on each subset."""

    title: ClassVar[str] = "Models on one subset"

    def parts(self, results: Results) -> Iterator[Part]:
        """Yield the table; nothing with fewer than two runs of the same questions."""
        pairs = list(_pairs(results))
        if pairs:
            yield Text(NOTE)
            yield table("language_models", _COLUMNS, list(_rows(pairs)))


def _pairs(results: Results) -> Iterator[_Pair]:
    by_run = {name: _by_place(results, name) for name in results.names}
    for place in sorted({place for own in by_run.values() for place in own}, key=lambda p: (SUBSETS.index(p[0]), p[1])):
        having = [name for name in results.names if place in by_run[name]]
        for first, second in combinations(having, 2):
            one, two = by_run[first][place], by_run[second][place]
            ids = sorted(one.right.keys() & two.right.keys())
            a, b = [one.right[id] for id in ids], [two.right[id] for id in ids]
            groups = [one.groups[id] for id in ids]
            if ids:
                gap, p = paired_difference(place[0], a, b, groups), mcnemar_by_patient(a, b, groups)
                yield _Pair(place, first, second, mcnemar(a, b), gap, p)


def _by_place(results: Results, name: str) -> dict[tuple[str, str], _Outcomes]:
    """Return (subset, judge) -> outcomes of a run."""
    found: dict[tuple[str, str], _Outcomes] = {}
    for own in verdicts(results.outcomes[name]):
        for subset in dict.fromkeys(own.subset[item.id] for item in own.items):
            if subset.startswith(KINDS[OPEN]) == bool(own.judge):
                items = [item for item in own.items if own.subset[item.id] == subset]
                right = {item.id: own.right[item.id] for item in items}
                found[subset, own.judge] = _Outcomes(right, {item.id: item.group for item in items})
    return found


def _rows(pairs: list[_Pair]) -> Iterator[list[Cell]]:
    ps = [pair.test.p for pair in pairs]
    for pair, family, discovery in zip(pairs, holm(ps), benjamini_hochberg(ps), strict=True):
        test, gap = pair.test, pair.difference
        counts: list[Cell] = [test.n, test.only_first, test.only_second]
        numbers: list[Cell] = [gap.value, (gap.low, gap.high), test.p, pair.p_by_patient, family, discovery]
        yield [*pair.place, pair.first, pair.second, *counts, *numbers]
