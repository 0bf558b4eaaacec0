"""Any table file as a header and rows of text: CSV, TSV, XLSX, XLS, ODS, Parquet, JSON and folders of `datasets`.

The kind is recognised by content. What is no row of the table is left out and noted: titles above the header, empty
rows, a row of totals, broken lines.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import chain, zip_longest
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from lmod_train.core.batches import AT_ONCE, batches
from lmod_train.core.raw import MOST_CONTAINERS, read_bytes, text_of
from lmod_train.data.sources.objects import (
    MOST_IN_PARTS,
    begins_as_image,
    image_in,
    is_parquet,
    name_of,
    objects_in,
    objects_of,
    schema_of,
)
from lmod_train.data.sources.sheets import (
    MOST_CELLS,
    MOST_COLUMNS,
    MOST_LINES,
    OPEN,
    SWALLOWED,
    UnreadableSheet,
    plain_header,
    text_rows,
)
from lmod_train.data.sources.workbooks import Lines, Sheet, cell_text, sheets_by_calamine, sheets_by_openpyxl

MOST_BYTES = 2**30
"""Maximum bytes of a Parquet file, which may hold its images; what it unpacks to has the limits of `sheets`."""

MOST_TEXT_BYTES = 200 * 2**20
"""Maximum bytes of a text, which may hold its images in base64, and characters of a table's cells together."""

MOST_NAME = 1000
"""Maximum characters of the name of a column: surveys write their questions there."""

TITLES = 20
"""Rows above which the header may stand."""

AGAIN = "the header again, no row of the table"

DELIMITERS = ",;\t|"

SAMPLED = 200_000
"""Characters of a text by which its delimiter is chosen."""

_ZIP, _OLD_EXCEL = b"PK\x03\x04", b"\xd0\xcf\x11\xe0"
_TOTAL = re.compile(
    r"(?i)(?:sum|total|totals|summe|gesamt|insgesamt|somme|suma|soma|合计|总计|总数|mean|mittelwert)\b.*"
)


Listed = Sequence[Any] | Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Row:
    """A row of a table: the number of its line (of the row in a sheet or a Parquet file, from 1) and its cells."""

    line: int
    cells: tuple[str, ...]


class Apart(NamedTuple):
    """A value that is left out: its line, the column and the cell, and why."""

    line: int
    column: str
    cell: str
    why: str


@dataclass(frozen=True, slots=True)
class Grid:
    """A table as it is shown.

    Attributes:
        path: The file.
        header: Names of the columns as written, each once: the second of a name is ``name [2]``, one without a name
            ``[column 3]``, one below a merged name ``OD / Image``.
        rows: As many cells in each as there are columns, without blanks around them.
        kind: What the file is, in words, with its encoding and delimiter if it is text.
        header_line: Line of the header, the lower one of two; 0 for Parquet and objects.
        notes: What was left out and why, one line each.
        lost: Line and reason of each row that cannot be read.
        images: Column whose images are inside the file; empty for none. Its cells are paths or rows of a Parquet file
            of images, or names by `lmod_train.data.sources.objects.name_of`.
        apart: Values that rows of one image state differently, once they are one row.
        classes: Column -> names of its whole numbers from 0, where the file states them (``ClassLabel`` of the Hub).
        lists: Column and line -> the list of several values, or the object, that a cell is.
    """

    path: Path
    header: tuple[str, ...]
    rows: tuple[Row, ...]
    kind: str
    header_line: int = 0
    notes: tuple[str, ...] = ()
    lost: tuple[tuple[int, str], ...] = ()
    images: str = ""
    apart: tuple[Apart, ...] = ()
    classes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    lists: Mapping[tuple[str, int], Listed] = field(default_factory=dict, repr=False)

    def column(self, name: str) -> list[str]:
        """Return the cells of a column, from the first row to the last."""
        place = self.header.index(name)
        return [row.cells[place] for row in self.rows]


