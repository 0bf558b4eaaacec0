"""Read and write what lies on disk between the stages: records, replies, predictions, scores, manifest.

The two frontiers are the record file and the reply file. Whole files appear at once (written beside, then renamed);
the reply file grows by one line a reply and survives a kill: a torn last line is dropped on reading.
"""

from __future__ import annotations

import csv
import hashlib
import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, fields
from itertools import islice
from pathlib import Path
from typing import Any, get_args
from urllib.parse import quote

import pyarrow as pa
import pyarrow.parquet as pq

from lmod_train.errors import ArtifactError
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

SCHEMA_VERSION = 1
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
        ("step", _text),
        ("patient", _patient),
        ("licence", _text),
    ],
    metadata={_VERSION: str(SCHEMA_VERSION)},
)
"""One explicit schema for all tasks: inferred ones fail when two task files load together."""

SCORE_COLUMNS = ("run", "model", "task", "subset", "metric", "n", "value", "low", "high")


def record_id(task: str, source: str, key: str, *rest: str) -> str:
    """Return ``task/source/key[/language][/step][/variant]``, each piece percent-encoded; empty pieces are left out.

    Example:
        >>> record_id("glaucoma", "refuge", "train/Non-Glaucoma/n 01", "")
        'glaucoma/refuge/train/Non-Glaucoma/n%2001'
    """
    return "/".join([quote(task, safe=""), quote(source, safe=""), quote(key), *(quote(r, safe="") for r in rest if r)])


@contextmanager
def whole(path: Path) -> Iterator[Path]:
    """Yield a name beside `path` to write to; only when the block succeeds does the file appear under `path`."""
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        yield beside
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)


# ------------------------------------------------------------------------------------------------------------- records


def record_row(record: Record) -> dict[str, Any]:
    """Return the record as a row of `RECORD_SCHEMA`."""
    row = {f.name: getattr(record, f.name) for f in fields(Record)}
    row["messages"] = [{"role": m.role, "parts": [asdict(p) for p in m.parts]} for m in record.messages]
    row["regions"] = [{"id": r.id, "structure": r.structure, **asdict(r.box)} for r in record.regions]
    row["patient"] = asdict(record.patient)
    return row


def record_of(row: Mapping[str, Any]) -> Record:
    """Return the record that `record_row` made the row of."""
    values = {f.name: row[f.name] for f in fields(Record)}
    for name in ("image", "image_plain", "image_sha256", "choices"):
        values[name] = tuple(values[name])
    values["messages"] = tuple(
        Message(m["role"], tuple(Part(p["type"], p["text"]) for p in m["parts"])) for m in row["messages"]
    )
    values["regions"] = tuple(
        Region(r["structure"], Box(r["x0"], r["y0"], r["x1"], r["y1"]), r["id"]) for r in row["regions"]
    )
    values["patient"] = Patient(**row["patient"])
    return Record(**values)


def write_records(path: Path, records: Iterable[Record]) -> int:
    """Write one Parquet file, whole or not at all; return the number of rows. No records gives an empty table.

    Rows are written in groups as the records come, so that memory does not grow with their number.
    """
    waiting, count = iter(records), 0
    with whole(path) as beside, pq.ParquetWriter(beside, RECORD_SCHEMA, compression="zstd") as writer:
        while group := [record_row(r) for r in islice(waiting, ROWS_A_GROUP)]:
            writer.write_table(pa.Table.from_pylist(group, schema=RECORD_SCHEMA))
            count += len(group)
    return count


def read_records(path: Path) -> list[Record]:
    """Read ``records/<task>.parquet``, or a folder of them in name order.

    Raises:
        ArtifactError: The file is missing, unreadable, or of another schema version.
    """
    files = sorted(path.glob("*.parquet")) if path.is_dir() else [path]
    cure = "make the records again: `python -m lmod_train curate --raw RAW --out CURATED`"
    if not files or not files[0].exists():
        raise ArtifactError(path, "no record file here", cure)
    records: list[Record] = []
    for file in files:
        records += [record_of(row) for row in _rows(file, RECORD_SCHEMA, cure)]
    return records


def _rows(file: Path, schema: pa.Schema, cure: str) -> list[dict[str, Any]]:
    """Return the rows of a Parquet file that has exactly this schema, of this version."""
    try:
        table = pq.read_table(file)
    except (pa.ArrowInvalid, OSError) as error:
        raise ArtifactError(file, f"cannot be read as Parquet ({error})", cure) from error
    version = (table.schema.metadata or {}).get(_VERSION, b"none").decode()
    if version != str(SCHEMA_VERSION):
        raise ArtifactError(file, f"is of schema version {version}, expected {SCHEMA_VERSION}", cure)
    if not table.schema.equals(schema):
        raise ArtifactError(file, f"has other columns than schema version {SCHEMA_VERSION}", cure)
    rows: list[dict[str, Any]] = table.to_pylist()
    return rows


# ------------------------------------------------------------------------------------------------------------- replies


