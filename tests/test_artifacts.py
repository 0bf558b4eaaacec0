"""What lies on disk between the stages: nothing is lost on the way there and back, and nothing damaged passes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from lmod_train import artifacts
from lmod_train.errors import ArtifactError
from lmod_train.types import (
    Answer,
    Box,
    Message,
    Part,
    Patient,
    Prediction,
    Record,
    Region,
    Reply,
    Score,
    Unparsed,
)

FULL = Record(
    id="anatomy/refuge/train%2F1/zh", task="anatomy", task_class="lmod_train.tasks.anatomy.Anatomy", task_version=3,
    source="refuge", key="train/1", modality="CFP", image=("images/refuge/1-m.jpg",),
    image_plain=("images/refuge/1.jpg",), image_sha256=("ab" * 32,), split="train", group="p7", language="zh",
    messages=(
        Message("system", (Part("text", "你是一名眼科医生。"),)),
        Message("user", (Part("image"), Part("text", "图中方框是什么？\n\u2028选择：视盘、视杯"))),
    ),
    choices=("视盘", "视杯"), answer="区域：1；类型：视盘",
    regions=(Region("optic disc", Box(3, 4, 90, 80), 1), Region("optic cup", Box(20, 22, 60, 59), 2)),
    scale=0.4866666666666667, chain="c", chain_step="s", needs=("a/b/1", "a/b/2"), variant="v",
    tags={"level": "2", "impact": "高"}, phantom=True, patient=Patient(61.5, "F", "right", "Zeiss", "good"),
    licence="CC BY 4.0",
)  # fmt: skip
BARE = replace(
    FULL, id="four_way/eye/2", task="four_way", image=(), image_plain=(), image_sha256=(), split="test", messages=(),
    choices=(), regions=(), patient=Patient(), licence="", chain="", chain_step="", language="en", needs=(), variant="",
    tags={}, phantom=False,
)  # fmt: skip
REPLY = Reply(
    id=FULL.id, reply='视盘 "quoted"\r\n\u2028\t{"a": 1}', finish_reason="length", error="", rendered="<s>USER: 图\n",
    step=120, tokens_in=700, tokens_out=12, seconds=0.125, model="small_base", settings='{"max_new_tokens": 64}',
    likelihoods={"视盘": -0.25, "视杯": -1.5}, asked="ef" * 32,
)  # fmt: skip
ANSWERS: list[Answer | Unparsed] = [
    "NON-GLAUCOMA",
    "青光眼",
    "",
    0.0,
    -2.5,
    {1: "optic disc", 12: "视杯"},
    {},
    *(Unparsed(reason, "为什么") for reason in ("empty", "no_match", "ambiguous", "refused", "truncated", "failed")),
]


# ------------------------------------------------------------------------------------------------------------- records


def test_records_come_back_as_they_went(tmp_path: Path):
    assert artifacts.write_records(tmp_path / "deep" / "r.parquet", iter([FULL, BARE])) == 2
    assert artifacts.read_records(tmp_path / "deep" / "r.parquet") == [FULL, BARE]


def test_a_folder_is_read_in_name_order(tmp_path: Path):
    artifacts.write_records(tmp_path / "b.parquet", [FULL])
    artifacts.write_records(tmp_path / "a.parquet", [BARE])
    assert artifacts.read_records(tmp_path) == [BARE, FULL]


def test_the_schema_is_the_stated_one_with_and_without_rows(tmp_path: Path):
    """Columns in DESIGN's order; an empty list or an absent patient must not change a type."""
    for name, records in (("none", []), ("bare", [BARE]), ("full", [FULL])):
        assert artifacts.write_records(tmp_path / f"{name}.parquet", records) == len(records)
        schema = pq.read_schema(tmp_path / f"{name}.parquet")
        assert schema.equals(artifacts.RECORD_SCHEMA)
        assert schema.metadata == artifacts.RECORD_SCHEMA.metadata == {b"lmod_train.schema": b"2"}
    assert artifacts.read_records(tmp_path / "none.parquet") == []
    assert " ".join(artifacts.RECORD_SCHEMA.names) == (
        "id task task_class task_version source key modality image image_plain image_sha256 split group language "
        "messages choices answer regions scale chain chain_step needs variant tags phantom patient licence"
    )


