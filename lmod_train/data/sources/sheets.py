"""Reading of tables that come with datasets, delimited text or xlsx workbooks, into rows of text."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from operator import attrgetter
from pathlib import Path
from string import whitespace
from typing import Any

from openpyxl import load_workbook

from lmod_train.core.raw import MOST_TABLE_BYTES, decoded, open_file, open_zip, read_bytes, start_of

_ZIP, _OLD_EXCEL = b"PK\x03\x04", b"\xd0\xcf\x11\xe0"
_DELIMITERS = ",;\t|"
_MERGED = re.compile(rb'<(?:\w+:)?mergeCell [^>]{0,99}?ref="([A-Z]{1,3}[0-9]{1,7}:[A-Z]{1,3}[0-9]{1,7})"')
OPEN = "a quotation mark is not closed"
MOST_CELLS, MOST_LINES, MOST_COLUMNS = 2_000_000, 300_000, 2_000
"""Limits of a table. BRSET, the largest of the sources, has 16,000 lines of 34 columns."""

MOST_SHEETS = 255

MOST_UNPACKED_BYTES = 48 * 2**20
"""Largest size of an unpacked workbook."""

MOST_BREAKS = 50
"""Largest number of lines of one row, whose values may contain line breaks."""

MOST_SPOILED = 500
"""Number of rows with an unclosed quotation mark after which each line is read as a row, so that time stays linear."""

SWALLOWED = "too few values; quotation marks may have joined several into one"


class UnreadableSheet(Exception):
    """Raised for a table that cannot be read; the message is the detail of its entry in dropped.csv."""


def plain_header(text: str) -> str:
    """Return the letters and digits of a column's name in lower case.

    Example:
        >>> plain_header(" Patient_ID "), plain_header("Right-Diagnostic Keywords"), plain_header("Age (years)")
        ('patientid', 'rightdiagnostickeywords', 'ageyears')
    """
    return "".join(c for c in text.casefold() if c.isalnum())


def read_sheet(path: Path, column: str = "") -> list[dict[str, str]]:
    r"""Return the rows of a table as dicts from `plain_header` of the column to the text of the cell.

    The format is detected by content, not by suffix: of an xlsx workbook the first sheet with a header is read;
    anything else is text in an encoding of `lmod_train.core.raw.decoded`, with the delimiter of ``, ; tab |`` that is
    most frequent in the header. Values are stripped; empty and missing cells are ``""``; integers of a workbook have no
    ``.0``. Empty rows and columns without a name are skipped. The second column of the same name gets the suffix ``2``,
    and so on. If a row has more values than the header has columns (as after an unquoted comma), the surplus has the
    key ``""``; so has the reason why a row with wrong quotation marks cannot be used (see `misfit`).

    Quotation marks count only if they enclose a whole value: ``"a" b`` stays one value, and an unclosed mark spoils
    only its own line. A value may contain line breaks if its row has as many values as the header.

    Args:
        path: The file.
        column: A column that the header must have, in any spelling; rows above it (titles) are skipped. By default the
            first row that is not empty is the header.

    Returns:
        One dict per row, in the file's order; [] for a table with only a header.

    Raises:
        UnreadableSheet: The file is missing or damaged, is neither text nor an xlsx workbook, or has no such header.

    Example:
        >>> import tempfile
        >>> file = Path(tempfile.mkdtemp()) / "labels.csv"
        >>> _ = file.write_text("Image_ID, Age \nimg1, 61\nimg2,\n", encoding="utf-8")
        >>> read_sheet(file)
        [{'imageid': 'img1', 'age': '61'}, {'imageid': 'img2', 'age': ''}]
    """
    content = _content(path)
    if content.startswith(_OLD_EXCEL):
        raise UnreadableSheet("an Excel file of before 2007 (xls); save it as xlsx or csv")
    wanted = plain_header(column)
    is_book = content.startswith(_ZIP)
    sheets = [_texts(sheet.rows) for sheet in worksheets(content)] if is_book else [_text(content, wanted)]
    for rows in sheets:
        for at, row in enumerate(rows):
            if _is_header(row, wanted):
                return _named([plain_header(cell) for cell in row], rows[at + 1 :])
    raise UnreadableSheet(f"no column {column!r}" if column else "no header: the table is empty")


def read_header(path: Path) -> list[str]:
    """Return the plain names of the columns in the first row of a table, without reading the others.

    Raises:
        UnreadableSheet: The file is missing or damaged.
    """
    try:
        with open_file(path, MOST_TABLE_BYTES) as file:
            start = file.read(1 << 14)
        if not start.startswith(_ZIP):
            line = start_of(start).lstrip().partition("\n")[0]
            return [plain_header(cell) for cell in line.split(max(_DELIMITERS, key=line.count))]
        content = read_bytes(path, MOST_TABLE_BYTES)
        check_unpacked(content)
        book = load_workbook(io.BytesIO(content), read_only=True, data_only=True, keep_links=False)
        rows = book.worksheets[0].iter_rows(max_row=1, values_only=True)
        return [plain_header(cell_text(value)) for value in next(iter(rows), ())]
    except UnreadableSheet:
        raise
    except Exception as error:  # openpyxl raises errors of many types on damaged files
        raise UnreadableSheet(f"cannot be read ({type(error).__name__}: {error})") from error


@dataclass(frozen=True, slots=True)
class Sheet:
    """A sheet of an xlsx workbook.

    Attributes:
        title: Its name.
        rows: Its rows, each what was made of it.
        merged: Ranges of merged cells such as ``A2:A5``; only the first cell of a range has a value.
        part: Name of its file in the workbook.
    """

    title: str
    rows: list[list[Any]]
    merged: tuple[str, ...] = ()
    part: str = ""


def read_workbook(path: Path) -> list[Sheet]:
    """Return every sheet of an xlsx workbook, at least one, with its values; a formula has the one that was stored.

    Raises:
        UnreadableSheet: The file is missing, damaged, no xlsx workbook, or larger than a table of labels is.
    """
    return worksheets(_content(path))


def _content(path: Path) -> bytes:
    try:
        return read_bytes(path, MOST_TABLE_BYTES)
    except OSError as error:
        raise UnreadableSheet(f"cannot be opened ({type(error).__name__}: {error.strerror or error})") from error
    except ValueError as error:
        raise UnreadableSheet(f"too large ({error})") from error


def misfit(row: Mapping[str, str]) -> str:
    """Return why the values of a row may be in the wrong columns; empty for a row that fits the header.

    Example:
        >>> misfit({"imageid": "img1", "age": "61"}), misfit({"imageid": "img1", "age": "61", "": "7"})
        ('', "values do not fit the columns ('7' has no column)")
    """
    rest = row.get("", "")
    why = rest if rest in (OPEN, SWALLOWED) else f"{rest!r} has no column"
    return f"values do not fit the columns ({why})" if rest else ""


def _is_header(row: Sequence[str], wanted: str) -> bool:
    header = [plain_header(cell) for cell in row]
    return wanted in header if wanted else any(header)


def worksheets(
    content: bytes, of_cell: Callable[[Any], Any] = attrgetter("value"), *, hidden: bool = True
) -> list[Sheet]:
    """Return every sheet of an xlsx file; empty rows and cells count towards the limits too.

    Args:
        content: Of the file.
        of_cell: What is kept of a cell of openpyxl.
        hidden: Whether hidden sheets are read too.
    """
    left, sheets = MOST_CELLS, []
    try:
        check_unpacked(content)
        book = load_workbook(io.BytesIO(content), read_only=True, data_only=True, keep_links=False)
        if len(book.worksheets) > MOST_SHEETS:  # each is looked up in the whole file
            raise UnreadableSheet(f"{len(book.worksheets):,} sheets, expected at most {MOST_SHEETS}")
        for sheet in (one for one in book.worksheets if hidden or one.sheet_state == "visible"):
            sheet.reset_dimensions()  # the dimensions written by other programs are often wrong and would cut the table
            rows = []
            for row in sheet.iter_rows():
                left -= max(len(row), MOST_CELLS // MOST_LINES)
                if left < 0:
                    raise UnreadableSheet(f"more than {MOST_CELLS:,} cells or {MOST_LINES:,} lines, empty ones counted")
                rows.append([of_cell(cell) for cell in row])
            part = sheet._worksheet_path  # type: ignore[attr-defined]
            sheets.append(Sheet(sheet.title, rows, merged_ranges(content, part), part))
        book.close()
    except UnreadableSheet:
        raise
    except Exception as error:  # openpyxl raises errors of many types on damaged files
        raise UnreadableSheet(f"not a readable xlsx file ({type(error).__name__}: {error})") from error
    if not sheets:
        raise UnreadableSheet("not a readable xlsx file (no sheet)")
    return sheets


def check_unpacked(content: bytes) -> None:
    """Raise an error for a workbook whose parts are far larger than the file, as a zip bomb's are."""
    with open_zip(io.BytesIO(content)) as archive:
        parts = archive.infolist()
    unpacked = sum(part.file_size for part in parts)
    steep = any(part.file_size > max(2**20, 100 * part.compress_size) for part in parts)
    if unpacked > MOST_UNPACKED_BYTES or steep:
        raise UnreadableSheet(f"{unpacked:,} bytes when unpacked, from {len(content):,} in the file")


