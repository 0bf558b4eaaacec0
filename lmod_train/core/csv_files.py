"""CSV files that this package writes and reads back, their cells those of `for_csv` and `from_csv`."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from lmod_train.core.errors import ArtifactError
from lmod_train.core.escaping import for_csv, from_csv
from lmod_train.core.files import write_durably
from lmod_train.core.raw import lines_of

MOST_BYTES, MOST_LINE = 2**28, 2**20
"""Maximum bytes of a file, which lists two million images, and of a line."""

ENCODING = "utf-8-sig"
"""UTF-8 with a byte order mark, by which Excel knows the encoding; files without a mark are read too."""


class TableDamaged(ArtifactError, ValueError):
    """A table is too large, or no CSV file."""

    def __init__(self, path: Path, problem: str) -> None:
        cure = "copy it again, or write it again with the command that wrote it"
        super().__init__(path, f"is no table that can be read ({problem})", cure)


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
    """Return the rows of a table by column as `read_rows` does, empty ones left out.

    Raises:
        TableDamaged: See `read_rows`, or a row has other columns than the header.
    """
    head, *rows = read_rows(path) or [[]]
    if number := next((n for n, row in enumerate(rows, 2) if row and len(row) != len(head)), 0):
        raise TableDamaged(path, f"row {number} has other columns than the header")
    return [dict(zip(head, row, strict=True)) for row in rows if row]


def read_rows(path: Path) -> list[list[str]]:
    """Return the rows of a table, the header first, its cells as they were before `write_csv`; none of an empty file.

    Raises:
        TableDamaged: It is too large, or no CSV file.
    """
    try:
        return [list(map(from_csv, row)) for row in csv.reader(_lines(path))]
    except FileNotFoundError:
        raise
    except (OSError, ValueError, csv.Error) as error:
        raise TableDamaged(path, str(error)) from error


def _lines(path: Path) -> Iterator[str]:
    for number, line in enumerate(lines_of(path, MOST_BYTES), 1):
        if len(line) > MOST_LINE:
            raise ValueError(f"line {number} has more than {MOST_LINE:,} bytes")
        yield line.decode(ENCODING if number == 1 else "utf-8")