def test_more_rows_than_a_group_come_back_in_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(artifacts, "ROWS_A_GROUP", 3)
    records = [replace(BARE, id=str(i)) for i in range(8)]
    assert artifacts.write_records(tmp_path / "r.parquet", records) == 8
    assert artifacts.read_records(tmp_path / "r.parquet") == records
    assert pq.ParquetFile(tmp_path / "r.parquet").num_row_groups == 3


def test_record_files_load_together_in_datasets_unchanged(tmp_path: Path):
    datasets = pytest.importorskip("datasets")
    folder = tmp_path / "records"
    artifacts.write_records(folder / "anatomy.parquet", [FULL, replace(FULL, id="2", regions=())])
    artifacts.write_records(folder / "four_way.parquet", [BARE])
    expected = [artifacts.record_row(r) for r in artifacts.read_records(folder)]
    assert len(expected) == 3
    for where in ({"data_dir": str(folder)}, {"data_files": str(folder / "*.parquet")}):
        loaded = datasets.load_dataset("parquet", split="train", cache_dir=str(tmp_path / "cache"), **where)
        assert [as_lists(row) for row in loaded] == [as_lists(row) for row in expected]
        assert loaded.column_names == artifacts.RECORD_SCHEMA.names


def as_lists(value: Any) -> Any:
    """Return the same with lists for tuples: Parquet knows lists only."""
    if isinstance(value, dict):
        return {k: as_lists(v) for k, v in value.items()}
    return [as_lists(v) for v in value] if isinstance(value, list | tuple) else value


@pytest.mark.parametrize(
    ("table", "named"),
    [
        (pa.table({"id": ["1"]}), "schema version none, expected 2"),
        (
            artifacts.RECORD_SCHEMA.empty_table().replace_schema_metadata({"lmod_train.schema": "3"}),
            "schema version 3, expected 2",
        ),
        (artifacts.RECORD_SCHEMA.empty_table().replace_schema_metadata(None), "schema version none, expected 2"),
        (artifacts.PREDICTION_SCHEMA.empty_table(), "other columns"),
        (
            artifacts.RECORD_SCHEMA.empty_table().set_column(3, "task_version", pa.array([], pa.int64())),
            "other columns",
        ),
    ],
)
def test_another_schema_is_refused(table: pa.Table, named: str, tmp_path: Path):
    pq.write_table(table, tmp_path / "r.parquet")
    with pytest.raises(ArtifactError) as refused:
        artifacts.read_records(tmp_path / "r.parquet")
    assert named in str(refused.value) and "r.parquet" in str(refused.value) and "\nNext: " in str(refused.value)


@pytest.mark.parametrize("read", [artifacts.read_records, artifacts.read_predictions])
def test_what_is_missing_or_no_parquet_is_named(read: Any, tmp_path: Path):
    for problem in ("no ", "cannot be read as Parquet"):
        with pytest.raises(ArtifactError, match=problem) as refused:
            read(tmp_path / "r.parquet")
        assert str(tmp_path / "r.parquet") in str(refused.value) and "\nNext: " in str(refused.value)
        (tmp_path / "r.parquet").write_bytes(b"not a table")


def of_version_1(schema: pa.Schema, row: dict[str, Any]) -> pa.Table:
    """Return the row as schema version 1 wrote it: `step` for `chain_step`, without the columns that are new."""
    row = {"step" if k == "chain_step" else k: v for k, v in row.items()}
    columns = [
        pa.field("step" if f.name == "chain_step" else f.name, f.type)
        for f in schema
        if f.name not in ("needs", "variant", "tags", "phantom", "asked")
    ]
    return pa.Table.from_pylist([row], schema=pa.schema(columns, metadata={"lmod_train.schema": "1"}))


OLD = replace(FULL, needs=(), variant="", tags={}, phantom=False)


def test_the_records_of_a_run_of_version_1_are_read_and_those_of_a_curated_folder_are_not(tmp_path: Path):
    pq.write_table(of_version_1(artifacts.RECORD_SCHEMA, artifacts.record_row(FULL)), tmp_path / "records.parquet")
    assert artifacts.read_run_records(tmp_path / "records.parquet") == [OLD]
    with pytest.raises(ArtifactError, match="schema version 1, expected 2"):
        artifacts.read_records(tmp_path / "records.parquet")


