"""What `curate --table` prints of a table: how it was read, what every column means, and what is asked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lmod_train.data.sources.grid import Grid
    from lmod_train.data.table.meanings import Column
    from lmod_train.data.table.plan import Plan


def print_understood(grid: Grid, columns: Sequence[Column], plan: Plan) -> None:
    """Print the table as it was read, and a line for every column: what it means, and examples of its cells."""
    from lmod_train.data.table.looks import shown

    where = f"; header in line {grid.header_line}" if grid.header_line else ""
    print(f"{grid.path}: {grid.kind}; {len(grid.rows)} rows, {len(grid.header)} columns{where}")
    for note in grid.notes:
        print(f"  {note}")
    meanings = [_meaning(column) for column in columns]
    named, meant = min(28, max(len(c.name) for c in columns)), max(map(len, meanings))
    for column, meaning in zip(columns, meanings, strict=True):
        print(f"  {shown(column.name, named):<{named}}  {meaning:<{meant}}  {_examples(grid, column)}".rstrip())
    for question in plan.questions:
        print(f"  asks {question['name']}: {_kind(question)}: {question['words']}")
    passed_on = "may be passed on" if plan.redistributable else "nothing of it leaves this machine"
    print(f"licence: {plan.licence}; {passed_on}")


def _kind(question: Mapping[str, Any]) -> str:
    """Return the kind of a question in words, with its first choices."""
    from lmod_train.data.table.looks import listed

    kinds = {"choice": "one of", "grade": "a grade, in order", "several": "several of", "yes_no": "yes or no"}
    kind = kinds.get(question["kind"], {"open": "free text", "number": "a number"}.get(question["kind"], ""))
    choices = f" {listed(question['choices'])}" if question.get("choices") else ""
    return f"{question['kind']}, {kind}{choices}"


def _meaning(column: Column) -> str:
    from lmod_train.core.vocabulary.scales import SCALES
    from lmod_train.data.table.meanings import MEANINGS

    if column.doubt:
        return "?"
    is_scale = any(column.meaning == scale.name for scale in SCALES)
    text = MEANINGS.get(column.meaning, f"scale {column.meaning}" if is_scale else f"{column.meaning}: yes or no")
    return f"{text}, {column.eye} eye" if column.eye else text


def _examples(grid: Grid, column: Column) -> str:
    """Return the first cells of a column with the words they stand for; none of what names a person."""
    from lmod_train.data.table.looks import shown
    from lmod_train.data.table.values import values_of

    if column.doubt:
        return column.doubt
    if column.meaning in ("name", "birth"):
        return ""
    values = values_of(grid.column(column.name))
    examples = [
        f"{shown(cell)} -> {shown(word)}" if (word := column.words.get(cell, cell)) != cell else shown(cell)
        for cell in list(values.count)[: 4 if column.words else 2]
    ]
    more = ", ..." if len(values.count) > len(examples) else ""
    bad = [cell for cell in values.count if cell in column.bad]
    lost = f"; without a value: {', '.join(shown(cell, 16) for cell in bad[:3])}" if bad else ""
    return f"{', '.join(examples)}{more}{f' ({column.why})' if column.meaning == 'image' else ''}{lost}"
