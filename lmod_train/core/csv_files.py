"""CSV files that this package writes and reads back, their cells those of `for_csv` and `from_csv`."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Sequence
from pathlib import Path

from lmod_train.core.escaping import for_csv, from_csv
from lmod_train.core.files import write_durably


def write_csv(path: Path, columns: Sequence[str], rows: Iterable[Iterable[object]], end: str = "\n") -> None:
    """Write a table, whole or not at all.

    Args:
        path: The file.
        columns: The header.
        rows: Cells in the order of the columns; None is empty.
        end: End of a line.
    """
    with write_durably(path) as beside, beside.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator=end)
        writer.writerow(columns)
        writer.writerows(map(for_csv, row) for row in rows)


def read_csv(path: Path) -> list[dict[str, str]]:
    """Return the rows of a table by column, its cells as they were before `write_csv`."""
    with path.open(newline="", encoding="utf-8") as file:
        return [{name: from_csv(cell) for name, cell in row.items()} for row in csv.DictReader(file)]
