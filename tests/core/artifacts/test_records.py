"""Records come back from disk as they went, and nothing damaged or of another schema passes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lmod_train.core import batches
from lmod_train.core.artifacts.predictions import read_predictions
from lmod_train.core.artifacts.records import (
    curated_images,
    read_records,
    read_run_column,
    read_run_records,
    record_id,
    record_row,
    write_records,
)
from lmod_train.core.artifacts.schema import PREDICTION_SCHEMA, RECORD_SCHEMA, RUN_SCHEMA
from lmod_train.core.errors import ArtifactError
from lmod_train.core.types import (
    Record,
)
from tests.core.artifacts.make import BARE, FULL
from tests.tabled import tabled


def test_records_come_back_as_they_went(tmp_path: Path):
    assert write_records(tmp_path / "deep" / "r.parquet", iter([FULL, BARE])) == 2
    assert read_records(tmp_path / "deep" / "r.parquet") == [FULL, BARE]


def test_a_folder_is_read_in_name_order(tmp_path: Path):
    write_records(tmp_path / "b.parquet", [FULL])
    write_records(tmp_path / "a.parquet", [BARE])
    assert read_records(tmp_path) == [BARE, FULL]


def test_the_schema_is_the_stated_one_with_and_without_rows(tmp_path: Path):
    """Columns in their fixed order; an empty list or an absent patient must not change a type."""
    for name, records in (("none", []), ("bare", [BARE]), ("full", [FULL])):
        assert write_records(tmp_path / f"{name}.parquet", records) == len(records)
        schema = pq.read_schema(tmp_path / f"{name}.parquet")
        assert schema.equals(RECORD_SCHEMA)
        assert schema.metadata == RECORD_SCHEMA.metadata == {b"lmod_train.schema": b"4"}
    assert read_records(tmp_path / "none.parquet") == []
    assert " ".join(RECORD_SCHEMA.names) == (
        "id task task_class task_version source key modality image image_plain image_sha256 split group language "
        "messages choices answer regions scale chain chain_step needs variant tags phantom patient licence "
        "facts target"
    )


def test_more_rows_than_a_group_come_back_in_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(batches, "ROWS_A_GROUP", 3)
    records = [replace(BARE, id=str(i)) for i in range(8)]
    assert write_records(tmp_path / "r.parquet", records) == 8
    assert read_records(tmp_path / "r.parquet") == records
    assert pq.ParquetFile(tmp_path / "r.parquet").num_row_groups == 3


def test_record_files_load_together_in_datasets_unchanged(tmp_path: Path):
    datasets = pytest.importorskip("datasets")
    folder = tmp_path / "records"
    write_records(folder / "anatomy.parquet", [FULL, replace(FULL, id="2", regions=())])
    write_records(folder / "four_way.parquet", [BARE])
    expected = [record_row(r) for r in read_records(folder)]
    assert len(expected) == 3
    for where in ({"data_dir": str(folder)}, {"data_files": str(folder / "*.parquet")}):
        loaded = datasets.load_dataset("parquet", split="train", cache_dir=str(tmp_path / "cache"), **where)
        assert [as_lists(row) for row in loaded] == [as_lists(row) for row in expected]
        assert loaded.column_names == RECORD_SCHEMA.names


def as_lists(value: Any) -> Any:
    """Return the same with lists for tuples: Parquet knows lists only."""
    if isinstance(value, dict):
        return {k: as_lists(v) for k, v in value.items()}
    return [as_lists(v) for v in value] if isinstance(value, list | tuple) else value


@tabled(
    ("table", "named"),
    [
        (pa.table({"id": ["1"]}), "schema version none, expected 4"),
        (
            RECORD_SCHEMA.empty_table().replace_schema_metadata({"lmod_train.schema": "2"}),
            "schema version 2, expected 4",
        ),
        (RECORD_SCHEMA.empty_table().replace_schema_metadata(None), "schema version none, expected 4"),
        (PREDICTION_SCHEMA.empty_table(), "other columns"),
        (
            RECORD_SCHEMA.empty_table().set_column(3, "task_version", pa.array([], pa.int64())),
            "other columns",
        ),
    ],
)
def test_another_schema_is_refused(table: pa.Table, named: str, tmp_path: Path):
    pq.write_table(table, tmp_path / "r.parquet")
    with pytest.raises(ArtifactError) as refused:
        read_records(tmp_path / "r.parquet")
    assert named in str(refused.value) and "r.parquet" in str(refused.value) and "\nNext: " in str(refused.value)


@pytest.mark.parametrize("read", [read_records, read_predictions])
def test_what_is_missing_or_no_parquet_is_named(read: Any, tmp_path: Path):
    for problem in ("no ", "cannot be read as Parquet"):
        with pytest.raises(ArtifactError, match=problem) as refused:
            read(tmp_path / "r.parquet")
        assert str(tmp_path / "r.parquet") in str(refused.value) and "\nNext: " in str(refused.value)
        (tmp_path / "r.parquet").write_bytes(b"not a table")


def test_a_column_more_or_less_is_refused(tmp_path: Path):
    table = pa.Table.from_pylist([record_row(FULL)], schema=RUN_SCHEMA.remove(RUN_SCHEMA.get_field_index("asked")))
    for other in (table, table.append_column("more", pa.array(["x"]))):
        pq.write_table(other, tmp_path / "records.parquet")
        with pytest.raises(ArtifactError, match="other columns"):
            read_run_records(tmp_path / "records.parquet")


@pytest.mark.parametrize(
    ("folder", "inside", "again"),
    [
        ("RUN", "replies", "validate --config CONFIG --run RUN"),
        ("FIT", "checkpoints", "fit --config CONFIG --run FIT"),
        ("DISSECTED", "dissection", "dissect MODEL CURATED --out DISSECTED"),
        ("RUN/judgements/gpt-4o", "replies", "judge RUN --name gpt-4o"),
    ],
)
def test_a_run_of_another_version_is_refused_with_the_command_that_asks_it_again(
    folder: str, inside: str, again: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    run = Path(folder)
    (run / inside).mkdir(parents=True)
    for name, schema, read in (
        ("records.parquet", RUN_SCHEMA, read_run_records),
        ("records.parquet", RUN_SCHEMA, lambda file: read_run_column(file, "asked")),
        ("predictions.parquet", PREDICTION_SCHEMA, read_predictions),
    ):
        pq.write_table(schema.empty_table().replace_schema_metadata({"lmod_train.schema": "2"}), run / name)
        with pytest.raises(ArtifactError, match="is of schema version 2, expected 4") as refused:
            read(run / name)
        assert str(refused.value).endswith(f"\nNext: `python -m lmod_train {again}` rewrites it and keeps the replies")


def test_a_folder_without_records_is_refused(tmp_path: Path):
    with pytest.raises(ArtifactError, match="no record file"):
        read_records(tmp_path)


def test_ids_keep_the_places_apart():
    assert record_id("t", "s", "train/a b", "zh", "", "v/1") == "t/s/train/a%20b/zh/v%2F1"
    assert record_id("t", "a/b", "1") != record_id("t", "a", "b/1")
    assert record_id("t", "s", "视盘") == "t/s/%E8%A7%86%E7%9B%98"


def test_records_that_break_off_leave_the_old_file(tmp_path: Path):
    def breaking() -> Iterator[Record]:
        yield FULL
        raise ZeroDivisionError

    write_records(tmp_path / "r.parquet", [BARE])
    with pytest.raises(ZeroDivisionError):
        write_records(tmp_path / "r.parquet", breaking())
    assert read_records(tmp_path / "r.parquet") == [BARE]
    assert [f.name for f in tmp_path.iterdir()] == ["r.parquet"]


def test_columns_of_another_kind_or_without_a_value_are_refused(tmp_path: Path):
    file = tmp_path / "records" / "a.parquet"
    write_records(file, [FULL])
    table = pq.read_table(file)
    place = table.schema.get_field_index("image")
    empty = pa.array([None], table.schema.field("image").type)
    for damaged in (table.drop_columns(["image"]), table.set_column(place, table.schema.field("image"), empty),
                    table.set_column(place, "image", pa.array([1]))):  # fmt: skip
        pq.write_table(damaged, file)
        with pytest.raises(ArtifactError):
            curated_images(tmp_path)


def test_a_task_without_a_record_has_no_images(tmp_path: Path):
    write_records(tmp_path / "records" / "a.parquet", [])
    write_records(tmp_path / "records" / "b.parquet", [FULL])
    assert set(curated_images(tmp_path)) == {*FULL.image, *FULL.image_plain}
