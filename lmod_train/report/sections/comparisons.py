"""Comparisons of runs on their common items."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from lmod_train.report.comparisons import Pair, joint, pairs
from lmod_train.report.contents import Cell, Column, Heads, N, Part, Text, table
from lmod_train.report.results import Results
from lmod_train.report.section import Section

NOTE = """Runs are compared on their common items. First only: items that only the first run answers correctly (an
image is correct if every region is). p: exact two-sided McNemar test, items taken as independent. Holm: p adjusted for
all rows of this table. Difference: of mean scores (accuracy, or F1 per image), with an interval over patients. If both
runs ask in several ways, the test takes each question in one of them, and the difference is over all."""
_JOINT = "Cochran's Q test of the hypothesis that all runs are equally often correct:"
_PAIR: Heads = [
    "task", "first", "second", N, Column("first only", "count"), Column("second only", "count"), Column("p", "p"),
    Column("Holm", "p"), Column("difference", "signed"), Column("95 % interval", "signed_interval"),
]  # fmt: skip


class Comparisons(Section):
    """All pairs of runs, and a joint test of three or more."""

    title: ClassVar[str] = "Pairwise comparisons"

    def parts(self, results: Results) -> Iterator[Part]:
        """Yield the table of pairs and that of the joint test; nothing for runs without common tasks."""
        compared = pairs(results.items)
        if compared:
            yield Text(NOTE)
            yield table("pairs", _PAIR, [_row(pair) for pair in compared])
        tested = joint(results.items)
        if tested:
            columns: Heads = [Column("runs", "count"), N, Column("Q", "statistic"), Column("p", "p")]
            yield Text(_JOINT)
            yield table("joint", ["task", *columns], tested)


def _row(pair: Pair) -> list[Cell]:
    gap, test = pair.difference, pair.test
    counts = [test.n, test.only_first, test.only_second]
    return [pair.task, pair.first, pair.second, *counts, test.p, pair.adjusted, gap.value, (gap.low, gap.high)]
