"""Parquet files of a stated schema: written whole or not at all, and read only where they are of it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from lmod_train.core import batches
from lmod_train.core.artifacts.schema import SCHEMA_VERSION, VERSION
from lmod_train.core.curated import check_name
from lmod_train.core.errors import ArtifactError, LeavesFolder
from lmod_train.core.files import write_durably

Refusal = Callable[[Path, str], ArtifactError]
"""From a file and what is wrong with it to the error that knows the cure."""


def write_rows(path: Path, schema: pa.Schema, rows: Iterable[dict[str, Any]]) -> int:
    """Write rows in groups as they come, so that memory does not grow with their number; return how many."""
    waiting, count = iter(rows), 0
    with write_durably(path) as beside, pq.ParquetWriter(beside, schema, compression="zstd") as writer:
        while group := list(islice(waiting, batches.ROWS_A_GROUP)):
            writer.write_table(pa.Table.from_pylist(group, schema=schema))
            count += len(group)
    return count


def read_rows(file: Path, schema: pa.Schema, refusal: Refusal) -> list[dict[str, Any]]:
    """Return the rows of a Parquet file that has exactly this schema, of this version."""
    return list(each_row(file, schema, refusal))


def each_row(
    file: Path, schema: pa.Schema, refusal: Refusal, columns: Sequence[str] | None = None
) -> Iterator[dict[str, Any]]:
    """Yield what `read_rows` returns, or some of its columns, with a few rows in memory at a time."""
    with _opened(file, refusal) as opened:
        _check_schema(file, opened.schema_arrow, schema, refusal)
        for batch in batches.batches(opened, _most(file), columns):
            yield from _checked(file, batch, refusal)


def read_table(file: Path, refusal: Refusal, columns: Sequence[str] | None = None) -> pa.Table:
    """Return a Parquet file as it is, or some of its columns.

    A table that is far larger in memory than on the disk is refused, and so is a folder of that name.

    Raises:
        ArtifactError: That of `refusal`: it cannot be read, or is too large.
    """
    with _opened(file, refusal) as opened:
        whole = opened.schema_arrow
        read = [field for field in whole if columns is None or field.name in columns]
        parts = list(batches.batches(opened, _most(file), columns))
        return pa.Table.from_batches(parts, pa.schema(read, metadata=whole.metadata))


@contextmanager
def _opened(file: Path, refusal: Refusal) -> Iterator[pq.ParquetFile]:
    try:
        with pq.ParquetFile(file) as opened:
            yield opened
    except (pa.ArrowException, OSError, ValueError, KeyError) as error:
        raise refusal(file, f"cannot be read as Parquet ({error})") from error


def rows_in(file: Path, part: pa.Table | pa.RecordBatch, refusal: Refusal) -> list[dict[str, Any]]:
    """Return the rows of a table; texts that are no UTF-8 are refused."""
    try:
        rows: list[dict[str, Any]] = part.to_pylist()
    except (ValueError, OverflowError) as error:  # no UTF-8, a time beyond the years of Python
        raise refusal(file, f"has a value that cannot be read ({error})") from error
    return rows


def _most(file: Path) -> int:
    return max(batches.AT_ONCE, batches.MOST_GROWTH * file.stat().st_size)


def is_of_other_version(file: Path) -> bool:
    """Return whether a file of a run folder is of a schema version that cannot be read; only its header is read."""
    try:
        return _version_of(pq.read_schema(file)) != str(SCHEMA_VERSION)
    except (pa.ArrowInvalid, OSError):
        return False


def _version_of(schema: pa.Schema) -> str:
    version: bytes = (schema.metadata or {}).get(VERSION, b"none")
    return version.decode("ascii", "replace")


def _check_schema(file: Path, found: pa.Schema, schema: pa.Schema, refusal: Refusal) -> None:
    if _version_of(found) != str(SCHEMA_VERSION):
        raise refusal(file, f"is of schema version {_version_of(found)}, expected {SCHEMA_VERSION}")
    if not found.equals(schema):
        raise refusal(file, f"has other columns than schema version {SCHEMA_VERSION}")


def _checked(file: Path, part: pa.Table | pa.RecordBatch, refusal: Refusal) -> list[dict[str, Any]]:
    rows = rows_in(file, part, refusal)
    check_rows(file, rows)
    return rows


def check_rows(file: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    """Check what rows of records name: images below the curated folder, a split, and a task that can be a file's name.

    Tasks and splits become names of files and folders in exports, reports and scores.

    Raises:
        LeavesFolder: A row names something else.
        ArtifactError: A row lacks a value.
    """
    check_filled(file, rows)
    for image in {name for row in rows for name in (*(row.get("image") or ()), *(row.get("image_plain") or ()))}:
        check_name(file, image)
    for task, split in {(row.get("task", "task"), row.get("split", "train")) for row in rows}:
        if split not in ("train", "val", "test"):
            raise LeavesFolder(file, f"a record names the split {str(split)[:200]!r}, expected train, val or test")
        if not _TASK.fullmatch(task):
            raise LeavesFolder(file, f"a record names the task {task[:200]!r}, which cannot be the name of a file")


def check_filled(file: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    """Check that no row lacks a value.

    Raises:
        ArtifactError: One does.
    """
    if lacking := next(filter(None, map(_lacking, rows)), ""):
        cure = "type the command again that wrote this folder, with a new folder"
        raise ArtifactError(file, f"a record lacks its {lacking!r}", cure)


def _lacking(row: Mapping[str, Any]) -> str:
    """Return the column of a row that has no value, or none in a list; empty if there is none such."""
    if any(message is None or message["role"] is None for message in row.get("messages") or ()):
        return "messages"
    held = ((name, value) for name, value in row.items() if name != "confidence")
    return next((name for name, value in held if value is None or (isinstance(value, list) and None in value)), "")


_TASK = re.compile(r"[^\W_][^/\\\0\x00-\x1f]{0,199}")
