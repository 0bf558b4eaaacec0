"""The table of the spread over ways of asking."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from lmod_train.core.tables import INTERVAL, SCORE, Cell, Column, Heads, N, table
from lmod_train.report.contents import Part, Text
from lmod_train.report.results import Results
from lmod_train.report.section import Section
from lmod_train.report.ways import Spread, spreads

NOTE = """Every question was asked in several ways. The score is over all of them, with an interval over patients.
Least, most and sd are the lowest and the highest score of a way and the standard deviation of these scores, on the
questions with a reply in every way. Same answer: share of these questions with one answer in all ways. p: Cochran's Q
test of equally many correct answers in all ways, each question in one way of the other factors, questions taken as
independent (an image is correct if every region is)."""
_COLUMNS: Heads = [
    "task", "model", "over", Column("ways", "count"), N, SCORE, INTERVAL, Column("least", "number"),
    Column("most", "number"), Column("sd", "number"), Column("same answer", "percent"), Column("p", "p"),
]  # fmt: skip


class Ways(Section):
    """The spread of scores over wordings, orders of choices, system prompts, examples and repeats."""

    title: ClassVar[str] = "Spread over ways of asking"

    def parts(self, results: Results) -> Iterator[Part]:
        """Yield the table; nothing if every question was asked once."""
        found = spreads(results.runs, results.outcomes)
        if found:
            yield Text(NOTE)
            yield table("ways", _COLUMNS, [_row(spread) for spread in found])


def _row(s: Spread) -> list[Cell]:
    ends = [s.least.value, s.most.value, s.sd.value]
    pooled = [s.score.value, (s.score.low, s.score.high)]
    return [s.task, s.run, s.factor, s.ways, s.least.n, *pooled, *ends, s.same.value, s.p]
