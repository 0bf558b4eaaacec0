"""Columns of the Parquet files, and the version of the contract that they are."""

from __future__ import annotations

import pyarrow as pa

SCHEMA_VERSION = 4
"""The one version of all that is written: curated folders, runs, packs, stored features."""
VERSION = b"lmod_train.schema"

TEXT, TEXTS = pa.string(), pa.list_(pa.string())
_sides = [(side, pa.int32()) for side in ("x0", "y0", "x1", "y1")]
_region = pa.struct([("id", pa.int32()), ("structure", TEXT), *_sides])
_part = pa.struct([("type", TEXT), ("text", TEXT)])
_patient = pa.struct([("age", pa.float64()), ("sex", TEXT), ("laterality", TEXT), ("camera", TEXT), ("quality", TEXT)])
_value = [("name", TEXT), ("number", pa.float64()), ("word", TEXT)]
_fact = pa.struct([*_value, ("unit", TEXT), ("error", pa.float64()), ("origin", TEXT), ("version", pa.int32())])

RECORD_SCHEMA = pa.schema(
    [
        ("id", TEXT),
        ("task", TEXT),
        ("task_class", TEXT),
        ("task_version", pa.int32()),
        ("source", TEXT),
        ("key", TEXT),
        ("modality", TEXT),
        ("image", TEXTS),
        ("image_plain", TEXTS),
        ("image_sha256", TEXTS),
        ("split", TEXT),
        ("group", TEXT),
        ("language", TEXT),
        ("messages", pa.list_(pa.struct([("role", TEXT), ("parts", pa.list_(_part))]))),
        ("choices", TEXTS),
        ("answer", TEXT),
        ("regions", pa.list_(_region)),
        ("scale", pa.float64()),
        ("chain", TEXT),
        ("chain_step", TEXT),
        ("needs", TEXTS),
        ("variant", TEXT),
        ("tags", pa.list_(pa.struct([("key", TEXT), ("value", TEXT)]))),  # `datasets` cannot read a map
        ("phantom", pa.bool_()),
        ("patient", _patient),
        ("licence", TEXT),
        ("facts", pa.list_(_fact)),
        ("target", TEXT),
    ],
    metadata={VERSION: str(SCHEMA_VERSION)},
)
"""One explicit schema for all tasks: inferred ones fail when two task files load together."""

RUN_SCHEMA = RECORD_SCHEMA.append(pa.field("asked", TEXT))
"""Of ``RUN/records.parquet``: the records that a run asks, each with the hash of what is asked of whom today."""

REPLY_COLUMNS = [
    ("reply", TEXT),
    ("finish_reason", TEXT),
    ("error", TEXT),
    ("rendered", TEXT),
    ("reply_step", pa.int64()),
    ("tokens_in", pa.int64()),
    ("tokens_out", pa.int64()),
    ("seconds", pa.float64()),
    ("model", TEXT),
    ("settings", TEXT),
    ("likelihoods", TEXT),
    ("asked", TEXT),
]
"""Of a prediction, beside those of its record: what was replied, and how."""

PREDICTION_SCHEMA = pa.schema(
    [
        *RECORD_SCHEMA,
        *REPLY_COLUMNS,
        ("status", TEXT),
        ("reason", TEXT),
        ("parsed", TEXT),
        ("confidence", pa.float64()),
    ],
    metadata=RECORD_SCHEMA.metadata,
)
