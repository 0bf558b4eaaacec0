"""Records with their images inside, as Parquet files that the ``datasets`` library knows as images.

``datasets`` reads its own column types from the schema metadata key ``huggingface``; an image is a struct of ``bytes``
and ``path`` there. A list is written as a JSON list of its one item type, which every version since 2.0 reads.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from lmod_train.core.artifacts.schema import RECORD_SCHEMA
from lmod_train.core.files import make_folder
from lmod_train.core.types import Record
from lmod_train.data.formats.folder import ExportFolder, exported_chain, exported_id

ROWS_A_GROUP = 64
"""Rows held in memory and written at once: with curated images of 100 to 400 kB some 25 MB."""

_text, _texts = pa.string(), pa.list_(pa.string())
_image = pa.struct([("bytes", pa.binary()), ("path", _text)])
_content = pa.struct([("type", _text), ("text", _text)])

COLUMNS: tuple[tuple[str, pa.DataType], ...] = (
    ("id", _text),
    ("images", pa.list_(_image)),
    ("messages", pa.list_(pa.struct([("role", _text), ("content", pa.list_(_content))]))),
    ("choices", _texts),
    ("answer", _text),
    ("truth", _text),
    *((name, RECORD_SCHEMA.field(name).type) for name in ("regions", "scale", "task", "task_class", "task_version")),
    *((name, _text) for name in ("source", "licence", "modality", "split", "group", "language")),
    *(
        (name, RECORD_SCHEMA.field(name).type)
        for name in ("chain", "chain_step", "needs", "variant", "tags", "patient")
    ),
    ("image_path", _texts),
)
"""``messages`` is the question as it is asked, in the shape of a chat template; ``answer`` the reference reply in the
requested format; ``truth`` its meaning, where that is one of ``choices``, otherwise empty; ``group`` a running number
of the patient or family within this export."""


def feature(kind: pa.DataType) -> Any:
    """Return a column's type as ``datasets`` writes it down.

    Example:
        >>> feature(pa.list_(pa.string()))
        [{'dtype': 'string', '_type': 'Value'}]
        >>> feature(_image)
        {'_type': 'Image'}
    """
    if kind == _image:
        return {"_type": "Image"}
    if pa.types.is_list(kind):
        return [feature(kind.value_type)]
    if pa.types.is_struct(kind):
        return {field.name: feature(field.type) for field in kind}
    return {"dtype": {"double": "float64"}.get(str(kind), str(kind)), "_type": "Value"}


def schema(images: bool) -> pa.Schema:
    """Return the schema of an export, the ``datasets`` types in its metadata.

    Args:
        images: Whether there is a column ``images``.
    """
    return typed([(name, kind) for name, kind in COLUMNS if images or name != "images"])


def typed(columns: Sequence[tuple[str, pa.DataType]]) -> pa.Schema:
    """Return the schema of some columns, the ``datasets`` types in its metadata."""
    features = {name: feature(kind) for name, kind in columns}
    return pa.schema(columns, metadata={"huggingface": json.dumps({"info": {"features": features}})})


def row_of(record: Record, truth: str, images: Sequence[tuple[str, bytes]], key: bytes = b"") -> dict[str, Any]:
    """Return a record as a row.

    Args:
        record: What was asked; its words are not changed.
        truth: The choice that is right, empty where the answer is none of the choices.
        images: Path and file bytes of each image.
        key: Key of the hashes in its ids.
    """
    row = {name: getattr(record, name, None) for name, _ in COLUMNS}
    row["id"], row["needs"] = exported_id(record.id, key), [exported_id(id, key) for id in record.needs]
    row["chain"] = exported_chain(record.chain, key)
    row["images"] = [{"bytes": data, "path": path} for path, data in images]
    row["image_path"], row["truth"] = [path for path, _ in images] or list(record.image), truth
    row["messages"] = [
        {"role": m.role, "content": [{"type": p.type, "text": p.text or None} for p in m.parts]}
        for m in record.messages
    ]
    row["regions"] = [{"id": r.id, "structure": r.structure, **asdict(r.box)} for r in record.regions]
    row["tags"] = [{"key": key, "value": value} for key, value in sorted(record.tags.items())]
    row["patient"] = asdict(record.patient)
    return row


class EmbeddedFiles:
    """One Parquet file for each task and split, ``data/<task>/<split>.parquet``; used in a ``with`` block.

    Args:
        folder: Where to.
    """

    def __init__(self, folder: ExportFolder) -> None:
        self._folder, self._schema = folder, schema(folder.images != "none")
        self._stack = ExitStack()
        self._writers: dict[tuple[str, str], pq.ParquetWriter] = {}
        self._waiting: dict[tuple[str, str], list[dict[str, Any]]] = {}
        self._groups: dict[tuple[str, str], str] = {}

    def __enter__(self) -> EmbeddedFiles:
        return self

    def __exit__(self, *error: object) -> None:
        if error[0] is None:
            for place in list(self._waiting):
                self._flush(place)
        self._stack.close()

    def append(self, record: Record, truth: str) -> None:
        """Add a record with its images."""
        place = record.task, record.split
        row = row_of(record, truth, self._folder.pixels(record), self._folder.key) | {"group": self._number_of(record)}
        self._waiting.setdefault(place, []).append(row)
        if sum(map(len, self._waiting.values())) >= ROWS_A_GROUP:
            for waiting in list(self._waiting):
                self._flush(waiting)
        self._folder.written += 1

    def _number_of(self, record: Record) -> str:
        """Return a running number for a record's group: the same for all records of a patient."""
        return self._groups.setdefault((record.source, record.group), str(len(self._groups) + 1))

    def _flush(self, place: tuple[str, str]) -> None:
        rows = self._waiting.pop(place)
        if place not in self._writers:
            path = self._folder.path / file_of(*place)
            make_folder(path.parent)
            self._writers[place] = self._stack.enter_context(pq.ParquetWriter(path, self._schema, compression="zstd"))
        names = self._schema.names
        table = pa.Table.from_pylist([{n: row[n] for n in names} for row in rows], schema=self._schema)
        self._writers[place].write_table(table)

    def files(self) -> Iterator[tuple[str, str]]:
        """Yield (task, split) of every file that has a record, sorted by task, splits as train, val, test."""
        written = {*self._writers, *self._waiting}
        for task in sorted({task for task, _ in written}):
            yield from ((task, split) for split in ("train", "val", "test") if (task, split) in written)


def file_of(task: str, split: str) -> str:
    """Return the path of a file inside the exported folder.

    Example:
        >>> file_of("glaucoma", "train")
        'data/glaucoma/train.parquet'
    """
    return Path("data", task, f"{split}.parquet").as_posix()


def splits_by_task(files: Iterator[tuple[str, str]]) -> Mapping[str, list[str]]:
    """Return task -> its splits."""
    found: dict[str, list[str]] = {}
    for task, split in files:
        found.setdefault(task, []).append(split)
    return found
