"""Records as rows: ``records/<task>.parquet`` of a curated folder, and ``records.parquet`` of a run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import fields
from functools import lru_cache
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pyarrow as pa
import pyarrow.parquet as pq

from lmod_train.core.artifacts.parquet import check_filled, each_row, read_rows, read_table, rows_in, write_rows
from lmod_train.core.artifacts.schema import RECORD_SCHEMA, RUN_SCHEMA
from lmod_train.core.errors import BadArgument, CuratedDamaged, NotAsked
from lmod_train.core.links import check_link
from lmod_train.core.types import Box, Fact, Message, Part, Patient, Record, Region, fields_of


def record_id(task: str, source: str, key: str, *rest: str) -> str:
    """Return ``task/source/key[/language][/step][/variant]``, each piece percent-encoded; empty pieces are left out.

    Example:
        >>> record_id("glaucoma", "refuge", "train/Non-Glaucoma/n 01", "")
        'glaucoma/refuge/train/Non-Glaucoma/n%2001'
    """
    names = [_encoded(piece, "") for piece in (task, source, *filter(None, rest))]
    return "/".join([*names[:2], _encoded(key, "/"), *names[2:]])


@lru_cache(maxsize=1 << 14)  # ids of a chain are made again for every question that needs them
def _encoded(piece: str, safe: str) -> str:
    return quote(piece, safe=safe)


def chain_id(source: str, chain: str) -> str:
    """Return what records of one chain have in common, ``source/chain``, percent-encoded; empty without a chain.

    Example:
        >>> chain_id("xpcr", "case 1"), chain_id("xpcr", "")
        ('xpcr/case%201', '')
    """
    return f"{quote(source, safe='')}/{quote(chain, safe='')}" if chain else ""


def record_row(record: Record) -> dict[str, Any]:
    """Return the record as a row of `RECORD_SCHEMA`."""
    row = fields_of(record)
    row["messages"] = [{"role": m.role, "parts": list(map(fields_of, m.parts))} for m in record.messages]
    row["regions"] = [{"id": r.id, "structure": r.structure, **fields_of(r.box)} for r in record.regions]
    row["tags"] = [{"key": k, "value": v} for k, v in sorted(record.tags.items())]
    row["patient"] = {name: value for name, value in fields_of(record.patient).items() if name != "visit"}
    row["facts"] = list(map(_fact_row, record.facts))
    return row


def _fact_row(fact: Fact) -> dict[str, Any]:
    row = fields_of(fact)
    value = row.pop("value")
    is_word = isinstance(value, str)
    return row | {"number": None if is_word else value, "word": value if is_word else None}


def _fact(row: Mapping[str, Any]) -> Fact:
    value = row["number"] if row["word"] is None else row["word"]
    return Fact(row["name"], value, row["unit"], row["error"], row["origin"], row["version"])


def record_of(row: Mapping[str, Any]) -> Record:
    """Return the record that `record_row` made the row of."""
    values = {f.name: row[f.name] for f in fields(Record)}
    for name in ("image", "image_plain", "image_sha256", "choices", "needs"):
        values[name] = tuple(values[name])
    values["messages"] = tuple(
        Message(m["role"], tuple(Part(p["type"], p["text"]) for p in m["parts"])) for m in row["messages"]
    )
    values["regions"] = tuple(
        Region(r["structure"], Box(r["x0"], r["y0"], r["x1"], r["y1"]), r["id"]) for r in row["regions"]
    )
    values["tags"] = {tag["key"]: tag["value"] for tag in row["tags"]}
    values["patient"] = Patient(**row["patient"])
    values["facts"] = tuple(map(_fact, row["facts"]))
    return Record(**values)


def write_records(path: Path, records: Iterable[Record]) -> int:
    """Write one Parquet file, whole or not at all; return the number of rows. No records gives an empty table.

    Rows are written in groups as the records come, so that memory does not grow with their number.
    """
    return write_rows(path, RECORD_SCHEMA, map(record_row, records))


def write_run_records(path: Path, records: Iterable[Record], asked: Mapping[str, str]) -> int:
    """Write the records that a run asks, as `write_records` does, each with its `asked` by record id."""
    return write_rows(path, RUN_SCHEMA, (record_row(r) | {"asked": asked[r.id]} for r in records))


def read_records(path: Path) -> list[Record]:
    """Read ``records/<task>.parquet``, or a folder of them in name order.

    Raises:
        ArtifactError: The file is missing, unreadable, or of another schema version.
    """
    return list(map(record_of, rows_of(path)))


def rows_of(path: Path, columns: Sequence[str] | None = None) -> Iterator[dict[str, Any]]:
    """Yield the rows, or some of their columns, of what `read_records` reads, with a few in memory at a time.

    Raises:
        ArtifactError: See `read_records`.
    """
    files = sorted(path.glob("*.parquet")) if path.is_dir() else [path]
    if not files or not files[0].exists():
        raise CuratedDamaged(path, "no record file here")
    for file in files:
        check_link(path.parent, file)
    for file in files:
        yield from each_row(file, RECORD_SCHEMA, CuratedDamaged, columns)


def read_run_records(path: Path) -> list[Record]:
    """Read ``records.parquet`` of a run folder.

    Raises:
        ArtifactError: The file is missing, unreadable, or of another schema version.
    """
    if not path.exists():
        raise NotAsked(path, "no record file here")
    return [record_of(row) for row in read_rows(path, RUN_SCHEMA, NotAsked)]


def read_run_column(path: Path, name: str) -> dict[str, Any]:
    """Read record id -> value of a column of ``records.parquet`` of a run folder.

    Raises:
        ArtifactError: The file is missing, unreadable, or of another schema version.
    """
    if not path.exists():
        raise NotAsked(path, "no record file here")
    return {row["id"]: row[name] for row in each_row(path, RUN_SCHEMA, NotAsked, ("id", name))}


def number_of_records(path: Path) -> int:
    """Return the number of rows of a record file without reading them; 0 if it is missing or unreadable."""
    try:
        return int(pq.read_metadata(path).num_rows)
    except (pa.ArrowInvalid, OSError):
        return 0


def curated_ids(curated: Path) -> frozenset[str]:
    """Return the record ids of a curated folder; only this column is read.

    Raises:
        ArtifactError: A record file is damaged.
    """
    return frozenset(row["id"] for row in _columns(curated, ["id"]))


def curated_images(curated: Path) -> dict[str, set[str]]:
    """Return image -> the SHA-256 that records of a curated folder state of it; only these columns are read.

    It has those of numbered boxes and the plain ones; of the latter a record states no SHA-256.

    Raises:
        ArtifactError: A record file is damaged.
    """
    found: dict[str, set[str]] = {}
    for row in _columns(curated, ("image", "image_plain", "image_sha256")):
        for name in (*row["image"], *row["image_plain"]):
            found.setdefault(name, set())
        for name, sha256 in zip(row["image"], row["image_sha256"], strict=False):
            found[name].add(sha256)
    return found


def _columns(curated: Path, names: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Yield some columns of each row of a curated folder; names of images are left to who opens them."""
    for file in sorted((curated / "records").glob("*.parquet")):
        check_link(curated, file)
        table = read_table(file, CuratedDamaged, names)
        if not table.schema.equals(pa.schema([RECORD_SCHEMA.field(name) for name in names])):
            raise CuratedDamaged(file, f"lacks the columns {', '.join(names)}")
        rows = rows_in(file, table, CuratedDamaged)
        check_filled(file, rows)
        yield from rows


# Files of record ids, one per line, as `subset` writes them.


def read_ids(path: Path, option: str) -> frozenset[str]:
    """Return the record ids in a file.

    Args:
        path: The file.
        option: Option that names the file, for errors.

    Raises:
        BadArgument: The file is missing or empty.
    """
    ids = path.read_text(encoding="utf-8").split() if path.is_file() else []
    if not ids:
        cure = "draw one: `python -m lmod_train subset CURATED --n 1000`"
        raise BadArgument(option, str(path), "a file of record ids, one per line", cure)
    return frozenset(ids)
