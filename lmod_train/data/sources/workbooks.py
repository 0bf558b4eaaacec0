"""Sheets of workbooks as rows of text, as they are shown: XLSX by openpyxl, XLS and ODS by calamine."""

from __future__ import annotations

import datetime
import io
import os
import re
import sys
import zipfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from openpyxl.utils.cell import column_index_from_string, range_boundaries
from python_calamine import CalamineError, CalamineWorkbook, SheetTypeEnum

from lmod_train.core.processes import spawning
from lmod_train.core.raw import open_zip
from lmod_train.data.sources.sheets import (
    MOST_CELLS,
    MOST_LINES,
    UnreadableSheet,
    check_unpacked,
    hidden_rows,
    worksheets,
)

Lines = Sequence[tuple[int, list[str]]]
"""Line number and cells of every row that is not empty."""


@dataclass(frozen=True, slots=True)
class Sheet:
    """A sheet of a workbook.

    Attributes:
        title: Its name.
        lines: Its rows, merged cells below each other filled.
        merged: Number of a row -> its cells with those merged beside each other filled, for a header of two rows.
        hidden: Number of its hidden rows, where the format states it; they are read too.
        unstored: Number of a column, from 0 -> formulas in it whose value is not stored.
    """

    title: str
    lines: Lines
    merged: Mapping[int, Sequence[str]] = field(default_factory=dict)
    hidden: int = 0
    unstored: Mapping[int, int] = field(default_factory=dict)


def sheets_by_openpyxl(content: bytes) -> Iterator[Sheet]:
    """Yield the sheets of an xlsx workbook as they are shown; hidden rows and columns are read, hidden sheets not."""

    def shown(cell: Any) -> str:
        return cell_text(cell.value, getattr(cell, "number_format", ""))

    for sheet in worksheets(content, shown, hidden=False):
        lines = [(number, cells) for number, cells in enumerate(sheet.rows, 1) if any(cells)]
        merged = _with_merged(lines, map(_edges, sheet.merged))
        yield Sheet(sheet.title, *merged, hidden_rows(content, sheet.part), _unstored(content, sheet.part))


_CELL = re.compile(
    rb"<c\b(?![^<>]*\bt=\"str\")[^<>]*?\br=\"([A-Z]{1,3})\d+\"[^<>]*>\s*<f\b[^<>]*?(?:/>|>[^<]*</f>)"
    rb"\s*(?:<v\s*/>|<v>\s*</v>)?\s*</c>"
)
"""A cell with a formula and without a value, as programs write it that do not calculate."""


def _unstored(content: bytes, path: str) -> Counter[int]:
    """Return number of a column, from 0 -> formulas in it whose value is not stored."""
    with open_zip(io.BytesIO(content)) as held:
        found = _CELL.findall(held.read(path))
    return Counter(column_index_from_string(column.decode()) - 1 for column in found)


def _edges(reference: str) -> tuple[int, int, int, int]:
    """Return first row, first column, last row and last column of a range such as ``A2:A5``, from 1."""
    left, top, right, bottom = (edge or 1 for edge in range_boundaries(reference))
    return top, left, bottom, right


MOST_BYTES, MOST_SECONDS = 2**30, 120
"""Memory and time of computing that calamine may take: a small file can repeat a cell a billion times."""


def sheets_by_calamine(content: bytes) -> list[Sheet]:
    """Return the sheets of an xls or ods workbook, read in a process that can be stopped."""
    if content.startswith(b"PK\x03\x04"):
        try:
            check_unpacked(content)
        except (ValueError, zipfile.BadZipFile) as error:
            raise UnreadableSheet(f"not a readable workbook ({error})") from error
    context = spawning()
    receiving, sending = context.Pipe(duplex=False)
    process = context.Process(target=_send_sheets, args=(content, sending), daemon=True)
    process.start()
    sending.close()
    try:
        found: list[Sheet] | str = receiving.recv()
    except EOFError:  # the process was stopped
        found = f"it takes more than {MOST_BYTES:,} bytes or {MOST_SECONDS} s, or is damaged"
    finally:
        receiving.close()
        process.kill()
        process.join()
    if isinstance(found, str):
        raise UnreadableSheet(f"not a readable workbook ({found})")
    return found