def test_the_predictions_of_a_run_of_version_1_are_read(tmp_path: Path):
    artifacts.write_predictions(tmp_path / "new.parquet", [Prediction(FULL, REPLY, "NON-GLAUCOMA")])
    (row,) = pq.read_table(tmp_path / "new.parquet").to_pylist()
    pq.write_table(of_version_1(artifacts.PREDICTION_SCHEMA, row), tmp_path / "old.parquet")
    read = artifacts.read_predictions(tmp_path / "old.parquet")
    assert read == [Prediction(OLD, replace(REPLY, asked=""), "NON-GLAUCOMA")]


def test_a_column_that_no_version_knows_is_refused(tmp_path: Path):
    table = of_version_1(artifacts.RECORD_SCHEMA, artifacts.record_row(FULL)).append_column("more", pa.array(["x"]))
    pq.write_table(table, tmp_path / "records.parquet")
    with pytest.raises(ArtifactError, match="other columns"):
        artifacts.read_run_records(tmp_path / "records.parquet")


def test_a_folder_without_records_is_refused(tmp_path: Path):
    with pytest.raises(ArtifactError, match="no record file"):
        artifacts.read_records(tmp_path)


def test_ids_keep_the_places_apart():
    assert artifacts.record_id("t", "s", "train/a b", "zh", "", "v/1") == "t/s/train/a%20b/zh/v%2F1"
    assert artifacts.record_id("t", "a/b", "1") != artifacts.record_id("t", "a", "b/1")
    assert artifacts.record_id("t", "s", "视盘") == "t/s/%E8%A7%86%E7%9B%98"


# ------------------------------------------------------------------------------------------------------- whole or none


def test_records_that_break_off_leave_the_old_file(tmp_path: Path):
    def breaking() -> Iterator[Record]:
        yield FULL
        raise ZeroDivisionError

    artifacts.write_records(tmp_path / "r.parquet", [BARE])
    with pytest.raises(ZeroDivisionError):
        artifacts.write_records(tmp_path / "r.parquet", breaking())
    assert artifacts.read_records(tmp_path / "r.parquet") == [BARE]
    assert [f.name for f in tmp_path.iterdir()] == ["r.parquet"]


# ------------------------------------------------------------------------------------------------ predictions, scores


@pytest.mark.parametrize("answer", ANSWERS, ids=repr)
def test_answers_of_every_kind_come_back_with_their_type(answer: Answer | Unparsed):
    text = artifacts.answer_json(answer)
    assert artifacts.answer_of(text) == answer and type(artifacts.answer_of(text)) is type(answer)
    assert isinstance(json.loads(text), dict) and "\\u" not in text


def test_a_reason_that_no_one_knows_is_refused():
    with pytest.raises(ValueError, match="bored"):
        artifacts.answer_of('{"unparsed": "bored", "detail": ""}')


def test_predictions_come_back_as_they_went(tmp_path: Path):
    file = tmp_path / "predictions.parquet"
    told = [Prediction(replace(FULL, id=str(i)), replace(REPLY, id=str(i)), a) for i, a in enumerate(ANSWERS)]
    assert artifacts.write_predictions(file, iter(told)) == len(ANSWERS)
    assert artifacts.read_predictions(file) == told
    columns = pq.read_table(file).to_pydict()
    assert columns["status"] == [p.status for p in told]
    assert columns["reason"] == [a.reason if isinstance(a, Unparsed) else "" for a in ANSWERS]
    assert columns["chain_step"][0] == FULL.chain_step and columns["reply_step"][0] == REPLY.step, (
        "two steps, two columns"
    )
    assert artifacts.write_predictions(file, []) == 0
    assert artifacts.read_predictions(file) == []


def test_predictions_of_another_schema_are_refused_with_the_way_to_make_them(tmp_path: Path):
    (tmp_path / "replies").mkdir()
    artifacts.write_records(tmp_path / "predictions.parquet", [FULL])
    with pytest.raises(ArtifactError, match="rescore"):
        artifacts.read_predictions(tmp_path / "predictions.parquet")


