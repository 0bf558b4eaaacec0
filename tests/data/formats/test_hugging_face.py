"""The data set folder loads in `datasets` as it is, without a network, all of it and task by task."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest
import yaml
from datasets import load_dataset
from PIL import Image

from lmod_train.core.artifacts.records import read_records
from lmod_train.data.formats.export import export
from lmod_train.data.formats.folder import exported_id, exported_name
from tests.data.formats.conftest import WORDS, two_images, write_curated


@pytest.fixture(scope="module")
def folder(free: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("hub") / "eyes"
    export(free, "hugging_face", out)
    return out


def load(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *name: str) -> Any:
    monkeypatch.setattr("datasets.config.HF_HUB_OFFLINE", True)
    return load_dataset(str(folder), *name, cache_dir=str(tmp_path))


def test_everything_loads_with_words_answers_and_pixels(folder: Path, free: Path, tmp_path: Path, monkeypatch):
    loaded = load(folder, tmp_path, monkeypatch)
    assert {s: len(part) for s, part in loaded.items()} == {"train": 6, "val": 1, "test": 1}
    rows = {row["id"]: row for part in loaded.values() for row in part}
    for record in read_records(free / "records"):
        row = rows[exported_id(record.id)]
        said = [(m["role"], [(p["type"], p["text"] or "") for p in m["content"]]) for m in row["messages"]]
        assert said == [(m.role, [(p.type, p.text) for p in m.parts]) for m in record.messages]
        assert (row["answer"], row["split"]) == (record.answer, record.split)
        (image,) = row["images"]
        own = Image.open(io.BytesIO((free / record.image[0]).read_bytes()))
        assert image.tobytes() == own.tobytes()
    groups = {r.group: rows[exported_id(r.id)]["group"] for r in read_records(free / "records")}
    assert set(groups.values()) == {str(n + 1) for n in range(len(groups))} and not set(groups) & set(groups.values())
    test = rows[exported_id("glaucoma/open_eyes/part/003")]
    assert (test["truth"], test["choices"]) == ("NON-GLAUCOMA", ["GLAUCOMA", "NON-GLAUCOMA"])
    assert test["messages"][0]["content"][1]["text"] == WORDS


def test_two_images_stand_at_their_places_in_their_order(tmp_path: Path, monkeypatch):
    one = two_images(0)
    curated = write_curated(tmp_path / "c", [one], open_eyes=True)
    export(curated, "hugging_face", tmp_path / "out")
    (row,) = load(tmp_path / "out", tmp_path / "cache", monkeypatch)["train"]
    sent = [Image.open(curated / name).tobytes() for name in one.image]
    assert [image.tobytes() for image in row["images"]] == sent and sent[0] != sent[1]
    assert [p["type"] for p in row["messages"][0]["content"]] == ["image", "text", "image", "text"]
    assert row["image_path"] == [exported_name(name) for name in one.image]


def test_a_task_loads_by_its_name(folder: Path, tmp_path: Path, monkeypatch):
    loaded = load(folder, tmp_path, monkeypatch, "anatomy")
    assert {s: len(part) for s, part in loaded.items()} == {"train": 1, "val": 1}
    assert loaded["val"][0]["image_path"] == [exported_name("images/open_eyes/part/001.marked.jpg")]
    assert loaded["val"][0]["truth"] == ""


def test_the_card_names_licences_and_sources(folder: Path):
    front, _, text = (folder / "README.md").read_text().removeprefix("---\n").partition("\n---\n")
    card = yaml.safe_load(front)
    assert (card["license"], card["license_name"]) == ("other", "licence of open_eyes")
    assert [c["config_name"] for c in card["configs"]] == ["all", "anatomy", "conversation", "glaucoma"]
    assert "| open_eyes | licence of open_eyes | yes | https://example.org/open_eyes |" in text


def test_without_images_there_is_no_column_of_them(free: Path, tmp_path: Path, monkeypatch):
    export(free, "hugging_face", tmp_path / "out", images="none", split="val")
    loaded = load(tmp_path / "out", tmp_path / "cache", monkeypatch)
    assert "images" not in loaded["val"].column_names
    assert loaded["val"][0]["image_path"] == ["images/open_eyes/part/001.marked.jpg"]
