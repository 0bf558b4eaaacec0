"""One file for LLaMA-Factory and ms-swift, held to the checks of both readers."""

from __future__ import annotations

import json
from pathlib import Path

from datasets import load_dataset

from lmod_train.core.types import Message, Part
from lmod_train.data.formats.export import export
from lmod_train.data.formats.folder import exported_id
from tests.data.formats.conftest import WORDS, record, two_images, write_curated


def lines(file: Path) -> list[dict]:
    return [json.loads(line) for line in file.read_text("utf-8").splitlines()]


def test_llama_factory_finds_its_columns_tags_and_images(free: Path, tmp_path: Path):
    out = tmp_path / "out"
    export(free, "sharegpt", out)
    index = json.loads((out / "dataset_info.json").read_text())
    assert list(index) == ["lmod_train", "lmod_val", "lmod_test"]
    for entry in index.values():
        assert entry["formatting"] == "sharegpt"
        tags, columns = entry["tags"], entry["columns"]
        for item in lines(out / entry["file_name"]):
            turns = item[columns["messages"]]
            roles = [turn[tags["role_tag"]] for turn in turns]
            assert roles == [tags["user_tag"], tags["assistant_tag"]] * (len(roles) // 2)  # it skips any other order
            said = "".join(turn[tags["content_tag"]] for turn in turns)
            assert said.count("<image>") == len(item[columns["images"]])  # it raises where these differ
            assert all((out / name).is_file() for name in item[columns["images"]])  # media_dir is the folder itself


def test_ms_swift_finds_messages_and_images(free: Path, tmp_path: Path):
    export(free, "sharegpt", tmp_path / "out", split="train")
    for item in lines(tmp_path / "out" / "train.jsonl"):
        assert all(set(turn) == {"role", "content"} and turn["content"] is not None for turn in item["messages"])
        assert {turn["role"] for turn in item["messages"]} <= {"system", "user", "assistant"}
        assert all(isinstance(name, str) for name in item["images"])


def test_words_stay_and_a_conversation_is_one_line(free: Path, tmp_path: Path):
    export(free, "sharegpt", tmp_path / "out", split="train")
    by_id = {item["id"]: item for item in lines(tmp_path / "out" / "train.jsonl")}
    asked, said = by_id[exported_id("glaucoma/open_eyes/part/001")]["messages"]
    assert (asked["content"], said["content"]) == (f"<image>{WORDS}", "NON-GLAUCOMA")
    assert [t["content"] for t in by_id[exported_id("conversation/open_eyes/part/000/2")]["messages"]] == [
        "<image>Which eye?", "Left.", "Why?", "Disc.",
    ]  # fmt: skip


def test_the_lines_load_as_one_table_where_some_have_no_image(tmp_path: Path):
    words = (Message("user", (Part("text", "Which eye?"),)),)
    records = [record("glaucoma", 0, image=(), image_plain=(), messages=words), record("glaucoma", 1)]
    export(write_curated(tmp_path / "c", records, open_eyes=True), "sharegpt", tmp_path / "out")
    loaded = load_dataset("json", data_files=str(tmp_path / "out" / "train.jsonl"), cache_dir=str(tmp_path / "cache"))
    assert [len(row["images"]) for row in loaded["train"]] == [0, 1]


def test_two_images_stand_at_their_places_in_their_order(tmp_path: Path):
    one = two_images(0)
    export(write_curated(tmp_path / "c", [one], open_eyes=True), "sharegpt", tmp_path / "out")
    (item,) = lines(tmp_path / "out" / "train.jsonl")
    assert item["messages"][0]["content"] == "<image>Then:<image>Which is ill?"
    sent = [(tmp_path / "out" / name).read_bytes() for name in item["images"]]
    assert sent == [(tmp_path / "c" / name).read_bytes() for name in one.image] and sent[0] != sent[1]