def test_scores_come_back_and_what_is_not_there_is_an_empty_cell(tmp_path: Path):
    scores = [
        Score("anatomy", "all", "f1", 9, 1 / 3, 0.25, 0.5),
        Score("anatomy", "sex=F;age=60, over", "chance", 9, 0.5),
        Score("four_way", "all", "accuracy_strict", 0, None),
        Score("four_way", "all", "numpy", 2, np.float64(0.5)),
    ]
    artifacts.write_scores(tmp_path / "scores.csv", 'runs/"a", b', "模型", scores)
    assert artifacts.read_scores(tmp_path / "scores.csv") == [
        ('runs/"a", b', "模型", replace(s, value=None if s.value is None else round(float(s.value), 6))) for s in scores
    ]
    lines = (tmp_path / "scores.csv").read_text(encoding="utf-8").splitlines()
    assert lines[0] == "run,model,task,subset,metric,n,value,low,high"
    assert lines[3].endswith(",four_way,all,accuracy_strict,0,,,") and lines[4].endswith(",numpy,2,0.5,,")


def test_no_scores_are_a_heading(tmp_path: Path):
    artifacts.write_scores(tmp_path / "scores.csv", "r", "m", [])
    assert artifacts.read_scores(tmp_path / "scores.csv") == []


@pytest.mark.parametrize("content", [None, "run,model,task\n", ""])
def test_scores_that_are_missing_or_others_are_refused(content: str | None, tmp_path: Path):
    (tmp_path / "replies").mkdir()
    if content is not None:
        (tmp_path / "scores.csv").write_text(content)
    with pytest.raises(ArtifactError, match="rescore"):
        artifacts.read_scores(tmp_path / "scores.csv")


# ------------------------------------------------------------------------------------------------------------ manifest


def test_the_manifest_comes_back_and_others_are_refused(tmp_path: Path):
    manifest = {"schema_version": artifacts.SCHEMA_VERSION, "protocol": "协议", "counts": {"b": 1, "a": None}}
    artifacts.write_json(tmp_path / "manifest.json", manifest)
    assert artifacts.read_manifest(tmp_path) == manifest
    assert "协议" in (tmp_path / "manifest.json").read_text(encoding="utf-8")
    for damage, problem in (("{", "is not JSON"), ('{"schema_version": 99}', "schema version 99, expected 2")):
        (tmp_path / "manifest.json").write_text(damage)
        with pytest.raises(ArtifactError, match=problem) as refused:
            artifacts.read_manifest(tmp_path)
        assert "--out NEW" in str(refused.value), "into the same folder it would change nothing"
    with pytest.raises(ArtifactError, match="not curated"):
        artifacts.read_manifest(tmp_path / "elsewhere")


def test_the_hash_is_that_of_the_standard(tmp_path: Path):
    (tmp_path / "abc").write_bytes(b"abc")  # FIPS 180-2, appendix B.1
    assert artifacts.sha256_of(tmp_path / "abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"


OF_TEXT = {"scores.csv": lambda f: artifacts.read_scores(f), "config.yaml": lambda f: artifacts.read_config(f.parent),
           "manifest.json": lambda f: artifacts.read_manifest(f.parent)}  # fmt: skip


@pytest.mark.parametrize("name", OF_TEXT)
@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(held=st.one_of(st.binary(max_size=80), st.text(alphabet="[]{}:,-&*!'\"a1 \n\t", max_size=80).map(str.encode)))
@example(held=b"")
@example(held=b"[1]")
@example(held=b"words")
@example(held=b"[" * 3_000)
@example(held=(",".join(artifacts.SCORE_COLUMNS) + "\nr,m,t,all,f1,many,0.5,,\n").encode())
@example(held=(",".join(artifacts.SCORE_COLUMNS) + "\nr,m,t\n").encode())
@example(held=(",".join(artifacts.SCORE_COLUMNS) + "\n" + "r," * 30 + "\n").encode())
def test_whatever_a_text_file_of_ours_holds_is_read_or_refused(name: str, held: bytes, tmp_path: Path):
    file = tmp_path / name
    file.write_bytes(held)
    try:
        OF_TEXT[name](file)
    except ArtifactError as error:
        assert str(file) in str(error) and "\nNext: " in str(error)
