"""Rows of a table by the heads of its columns."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

from lmod_train.core.tables import Cell, Table

Line = dict[str, Any]
"""Head -> cell."""


def lines(table: Table) -> list[Line]:
    """Return the rows of a table as head -> cell.

    Example:
        >>> from lmod_train.core.tables import table
        >>> lines(table("t", ["model", "n"], [["cnn", 3]]))
        [{'model': 'cnn', 'n': 3}]
    """
    heads = [column.head for column in table.columns]
    return [dict(zip(heads, row, strict=True)) for row in table.rows]


def distinct(rows: Sequence[Line], head: str) -> list[str]:
    """Return the different cells of a column, in the order of the rows."""
    return list(dict.fromkeys(row[head] for row in rows))


def parts(rows: Sequence[Line], head: str) -> Iterator[tuple[str, list[Line]]]:
    """Yield each different cell of a column with its rows."""
    for cell in distinct(rows, head):
        yield cell, [row for row in rows if row[head] == cell]


def number(cell: Cell) -> float:
    """Return a cell as a number; NaN, which is not drawn, if it is missing or text."""
    return float(cell) if isinstance(cell, int | float) else math.nan


def interval(row: Line, head: str) -> tuple[float, float]:
    """Return both ends of an interval; NaN if there is none."""
    cell = row.get(head)
    low, high = cell if isinstance(cell, tuple) else (None, None)
    return number(low), number(high)
