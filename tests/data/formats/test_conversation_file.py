"""A file of conversations: what can be asked, and what is left out, one bad item never costing the others."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from lmod_train.core.errors import BadArgument
from lmod_train.core.types import Dropped
from lmod_train.data.formats.conversations import Dialogue, read_dialogues


def said(*turns: str, human: str = "human", gpt: str = "gpt") -> list[dict[str, str]]:
    return [{"from": (human, gpt)[n % 2], "value": text} for n, text in enumerate(turns)]


GOOD: dict[str, Any] = {"id": "a", "image": "eye.jpg", "conversations": said("<image>\nWhich eye?", "Left.")}


@pytest.fixture
def images(tmp_path: Path) -> Path:
    folder = tmp_path / "images"
    folder.mkdir()
    for name in ("eye.jpg", "other.png"):
        (folder / name).write_bytes(b"never opened here")
    (tmp_path / "secret.jpg").write_bytes(b"secret")
    return folder


def read(images: Path, *values: Any) -> list[Dialogue | Dropped]:
    file = images.parent / "talk.json"
    file.write_text(json.dumps(values), encoding="utf-8")
    return list(read_dialogues(file, images, "talk"))


def test_single_and_several_turns_images_anywhere_none_and_two(images: Path):
    found = read(
        images,
        GOOD,
        {"id": 7, "image": "eye.jpg", "conversations": said("Which eye?\n<image>", "Left.", "Why?", "The disc.")},
        {"id": "c", "conversations": said("What is a fovea?", "A pit.")},
        {"id": "d", "image": ["eye.jpg", "other.png"], "conversations": said("<image><image>Same?", "No.")},
        {"id": "e", "image": "eye.jpg", "conversations": said("Hello", "Hi", "And <image> this?", "Left.")},
        {"id": "f", "conversations": [{"from": "system", "value": "Be brief."}, *said("Eye?", "Yes.")]},
    )
    assert all(isinstance(i, Dialogue) for i in found)
    assert [i.key for i in found] == ["a", "7", "c", "d", "e", "f"]
    assert [[p.name for p in i.images] for i in found] == [
        ["eye.jpg"], ["eye.jpg"], [], ["eye.jpg", "other.png"], ["eye.jpg"], [],
    ]  # fmt: skip
    assert [[p.text or p.type for p in i.turns[0].parts] for i in found[:2]] == [
        ["image", "Which eye?"],
        ["Which eye?", "image"],
    ]
    assert [t.role for t in found[1].turns] == ["user", "assistant", "user", "assistant"]
    assert found[5].turns[0].role == "system"


def test_what_gpt_says_is_kept_letter_by_letter(images: Path):
    answer = "  It is\n\n<image> left. \t"
    (item,) = read(images, GOOD | {"conversations": said("<image>\nWhich?", answer)})
    assert [p.text for p in item.turns[1].parts] == [answer]


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ("a text", "not_an_item"),
        (None, "not_an_item"),
        ({"id": "x"}, "not_an_item"),
        ({"id": "x", "conversations": "Which?"}, "not_an_item"),
        ({"id": "x", "conversations": []}, "roles"),
        ({"id": "x", "conversations": said("Which?")}, "roles"),
        ({"id": "x", "conversations": said("Which?", "Left", gpt="human")}, "roles"),
        ({"id": "x", "conversations": said("Which?", "Left", human="gpt", gpt="human")}, "roles"),
        ({"id": "x", "conversations": said("Which?", "Left", gpt="bard")}, "roles"),
        ({"id": "x", "conversations": [{"from": "human"}, {"from": "gpt", "value": "Left"}]}, "roles"),
        ({"id": "x", "conversations": [{"from": "human", "value": 3}, {"from": "gpt", "value": "Left"}]}, "roles"),
        ({"id": "x", "conversations": [{"from": ["human"], "value": "?"}, {"from": "gpt", "value": "!"}]}, "roles"),
        ({"id": "x", "conversations": said("Which?", " \n")}, "empty_turn"),
        (GOOD | {"conversations": said("<image>\n", "Left")}, "empty_turn"),
        (GOOD | {"image": "gone.jpg"}, "image_missing"),
        (GOOD | {"image": "x" * 5000}, "image_missing"),
        (GOOD | {"image": "a\0b"}, "image_missing"),
        (GOOD | {"image": "../secret.jpg"}, "image_outside"),
        (GOOD | {"image": "/etc/passwd"}, "image_outside"),
        (GOOD | {"image": {"path": "eye.jpg"}}, "not_an_item"),
        (GOOD | {"image": [3]}, "not_an_item"),
        (GOOD | {"conversations": said("Which eye?", "Left.")}, "image_places"),
        (GOOD | {"conversations": said("<image><image>Which eye?", "Left.")}, "image_places"),
        ({"id": "x", "conversations": said("<image>\nWhich eye?", "Left.")}, "image_places"),
    ],
)
def test_a_bad_item_is_left_out_with_its_reason(images: Path, value: Any, reason: str):
    bad, good = read(images, value, GOOD | {"id": "good"})
    assert isinstance(bad, Dropped) and (bad.reason, bad.source, bad.step) == (reason, "talk", "read")
    assert bad.detail and len(bad.detail) < 300
    assert isinstance(good, Dialogue) and good.key == "good"


def test_every_item_has_a_key_of_its_own(images: Path):
    nameless = {k: v for k, v in GOOD.items() if k != "id"}
    found = read(images, GOOD, GOOD, GOOD | {"id": "a#2"}, GOOD, nameless, GOOD | {"id": 0})
    assert [i.key for i in found] == ["a", "a#2", "a#2#2", "a#3", "#5", "0"]


def test_lines_are_read_one_by_one_and_a_torn_one_costs_itself(images: Path):
    file = images.parent / "talk.jsonl"
    file.write_text(json.dumps(GOOD) + '\n\n{"id": "b", "conv\n' + json.dumps(GOOD | {"id": "c"}) + "\n")
    first, torn, last = read_dialogues(file, images, "talk")
    assert (first.key, last.key, torn.reason) == ("a", "c", "not_an_item")


@pytest.mark.parametrize("text", ['{"a": 1}', "[1, 2", "", "[" * 100_000])
def test_a_file_that_is_no_list_is_an_error(images: Path, text: str):
    file = images.parent / "talk.json"
    file.write_text(text)
    with pytest.raises(BadArgument, match="JSON list of items"):
        list(read_dialogues(file, images, "talk"))
    with pytest.raises(BadArgument, match="existing file"):
        list(read_dialogues(images / "gone.json", images, "talk"))