def read_grid(path: Path, sheet: str = "") -> Grid:
    """Return a table.

    Args:
        path: The file, or a folder that `datasets.save_to_disk` wrote.
        sheet: Name of the sheet of a workbook; empty for the one with the most filled rows.

    Raises:
        UnreadableSheet: The file is missing, damaged, too large, of none of these kinds, or holds no table.
    """
    try:
        if path.is_dir():
            return _checked(_objects(path, enumerate(objects_in(path), 1), "a saved data set", schema_of(path)))
        if is_parquet(path):
            return _checked(_parquet(path, read_bytes(path, MOST_BYTES)))
        if path.stat().st_size > MOST_TEXT_BYTES:
            found = f"{path.stat().st_size:,} bytes, expected at most {MOST_TEXT_BYTES:,} of a text or workbook"
            raise UnreadableSheet(f"{found}; split it by lines into several files, each with the header")
        content = read_bytes(path, MOST_TEXT_BYTES)
        if content.startswith(_OLD_EXCEL) or (content.startswith(_ZIP) and b"opendocument" in content[:300]):
            kind = "ODS" if content.startswith(_ZIP) else "XLS"
            return _checked(_sheet(path, sheets_by_calamine(content), kind, sheet))
        if content.startswith(_ZIP):
            return _checked(_sheet(path, sheets_by_openpyxl(content), "XLSX", sheet))
        if sheet:
            raise UnreadableSheet(f"no sheet {sheet!r}, as the file is no workbook")
        text, encoding = text_of(content)
    except UnicodeError as error:
        raise UnreadableSheet(f"the encoding of the text is not known ({error})") from error
    except (OSError, ValueError, pa.ArrowException) as error:
        raise UnreadableSheet(f"cannot be read ({error})") from error
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    nuls, text = text.count("\0"), text.replace("\0", "")
    is_json = re.match(r"\s*(?:\{|\[\s*[\[{\]])", text) is not None
    grid = _checked(_json(path, text, encoding) if is_json else _delimited(path, text, encoding))
    return replace(grid, notes=(*grid.notes, f"{nuls} zero bytes are left out")) if nuls else grid


def _checked(grid: Grid) -> Grid:
    """Return a grid of a size that the rest of the program can take; one text can stand in all its cells."""
    again = {row.line for row in grid.rows if _is_header_again(row.cells, grid.header)}
    if again:
        rows = tuple(row for row in grid.rows if row.line not in again)
        grid = replace(grid, rows=rows, lost=(*grid.lost, *((line, AGAIN) for line in sorted(again))))
    _check_size(len(grid.rows), len(grid.header))
    if max(map(len, grid.header), default=0) > MOST_NAME:
        raise UnreadableSheet(f"the name of a column has more than {MOST_NAME:,} characters")
    if sum(len(cell) for row in grid.rows for cell in row.cells) > MOST_TEXT_BYTES:
        raise UnreadableSheet(f"more than {MOST_TEXT_BYTES:,} characters in its cells")
    return grid


def _check_size(rows: int, columns: int) -> None:
    if columns > MOST_COLUMNS or rows > MOST_LINES or rows * columns > MOST_CELLS:
        found = f"{rows:,} rows of {columns:,} columns"
        raise UnreadableSheet(f"{found}, expected at most {MOST_LINES:,}, {MOST_COLUMNS:,} and {MOST_CELLS:,} cells")


