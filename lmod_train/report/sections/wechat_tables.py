"""Table 1 of OphthalWeChat and the numbers of its journal version, with rows for runs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import ClassVar

from lmod_train.report.contents import Cell, Estimate, Part, Table, Text
from lmod_train.report.languages import KINDS, OPEN, SHORT, SUBSETS, Verdicts, kinds_of, verdicts
from lmod_train.report.origin import not_as_published
from lmod_train.report.results import Results
from lmod_train.report.section import Section
from lmod_train.report.sections.paper_tables import HERE, PaperTables

TABLES = [*(f"ophthalwechat_table_1{panel}" for panel in "abcd"), "ophthalwechat_journal"]
NOT_JUDGED = """A run has accuracies of open answers, and so overall, only by a judge, whose name stands with the run:
`judge RUN`. Overall needs all six subsets, and a language its three."""


class WechatTables(Section):
    """The printed rows of OphthalWeChat's Table 1 and of its journal version with their states, and rows of runs."""

    title: ClassVar[str] = "OphthalWeChat, Table 1"

    def parts(self, results: Results) -> Iterator[Part]:
        """Yield the tables; a sentence instead beside phantoms, and nothing without such questions."""
        if not any(kinds_of(outcomes.items) for outcomes in results.outcomes.values()):
            return
        parts = [
            _with_judged(part, results) if isinstance(part, Table) and part.name in TABLES else part
            for part in PaperTables(TABLES).parts(results)
        ]
        yield from [Text(NOT_JUDGED)] if any(isinstance(part, Table) for part in parts) else []
        yield from parts


def _with_judged(printed: Table, results: Results) -> Table:
    """Return a table with a row per run and judge below, where a judge's verdicts give one of its numbers."""
    left_out = not_as_published(results.outcomes)
    rows = list(printed.rows)
    for name, outcomes in results.outcomes.items():
        asked = kinds_of(outcomes.items)
        for own in verdicts(outcomes) if not left_out & set(asked) else ():
            rows += _rows(printed, f"{name}, judged by {own.judge}", own) if own.judge else []
    return replace(printed, rows=tuple(rows))


def _rows(printed: Table, label: str, own: Verdicts) -> Iterator[tuple[Cell, ...]]:
    found = [_cell(printed.name, column.head, own) for column in printed.columns[1:-1]]
    if any(cell is not None for cell in found):
        yield (label, *found, HERE)


def _cell(name: str, head: str, own: Verdicts) -> Estimate | None:
    """Return the accuracy in a column: of open answers in one language, or of all subsets of a language or of both."""
    panel = {f"ophthalwechat_table_1{panel}": language for panel, language in (("c", "CN"), ("d", "EN"))}.get(name)
    kind = KINDS[OPEN]
    if head == "accuracy" and panel:
        return _accuracy(own, [f"{kind}_{panel}"])
    if head.startswith(kind):
        return _accuracy(own, [head.replace(" ", "_")])
    if head in ("overall", *SHORT.values()):
        return _accuracy(own, [s for s in SUBSETS if head == "overall" or s.endswith(f"_{head}")])
    return None


def _accuracy(own: Verdicts, subsets: Sequence[str]) -> Estimate | None:
    """Return the accuracy over all questions of some subsets; None unless there are questions of each."""
    items = [item for item in own.items if own.subset[item.id] in subsets]
    if {own.subset[item.id] for item in items} != set(subsets):
        return None
    score, _ = replace(own, items=items).scores()
    return Estimate(score.value, score.low, score.high, score.n)
