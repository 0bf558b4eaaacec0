"""LLaVA's training file: what its reader looks for, and the way back."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from PIL import Image

from lmod_train.core.artifacts.records import read_records
from lmod_train.core.links import links_followed
from lmod_train.core.types import Message, Part, Record
from lmod_train.data.formats.conversations import Conversations, import_conversations
from lmod_train.data.formats.export import export
from lmod_train.data.formats.folder import exported_id, exported_name
from tests.data.formats.conftest import WORDS, record, write_curated


def test_a_file_a_split_holds_what_llava_reads(free: Path, tmp_path: Path):
    done = export(free, "llava", tmp_path / "out")
    assert (done.records, done.written, done.left_out) == (8, 7, {})  # the two turns are one item
    items = {s: json.loads((tmp_path / "out" / f"{s}.json").read_text("utf-8")) for s in ("train", "val", "test")}
    assert {s: len(found) for s, found in items.items()} == {"train": 5, "val": 1, "test": 1}
    for item in (i for found in items.values() for i in found):
        with Image.open(tmp_path / "out" / item["image"]) as image:  # a text, relative to the image folder
            assert image.size == (16, 12)
        said = item["conversations"]
        assert [turn["from"] for turn in said] == ["human", "gpt"] * (len(said) // 2)
        assert said[0]["value"].startswith("<image>\n") and "".join(t["value"] for t in said).count("<image>") == 1
    (glaucoma,) = (i for i in items["test"] if i["id"] == exported_id("glaucoma/open_eyes/part/003"))
    assert [t["value"] for t in glaucoma["conversations"]] == [f"<image>\n{WORDS}", "NON-GLAUCOMA"]
    (marked,) = items["val"]
    assert marked["image"] == exported_name("images/open_eyes/part/001.marked.jpg")


def test_an_item_without_an_image_has_no_such_key_and_one_with_two_has_a_list(tmp_path: Path):
    words = Part("text", "Which?")
    records = [
        record("glaucoma", 0, image=(), image_plain=(), messages=(Message("user", (words,)),)),
        record(
            "glaucoma", 1, image=("a.jpg", "b.jpg"), messages=(Message("user", (Part("image"), Part("image"), words)),)
        ),
    ]
    curated = write_curated(tmp_path / "c", records, open_eyes=True)
    export(curated, "llava", tmp_path / "out")
    none, two = json.loads((tmp_path / "out" / "train.json").read_text())
    assert "image" not in none and two["image"] == [exported_name("a.jpg"), exported_name("b.jpg")]
    assert two["conversations"][0]["value"] == "<image>\n<image>\nWhich?"


def test_what_llava_cannot_hold_is_listed_and_a_split_of_nothing_is_an_empty_list(tmp_path: Path):
    system = Message("system", (Part("text", "Be brief."),))
    records = [
        record("glaucoma", 0),
        record("glaucoma", 1, "val", messages=(system, *record("glaucoma", 1).messages)),
    ]
    curated = write_curated(tmp_path / "c", records, open_eyes=True)
    done = export(curated, "llava", tmp_path / "out")
    assert done.left_out == {"system_turn": 1}
    assert json.loads((tmp_path / "out" / "val.json").read_text()) == []
    assert "system_turn" in (tmp_path / "out" / "dropped.csv").read_text()


def questions(records: list[Record]) -> list[tuple]:
    return sorted(((r.messages, r.answer, len(r.image)) for r in records), key=repr)


@pytest.mark.parametrize("images", ["copy", "link"])
def test_what_is_exported_comes_back_with_the_same_questions_and_answers(free: Path, tmp_path: Path, images):
    export(free, "llava", tmp_path / "out", split="train", images=images)
    back = tmp_path / "back"
    with links_followed(images == "link"):
        import_conversations(Conversations(tmp_path / "out" / "train.json", tmp_path / "out", "again"), back)
    sent = [r for r in read_records(free / "records") if r.split == "train"]
    assert questions(read_records(back / "records")) == questions(sent)
