"""Comparison of the runs with the printed numbers of their models, by protocol."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import ClassVar

from lmod_train.core.artifacts.model_facts import PAPERS
from lmod_train.core.errors import BadArgument
from lmod_train.core.tables import INTERVAL, Cell, Column, N, Table, table
from lmod_train.report.contents import Part, Text
from lmod_train.report.origin import phantom_tasks
from lmod_train.report.papers.ledger import Entry, entries, unknown_models
from lmod_train.report.papers.printed import Printed
from lmod_train.report.papers.relations import RELATIONS
from lmod_train.report.papers.states import state_of
from lmod_train.report.results import Results
from lmod_train.report.section import Section

NOTE = """A score is compared with a printed number of the same model only if both were obtained in the same way.
`same`: equal in the printed digits, rounded or cut off. `different within interval`: the printed number lies in the
95 % interval of the score, which covers the draw of items, not the differences in prompts, decoding and versions that
the papers leave open. `different`: it lies outside. `cannot be told`: the paper or the run does not record what a
comparison needs. `refused`: words, number of items, split, balance, protocol, definition or weights differ. Words are
those of the prompt's template. A cell that contradicts other printed numbers has a remark."""


class Ledger(Section):
    """How the scores of runs relate to the printed numbers of their models.

    Args:
        papers: Names of the papers, e.g. ``lmod_plus``; None compares with all.
    """

    title: ClassVar[str] = "Comparison with the papers"

    def __init__(self, papers: list[str] | None = None) -> None:
        if unknown := [name for name in papers or () if name not in PAPERS]:
            raise BadArgument("papers", unknown, f"names among {', '.join(PAPERS)}", "correct the report's config")
        self.papers = papers or list(PAPERS)

    def parts(self, results: Results) -> Iterator[Part]:
        """Yield the counts of relations, the comparable numbers, and the refused ones by reason."""
        found = [entry for entry in entries(results) if entry.cell.paper in self.papers]
        yield from (Text(line) for line in _left_out(results))
        if not found:
            return
        yield Text(NOTE)
        yield _counts(found)
        compared = [e for e in found if e.found.relation != "refused"]
        if compared:
            yield _compared(compared)
        refused = [e for e in found if e.found.relation == "refused"]
        if refused:
            yield _refused(refused)


def _left_out(results: Results) -> Iterator[str]:
    if drawn := sorted(phantom_tasks(results.outcomes)):
        yield f"Not compared, as they have records of phantoms: {', '.join(drawn)}."
    if unknown := unknown_models(results):
        yield f"Not compared, as the papers have no row of this model name: {', '.join(unknown)}."


def _counts(found: Sequence[Entry]) -> Table:
    counts = Counter((e.run, PAPERS[e.cell.paper], e.found.relation) for e in found)
    rows: list[list[Cell]] = [
        [run, paper, *(counts[run, paper, relation] for relation in RELATIONS)]
        for run, paper in dict.fromkeys((e.run, PAPERS[e.cell.paper]) for e in found)
    ]
    return table("ledger", ["run", "paper", *(Column(relation, "count") for relation in RELATIONS)], rows)


def _compared(found: Sequence[Entry]) -> Table:
    rows: list[list[Cell]] = [
        [
            e.run,
            _where(e.cell),
            _what(e.cell),
            e.protocol.metric,
            e.cell.value,
            state_of(e.cell).name,
            None if e.score.value is None else e.cell.as_printed(e.score.value),
            _scaled(e),
            e.here.n,
            e.found.relation,
            "; ".join(filter(None, (e.found.why, e.found.remark))),
        ]
        for e in found
    ]
    numbers = [Column("printed", "number"), Column("state"), Column("here", "number"), INTERVAL, N]
    numbers = [Column("printed", "number"), Column("state"), Column("here", "number"), INTERVAL, N]
    texts = [Column(head) for head in ("run", "where", "cell", "metric here")]
    columns = [*texts, *numbers, Column("relation"), Column("reason and remark")]
    return table("ledger_cells", columns, rows, "Numbers", "In the unit and with the digits of the paper.")


def _scaled(entry: Entry) -> tuple[float | None, float | None]:
    """Return the interval of a score in the unit of the printed number."""
    low, high = entry.score.low, entry.score.high
    return (None if low is None else low * entry.cell.scale, None if high is None else high * entry.cell.scale)


def _refused(found: Sequence[Entry]) -> Table:
    counts = Counter((e.run, _where(e.cell), e.protocol.task, e.found.why) for e in found)
    rows: list[list[Cell]] = [[*key, n] for key, n in counts.items()]
    return table("ledger_refused", ["run", "where", "task", "differs", Column("cells", "count")], rows, "Refused")


def _where(cell: Printed) -> str:
    return f"{PAPERS[cell.paper]}, {cell.table}"


def _what(cell: Printed) -> str:
    part = [cell.modality if cell.modality != "all" else "", cell.stage_or_class.replace("overall", "")]
    target = cell.dataset_or_subset if cell.task in ("rejection_rate", "supervised_baseline") else ""
    return " ".join(filter(None, (cell.model + ":", cell.task, target, *part, cell.metric)))
