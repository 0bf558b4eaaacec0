"""Tables for people to fill in: written for spreadsheets, and read back as spreadsheets save them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from lmod_train.core.errors import BadArgument
from lmod_train.core.files import write_durably
from lmod_train.data.sources.grid import read_grid
from lmod_train.data.sources.sheets import UnreadableSheet

SAVE = "save the table as `CSV UTF-8`, with the columns that were written"


@dataclass(frozen=True, slots=True)
class Table:
    """Columns of a table that people have filled in.

    Attributes:
        option: Option that names the file, for errors.
        expected: The file in words, for errors.
        required: Names of the columns that it must have once.
        optional: Names of the columns that it may have once; others are not read.
    """

    option: str
    expected: str
    required: tuple[str, ...]
    optional: tuple[str, ...] = ()

    def read(self, path: Path) -> list[tuple[int, dict[str, str]]]:
        """Return line number and cells by column name of every row that is not empty.

        The file is of any kind that `lmod_train.data.sources.grid` reads. Names of columns are compared without case.

        Raises:
            BadArgument: The file cannot be read, lacks a column or has it twice, or a row has more values than columns.
        """
        try:
            grid = read_grid(path)
        except UnreadableSheet as error:
            cure = SAVE if path.is_file() else "name an existing file"
            raise BadArgument(self.option, str(path), f"{self.expected} ({error})", cure) from error
        heads = [name.casefold() for name in grid.header]
        for name in (*self.required, *self.optional):
            if not (name in self.required) <= heads.count(name) <= 1 or f"{name} [2]" in heads:
                expected = f"{self.expected}, each once; it has {', '.join(heads) or 'none'}"
                raise BadArgument(self.option, str(path), expected, "rename them")
        if grid.lost:
            line, why = grid.lost[0]
            expected = f"{self.expected}, in every row as many values as columns; {path}:{line} has {why}"
            cure = f"quote the values of that line that contain a delimiter, or {SAVE}"
            raise BadArgument(self.option, str(path), expected, cure)
        return [(row.line, dict(zip(heads, row.cells, strict=True))) for row in grid.rows]


def check_unfilled(path: Path, content: bytes, option: str) -> None:
    """Refuse to overwrite a file with other content, such as a table that people have filled in.

    Raises:
        BadArgument: The file exists with other content, or is a folder.
    """
    if path.exists() and not (path.is_file() and path.read_bytes() == content):
        found = "one has other content, such as cells that were filled in" if path.is_file() else "is a folder"
        raise BadArgument(option, str(path), f"a new file; this {found}", "name another file, or move this one")


def write_table(path: Path, content: bytes, option: str) -> None:
    """Write a table whole or not at all.

    Raises:
        BadArgument: The file exists with other content, or is a folder.
    """
    check_unfilled(path, content, option)
    with write_durably(path) as beside:
        beside.write_bytes(content)


def lines_of(lines: Iterable[int], most: int = 10) -> str:
    """Return line numbers in words.

    Example:
        >>> lines_of([7]), lines_of([9, 4]), lines_of(range(2, 9), most=3)
        ('line 7', 'lines 4, 9', 'lines 2, 3, 4 and 4 more')
    """
    several = sorted(lines)
    more = f" and {len(several) - most} more" if len(several) > most else ""
    return f"line{'s' if len(several) > 1 else ''} {', '.join(map(str, several[:most]))}{more}"


def cell(row: Mapping[str, str], name: str) -> str:
    """Return a cell without blanks around it; empty if the row is shorter or the table lacks the column."""
    return row.get(name, "").strip()
