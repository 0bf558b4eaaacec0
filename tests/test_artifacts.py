"""What lies on disk between the stages: nothing is lost on the way there and back, and nothing damaged passes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

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
    scale=0.4866666666666667, chain="c", step="s", patient=Patient(61.5, "F", "right", "Zeiss", "good"),
    licence="CC BY 4.0",
)  # fmt: skip
BARE = replace(
    FULL, id="four_way/eye/2", task="four_way", image=(), image_plain=(), image_sha256=(), split="test", messages=(),
    choices=(), regions=(), patient=Patient(), licence="", chain="", step="", language="en",
)  # fmt: skip
REPLY = Reply(
    id=FULL.id, reply='视盘 "quoted"\r\n\u2028\t{"a": 1}', finish_reason="length", error="", rendered="<s>USER: 图\n",
    step=120, tokens_in=700, tokens_out=12, seconds=0.125, model="small_base", settings='{"max_new_tokens": 64}',
    likelihoods={"视盘": -0.25, "视杯": -1.5},
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
        assert schema.metadata == artifacts.RECORD_SCHEMA.metadata == {b"lmod_train.schema": b"1"}
    assert artifacts.read_records(tmp_path / "none.parquet") == []
    assert " ".join(artifacts.RECORD_SCHEMA.names) == (
        "id task task_class task_version source key modality image image_plain image_sha256 split group language "
        "messages choices answer regions scale chain step patient licence"
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
        (pa.table({"id": ["1"]}), "schema version none, expected 1"),
        (
            artifacts.RECORD_SCHEMA.empty_table().replace_schema_metadata({"lmod_train.schema": "2"}),
            "schema version 2, expected 1",
        ),
        (artifacts.RECORD_SCHEMA.empty_table().replace_schema_metadata(None), "schema version none, expected 1"),
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


def test_a_folder_without_records_is_refused(tmp_path: Path):
    with pytest.raises(ArtifactError, match="no record file"):
        artifacts.read_records(tmp_path)


def test_ids_keep_the_places_apart():
    assert artifacts.record_id("t", "s", "train/a b", "zh", "", "v/1") == "t/s/train/a%20b/zh/v%2F1"
    assert artifacts.record_id("t", "a/b", "1") != artifacts.record_id("t", "a", "b/1")
    assert artifacts.record_id("t", "s", "视盘") == "t/s/%E8%A7%86%E7%9B%98"


# ------------------------------------------------------------------------------------------------------- whole or none


def test_a_file_appears_whole_or_not_at_all(tmp_path: Path):
    path = tmp_path / "new" / "file.txt"
    with pytest.raises(ZeroDivisionError), artifacts.whole(path) as beside:
        beside.write_text("half")
        assert not path.exists()
        raise ZeroDivisionError
    assert list(path.parent.iterdir()) == []
    for text in ("one", "two"):
        with artifacts.whole(path) as beside:
            beside.write_text(text)
        assert path.read_text() == text
    with pytest.raises(ZeroDivisionError), artifacts.whole(path) as beside:
        beside.write_text("half")
        raise ZeroDivisionError
    assert (path.read_text(), [f.name for f in path.parent.iterdir()]) == ("two", ["file.txt"])


def test_records_that_break_off_leave_the_old_file(tmp_path: Path):
    def breaking() -> Iterator[Record]:
        yield FULL
        raise ZeroDivisionError

    artifacts.write_records(tmp_path / "r.parquet", [BARE])
    with pytest.raises(ZeroDivisionError):
        artifacts.write_records(tmp_path / "r.parquet", breaking())
    assert artifacts.read_records(tmp_path / "r.parquet") == [BARE]
    assert [f.name for f in tmp_path.iterdir()] == ["r.parquet"]


# ------------------------------------------------------------------------------------------------------------- replies


def append(file: Path, *replies: Reply) -> None:
    replies_file = artifacts.ReplyFile(file)
    replies_file.append(replies)
    replies_file.close()


def test_replies_come_back_as_they_went(tmp_path: Path):
    append(tmp_path / "rank-0.jsonl", REPLY, replace(REPLY, id="b", likelihoods={}))
    append(tmp_path / "rank-1.jsonl", replace(REPLY, id="c", error="timeout", finish_reason="error"))
    found = artifacts.read_replies(tmp_path)
    assert list(found) == [(FULL.id, 120), ("b", 120), ("c", 120)]
    assert found[FULL.id, 120] == REPLY
    assert found["c", 120].error == "timeout"
    lines = (tmp_path / "rank-0.jsonl").read_bytes().split(b"\n")
    assert len(lines) == 3 and json.loads(lines[0]) == asdict(REPLY) and "视盘".encode() in lines[0]


def test_no_folder_is_no_reply(tmp_path: Path):
    assert artifacts.read_replies(tmp_path / "nowhere") == {}


def test_the_last_line_of_a_key_wins_and_steps_are_apart(tmp_path: Path):
    append(tmp_path / "rank-0.jsonl", Reply("a", "old"), Reply("a", "tuned", step=9), Reply("a", "new"))
    append(tmp_path / "rank-1.jsonl", Reply("b", "b"))
    append(tmp_path / "rank-0.jsonl", Reply("a", "newest"))
    found = artifacts.read_replies(tmp_path)
    assert {key: r.reply for key, r in found.items()} == {("a", 0): "newest", ("a", 9): "tuned", ("b", 0): "b"}


@pytest.mark.parametrize("cut", [1, 2, 20, 10_000])
def test_a_torn_last_line_is_passed_over_and_cut_before_the_next(cut: int, tmp_path: Path):
    """A kill in the middle of a write; a cut of 1 takes the newline only, and then the reply is still whole."""
    file = tmp_path / "rank-0.jsonl"
    append(file, Reply("a", "first"), Reply("b", "视盘"))
    whole = file.read_bytes()
    start = whole.find(b"\n") + 1
    file.write_bytes(whole[: max(len(whole) - cut, start)])
    kept = {("a", 0), ("b", 0)} if cut == 1 else {("a", 0)}
    assert set(artifacts.read_replies(tmp_path)) == kept
    append(file, Reply("c", "third"))
    assert set(artifacts.read_replies(tmp_path)) == kept | {("c", 0)}
    assert file.read_bytes() == b"".join(
        artifacts.reply_line(r).encode()
        for r in (Reply("a", "first"), Reply("b", "视盘"), Reply("c", "third"))
        if (r.id, 0) in kept | {("c", 0)}
    )


def test_a_character_torn_in_two_is_a_torn_line(tmp_path: Path):
    append(tmp_path / "rank-0.jsonl", Reply("a", "x"))
    with (tmp_path / "rank-0.jsonl").open("ab") as file:
        file.write('{"id": "b", "reply": "视'.encode()[:-1])
    assert set(artifacts.read_replies(tmp_path)) == {("a", 0)}


@pytest.mark.parametrize(
    "damaged", [b'{"id": "b", "rep', b"[1, 2]", b'{"reply": "no id"}', b'{"id": [1], "reply": "x"}', b"\xff\xfe"]
)
def test_a_damaged_line_in_the_middle_is_an_error_that_names_it(damaged: bytes, tmp_path: Path):
    file = tmp_path / "rank-3.jsonl"
    lines = [artifacts.reply_line(Reply(i, "x")).encode() for i in "ac"]
    file.write_bytes(lines[0] + damaged + b"\n" + lines[1])
    with pytest.raises(ArtifactError, match=r"rank-3.jsonl: line 2 is not a reply") as refused:
        artifacts.read_replies(tmp_path)
    assert str(refused.value).endswith("Next: delete line 2")


def test_fields_that_a_later_version_adds_do_not_hinder(tmp_path: Path):
    (tmp_path / "rank-0.jsonl").write_text('{"id": "a", "reply": "x", "mood": "good"}\n\n')
    assert artifacts.read_replies(tmp_path) == {("a", 0): Reply("a", "x")}


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
    assert columns["step"][0] == FULL.step and columns["reply_step"][0] == REPLY.step, "two steps, two columns"
    assert artifacts.write_predictions(file, []) == 0
    assert artifacts.read_predictions(file) == []


def test_predictions_of_another_schema_are_refused_with_the_way_to_make_them(tmp_path: Path):
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
    for damage, problem in (("{", "is not JSON"), ('{"schema_version": 99}', "schema version 99, expected 1")):
        (tmp_path / "manifest.json").write_text(damage)
        with pytest.raises(ArtifactError, match=problem) as refused:
            artifacts.read_manifest(tmp_path)
        assert f"--out {tmp_path}" in str(refused.value)
    with pytest.raises(ArtifactError, match="not curated"):
        artifacts.read_manifest(tmp_path / "elsewhere")


def test_the_hash_is_that_of_the_standard(tmp_path: Path):
    (tmp_path / "abc").write_bytes(b"abc")  # FIPS 180-2, appendix B.1
    assert artifacts.sha256_of(tmp_path / "abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