def reply_line(reply: Reply) -> str:
    """Return the reply as one line of JSON, newline included."""
    return json.dumps(asdict(reply), ensure_ascii=False, sort_keys=True) + "\n"


def read_replies(folder: Path) -> dict[tuple[str, int], Reply]:
    """Read every ``rank-*.jsonl`` of a ``replies`` folder; the last line of a key (id, step) wins.

    A torn last line, left by a kill, is passed over; a damaged line elsewhere is an error, as it is not ours. No folder
    and no file is no reply.

    Raises:
        ArtifactError: A complete line is not a reply.
    """
    replies: dict[tuple[str, int], Reply] = {}
    for file in sorted(folder.glob("rank-*.jsonl")):
        *lines, last = file.read_bytes().split(b"\n")
        for number, line in enumerate([*lines, last] if _is_whole(last) else lines, 1):
            if not line.strip():
                continue
            try:
                reply = _reply_of(line)
            except (ValueError, TypeError, AttributeError) as error:
                raise ArtifactError(file, f"line {number} is not a reply ({error})", f"delete line {number}") from error
            replies[reply.id, reply.step] = reply
    return replies


def _reply_of(line: bytes) -> Reply:
    known = {f.name for f in fields(Reply)}
    reply = Reply(**{k: v for k, v in json.loads(line).items() if k in known})
    if not (isinstance(reply.id, str) and isinstance(reply.reply, str) and isinstance(reply.step, int)):
        raise TypeError("id and reply must be text, step a whole number")
    return reply


def _is_whole(last: bytes) -> bool:
    """Tell whether what stands behind the last newline lacks nothing but its own; no part of an object is JSON."""
    try:
        json.loads(last)
    except ValueError:
        return False
    return True


class ReplyFile:
    """An append-only file of replies that survives a kill: a batch is on the disk before the next is asked."""

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        data = path.read_bytes() if path.exists() else b""
        end = data.rfind(b"\n") + 1
        whole_last = _is_whole(data[end:])
        if not whole_last and end < len(data):  # or the next reply would continue it and both would be lost
            os.truncate(path, end)  # not written anew: a kill in between would cost every reply
        self._file = path.open("a", encoding="utf-8")
        if whole_last:
            self._file.write("\n")

    def append(self, replies: Iterable[Reply]) -> None:
        """Write the replies, one line each, and wait until they are on the disk."""
        self._file.write("".join(reply_line(r) for r in replies))
        self._file.flush()
        os.fsync(self._file.fileno())

    def close(self) -> None:
        """Close the file."""
        self._file.close()


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
    cure = f"derive it again from the replies: `python -m lmod_train rescore {path.parent}`"
    if not path.exists():
        raise ArtifactError(path, "no predictions here", cure)
    predictions = []
    for row in _rows(path, PREDICTION_SCHEMA, cure):
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
            writer.writerow([run, model, s.task, s.subset, s.metric, s.n, *numbers])


def read_scores(path: Path) -> list[tuple[str, str, Score]]:
    """Read ``scores.csv`` as (run, model, score).

    Raises:
        ArtifactError: It is missing or has other columns.
    """
    if not path.exists():
        raise ArtifactError(path, "no scores here", f"`python -m lmod_train rescore {path.parent}`")
    with path.open(newline="", encoding="utf-8") as file:
        reader = csv.DictReader(file)
        if tuple(reader.fieldnames or ()) != SCORE_COLUMNS:
            raise ArtifactError(path, "has other columns", f"`python -m lmod_train rescore {path.parent}`")
        return [(r["run"], r["model"], _score_of(r)) for r in reader]


def _score_of(row: Mapping[str, str]) -> Score:
    value, low, high = (float(row[c]) if row[c] else None for c in ("value", "low", "high"))
    return Score(row["task"], row["subset"], row["metric"], int(row["n"]), value, low, high)


# ------------------------------------------------------------------------------------------------------------- manifest


def write_json(path: Path, value: Mapping[str, Any]) -> None:
    """Write readable JSON with sorted keys, whole or not at all."""
    with whole(path) as beside:
        beside.write_text(json.dumps(value, indent=2, sort_keys=True, ensure_ascii=False) + "\n", encoding="utf-8")


def read_manifest(curated: Path) -> dict[str, Any]:
    """Read ``manifest.json`` of a curated folder.

    Raises:
        ArtifactError: The folder holds none, a damaged one, or one of another schema version.
    """
    path = curated / "manifest.json"
    cure = f"`python -m lmod_train curate --raw RAW --out {curated}`"
    if not path.exists():
        raise ArtifactError(path, "missing: this folder is not curated, or its curation did not finish", cure)
    try:
        manifest: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ArtifactError(path, f"is not JSON ({error})", f"delete it, then {cure}") from error
    if manifest.get("schema_version") != SCHEMA_VERSION:
        raise ArtifactError(path, f"schema version {manifest.get('schema_version')}, expected {SCHEMA_VERSION}", cure)
    return manifest


def sha256_of(path: Path) -> str:
    """Return the hexadecimal SHA-256 of a file's bytes."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
