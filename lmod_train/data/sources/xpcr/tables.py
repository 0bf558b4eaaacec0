"""Rows of X-PCR's tables: Parquet with images inside, JSON and JSON lines, one by one and as they are."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lmod_train.core.cells import MOST_GROUP_BYTES
from lmod_train.core.raw import decoded, open_file, read_bytes, read_json, start_of, whole_number
from lmod_train.core.types import Cut
from lmod_train.data.sources.spellings import plain, shown

TABLES = {".parquet", ".json", ".jsonl"}

MOST_JSON_BYTES = 2**30
"""Maximum bytes of a JSON table; the release has about a million questions of 300 bytes."""

_LISTS = ("data", "rows", "annotations", "samples", "items", "train", "val", "valid", "validation", "dev", "test")
_KEY = re.compile(r'"([^"\\]{1,100})"\s*:')
_AT_ONCE = 64  # rows of a Parquet file that are in memory at once


@dataclass(frozen=True, slots=True)
class Row:
    """A row of a table.

    Attributes:
        number: From 1, in the file's order.
        value: What the row holds: an object for a good one.
        cut: Where its image is in the file; None if the file has none.
        problem: Why the row could not be read; empty for a good one.
    """

    number: int
    value: Any
    cut: Cut | None = None
    problem: str = ""


def is_table(file: Path, names: Collection[str] = frozenset({"qapairs"})) -> bool:
    """Return whether a file is a table of rows with questions; never raises.

    Args:
        file: Any file; only its beginning, or the columns of a Parquet file, is read.
        names: Plain names of the field with the questions.
    """
    try:
        if file.suffix.lower() == ".parquet":
            return any(plain(name) in names for name in _parquet_names(file))
        if file.suffix.lower() in TABLES:
            with open_file(file, MOST_JSON_BYTES) as opened:
                return any(plain(key) in names for key in _KEY.findall(start_of(opened.read(1 << 16))))
    except (OSError, ValueError, LookupError, NotImplementedError, TypeError):
        pass
    return False


def rows_of(file: Path, images: Collection[str] = frozenset({"image"})) -> Iterator[Row]:
    """Yield every row of a table; what cannot be read has its problem.

    Args:
        file: The table.
        images: Plain names of the field with the image, for Parquet.

    Raises:
        OSError: The file cannot be opened.
        ValueError: The whole file cannot be read.
    """
    kind = file.suffix.lower()
    if kind == ".parquet":
        return _parquet_rows(file, images)
    return _numbered(_lines(decoded(read_bytes(file, MOST_JSON_BYTES))) if kind == ".jsonl" else _json_values(file))


def _numbered(values: Iterator[tuple[Any, str]]) -> Iterator[Row]:
    for number, (value, problem) in enumerate(values, 1):
        yield Row(number, value, problem=problem)


def _lines(text: str) -> Iterator[tuple[Any, str]]:
    for line in text.split("\n"):  # not `splitlines`, as values may contain U+2028 and others of its line ends
        if line.strip():
            try:
                yield json.loads(line, parse_int=whole_number), ""
            except (ValueError, RecursionError) as error:
                yield None, f"not JSON ({type(error).__name__}): {shown(line)}"


def _json_values(file: Path) -> Iterator[tuple[Any, str]]:
    text = decoded(read_bytes(file, MOST_JSON_BYTES)).lstrip()
    if text.startswith("["):
        yield from _items(text)
        return
    if _is_lines(text):
        yield from _lines(text)
        return
    del text
    whole = read_json(file)
    if not isinstance(whole, dict):
        raise ValueError(f"{shown(whole)}, expected a list of rows")
    lists = [name for name in _LISTS if isinstance(whole.get(name), list) or _is_table(whole.get(name))]
    for name in lists:
        yield from ((row, "") for row in _rows_in(whole[name]))
    if not lists:
        yield from ((row, "") for row in _rows_in(whole))
        return
    for name, other in whole.items():
        if name not in lists and (
            _is_table(other) or (isinstance(other, list) and other and isinstance(other[0], dict))
        ):
            yield None, f"{shown(name)}, {shown(other)}, is not read, expected rows in {', '.join(_LISTS)}"


def _is_lines(text: str) -> bool:
    """Return whether a text that begins with an object goes on after the end of its first line."""
    first, _, rest = text.partition("\n")
    if not rest.strip():
        return False
    try:
        return isinstance(json.loads(first, parse_int=whole_number), dict)
    except (ValueError, RecursionError):
        return False


def _is_table(value: Any) -> bool:
    """Return whether a value is an object of rows by their ids."""
    return isinstance(value, dict) and bool(value) and all(isinstance(row, dict) for row in value.values())


def _rows_in(held: list[Any] | dict[str, Any]) -> list[Any]:
    """Return the rows of a list, or of an object of rows by their ids."""
    if isinstance(held, list):
        return held
    return [{"id": key, **row} if isinstance(row, dict) else row for key, row in held.items()]


def _items(text: str) -> Iterator[tuple[Any, str]]:
    """Yield the items of a JSON list one by one; after one that is not JSON, the rest cannot be read."""
    decoder, at = json.JSONDecoder(parse_int=whole_number), 1
    while True:
        at = _blank(text, at)
        if text[at : at + 1] == "]":
            if behind := text[at + 1 : at + 61].strip():
                yield None, f"text behind the end of the list is not read: {shown(behind)}"
            return
        try:
            value, at = decoder.raw_decode(text, at)
        except (ValueError, RecursionError) as error:
            yield None, f"not JSON ({type(error).__name__}), and so are all rows after it: {shown(text[at : at + 60])}"
            return
        yield value, ""
        at = _blank(text, at)
        if text[at : at + 1] not in (",", "]"):
            yield None, f"the list ends early, and rows after it are missing: {shown(text[at : at + 60])}"
            return
        at += text[at] == ","


def _blank(text: str, at: int) -> int:
    while text[at : at + 1] in (" ", "\n", "\t", "\r"):
        at += 1
    return at


def _parquet_names(file: Path) -> list[str]:
    import pyarrow.parquet as pq

    with open_file(file, 2**40):  # refuses pipes and devices
        return list(pq.read_schema(file).names)


def _parquet_rows(file: Path, images: Collection[str]) -> Iterator[Row]:
    import pyarrow.parquet as pq

    first = 0
    with pq.ParquetFile(file) as opened:
        image = _image_column(opened.schema_arrow, images)
        leaves = [opened.schema.column(n).path for n in range(len(opened.schema.names))]
        wanted = [leaf for leaf in leaves if leaf not in (image, f"{image}.bytes")]
        for group in range(opened.num_row_groups):
            has_image = _filled(opened, group, image)
            for batch in opened.iter_batches(_AT_ONCE, row_groups=[group], columns=wanted):
                for place, (value, problem) in enumerate(_values(batch)):
                    cut = Cut(column=image, row=first + place) if has_image(first + place) else None
                    yield Row(first + place + 1, value, cut, problem)
                first += batch.num_rows


def _values(batch: Any) -> Iterator[tuple[Any, str]]:
    """Yield the rows of a batch; one that holds broken UTF-8 does not affect the others."""
    try:
        yield from ((value, "") for value in batch.to_pylist())
        return
    except (ValueError, OverflowError):
        pass
    for place in range(batch.num_rows):
        try:
            yield batch.slice(place, 1).to_pylist()[0], ""
        except (ValueError, OverflowError) as error:
            yield None, f"{type(error).__name__}: {error}"[:200]


def _image_column(schema: Any, names: Collection[str]) -> str:
    """Return the column with image files, bytes or a struct with bytes: of one of the names, else ``image...``."""
    import pyarrow as pa

    found = []
    for field in schema:
        kind = field.type
        inside = pa.types.is_struct(kind) and kind.get_field_index("bytes") >= 0
        if inside or pa.types.is_binary(kind) or _is_large(kind):
            found.append(str(field.name))
    exact = [name for name in found if plain(name) in names]
    return next(iter((*exact, *(name for name in found if plain(name).startswith("image")))), "")


def _is_large(kind: Any) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_large_binary(kind))


def _filled(opened: Any, group: int, image: str) -> Any:
    """Return a function from the number of a row of a group to whether its image is there, by the file's statistics."""
    if not image:
        return lambda row: False
    facts = opened.metadata.row_group(group)
    chunks = [facts.column(n) for n in range(facts.num_columns)]
    chunk = next(c for c in chunks if c.path_in_schema in (image, f"{image}.bytes"))
    counted = chunk.statistics is not None and chunk.statistics.has_null_count
    if (counted and chunk.statistics.null_count == 0) or chunk.total_uncompressed_size > MOST_GROUP_BYTES:
        return lambda row: True
    before = sum(opened.metadata.row_group(n).num_rows for n in range(group))
    there = _is_there(opened.read_row_group(group, columns=[chunk.path_in_schema]).column(image))
    return lambda row: there[row - before]


def _is_there(column: Any) -> list[bool]:
    import pyarrow as pa
    import pyarrow.compute as pc

    values = pc.struct_field(column, "bytes") if pa.types.is_struct(column.type) else column
    return [bool(there) for there in values.is_valid().to_pylist()]