def merged_ranges(content: bytes, part: str) -> tuple[str, ...]:
    """Return the ranges of merged cells of a sheet, which stand behind its data and which openpyxl skips."""
    with open_zip(io.BytesIO(content)) as archive:
        behind = archive.read(part).rpartition(b"sheetData")[2]
    return tuple(found.decode() for found in _MERGED.findall(behind))


def hidden_rows(content: bytes, part: str) -> int:
    """Return the number of hidden rows of a sheet, as of a filter, which openpyxl does not tell from others."""
    with open_zip(io.BytesIO(content)) as archive:
        return len(_HIDDEN.findall(archive.read(part)))


_HIDDEN = re.compile(rb"""<(?:\w{1,20}:)?row\s[^<>]{0,400}?\bhidden=["'](?:1|true)""")


def _texts(rows: Sequence[Sequence[Any]]) -> list[list[str]]:
    return [[cell_text(value) for value in row] for row in rows]


def cell_text(value: Any) -> str:
    """Return a workbook's value as text; integers that Excel stores as 3.0 become 3, no value the empty text."""
    if value is None:
        return ""
    return stripped(str(int(value) if isinstance(value, float) and value.is_integer() else value))


def stripped(text: str) -> str:
    """Return a cell without blanks around it, those without width included.

    Example:
        >>> stripped("\u200b Normal\ufeff ")
        'Normal'
    """
    return text.strip(f"{whitespace}\u00a0\u3000\u200b\u200c\u2060\ufeff").strip()


