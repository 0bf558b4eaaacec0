"""The sheets of OphthalWeChat's workbooks: which of them hold questions or images, and their rows by column."""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from openpyxl.utils.cell import range_boundaries

from lmod_train.data.sources.ophthalwechat.words import IMAGE_COLUMNS, NUMBERS, QUESTION_COLUMNS, Words, shown
from lmod_train.data.sources.row_ids import BadRow
from lmod_train.data.sources.sheets import MOST_CELLS, Sheet, cell_text, read_workbook
from lmod_train.data.sources.spellings import plain

TITLES = 20
"""Rows above which a header may stand."""

LONGEST_CELL = 32_767
"""Characters of a cell, as Excel permits; more are of no question."""

_MOST_WIDE = 200  # columns of which merged cells are followed


@dataclass(frozen=True, slots=True)
class Row:
    """A row of a sheet.

    Attributes:
        number: As Excel counts, from 1.
        values: Column -> value of its cell; columns that the sheet lacks are absent.
        merged: Columns whose cells are part of a merged range, and not its first cell.
    """

    number: int
    values: Mapping[str, Any]
    merged: frozenset[str] = frozenset()

    def text(self, column: str, *, required: bool = False) -> str:
        """Return the text of a cell; empty for an empty or missing one.

        Args:
            column: Its column.
            required: Whether an empty cell is an error.

        Raises:
            BadRow: The cell is a date, or longer than a cell of Excel; or it is empty, and `required` is set.
        """
        value = self.values.get(column)
        if isinstance(value, datetime.date | datetime.time | datetime.timedelta):
            raise BadRow(f"{column} is a date", f"{shown(str(value))}; set the cells to text in the workbook")
        if isinstance(value, str) and len(value) > LONGEST_CELL:
            raise BadRow("cell too long", f"{column} has {len(value):,} characters, expected at most {LONGEST_CELL:,}")
        text = cell_text(value)
        if required and not text:
            why = "a formula without a stored value counts as empty"
            if column in self.merged:
                raise BadRow("merged cells", f"{column} is in a merged range; repeat its value in every row")
            raise BadRow(f"no {column}", f"{column} is empty; {why}")
        return text


@dataclass(frozen=True, slots=True)
class Table:
    """A sheet with a header.

    Attributes:
        file: Workbook.
        title: Name of the sheet.
        kind: Whether its rows are questions or images.
        headers: All headers, as they stand in the sheet.
        columns: Names of the columns that are known.
        rows: Its rows, in order, without empty ones.
    """

    file: Path
    title: str
    kind: Literal["questions", "images"]
    headers: Sequence[str]
    columns: frozenset[str]
    rows: Sequence[Row]


@dataclass(frozen=True, slots=True)
class NoTable:
    """A sheet in which no header was found, with the cells of its first row."""

    file: Path
    title: str
    headers: Sequence[str]


def tables_of(file: Path, words: Words) -> Iterator[Table | NoTable]:
    """Yield every sheet of a workbook that is not empty.

    Raises:
        UnreadableSheet: The workbook cannot be read.
    """
    for sheet in read_workbook(file):
        if any(cell_text(value) for row in sheet.rows for value in row):
            yield _table(file, sheet, words)


def _table(file: Path, sheet: Sheet, words: Words) -> Table | NoTable:
    first = next(row for row in sheet.rows if any(map(cell_text, row)))
    for at, row in enumerate(sheet.rows[:TITLES]):
        headers = [cell_text(value)[:200] for value in row]
        kind = _kind(headers, words)
        if kind:
            places = _places(headers, kind, words)
            rows = tuple(_rows(sheet, at, places))
            return Table(file, sheet.title, kind, [h for h in headers if h], frozenset(places), rows)
    return NoTable(file, sheet.title, [cell_text(value)[:60] for value in first if cell_text(value)][:30])


def _kind(headers: Sequence[str], words: Words) -> Literal["questions", "images"] | None:
    """Return what a header is of: questions have a question and an answer, images two other columns."""
    found = {words.columns.get(plain(header)) for header in headers} - {None}
    if {"question", "answer"} <= found:
        return "questions"
    of_images = (found & set(IMAGE_COLUMNS)) | ({"image"} if _numbered(headers) is not None else set())
    return "images" if len(of_images) > 1 and not found & {"question", "answer"} else None


def _places(headers: Sequence[str], kind: Literal["questions", "images"], words: Words) -> dict[str, int]:
    """Return column -> its place; of two headers of one column the first."""
    wanted = QUESTION_COLUMNS if kind == "questions" else IMAGE_COLUMNS
    places: dict[str, int] = {}
    for place, header in enumerate(headers):
        name = words.columns.get(plain(header), "")
        if name in wanted:
            places.setdefault(name, place)
    if kind == "images" and "image" not in places:
        number = _numbered(headers)
        places |= {"image": number} if number is not None else {}
    return places


def _numbered(headers: Sequence[str]) -> int | None:
    return next((place for place, header in enumerate(headers) if plain(header) in NUMBERS), None)


def _rows(sheet: Sheet, header: int, places: Mapping[str, int]) -> Iterator[Row]:
    merged = _merged_cells(sheet)
    for at, row in enumerate(sheet.rows[header + 1 :], header + 1):
        if any(value is not None and value != "" for value in row):
            values = {name: row[place] for name, place in places.items() if place < len(row)}
            inside = frozenset(name for name, place in places.items() if (at, place) in merged)
            yield Row(at + 1, values, inside)


def _merged_cells(sheet: Sheet) -> set[tuple[int, int]]:
    """Return (row, column) from 0 of the cells that are merged into another one, within the sheet's rows."""
    found: set[tuple[int, int]] = set()
    for reference in sheet.merged:
        left, top, right, bottom = (edge or 0 for edge in range_boundaries(reference))
        down, across = range(top - 1, min(bottom, len(sheet.rows))), range(left - 1, min(right, _MOST_WIDE))
        if len(found) + len(down) * len(across) > MOST_CELLS:
            break
        found |= {(row, column) for row in down for column in across} - {(top - 1, left - 1)}
    return found