def _table(path: Path, lines: Lines, kind: str, merged: Mapping[int, Sequence[str]], notes: Sequence[str]) -> Grid:
    """Return the grid in numbered rows of cells: the header is found, what stands above it and a total are left out.

    Args:
        path: The file.
        lines: Line number and cells of every row that is not empty.
        kind: What the file is.
        merged: Line number -> cells of a row in which merged cells are all filled, for a header of two rows.
        notes: Of the reader.
    """
    if not lines:
        raise UnreadableSheet("the table is empty")
    at = _header_at(lines, merged)
    line, cells = lines[at]
    above = _upper_row(lines[at - 1], merged, cells) if at and lines[at - 1][0] == line - 1 else None
    if above is not None:
        cells = [_joined(upper, low) for upper, low in zip(_filled(above, cells), _filled(cells, above), strict=True)]
    _check_size(0, _width(cells))
    header = _unique(cells)
    body, left = lines[at + 1 :], [*notes]
    if titles := lines[: at - (above is not None)]:
        left.append(f"{len(titles)} lines above the header are left out: {_shown(titles[0][1])}")
    if body and _is_total(body[-1][1], len(header), [c for _, c in body[:-1]]):
        left.append(f"line {body[-1][0]} is a total and left out: {_shown(body[-1][1])}")
        body = body[:-1]
    rows, lost, again = [], [], ""
    names = [lines[at][1], *([lines[at - 1][1]] if above is not None else [])]
    for number, given in body:
        if any(_is_header_again(given, one) for one in names):
            moved = not any(_in_place(given, one) for one in names)
            again = f"another table begins in line {number}" if moved else again
            lost.append((number, AGAIN))
            continue
        if again:
            lost.append((number, again))
            continue
        surplus = [cell for cell in given[len(header) :] if cell]
        if surplus:
            spoiled = surplus[-1] in (OPEN, SWALLOWED)
            why = surplus[-1] if spoiled else f"more values than columns ({surplus[0][:60]!r} has no column)"
            lost.append((number, why))
        else:
            rows.append(Row(number, tuple([*given, *[""] * (len(header) - len(given))][: len(header)])))
    return Grid(path, tuple(header), tuple(rows), kind, line, tuple(left), tuple(lost))


def _is_header_again(cells: Sequence[str], header: Sequence[str]) -> bool:
    """Return whether a row holds most names of the header in their places, or all in any order: sheets were stacked."""
    first = next(filter(None, cells), "")
    if len(first) > MOST_NAME or plain_header(first) not in _plain_names(tuple(header)):
        return False  # as of nearly every row
    names = [sorted(plain_header(cell) for cell in row if cell) for row in (cells, header)]
    many = len(names[0]) > 1 and len(names[0]) * 2 >= len(names[1])
    return many and (names[0] == names[1] or _in_place(cells, header))


@lru_cache(maxsize=16)
def _plain_names(header: tuple[str, ...]) -> frozenset[str]:
    return frozenset(map(plain_header, header))


def _in_place(cells: Sequence[str], header: Sequence[str]) -> bool:
    """Return whether every cell that is not empty is the name of its own column."""
    pairs = [(cell, name) for cell, name in zip_longest(cells, header, fillvalue="") if cell]
    return all(plain_header(cell) == plain_header(name) for cell, name in pairs)


