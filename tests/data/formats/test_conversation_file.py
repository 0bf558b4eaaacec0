"""A file of conversations: what can be asked, and what is left out, one bad item never costing the others."""

from __future__ import annotations

import base64
import io
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PIL import Image

from lmod_train.core.cells import image_bytes
from lmod_train.core.errors import BadArgument
from lmod_train.core.types import Dropped, Reply, Sample
from lmod_train.data.formats.conversations import Conversations, Dialogue, held_images, read_dialogues
from lmod_train.data.sources.objects import objects_in, unpack
from lmod_train.tasks.conversation import ChoiceConversation
from tests.tabled import tabled


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
    assert [[p.path.name for p in i.images] for i in found] == [
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
        (GOOD | {"image": {"width": 3}}, "not_an_item"),
        (GOOD | {"image": [3]}, "not_an_item"),
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


@pytest.mark.parametrize("text", ["3", "[1, 2", "", "[" * 100_000])
def test_a_file_that_is_no_list_is_an_error(images: Path, text: str):
    file = images.parent / "talk.json"
    file.write_text(text)
    with pytest.raises(BadArgument, match="JSON list of items"):
        list(read_dialogues(file, images, "talk"))
    with pytest.raises(BadArgument, match="existing file"):
        list(read_dialogues(images / "gone.json", images, "talk"))


URL = "data:image/png;base64," + base64.b64encode(b"\x89PNG\r\n\x1a\n" + bytes(80)).decode()


def chat(*turns: Any, **more: Any) -> dict[str, Any]:
    """Return an item with `messages`."""
    return {"messages": [{"role": ("user", "assistant")[n % 2], "content": one} for n, one in enumerate(turns)], **more}


WHICH = [{"type": "text", "text": "Which eye?"}, {"type": "image_url", "image_url": {"url": "eye.jpg"}}]
LAYOUTS: list[tuple[dict[str, Any], list[str], list[str]]] = [
    (chat("<image>Which eye?", "Left", images=["eye.jpg"]), ["user image Which eye?", "assistant Left"], ["eye.jpg"]),
    (chat("Which eye?", "Left", images=["eye.jpg"]), ["user image Which eye?", "assistant Left"], ["eye.jpg"]),
    (chat("Which eye?", "Left", images=[{"bytes": None, "path": "eye.jpg"}]), ["user image Which eye?"], ["eye.jpg"]),
    (chat(WHICH, "Left"), ["user Which eye? image", "assistant Left"], ["eye.jpg"]),
    (chat(WHICH, [{"type": "text", "text": "Left"}]), ["user Which eye? image", "assistant Left"], ["eye.jpg"]),
    (chat([{"type": "image"}, WHICH[0]], "Left", images=["other.png"]), ["user image Which eye?"], ["other.png"]),
    (chat([{"type": "input_image", "image_url": URL}, WHICH[0]], "Left"), ["user image Which eye?"], ["held.parquet"]),
    (GOOD | {"image": URL}, ["user image Which eye?"], ["held.parquet"]),
    (GOOD | {"image": {"bytes": b"\x89PNG", "path": "eye.jpg"}}, ["user image Which eye?"], ["held.parquet"]),
    (GOOD | {"conversations": said("Which eye?", "Left.")}, ["user image Which eye?"], ["eye.jpg"]),
    (GOOD | {"system": "Be brief."}, ["system Be brief.", "user image Which eye?", "assistant Left."], ["eye.jpg"]),
    (GOOD | {"image": "file://eye.jpg"}, ["user image Which eye?"], ["eye.jpg"]),
    (
        {"conversations": said("<image 1> and <image 2>?", "Same."), "image": ["eye.jpg", "other.png"]},
        ["user image  and  image ?"],
        ["eye.jpg", "other.png"],
    ),
    (
        {"conversations": said("Is <image 2> later than <image 1>?", "<image 2>"), "image": ["eye.jpg", "other.png"]},
        ["user image image Is image 2 later than image 1?", "assistant image 2"],
        ["eye.jpg", "other.png"],
    ),
    (
        {"conversations": said("Is <image_1> as <image_0>?", "Yes."), "images": ["eye.jpg", "other.png"]},
        ["user image image Is image 1 as image 0?"],
        ["eye.jpg", "other.png"],
    ),
]


@tabled("item,turns,files", LAYOUTS)
def test_every_layout_of_turns_and_images_is_read(tmp_path: Path, item: Any, turns: list[str], files: list[str]):
    for name in ("eye.jpg", "other.png"):
        (tmp_path / name).write_bytes(b"never opened here")
    held = unpack(tmp_path / "held.parquet", held_images([item]))
    file = tmp_path / "talk.json"
    if isinstance(item.get("image"), dict):  # bytes stand in no JSON
        file = tmp_path / "talk.parquet"
        pq.write_table(pa.Table.from_pylist([item]), file)
    else:
        file.write_text(json.dumps([item]))
    (found,) = read_dialogues(file, tmp_path, "talk", held=held)
    assert isinstance(found, Dialogue), found
    spoken = [" ".join([turn.role, *(part.text or part.type for part in turn.parts)]) for turn in found.turns]
    assert spoken[: len(turns)] == turns
    assert [image.path.name for image in found.images] == files
    assert [bool(image.cut.column) for image in found.images] == [name == "held.parquet" for name in files]


@tabled(
    "item,reason",
    [
        (chat("<image><image>Which?", "Left", images=["eye.jpg"]), "image_places"),
        (chat("<image 3>Which?", "Left", images=["eye.jpg", "other.png"]), "image_places"),
        (chat("Which?", WHICH), "image_places"),
        (chat("Which?", "Left", images=["https://example.org/eye.jpg"]), "image_missing"),
        (chat([{"type": "video", "video": "a.mp4"}], "Left"), "roles"),
        (chat(None, "Left"), "roles"),
        (chat("Which? A. left B. right", "up"), "options_unread"),
        (chat("Which?\n(A) left\n(B) left", "up"), ""),
        (chat("Which?", "Left") | {"conversations": []}, "not_an_item"),
    ],
)
def test_what_cannot_be_read_is_named(images: Path, item: Any, reason: str):
    (found,) = read(images, item)
    assert (found.reason if isinstance(found, Dropped) else "") == reason


def test_a_data_set_that_datasets_saved_is_read_with_its_splits_and_images(images: Path, tmp_path: Path):
    datasets = pytest.importorskip("datasets")
    content = io.BytesIO()
    Image.new("RGB", (8, 8)).save(content, "PNG")
    rows = [chat("Which eye?", "Left", images=[{"bytes": content.getvalue(), "path": None}]) for _ in range(3)]
    features = datasets.Dataset.from_list([chat("Which?", "Left")]).features
    features["images"] = datasets.Sequence(datasets.Image())
    made = datasets.Dataset.from_list(rows, features=features)
    datasets.DatasetDict(train=made, test=made).save_to_disk(tmp_path / "saved")
    held = unpack(tmp_path / "held.parquet", held_images(objects_in(tmp_path / "saved")))
    found = list(read_dialogues(tmp_path / "saved", images, "talk", held=held))
    assert len(found) == 6 and len(held) == 1 and all(isinstance(one, Dialogue) for one in found)
    assert image_bytes(found[5].images[0].path, found[5].images[0].cut) == content.getvalue()
    assert [value["split"] for value in objects_in(tmp_path / "saved")] == ["train"] * 3 + ["test"] * 3
    state = tmp_path / "saved" / "train" / "state.json"
    state.write_text(state.read_text().replace("data-00000", "../../data-00000"))
    with pytest.raises(BadArgument, match="leads out of the folder"):
        list(read_dialogues(tmp_path / "saved", images, "talk"))


@tabled("answer", ["B", "B. cup", "(b)", "cup", "The answer is B, as the rim is thin."])
def test_words_with_options_are_a_question_of_choices_whose_answer_is_the_files(tmp_path: Path, answer: str):
    words = "Which part?\nA. disc\nB. cup\nReply with a letter."
    item = {"conversations": said(words, answer, "Is it red?\nA. yes\nB. no", "B")}
    (tmp_path / "talk.json").write_text(json.dumps([item]))
    (sample,) = Conversations(tmp_path / "talk.json", tmp_path).samples()
    assert isinstance(sample, Sample)
    first, second = sample.asked
    assert (first.task, first.choices, first.answer) == ("choice_conversation", ("disc", "cup"), answer)
    assert first.messages[0].parts[0].text == words and second.choices == ("yes", "no")
    assert ChoiceConversation().parse(Reply("", answer), first) == "cup"  # type: ignore[arg-type]  # it has choices


def test_a_conversation_of_too_many_turns_is_listed_and_the_others_stay(images: Path):
    longest = [{"id": n, "conversations": said("<image>\nWhich?", *["Yes."] * (n - 1))} for n in (400, 402)]
    for one in longest:
        one["image"] = "eye.jpg"
    whole, left, good = read(images, *longest, GOOD)
    assert isinstance(whole, Dialogue) and len(whole.turns) == 400 and isinstance(good, Dialogue)
    assert isinstance(left, Dropped) and (left.reason, left.detail) == (
        "too_many_turns", "402 turns, expected at most 400"
    )  # fmt: skip


@pytest.mark.parametrize("system", [5, ["Be brief."], {"text": "Be brief."}])
def test_system_words_of_another_shape_are_listed_and_not_lost_in_silence(system: Any, images: Path):
    (found,) = read(images, {"id": "a", "system": system, "conversations": said("Eye?", "Yes.")})
    assert isinstance(found, Dropped) and "expected a text as system" in found.detail
