"""Parquet with images inside: the types `datasets` sees are those it would have written itself."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from datasets import Features, Image, Value

from lmod_train.data.formats import embedded
from lmod_train.data.formats.chosen_records import select
from lmod_train.data.formats.embedded import EmbeddedFiles, schema, splits_by_task
from lmod_train.data.formats.folder import ExportFolder


@pytest.mark.parametrize("images", [True, False])
def test_datasets_reads_the_types_from_the_schema(images: bool):
    features = Features.from_arrow_schema(schema(images))
    assert list(features) == [name for name, _ in embedded.COLUMNS if images or name != "images"]
    if images:
        assert features["images"].feature == Image()
    assert features["scale"] == Value("float64") and features["task_version"] == Value("int32")
    assert features["messages"].feature["content"].feature == {"type": Value("string"), "text": Value("string")}
    plain = schema(images).remove_metadata()
    assert features.arrow_schema.remove_metadata().equals(plain)  # what it would store is what is stored
    assert json.loads(schema(images).metadata[b"huggingface"])["info"]["features"].keys() == features.keys()


def test_rows_are_written_a_few_at_a_time_and_none_is_lost(free: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(embedded, "ROWS_A_GROUP", 2)
    held = []
    with ExportFolder(tmp_path / "out", select(free)) as folder, EmbeddedFiles(folder) as files:
        for record in select(free):
            files.append(record, "")
            held.append(sum(map(len, files._waiting.values())))
        found = splits_by_task(files.files())
    assert max(held) < 2 and folder.written == 8
    assert found == {"anatomy": ["train", "val"], "conversation": ["train"], "glaucoma": ["train", "test"]}
    tables = {(t, s): pq.read_table(tmp_path / "out" / "data" / t / f"{s}.parquet") for t in found for s in found[t]}
    assert sum(map(len, tables.values())) == 8
    row = tables["anatomy", "val"].to_pylist()[0]
    assert row["images"][0]["bytes"] == (free / "images/open_eyes/part/001.marked.jpg").read_bytes()
    assert row["regions"][1] == {"id": 2, "structure": "optic disc", "x0": 1, "y0": 1, "x1": 9, "y1": 9}
    assert row["patient"]["age"] == 61.5 or row["patient"]["age"] is None


def test_a_failure_leaves_no_writer_open(free: Path, tmp_path: Path):
    with (
        pytest.raises(RuntimeError),
        ExportFolder(tmp_path / "out", select(free)) as folder,
        EmbeddedFiles(folder) as files,
    ):
        files.append(next(iter(select(free))), "")
        raise RuntimeError
    assert not (tmp_path / "out").exists()
