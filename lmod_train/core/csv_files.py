"""CSV files that this package writes and reads back, their cells those of `for_csv` and `from_csv`."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from pathlib import Path

from lmod_train.core.escaping import for_csv, from_csv
from lmod_train.core.files import write_durably

ENCODING = "utf-8-sig"
"""UTF-8 with a byte order mark, by which Excel knows the encoding; files without a mark are read too."""


def csv_bytes(columns: Sequence[str], rows: Iterable[Iterable[object]], end: str = "\n") -> bytes:
    """Return a table as a file that spreadsheets open in any language; arguments as of `write_csv`."""
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator=end)
    writer.writerow(map(for_csv, columns))
    writer.writerows(map(for_csv, row) for row in rows)
    return text.getvalue().encode(ENCODING)


def write_csv(path: Path, columns: Sequence[str], rows: Iterable[Iterable[object]], end: str = "\n") -> None:
    """Write a table, whole or not at all.

    Args:
        path: The file.
        columns: The header.
        rows: Cells in the order of the columns; None is empty.
        end: End of a line.
    """
    with write_durably(path) as beside:
        beside.write_bytes(csv_bytes(columns, rows, end))


def read_csv(path: Path) -> list[dict[str, str]]:
    """Return the rows of a table by column, its cells as they were before `write_csv`."""
    with path.open(newline="", encoding=ENCODING) as file:
        return [{name: from_csv(cell) for name, cell in row.items()} for row in csv.DictReader(file)]


def read_rows(path: Path) -> list[list[str]]:
    """Return the rows of a table, the header first, its cells as they were before; none of an empty file."""
    with path.open(newline="", encoding=ENCODING) as file:
        return [list(map(from_csv, row)) for row in csv.reader(file)]