def _header_at(lines: Lines, merged: Mapping[int, Sequence[str]]) -> int:
    """Return the index of the header: the first row as wide as the table whose cells are names and not values."""
    widths = Counter(_width(cells) for _, cells in lines[: 5 * TITLES])
    usual = max(widths, key=lambda w: (widths[w] * w, w))
    for at, (_, cells) in enumerate(lines[:TITLES]):
        names = [cell for cell in cells if cell]
        wide = len(names) >= max(1, (usual + 1) // 2) if usual > 1 else bool(names)
        if wide and sum(map(_is_value, names)) * 2 <= len(names):
            upper = merged.get(lines[at][0])
            below = lines[at + 1 : at + 8]
            return at + (_is_upper(below, names) or (upper is not None and _names_below(below, cells, upper)))
    raise UnreadableSheet("no header was found: the first row as wide as the table must hold the names of the columns")


def _is_upper(below: Lines, names: Sequence[str]) -> bool:
    """Return whether a row of names is the upper row of a header, with more or repeated names in the row below it."""
    under = [cell for cell in below[0][1] if cell] if below else []
    beneath = [cell for _, cells in below[1:] for cell in cells if cell]
    is_names = bool(under) and not any(map(_is_value, under)) and not set(under) & set(beneath)
    return is_names and len(under) > len(names) and any(map(_is_value, beneath))


def _names_below(below: Lines, cells: Sequence[str], upper: Sequence[str]) -> bool:
    """Return whether the cells below merged ones of a row are names of columns."""
    covered = [place for place, name in enumerate(upper) if name and cells[place : place + 1] != [name]]
    under = below[0][1] if below else []
    found = [under[place] for place in covered if place < len(under) and under[place]]
    return bool(found) and not any(map(_is_value, found))


def _upper_row(
    row: tuple[int, Sequence[str]], merged: Mapping[int, Sequence[str]], cells: Sequence[str]
) -> Sequence[str] | None:
    """Return the upper row of a header of two, each name over all its columns; None for a title above one row."""
    number, names = row
    upper = merged.get(number)
    if upper is None:
        plain = [plain_header(cell) for cell in cells if cell]
        if len(set(plain)) == len(plain) or sum(map(bool, names)) < 2:
            return None
        upper = [*names, *[""] * (len(cells) - len(names))]
        for place in range(1, len(upper)):  # as a spreadsheet saved as text: the name stands over its first column
            upper[place] = upper[place] or upper[place - 1]
    return None if len(set(upper) - {""}) == 1 and all(upper[: _width(cells)]) else upper


def _is_value(text: str) -> bool:
    """Return whether a cell is a number, a date or the name of a file, and so no name of a column."""
    return bool(re.fullmatch(r"[-+]?[\d.,:/ -]+%?|.*\.(?:jpe?g|png|tiff?|bmp|gif|webp|dcm)", text.strip(), re.I))


def _width(cells: Sequence[str]) -> int:
    return max((place for place, cell in enumerate(cells, 1) if cell), default=0)


def _filled(cells: Sequence[str], other: Sequence[str]) -> list[str]:
    return [*cells, *[""] * (len(other) - len(cells))]


def _joined(upper: str, lower: str) -> str:
    return f"{upper} / {lower}" if upper and lower and upper != lower else lower or upper


def _unique(cells: Sequence[str]) -> list[str]:
    names: list[str] = []
    known: Counter[str] = Counter()
    for place, cell in enumerate(cells[: _width(cells)], 1):
        name = " ".join(cell.split()) or f"[column {place}]"
        count = known[plain_header(cell)] if cell else 0
        known[plain_header(cell)] += 1
        names.append(f"{name} [{count + 1}]" if count else name)
    return names


def _is_total(cells: Sequence[str], width: int, others: Sequence[Sequence[str]]) -> bool:
    """Return whether the last row sums up: a word such as ``Total`` at its start, and at least half of it empty."""
    filled = [cell for cell in cells if cell]
    few = len(filled) * 2 <= width or len(filled) <= 2 < width
    return bool(others and filled and few and _TOTAL.fullmatch(filled[0]))


def _shown(cells: Sequence[str]) -> str:
    text = " | ".join(cell for cell in cells if cell)
    return repr(text if len(text) <= 60 else text[:57] + "...")


@contextmanager
def _long_cells() -> Iterator[None]:
    """Let cells be as long as a file, as one may hold an image in base64; the limit is of the whole process."""
    before = csv.field_size_limit(MOST_BYTES)
    try:
        yield
    finally:
        csv.field_size_limit(before)


@_long_cells()
def _delimited(path: Path, text: str, encoding: str) -> Grid:
    """Return the grid of a text; its delimiter is the one that gives most lines one width, and the widest of these."""
    start = text[: text.find("\n", SAMPLED) + 1 or len(text)]
    ways = {delimiter: _evenness(_quickly(start, delimiter)) for delimiter in DELIMITERS if delimiter in start}
    delimiter = max(ways or {",": (0.0, 1)}, key=lambda d: ways.get(d, (0.0, 1)))
    lines = list(_split(text, delimiter, ways.get(delimiter, (0.0, 1))[1]))
    named = {",": "comma", ";": "semicolon", "\t": "tab", "|": "vertical bar"}[delimiter]
    return _table(path, [(n, cells) for n, cells in lines if any(cells)], f"text, {encoding}, {named}", {}, ())


def _quickly(text: str, delimiter: str) -> Iterator[list[str]]:
    return csv.reader(_lines(text, delimiter), delimiter=delimiter, skipinitialspace=True)


def _split(text: str, delimiter: str, width: int) -> Iterator[tuple[int, list[str]]]:
    """Yield line number and cells of each row; a quotation mark that is not closed spoils only its own line.

    Raises:
        UnreadableSheet: There are too many.
    """
    if text.count("\n") > MOST_CELLS:
        raise UnreadableSheet(f"more than {MOST_CELLS:,} line breaks")
    cells = 0
    for rows, (line, row) in enumerate(text_rows(list(_lines(text, delimiter)), delimiter, width), 1):
        cells += len(row)
        if rows > MOST_LINES or cells > MOST_CELLS:
            raise UnreadableSheet(f"more than {MOST_LINES:,} lines or {MOST_CELLS:,} cells")
        yield line, row


def _lines(text: str, delimiter: str) -> Iterator[str]:
    """Yield the lines of a text; `io.StringIO` would take four bytes a character.

    Raises:
        UnreadableSheet: One has more delimiters than a table has cells, which the reader of the library splits at once.
    """
    begin = 0
    while begin < len(text):
        end = text.find("\n", begin) + 1 or len(text)
        if end - begin > MOST_CELLS and text.count(delimiter, begin, end) > MOST_CELLS:
            raise UnreadableSheet(f"more than {MOST_CELLS:,} cells")
        yield text[begin:end]
        begin = end


def _evenness(rows: Iterable[Sequence[str]]) -> tuple[float, int]:
    """Return the share of rows that have the most frequent width above 1, in tenths, and that width."""
    widths = Counter(len(cells) for cells in rows if any(cells))
    wide = {width: n for width, n in widths.items() if width > 1}
    if not wide:
        return 0.0, 1
    width = max(wide, key=lambda w: (wide[w], w))
    return round(wide[width] / widths.total(), 1), width


def _sheet(path: Path, sheets: Iterable[Sheet], kind: str, wanted: str) -> Grid:
    """Return the grid of one sheet of a workbook."""
    known = list(sheets)
    named = [sheet for sheet in known if sheet.title == wanted]
    if wanted and not named:
        raise UnreadableSheet(f"no sheet {wanted!r}; there are {', '.join(repr(s.title) for s in known)}")
    chosen = named[0] if named else max(known, key=lambda s: sum(len([c for c in r if c]) for _, r in s.lines))
    others = [sheet.title for sheet in known if sheet is not chosen and sheet.lines]
    notes = [f"sheet {chosen.title!r} is read; not read: {', '.join(map(repr, others))}"] if others else []
    if chosen.hidden:
        notes.append(f"hidden rows, as of a filter, are read too: {chosen.hidden} in sheet {chosen.title!r}")
    grid = _table(path, chosen.lines, f"{kind}, sheet {chosen.title!r}", chosen.merged, notes)
    why = "formulas have no stored value and are empty here; open the file in a spreadsheet program and save it"
    unstored = {name: chosen.unstored.get(place, 0) for place, name in enumerate(grid.header)}
    return replace(grid, notes=(*grid.notes, *(f"{name[:60]}: {n} {why}" for name, n in unstored.items() if n)))


def _json(path: Path, text: str, encoding: str) -> Grid:
    """Return the grid of a JSON list of objects, or of a file with an object a line."""
    if text.count("[") + text.count("{") > MOST_CONTAINERS:
        raise UnreadableSheet(f"more than {MOST_CONTAINERS:,} lists and objects")
    try:
        return _objects(path, objects_of(text), f"JSON, {encoding}")
    except ValueError as error:
        raise UnreadableSheet(f"cannot be read ({error})") from error


def _objects(path: Path, objects: Iterable[tuple[int, Any]], kind: str, schema: pa.Schema | None = None) -> Grid:
    """Return the grid of numbered objects; keys are columns in the order of their first occurrence."""
    read, keys = _Cells(), dict[str, None]()
    found, lost = [], []
    for number, value in objects:
        if isinstance(value, dict):
            found.append((number, {key: read.text(key, number, one) for key, one in value.items()}))
            keys |= dict.fromkeys(value)
        else:
            lost.append((number, "not a JSON object"))
        _check_size(len(found) + len(lost), len(keys))
    if not keys:
        raise UnreadableSheet("no JSON object was found")
    rows = tuple(Row(n, tuple(cells.get(key, "") for key in keys)) for n, cells in found)
    names = dict(zip(keys, _names([*keys]), strict=True))
    classes = _class_labels(schema, names) if schema else {}
    return read.noted(Grid(path, tuple(names.values()), rows, kind, lost=tuple(lost), classes=classes), names)


def _names(keys: Sequence[str]) -> tuple[str, ...]:
    """Return keys of a file as names of columns, in one line each."""
    return tuple(_unique([_whole(key) or f"[column {place}]" for place, key in enumerate(keys, 1)]))


class _Cells:
    """Values of objects as texts of cells: a list with ``; ``, an image as its name, an object as the empty text."""

    def __init__(self) -> None:
        self._refused: Counter[str] = Counter()
        self._lists: dict[tuple[str, int], Listed] = {}
        self._held: dict[str, None] = {}
        self._listed = 0

    def text(self, key: str, line: int, value: Any) -> str:
        """Return a value as the text of a cell."""
        if not isinstance(value, list | dict | bytes):
            return _whole(cell_text(value))
        parts = value if isinstance(value, list) else [value]
        self._listed += len(parts)
        if self._listed > 2 * MOST_CELLS:
            raise UnreadableSheet(f"more than {2 * MOST_CELLS:,} values in the lists of its cells")
        images = [image_in(one) if _is_image_of(one, len(parts)) else None for one in parts]
        if named := [name_of(image) for image in images if image]:
            if any(
                isinstance(image, bytes) and not isinstance(one, str) for image, one in zip(images, parts, strict=True)
            ):
                self._held[key] = None
            return named[0] if len(parts) == 1 else json.dumps(named)
        if not any(isinstance(one, dict | list) for one in parts):
            self._lists |= {(key, line): parts} if len(parts) > 1 else {}
            return _whole("; ".join(filter(None, map(cell_text, parts))))
        self._lists[key, line] = value
        self._refused[key] += bool(value)
        return ""

    def noted(self, grid: Grid, names: Mapping[str, str]) -> Grid:
        """Return a grid with the lists and images of its cells, and notes of values that are none; key -> column."""
        lists = {(names[key], line): value for (key, line), value in self._lists.items()}
        held = grid.images or next((names[key] for key in self._held), "")
        return replace(grid, notes=_refusals(self._refused), lists=lists, images=held)


def _is_image_of(value: Any, several: int) -> bool:
    """Return whether a value is an image: bytes, an object with them as of `datasets`, or one of several in base64."""
    if isinstance(value, str):
        return several > 1 and begins_as_image(value)
    return isinstance(value, bytes) or (isinstance(value, dict) and "bytes" in value)


def _refusals(refused: Mapping[str, int]) -> tuple[str, ...]:
    """Return a note for each column with values that are no text of a cell."""
    why = "cells are objects or nested lists and have no value; write each of their members as a column of its own"
    return tuple(f"{' '.join(_whole(name).split())[:60]}: {n} {why}" for name, n in refused.items() if n)[:TITLES]


def _whole(text: str) -> str:
    """Return a text with a sign for each half of a character, which JSON can state and no file can hold."""
    return text.encode("utf-8", "replace").decode() if not text.isascii() else text


def _parquet(path: Path, content: bytes) -> Grid:
    """Return the grid of a Parquet file; the cells of the column with image files are their paths, or their rows."""
    try:
        file = pq.ParquetFile(io.BytesIO(content))
        schema = file.schema_arrow
        _check_size(file.metadata.num_rows, len(schema))
        images = next((f.name for f in schema if _is_image(f.type)), "")
        inside = next((f.name for f in schema if not images and _holds_bytes(f.type)), "")
        plain = [f.name for f in schema if f.name != images and not _holds_bytes(f.type)]
        names = dict(zip(schema.names, _names(schema.names), strict=True))
        if len(names) < len(schema) or names.get(images, images) != images:
            raise UnreadableSheet("two columns of one name, or a line break in the name of that with images")
        paths = [f"{images}.path"] if images else []
        parts = list(batches(file, AT_ONCE, [*plain, *paths]))
        read = _Cells()
        columns = {name: _column(read, name, parts) for name in plain}
        if inside:
            columns[inside] = _column(read, inside, batches(file, MOST_IN_PARTS, [inside]))
        held = [part[images].to_pylist() for part in parts if images in part.schema.names]
    except (pa.ArrowException, OSError, ValueError, OverflowError, KeyError) as error:
        raise UnreadableSheet(f"not a readable Parquet file ({error})") from error
    if images:
        numbered = [f"row {n}" for n in range(1, file.metadata.num_rows + 1)]
        named = [(value or {}).get("path") for part in held for value in part] or numbered
        columns[images] = [str(path) if path else row for path, row in zip(named, numbered, strict=True)]
        images = "" if _is_empty(file, f"{images}.bytes") else images  # paths alone
    header = tuple(names[name] for name in schema.names if name in columns)
    cells = zip(*(columns[name] for name in schema.names if name in columns), strict=True)
    rows = tuple(Row(n, row) for n, row in enumerate(cells, 1))
    return read.noted(Grid(path, header, rows, "Parquet", images=images, classes=_class_labels(schema, names)), names)


def _is_empty(file: pq.ParquetFile, path: str) -> bool:
    """Return whether the file states that a column has no value."""
    groups = [file.metadata.row_group(i) for i in range(file.metadata.num_row_groups)]
    parts = [group.column(i) for group in groups for i in range(group.num_columns)]
    stated = [part.statistics for part in parts if part.path_in_schema == path]
    return bool(stated) and all(one is not None and one.has_null_count and one.num_values == 0 for one in stated)


def _column(read: _Cells, name: str, parts: Iterable[pa.RecordBatch]) -> list[str]:
    """Return the cells of a column of a Parquet file, read a few rows at a time."""
    values = chain.from_iterable(part[name].to_pylist() for part in parts)
    return [read.text(name, line, value) for line, value in enumerate(values, 1)]


def _is_image(kind: pa.DataType) -> bool:
    return pa.types.is_struct(kind) and {"bytes"} <= {field.name for field in kind}


def _holds_bytes(kind: pa.DataType) -> bool:
    if pa.types.is_struct(kind) or pa.types.is_list(kind):
        return any(_holds_bytes(kind.field(n).type) for n in range(kind.num_fields))
    return bool(pa.types.is_binary(kind) or pa.types.is_large_binary(kind))


def _class_labels(schema: pa.Schema, columns: Mapping[str, str]) -> dict[str, tuple[str, ...]]:
    """Return the names of class labels that the Hub's metadata states by column."""
    try:
        stated = json.loads((schema.metadata or {}).get(b"huggingface", b"{}"))
        features = stated.get("info", {}).get("features", {})
        found = {name: kind.get("names") for name, kind in features.items() if isinstance(kind, dict)}
    except (ValueError, AttributeError, RecursionError):
        return {}
    return {
        columns[name]: tuple(map(str, names))
        for name, names in found.items()
        if name in columns and isinstance(names, list) and names
    }