def _text(content: bytes, wanted: str) -> list[list[str]]:
    """Return the cells of a text table; the delimiter is found in the first line that contains `wanted`."""
    try:
        text = decoded(content)
    except UnicodeDecodeError as error:
        raise UnreadableSheet(f"text in neither UTF-8 nor cp1252 ({error.reason} at {error.start})") from error
    except UnicodeError as error:
        raise UnreadableSheet(str(error)) from error
    if "\0" in text:
        raise UnreadableSheet("neither text nor an xlsx file: it contains null bytes")
    first = next((line for line in text.splitlines() if line.strip() and wanted in plain_header(line)), "")
    delimiter = max(_DELIMITERS, key=first.count)
    lines = list(io.StringIO(text, newline=""))
    if len(lines) > MOST_LINES or text.count(delimiter) > MOST_CELLS:
        raise UnreadableSheet(f"more than {MOST_LINES:,} lines or {MOST_CELLS:,} cells")
    try:
        return [row for _, row in text_rows(lines, delimiter, 0, wanted)]
    except csv.Error as error:
        raise UnreadableSheet(f"not a readable table of text ({error})") from error


def text_rows(lines: Sequence[str], delimiter: str, width: int, wanted: str = "") -> Iterator[tuple[int, list[str]]]:
    """Yield line number and cells of each row; a quotation mark that is not closed spoils only its own line.

    Args:
        lines: All lines with their line ends.
        delimiter: Delimiter between cells.
        width: Number of cells of the header; 0 for that of the first row with a column `wanted`, or any.
        wanted: Plain name of a column.
    """
    at = spoiled = 0
    while at < len(lines):
        row, taken = _row_at(lines, at, delimiter, width, MOST_BREAKS if spoiled < MOST_SPOILED else 1)
        spoiled += taken == 1 and lines[at].count('"') % 2
        if not width and _is_header(row, wanted):
            width = len(row)
        yield at + 1, row
        at += taken


def _row_at(lines: Sequence[str], at: int, delimiter: str, width: int, most: int) -> tuple[list[str], int]:
    """Return the cells of the row that begins at a line, and its number of lines.

    A row with wrong quotation marks is filled up to the header's width, followed by the reason.

    Args:
        lines: All lines with their line ends.
        at: Index of the row's first line.
        delimiter: Delimiter between cells.
        width: Number of cells of the header, 0 while it is not known.
        most: Largest number of lines of the row.
    """
    read = partial(csv.reader, delimiter=delimiter, skipinitialspace=True)
    several = read((lines[i] for i in range(at, min(at + most, len(lines)))), strict=True)
    try:
        row = [stripped(cell) for cell in next(several)]
        if several.line_num == 1 or not width or (len(row) >= width and not any(row[width:])):
            swallowed = len(row) < width and any(delimiter in cell for cell in row)
            return _spoiled(row, width, SWALLOWED) if swallowed else row, several.line_num
    except csv.Error:
        pass  # unpaired quotation marks: the line is read alone below
    alone = read(iter((lines[at], "")))
    row = [stripped(cell) for cell in next(alone)]
    if alone.line_num > 1:  # the reader needed a further line: a quotation mark is not closed
        return _spoiled(row, width, OPEN), 1
    return _spoiled(row, width, SWALLOWED) if len(row) < width else row, 1


def _spoiled(row: list[str], width: int, why: str) -> list[str]:
    return [*row, *[""] * (width - len(row)), why] if width else row


def _named(header: Sequence[str], rows: Sequence[Sequence[str]]) -> list[dict[str, str]]:
    """Return the rows below a header as dicts by column name."""
    if len(header) > MOST_COLUMNS:
        raise UnreadableSheet(f"{len(header):,} columns, expected at most {MOST_COLUMNS:,}")
    names: list[str] = []
    for name in header:
        again = 2
        unique = name
        while name and unique in names:
            unique, again = f"{name}{again}", again + 1
        names.append(unique)
    while names and not names[-1]:
        names.pop()
    if len(names) * len(rows) > MOST_CELLS:
        raise UnreadableSheet(f"more than {MOST_CELLS:,} cells")
    table = []
    for row in rows:
        if not any(row):
            continue
        full = [*row, *[""] * (len(names) - len(row))]
        entry = {name: value for name, value in zip(names, full, strict=False) if name}
        surplus = ",".join(value for value in full[len(names) :] if value)
        table.append({**entry, "": surplus} if surplus else entry)
    return table
