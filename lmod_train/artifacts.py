"""Read and write what lies on disk between the stages: records, replies, predictions, scores, manifest.

The two frontiers are the record file and the reply file (`lmod_train.replies`). Whole files appear at once: written
beside, then renamed.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, fields
from itertools import islice
from pathlib import Path
from typing import Any, get_args
from urllib.parse import quote

import pyarrow as pa
import pyarrow.parquet as pq
import yaml

from lmod_train.errors import ArtifactError, ConfigDamaged, CuratedDamaged, NotAsked, NotCurated, NotScored
from lmod_train.escaping import for_csv, from_csv
from lmod_train.files import sha256_of as sha256_of
from lmod_train.files import whole as whole
from lmod_train.replies import ReplyFile as ReplyFile
from lmod_train.replies import read_replies as read_replies
from lmod_train.replies import reply_line as reply_line
from lmod_train.types import (
    Answer,
    Box,
    Message,
    Part,
    Patient,
    Prediction,
    Reason,
    Record,
    Region,
    Reply,
    Score,
    Unparsed,
)

SCHEMA_VERSION = 2
ROWS_A_GROUP = 1024

_VERSION = b"lmod_train.schema"

_text, _texts = pa.string(), pa.list_(pa.string())
_region = pa.struct(
    [
        ("id", pa.int32()),
        ("structure", _text),
        ("x0", pa.int32()),
        ("y0", pa.int32()),
        ("x1", pa.int32()),
        ("y1", pa.int32()),
    ]
)
_part = pa.struct([("type", _text), ("text", _text)])
_patient = pa.struct(
    [("age", pa.float64()), ("sex", _text), ("laterality", _text), ("camera", _text), ("quality", _text)]
)

RECORD_SCHEMA = pa.schema(
    [
        ("id", _text),
        ("task", _text),
        ("task_class", _text),
        ("task_version", pa.int32()),
        ("source", _text),
        ("key", _text),
        ("modality", _text),
        ("image", _texts),
        ("image_plain", _texts),
        ("image_sha256", _texts),
        ("split", _text),
        ("group", _text),
        ("language", _text),
        ("messages", pa.list_(pa.struct([("role", _text), ("parts", pa.list_(_part))]))),
        ("choices", _texts),
        ("answer", _text),
        ("regions", pa.list_(_region)),
        ("scale", pa.float64()),
        ("chain", _text),
        ("chain_step", _text),
        ("needs", _texts),
        ("variant", _text),
        ("tags", pa.list_(pa.struct([("key", _text), ("value", _text)]))),  # `datasets` cannot read a map
        ("phantom", pa.bool_()),
        ("patient", _patient),
        ("licence", _text),
    ],
    metadata={_VERSION: str(SCHEMA_VERSION)},
)
"""One explicit schema for all tasks: inferred ones fail when two task files load together."""

RUN_SCHEMA = RECORD_SCHEMA.append(pa.field("asked", _text))
"""Of ``RUN/records.parquet``: the records that a run asks, each with the hash of what is asked of whom today."""

SCORE_COLUMNS = ("run", "model", "task", "subset", "metric", "n", "value", "low", "high")


def record_id(task: str, source: str, key: str, *rest: str) -> str:
    """Return ``task/source/key[/language][/step][/variant]``, each piece percent-encoded; empty pieces are left out.

    Example:
        >>> record_id("glaucoma", "refuge", "train/Non-Glaucoma/n 01", "")
        'glaucoma/refuge/train/Non-Glaucoma/n%2001'
    """
    return "/".join([quote(task, safe=""), quote(source, safe=""), quote(key), *(quote(r, safe="") for r in rest if r)])


# ------------------------------------------------------------------------------------------------------------- records


def record_row(record: Record) -> dict[str, Any]:
    """Return the record as a row of `RECORD_SCHEMA`."""
    row = {f.name: getattr(record, f.name) for f in fields(Record)}
    row["messages"] = [{"role": m.role, "parts": [asdict(p) for p in m.parts]} for m in record.messages]
    row["regions"] = [{"id": r.id, "structure": r.structure, **asdict(r.box)} for r in record.regions]
    row["tags"] = [{"key": k, "value": v} for k, v in sorted(record.tags.items())]
    row["patient"] = asdict(record.patient)
    return row


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
    return Record(**values)


def write_records(path: Path, records: Iterable[Record]) -> int:
    """Write one Parquet file, whole or not at all; return the number of rows. No records gives an empty table.

    Rows are written in groups as the records come, so that memory does not grow with their number.
    """
    return _write_rows(path, RECORD_SCHEMA, map(record_row, records))


def write_run_records(path: Path, records: Iterable[Record], asked: Mapping[str, str]) -> int:
    """Write the records that a run asks, as `write_records` does, each with its `asked` by record id."""
    return _write_rows(path, RUN_SCHEMA, (record_row(r) | {"asked": asked[r.id]} for r in records))


def _write_rows(path: Path, schema: pa.Schema, rows: Iterable[dict[str, Any]]) -> int:
    waiting, count = iter(rows), 0
    with whole(path) as beside, pq.ParquetWriter(beside, schema, compression="zstd") as writer:
        while group := list(islice(waiting, ROWS_A_GROUP)):
            writer.write_table(pa.Table.from_pylist(group, schema=schema))
            count += len(group)
    return count


def read_records(path: Path) -> list[Record]:
    """Read ``records/<task>.parquet``, or a folder of them in name order.

    Raises:
        ArtifactError: The file is missing, unreadable, or of another schema version.
    """
    files = sorted(path.glob("*.parquet")) if path.is_dir() else [path]
    if not files or not files[0].exists():
        raise CuratedDamaged(path, "no record file here")
    return [record_of(row) for file in files for row in _rows(file, RECORD_SCHEMA, CuratedDamaged)]


def read_run_records(path: Path) -> list[Record]:
    """Read ``records.parquet`` of a run folder, of this schema version or of version 1, whose new columns are empty.

    Raises:
        ArtifactError: The file is missing, unreadable, or of another schema version.
    """
    if not path.exists():
        raise NotAsked(path, "no record file here")
    return [record_of(row) for row in _run_rows(path, RUN_SCHEMA, NotAsked)]


def read_run_column(path: Path, name: str) -> dict[str, Any]:
    """Read record id -> value of a column of ``records.parquet`` of a run folder; empty texts where it has none such.

    Raises:
        ArtifactError: The file is missing or unreadable.
    """
    if not path.exists():
        raise NotAsked(path, "no record file here")
    table = _table(path, NotAsked)
    values = table[name].to_pylist() if name in table.column_names else [""] * len(table)
    return dict(zip(table["id"].to_pylist(), values, strict=True))


def is_run(folder: Path) -> bool:
    """Return whether a folder holds a run: what it was started with, what it asks, or what was replied."""
    return any(
        (folder / name).exists() for name in ("config.yaml", "records.parquet", "replies", "predictions.parquet")
    )


def read_config(run: Path) -> dict[str, Any]:
    """Return what the ``config.yaml`` of a run holds; empty where it has none.

    Raises:
        ConfigDamaged: It is no text, no YAML, or no mapping.
    """
    path = run / "config.yaml"
    try:
        config = (yaml.safe_load(path.read_text(encoding="utf-8")) or {}) if path.exists() else {}
    except (yaml.YAMLError, ValueError, TypeError, RecursionError) as error:
        raise ConfigDamaged(path, f"is no YAML that can be read ({' '.join(str(error).split())[:200]})") from error
    if not isinstance(config, dict):
        raise ConfigDamaged(path, f"holds a {type(config).__name__}, expected keys and values")
    return config


def run_name(run: Path) -> str:
    """Return what a run is called in tables: its place below a folder ``runs``, otherwise its own name.

    Example:
        >>> run_name(Path("here/runs/quickstart/fit")), run_name(Path("here/TUNED"))
        ('quickstart/fit', 'TUNED')
    """
    parts = run.resolve().parts
    start = max(i for i, part in enumerate(("runs", *parts)) if part == "runs")
    return "/".join(parts[start:]) if start and start < len(parts) else parts[-1]


Refusal = Callable[[Path, str], ArtifactError]
"""From a file and what is wrong with it to the error that knows the cure."""


def _rows(file: Path, schema: pa.Schema, refusal: Refusal) -> list[dict[str, Any]]:
    """Return the rows of a Parquet file that has exactly this schema, of this version."""
    return _checked(file, _table(file, refusal), schema, refusal)


def _run_rows(file: Path, schema: pa.Schema, refusal: Refusal) -> list[dict[str, Any]]:
    """Return the rows of a file of a run folder, one of schema version 1 brought to this one.

    Records that were written without `asked` have it empty: whether a reply is to them cannot be told.
    """
    table = _table(file, refusal)
    without = set(schema.names) - set(table.column_names) == {"asked"} and _version_of(table) == str(SCHEMA_VERSION)
    brought = _from_version_1(table, schema) if without or _version_of(table) == "1" else table
    return _checked(file, brought, schema, refusal)


def _table(file: Path, refusal: Refusal) -> pa.Table:
    try:
        return pq.read_table(file)
    except (pa.ArrowInvalid, OSError) as error:
        raise refusal(file, f"cannot be read as Parquet ({error})") from error


def _version_of(table: pa.Table) -> str:
    version: bytes = (table.schema.metadata or {}).get(_VERSION, b"none")
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


# ------------------------------------------------------------------------------------------------ predictions, scores


def answer_json(answer: Answer | Unparsed) -> str:
    """Return an answer as JSON that `answer_of` reads back.

    Example:
        >>> answer_json({2: "optic cup"}), answer_of(answer_json({2: "optic cup"}))
        ('{"regions": {"2": "optic cup"}}', {2: 'optic cup'})
    """
    if isinstance(answer, Unparsed):
        return json.dumps({"unparsed": answer.reason, "detail": answer.detail}, ensure_ascii=False)
    if isinstance(answer, Mapping):
        return json.dumps({"regions": {str(k): v for k, v in answer.items()}}, ensure_ascii=False)
    return json.dumps({"answer": answer}, ensure_ascii=False)


def answer_of(text: str) -> Answer | Unparsed:
    """Return the answer that `answer_json` wrote."""
    value = json.loads(text)
    if "unparsed" in value:
        if value["unparsed"] not in get_args(Reason):
            raise ValueError(f"unknown reason {value['unparsed']!r}")
        return Unparsed(value["unparsed"], value["detail"])
    if "regions" in value:
        return {int(k): str(v) for k, v in value["regions"].items()}
    answer: Answer = value["answer"]
    return answer


_reply_columns = [
    ("reply", _text),
    ("finish_reason", _text),
    ("error", _text),
    ("rendered", _text),
    ("reply_step", pa.int64()),
    ("tokens_in", pa.int64()),
    ("tokens_out", pa.int64()),
    ("seconds", pa.float64()),
    ("model", _text),
    ("settings", _text),
    ("likelihoods", _text),
    ("asked", _text),
]
PREDICTION_SCHEMA = pa.schema(
    [*RECORD_SCHEMA, *_reply_columns, ("status", _text), ("reason", _text), ("parsed", _text)],
    metadata=RECORD_SCHEMA.metadata,
)


def write_predictions(path: Path, predictions: Iterable[Prediction]) -> int:
    """Write ``predictions.parquet`` whole or not at all: record, last reply, answer or reason. Return the row count."""
    rows = []
    for p in predictions:
        row = record_row(p.record)
        row |= {n: getattr(p.reply, n) for n, _ in _reply_columns if n not in ("reply_step", "likelihoods")}
        row["reply_step"], row["likelihoods"] = p.reply.step, json.dumps(dict(p.reply.likelihoods), sort_keys=True)
        row["status"], row["parsed"] = p.status, answer_json(p.answer)
        row["reason"] = p.answer.reason if isinstance(p.answer, Unparsed) else ""
        rows.append(row)
    with whole(path) as beside:
        pq.write_table(pa.Table.from_pylist(rows, schema=PREDICTION_SCHEMA), beside, compression="zstd")
    return len(rows)


def read_predictions(path: Path) -> list[Prediction]:
    """Read ``predictions.parquet``.

    Raises:
        ArtifactError: It is missing, unreadable, or of another schema version.
    """
    if not path.exists():
        raise NotScored(path, "no predictions here")
    predictions = []
    for row in _run_rows(path, PREDICTION_SCHEMA, NotScored):
        names = [n for n, _ in _reply_columns if n not in ("reply_step", "likelihoods")]
        reply = Reply(
            id=row["id"],
            step=row["reply_step"],
            likelihoods=json.loads(row["likelihoods"]),
            **{n: row[n] for n in names},
        )
        predictions.append(Prediction(record_of(row), reply, answer_of(row["parsed"])))
    return predictions


def write_scores(path: Path, run: str, model: str, scores: Sequence[Score]) -> None:
    """Write ``scores.csv``: one row a figure; no value and no interval are empty cells."""
    with whole(path) as beside, beside.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(SCORE_COLUMNS)
        for s in scores:
            numbers = ["" if v is None else repr(round(float(v), 6)) for v in (s.value, s.low, s.high)]
            writer.writerow([*map(for_csv, (run, model, s.task, s.subset, s.metric, s.n)), *numbers])


def read_scores(path: Path) -> list[tuple[str, str, Score]]:
    """Read ``scores.csv`` as (run, model, score).

    Raises:
        ArtifactError: It is missing, damaged, or has other columns.
    """
    if not path.exists():
        raise NotScored(path, "no scores here")
    try:
        with path.open(newline="", encoding="utf-8") as file:
            header, *rows = [*csv.reader(file)] or [[]]
        if tuple(header) != SCORE_COLUMNS:
            raise NotScored(path, "has other columns")
        named = [dict(zip(SCORE_COLUMNS, map(from_csv, row), strict=True)) for row in rows if row]
        return [(r["run"], r["model"], _score_of(r)) for r in named]
    except (ValueError, csv.Error) as error:
        raise NotScored(path, f"cannot be read ({error})") from error


def _score_of(row: Mapping[str, str]) -> Score:
    value, low, high = (float(row[c]) if row[c] else None for c in ("value", "low", "high"))
    return Score(row["task"], row["subset"], row["metric"], int(row["n"]), value, low, high)


# ------------------------------------------------------------------------------------------------------------- manifest


def write_json(path: Path, value: Mapping[str, Any]) -> None:
    """Write readable JSON with sorted keys, whole or not at all."""
    with whole(path) as beside:
        text = json.dumps(value, indent=2, sort_keys=True, ensure_ascii=False) + "\n"
        beside.write_text(text, encoding="utf-8", errors="backslashreplace")  # of half a letter JSON's own escape


def read_manifest(curated: Path) -> dict[str, Any]:
    """Read ``manifest.json`` of a curated folder.

    Raises:
        ArtifactError: The folder holds none, a damaged one, or one of another schema version.
    """
    path = curated / "manifest.json"
    if not path.exists():
        raise NotCurated(curated)
    try:
        manifest: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise CuratedDamaged(path, f"is not JSON ({error})") from error
    if not isinstance(manifest, dict):
        raise CuratedDamaged(path, f"holds a {type(manifest).__name__}, expected an object")
    if manifest.get("schema_version") != SCHEMA_VERSION:
        raise CuratedDamaged(path, f"is of schema version {manifest.get('schema_version')}, expected {SCHEMA_VERSION}")
    return manifest
