"""Parquet files of a stated schema: written whole or not at all, and read only where they are of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from lmod_train.artifacts.schema import SCHEMA_VERSION, VERSION
from lmod_train.errors import ArtifactError
from lmod_train.files import whole

ROWS_A_GROUP = 1024

Refusal = Callable[[Path, str], ArtifactError]
"""From a file and what is wrong with it to the error that knows the cure."""


def write_rows(path: Path, schema: pa.Schema, rows: Iterable[dict[str, Any]]) -> int:
    """Write rows in groups as they come, so that memory does not grow with their number; return how many."""
    waiting, count = iter(rows), 0
    with whole(path) as beside, pq.ParquetWriter(beside, schema, compression="zstd") as writer:
        while group := list(islice(waiting, ROWS_A_GROUP)):
            writer.write_table(pa.Table.from_pylist(group, schema=schema))
            count += len(group)
    return count


def read_rows(file: Path, schema: pa.Schema, refusal: Refusal) -> list[dict[str, Any]]:
    """Return the rows of a Parquet file that has exactly this schema, of this version."""
    return _checked(file, read_table(file, refusal), schema, refusal)


def read_run_rows(file: Path, schema: pa.Schema, refusal: Refusal) -> list[dict[str, Any]]:
    """Return the rows of a file of a run folder, one of schema version 1 brought to this one.

    Records that were written without `asked` have it empty: whether a reply is to them cannot be told.
    """
    table = read_table(file, refusal)
    without = set(schema.names) - set(table.column_names) == {"asked"} and _version_of(table) == str(SCHEMA_VERSION)
    brought = _from_version_1(table, schema) if without or _version_of(table) == "1" else table
    return _checked(file, brought, schema, refusal)


def read_table(file: Path, refusal: Refusal) -> pa.Table:
    """Return a Parquet file as it is."""
    try:
        return pq.read_table(file)
    except (pa.ArrowInvalid, OSError) as error:
        raise refusal(file, f"cannot be read as Parquet ({error})") from error


def _version_of(table: pa.Table) -> str:
    version: bytes = (table.schema.metadata or {}).get(VERSION, b"none")
    return version.decode()


def _checked(file: Path, table: pa.Table, schema: pa.Schema, refusal: Refusal) -> list[dict[str, Any]]:
    if _version_of(table) != str(SCHEMA_VERSION):
        raise refusal(file, f"is of schema version {_version_of(table)}, expected {SCHEMA_VERSION}")
    if not table.schema.equals(schema):
        raise refusal(file, f"has other columns than schema version {SCHEMA_VERSION}")
    rows: list[dict[str, Any]] = table.to_pylist()
    return rows


_NEW: dict[str, Any] = {"needs": [], "variant": "", "tags": [], "phantom": False, "asked": ""}
"""Columns that schema version 1 lacks, and what stands for nothing in them."""


def _from_version_1(table: pa.Table, schema: pa.Schema) -> pa.Table:
    """Return the table with the columns of this version; columns that neither version knows are left to the check."""
    table = table.rename_columns(["chain_step" if name == "step" else name for name in table.column_names])
    for name in schema.names:
        if name in _NEW and name not in table.column_names:
            empty = pa.array([_NEW[name]] * len(table), schema.field(name).type)
            table = table.append_column(schema.field(name), empty)
    known = [*schema.names, *(n for n in table.column_names if n not in schema.names)]
    present = [name for name in known if name in table.column_names]
    return table.select(present).replace_schema_metadata(schema.metadata)