def _send_sheets(content: bytes, sending: Connection) -> None:
    """Send the sheets, or what is wrong with the workbook."""
    with Path(os.devnull).open() as nowhere:  # not for writing: what calamine prints where it is stopped is lost
        os.dup2(nowhere.fileno(), 2)
    if sys.platform != "win32":
        import resource

        resource.setrlimit(resource.RLIMIT_DATA, (MOST_BYTES, MOST_BYTES))
        resource.setrlimit(resource.RLIMIT_CPU, (MOST_SECONDS, MOST_SECONDS))
    try:
        sending.send(list(_by_calamine(content)))
    except (CalamineError, UnreadableSheet, ValueError) as error:
        sending.send(str(error))


def _by_calamine(content: bytes) -> Iterator[Sheet]:
    left = MOST_CELLS
    book = CalamineWorkbook.from_filelike(io.BytesIO(content))
    for about in book.sheets_metadata:
        if about.typ != SheetTypeEnum.WorkSheet or str(about.visible).rpartition(".")[2] != "Visible":
            continue
        sheet = book.get_sheet_by_name(about.name)
        left -= sheet.total_height * max(sheet.total_width, MOST_CELLS // MOST_LINES)
        if left < 0:
            raise UnreadableSheet(f"more than {MOST_CELLS:,} cells or {MOST_LINES:,} lines, empty ones counted")
        texts = [[cell_text(value) for value in row] for row in sheet.to_python(skip_empty_area=False)]
        lines = [(number, cells) for number, cells in enumerate(texts, 1) if any(cells)]
        ranges = sheet.merged_cell_ranges or []
        edges = ((top + 1, left_ + 1, bottom + 1, right + 1) for (top, left_), (bottom, right) in ranges)
        yield Sheet(about.name, *_with_merged(lines, edges))


def _with_merged(
    lines: list[tuple[int, list[str]]], ranges: Iterable[tuple[int, int, int, int]]
) -> tuple[Lines, dict[int, list[str]]]:
    """Return the lines with merged cells below each other filled, and rows with merged cells beside each other filled.

    A value that was merged over several rows belongs to each of them: the patient of four photographs. One that was
    merged over several columns is the upper row of a header.
    """
    cells_of, across = dict(lines), dict[int, list[str]]()
    for top, left, bottom, right in ranges:
        value = cells_of.get(top, [])[left - 1 : left]
        if not value or (bottom - top + 1) * (right - left + 1) > MOST_LINES:
            continue
        for number in range(top + 1, bottom + 1):
            if number in cells_of and left == right:
                cells_of[number] += [""] * (left - len(cells_of[number]))
                cells_of[number][left - 1] = value[0]
        if right > left:
            row = across.setdefault(top, list(cells_of[top]))
            row += [""] * (right - len(row))
            row[left - 1 : right] = value * (right - left + 1)
    lower = [number + 1 for number in across if number + 1 in cells_of]
    return list(cells_of.items()), across | {n: cells_of[n] for n in lower if n not in across}


def cell_text(value: Any, number_format: str = "") -> str:
    """Return a cell as it is shown.

    Example:
        >>> cell_text(7, "0000"), cell_text(3.0), cell_text(0.5, "0%"), cell_text(True), cell_text(None)
        ('0007', '3', '50%', 'TRUE', '')
    """
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).upper()
    if isinstance(value, datetime.datetime):
        return value.date().isoformat() if value.time() == datetime.time() else value.isoformat(" ")
    if isinstance(value, datetime.date | datetime.time):
        return value.isoformat()
    if isinstance(value, int | float):
        whole = isinstance(value, int) or value.is_integer()
        if whole and number_format and re.fullmatch(r"0{2,}", number_format):
            return f"{int(value):0{len(number_format)}d}"
        if number_format and re.fullmatch(r"0(?:\.0+)?%", number_format):
            return f"{value * 100:g}%"
        return str(int(value)) if whole else f"{value:.15g}"
    return str(value).strip()
