"""CSV: a file per table, with numbers as computed; an interval is two columns."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from lmod_train.core import csv_files
from lmod_train.core.tables import Cell, Column, Estimate, Table
from lmod_train.report.writers.naming import file_name


def write_csv(table: Table, folder: Path) -> Path:
    """Write one table to ``FOLDER/NAME.csv`` and return the path."""
    file = folder / f"{file_name(table.name)}.csv"
    heads = [head for column in table.columns for head in _heads(column)]
    rows = ([v for c, of in zip(row, table.columns, strict=True) for v in _values(c, of)] for row in table.rows)
    csv_files.write_csv(file, heads, rows, end="\r\n")
    return file


def _heads(column: Column) -> Iterator[str]:
    if column.format == "estimate":
        yield from (column.head, f"{column.head} low", f"{column.head} high", f"{column.head} n")
    elif column.format in ("interval", "signed_interval"):
        yield from (f"{column.head} low", f"{column.head} high")
    else:
        yield column.head


def _values(cell: Cell, column: Column) -> Iterator[str | float | None]:
    if isinstance(cell, Estimate):
        yield from (cell.value, cell.low, cell.high, cell.n)
    elif isinstance(cell, tuple):
        yield from cell
    else:
        yield cell
        yield from [None] * (len(list(_heads(column))) - 1)
