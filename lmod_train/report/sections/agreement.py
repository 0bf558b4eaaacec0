"""Agreement of judges: of every two, and of each with rules."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from lmod_train.core.tables import INTERVAL, Cell, Column, Heads, N, score_cells, table
from lmod_train.report.contents import Part, Text
from lmod_train.report.judged_rows import AgreementRow, agreement_rows
from lmod_train.report.results import Results
from lmod_train.report.section import Section

NOTE = """Verdicts of two judges on the replies that both have judged, and of each judge and rules: for questions with
choices the task's parser, for open answers `exact` (the words of the reference answer, and no others) and `containment`
(these words in their order). Kappa: Cohen's. Sensitivity and specificity: the share of equal verdicts of the first on
replies that the second finds right, and wrong, where the second is a person or a rule on open answers. An exact answer
that a model does not accept is its error; a right answer in other words is an error of the rule, which the rows of
people show. Intervals are over patients."""
_COLUMNS: Heads = [
    "task", "run", "subset", "first", "second", N, Column("agreement", "number"), INTERVAL, Column("kappa", "number"),
    INTERVAL, Column("sensitivity", "number"), INTERVAL, Column("specificity", "number"), INTERVAL,
]  # fmt: skip


class Agreement(Section):
    """Agreement of every two judges, and of each with the parser or, for open answers, with rules on words."""

    title: ClassVar[str] = "Agreement of judges"

    def parts(self, results: Results) -> Iterator[Part]:
        """Yield the table; nothing if no two judges, or judge and rule, have judged the same replies."""
        rows = [_row(row) for row in agreement_rows(results.runs, results.outcomes)]
        if rows:
            yield Text(NOTE)
            yield table("agreement", _COLUMNS, rows)


def _row(r: AgreementRow) -> list[Cell]:
    rates = [cell for score in (r.kappa, r.sensitivity, r.specificity) for cell in score_cells(score)[1:]]
    return [r.task, r.run, r.subset, r.first, r.second, *score_cells(r.agreement), *rates]
