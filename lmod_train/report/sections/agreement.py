"""Agreement of judges: of every two, and of each with the parser."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from lmod_train.report.contents import INTERVAL, Cell, Column, Heads, N, Part, Text, score_cells, table
from lmod_train.report.judged_rows import AgreementRow, agreement_rows
from lmod_train.report.results import Results
from lmod_train.report.section import Section

NOTE = """Verdicts of two judges on the replies that both have judged, and of each judge and the task's parser for
questions with choices. Kappa: Cohen's. Sensitivity and specificity: of the first judge for replies that the second
judges right or wrong, if the second is a person."""
_COLUMNS: Heads = [
    "task", "run", "first", "second", N, Column("agreement", "number"), INTERVAL, Column("kappa", "number"), INTERVAL,
    Column("sensitivity", "number"), Column("specificity", "number"),
]  # fmt: skip


class Agreement(Section):
    """Agreement of every two judges, and of each with the parser."""

    title: ClassVar[str] = "Agreement of judges"

    def parts(self, results: Results) -> Iterator[Part]:
        """Yield the table; nothing if no two judges have judged the same replies."""
        rows = [_row(row) for row in agreement_rows(results.runs, results.outcomes)]
        if rows:
            yield Text(NOTE)
            yield table("agreement", _COLUMNS, rows)


def _row(r: AgreementRow) -> list[Cell]:
    rates = [s.value if s else None for s in (r.sensitivity, r.specificity)]
    return [r.task, r.run, r.first, r.second, *score_cells(r.agreement), *score_cells(r.kappa)[1:], *rates]
