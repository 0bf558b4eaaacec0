"""The tables of the papers in their own shape, with rows for the runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import ClassVar

from lmod_train.core.errors import BadArgument
from lmod_train.core.tables import Cell, Column, Estimate, Table, table
from lmod_train.core.types import Score
from lmod_train.core.vocabulary.error_types import type_called
from lmod_train.report.contents import Part, Text
from lmod_train.report.origin import not_as_published, phantom_tasks
from lmod_train.report.papers.measured import find_score, items_of_part
from lmod_train.report.papers.printed import Printed, printed
from lmod_train.report.papers.protocols import protocol_of
from lmod_train.report.papers.shapes import SHAPES, Line, Shape
from lmod_train.report.papers.states import STATES, state_of
from lmod_train.report.papers.subgroup_p import subgroup_p
from lmod_train.report.published import HERE
from lmod_train.report.results import Results
from lmod_train.report.section import Section
from lmod_train.report.sorted_errors import sample_of_errors
from lmod_train.scoring.share import share_score

NOTE = """Numbers as printed, of the authors' own runs, then the runs of this report with interval and n, in the same
unit and in the metric with the most similar definition. Whether two numbers can be compared is in the section that
compares runs with the papers. `state` is that of a row; a letter after a number marks another state of that cell, whose
reason is in the table below: """
MARKS = {
    "source inconsistent": "i",
    "other protocol": "o",
    "not comparable": "n",
    "different snapshot": "d",
    "retired": "r",
    "reproducible": "=",
}
ERRORS_OF, ERRORS = "glaucoma", 100
"""Task and number of the wrong replies that LMOD+'s Table 9 sorts."""
DRAWN = """Not shown, as runs of this report have records of phantoms for them: {tables}. `report --published` shows
them."""


class PaperTables(Section):
    """Tables of the papers, each with the printed rows and a row per run; none of a task that a run asks of phantoms.

    Args:
        tables: Names of the tables, in this order (see `SHAPES`); None shows all.
    """

    title: ClassVar[str] = "Tables of the papers"

    def __init__(self, tables: list[str] | None = None) -> None:
        unknown = [name for name in tables or () if name not in SHAPES]
        if unknown:
            raise BadArgument("tables", unknown, f"names among {', '.join(SHAPES)}", "correct the report's config")
        self.shapes = [SHAPES[name] for name in (tables or SHAPES)]

    def parts(self, results: Results) -> Iterator[Part]:
        """Yield each table, and the states of single cells that differ from the state of their row."""
        drawn = phantom_tasks(results.outcomes)
        beside = [shape for shape in self.shapes if drawn.isdisjoint(_tasks(shape))]
        if hidden := [shape.title for shape in self.shapes if shape not in beside]:
            yield Text(DRAWN.format(tables="; ".join(hidden)))
        if beside:
            yield Text(NOTE + "; ".join(f"{mark} {state} ({STATES[state]})" for state, mark in MARKS.items()) + ".")
        left_out = not_as_published(results.outcomes)
        for shape in beside:
            found = _table(shape, results, left_out)
            yield found if found.rows else Text(f"{shape.title}. {shape.note}")
            states = list(_states(shape))
            if states:
                yield table(f"{shape.name}_states", ["state", "why", "columns", "rows"], states)


def _tasks(shape: Shape) -> set[str]:
    """Return the tasks of this package that a table is about; all of its paper where a column has none of its own."""
    cells = [shape.at(place, line) for place in shape.places for line in shape.lines]
    if not all(map(protocol_of, cells)):
        cells = list(printed(cells[0].paper))
    return {protocol.task for cell in cells if (protocol := protocol_of(cell))}


def _table(shape: Shape, results: Results, left_out: set[str]) -> Table:
    several = len(shape.lines) > 1
    line = [Column("line")] if several else []
    is_p, is_types = shape.unit == "p_value", shape.places[0].cell.task == "error_type_share"
    heads = [Column("model"), *line, *(Column(p.head, "p" if is_p else "estimate") for p in shape.places)]
    rows = [row for model in shape.models() for row in _printed(shape, model)]
    measured = _p_values if is_p else _error_types if is_types else _measured
    rows += [row for line in shape.lines for row in measured(shape, line, results, left_out)]
    return table(shape.name, [*heads, Column("state")], rows, shape.title, shape.note)


