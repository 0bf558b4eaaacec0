"""A received raw folder, or images to import, with a link to elsewhere: nothing is read until the user allows it."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable
from pathlib import Path

import pytest
from PIL import Image

from lmod_train import cli
from lmod_train.phantom.folders import eye_diseases

DATASET = "eye_diseases_classification"


@pytest.fixture
def raw(tmp_path: Path) -> Path:
    """A raw folder, and beside it photographs of a patient, which a link in it could show."""
    eye_diseases.write(tmp_path / "RAW", 8, seed=3, size=48, workers=0)
    for name in ("patient.jpg", "second.jpg"):
        file = tmp_path / "outside" / name
        file.parent.mkdir(exist_ok=True)
        Image.effect_noise((64, 64), 60).convert("RGB").save(file)
    return tmp_path / "RAW"


def curated(raw: Path) -> list[str]:
    return ["curate", "--raw", str(raw), "--out", str(raw.parent / "OUT"), "--tasks", "four_way", "--workers", "1"]


def by_root(raw: Path) -> list[str]:
    return [f"--roots.eye_diseases={raw / DATASET}" if a == f"{raw}" else a for a in curated(raw) if a != "--raw"]


def foreign(raw: Path) -> list[str]:
    return [*curated(raw), "--foreign", str(raw / DATASET / "dataset" / "normal")]


def imported(raw: Path) -> list[str]:
    file = raw.parent / "conversations.json"
    names = sorted(p.relative_to(raw).as_posix() for p in raw.rglob("*.jpg"))
    turns = [{"from": "human", "value": "<image>\nWhat is seen?"}, {"from": "gpt", "value": "An eye."}]
    file.write_text(json.dumps([{"id": str(n), "image": name, "conversations": turns} for n, name in enumerate(names)]))
    return ["import", str(file), "--images", str(raw), "--out", str(raw.parent / "OUT")]


def to_file(raw: Path) -> Path:
    """A photograph of the dataset is a link to one elsewhere, the second by name."""
    file = sorted((raw / DATASET / "dataset" / "normal").iterdir())[1]
    file.unlink()
    file.symlink_to(raw.parent / "outside" / "second.jpg")
    return file


def to_folder(raw: Path) -> Path:
    """A folder of the dataset is a relative link."""
    folder = raw / DATASET / "dataset" / "normal"
    folder.rename(raw.parent / "outside" / "normal")
    folder.symlink_to("../../../outside/normal")
    return folder


def to_dataset(raw: Path) -> Path:
    """The dataset as a whole is a link, as people link their disks."""
    (raw / DATASET).rename(raw.parent / "outside" / DATASET)
    (raw / DATASET).symlink_to(raw.parent / "outside" / DATASET)
    return raw / DATASET


Command = Callable[[Path], list[str]]
WAYS = [(c, link) for link in (to_file, to_folder, to_dataset) for c in (curated, imported, by_root, foreign)]
WAYS = [way for way in WAYS if way not in [(by_root, to_dataset), (foreign, to_folder)]]  # the user names the link


@pytest.mark.parametrize(("command", "link"), WAYS, ids=lambda one: one.__name__)
def test_a_link_out_of_the_folder_stops_the_command(raw: Path, capsys, command: Command, link: Callable[[Path], Path]):
    arguments = command(raw)
    made = link(raw)
    assert cli.main(arguments) == 2
    error = capsys.readouterr().err
    assert str(made) in error and "a link leads out of the folder" in error
    assert not list((raw.parent / "OUT").glob("**/*.jpg")), "nothing was read"
    (printed,) = re.findall(r"Yours: `([^`]+)`", error)
    words = shlex.split(printed)
    assert words[:3] == ["python", "-m", "lmod_train"] and cli.main(words[3:]) == 0
    assert list((raw.parent / "OUT").glob("images/**/*.jpg"))


@pytest.mark.parametrize("command", [curated, imported], ids=lambda one: one.__name__)
def test_links_within_the_folder_are_followed(raw: Path, command: Command):
    (raw / DATASET).rename(raw / "kept")
    (raw / DATASET).symlink_to("kept")
    assert cli.main(command(raw)) == 0


def test_other_photographs_with_a_link_out_of_their_folder_are_not_read(raw: Path, capsys):
    others = raw.parent / "others"
    others.mkdir()
    (others / "a.jpg").symlink_to(raw.parent / "outside" / "patient.jpg")
    assert cli.main([*curated(raw), "--foreign", str(others)]) == 2
    assert "a link leads out of the folder" in capsys.readouterr().err