def _row_state(cells: Sequence[Printed]) -> str:
    """Return the state of a row: the most frequent one of its numbers, rather one of the model than of the cell."""
    counts = Counter(state_of(cell).name for cell in cells if cell.value)
    of_model = Counter({s: n for s, n in counts.items() if s in ("reproducible", "different snapshot", "retired")})
    return (of_model or counts or Counter(["no numbers"])).most_common(1)[0][0]


def _of_model(shape: Shape, model: str) -> list[Printed]:
    return [shape.at(place, line, model) for line in shape.lines for place in shape.places]


def _printed(shape: Shape, model: str) -> Iterator[list[Cell]]:
    state = _row_state(_of_model(shape, model))
    for line in shape.lines:
        cells = [_marked(shape.at(place, line, model), state) for place in shape.places]
        yield [model, *([line[0]] if len(shape.lines) > 1 else []), *cells, state]


def _marked(cell: Printed, of_row: str) -> Cell:
    if not cell.value:
        return None
    state = state_of(cell).name
    return cell.value if state == of_row else f"{cell.value} {MARKS[state]}"


def _measured(shape: Shape, line: Line, results: Results, left_out: set[str]) -> Iterator[list[Cell]]:
    for name, run in zip(results.names, results.runs, strict=True):
        cells: list[Cell] = []
        for place in shape.places:
            cell = shape.at(place, line)
            protocol = protocol_of(cell)
            if protocol is None or protocol.task in left_out:
                cells.append(None)
                continue
            items = results.outcomes[name].items.get(protocol.task, [])
            score = find_score(run, protocol, len(items_of_part(items, protocol.asked)), len(items))
            cells.append(None if score is None or score.value is None else _estimate(cell, score))
        if any(cell is not None for cell in cells):
            yield [name, *([line[0]] if len(shape.lines) > 1 else []), *cells, HERE]


def _p_values(shape: Shape, line: Line, results: Results, left_out: set[str]) -> Iterator[list[Cell]]:
    for name, tasks in results.items.items():
        for task, items in tasks.items():
            p = subgroup_p(items, shape.places[0].cell.task) if task not in left_out else None
            if p is not None:
                yield [f"{name}, {task}", p, HERE]


def _error_types(shape: Shape, line: Line, results: Results, left_out: set[str]) -> Iterator[list[Cell]]:
    """Yield the error types of a sample of the wrong replies of a run, if rules or a judge have looked at each."""
    for name, outcomes in results.outcomes.items():
        errors = sample_of_errors(outcomes, ERRORS_OF, ERRORS) if ERRORS_OF not in left_out else []
        if errors and all(error.decided for error in errors):
            groups = [error.item.group for error in errors]
            cells: list[Cell] = []
            for place in shape.places:
                held = [error.kind == type_called(place.head) for error in errors]
                score, cell = share_score("share", held, groups), shape.at(place, line)
                cells.append(sum(held) if cell.unit == "count" else _estimate(cell, score))
            yield [f"{name}, {len(errors)} wrong replies", line[0], *cells, HERE]


def _estimate(cell: Printed, score: Score) -> Estimate:
    """Return a score in the unit of a printed cell."""
    value, low, high = (None if v is None else v * cell.scale for v in (score.value, score.low, score.high))
    return Estimate(value, low, high, score.n)


def _states(shape: Shape) -> Iterator[list[Cell]]:
    """Yield the marked cells, those with the same reason and columns together."""
    found: dict[tuple[str, str, str], list[str]] = {}
    for model in shape.models():
        for (state, why), places in _marked_places(shape, model).items():
            found.setdefault((state, why, ", ".join(places)), []).append(model)
    for (state, why, columns), models in found.items():
        yield [state, why, columns, ", ".join(models)]


def _marked_places(shape: Shape, model: str) -> dict[tuple[str, str], list[str]]:
    """Return state and reason -> columns of the cells of a row that have another state than the row."""
    of_row, found = _row_state(_of_model(shape, model)), dict[tuple[str, str], list[str]]()
    for line in shape.lines:
        for place in shape.places:
            cell = shape.at(place, line, model)
            state = state_of(cell)
            if cell.value and state.name != of_row:
                found.setdefault((state.name, state.why), []).append(f"{place.head} {line[0]}".strip())
    return found
