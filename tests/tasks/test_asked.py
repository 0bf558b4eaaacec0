"""What is asked of whom: every part of it changes the hash, and nothing else does."""

from __future__ import annotations

import hashlib
from dataclasses import fields, replace
from typing import Any

import pytest

from lmod_train.core.types import Box, Fact, Message, Part, Patient, Record, Region
from lmod_train.tasks.asked import asked
from tests.tabled import tabled

RECORD = Record(
    id="t/s/1", task="t", task_class="lmod_train.tasks.t.T", task_version=1, source="s", key="1", modality="CFP",
    image=("a.jpg",), image_plain=("b.jpg",), image_sha256=("0" * 64,), split="val", group="p", language="en",
    messages=(Message("system", (Part("text", "Be brief."),)), Message("user", (Part("image"), Part("text", "Disc?")))),
    choices=("YES", "NO"), answer="YES",
)  # fmt: skip
WHO: dict[str, Any] = {"weights": ["a", "b"], "template": "t", "settings": {"n": 1, "s": {"x": None}}}

SEEN: dict[str, Record] = {
    "word": replace(RECORD, messages=(RECORD.messages[0], Message("user", (Part("image"), Part("text", "Disc ?"))))),
    "role": replace(RECORD, messages=(Message("user", RECORD.messages[0].parts), RECORD.messages[1])),
    "order of parts": replace(RECORD, messages=(RECORD.messages[0], Message("user", RECORD.messages[1].parts[::-1]))),
    "turns joined": replace(
        RECORD, messages=(Message("user", (*RECORD.messages[0].parts, *RECORD.messages[1].parts)),)
    ),
    "no image": replace(RECORD, image_sha256=()),
    "image": replace(RECORD, image_sha256=("1" + "0" * 63,)),
    "images": replace(RECORD, image_sha256=("0" * 64, "0" * 64)),
    "choice": replace(RECORD, choices=("YES", "NEVER")),
    "order of choices": replace(RECORD, choices=("NO", "YES")),
    "choices": replace(RECORD, choices=("YES", "NO", "UNSURE")),
}
UNSEEN: dict[str, Any] = {
    "id": "x", "task": "x", "task_class": "x", "task_version": 2, "source": "x", "key": "x", "modality": "OCT",
    "image": ("x",), "image_plain": ("x",), "split": "test", "group": "x", "language": "zh", "answer": "NO",
    "regions": (Region("optic disc", Box(0, 0, 1, 1), 1),), "scale": 0.5, "chain": "x", "chain_step": "x",
    "needs": ("x",), "variant": "x", "tags": {"level": "1"}, "phantom": True, "patient": Patient(age=1), "licence": "x",
    "facts": (Fact("vcdr", 0.5),), "target": "x",
}  # fmt: skip
OTHERS: dict[str, dict[str, Any]] = {
    "weights": {"weights": ["a", "c"]},
    "their order": {"weights": ["b", "a"]},
    "their number": {"weights": ["ab"]},
    "template": {"template": "T"},
    "setting": {"settings": {"n": 2, "s": {"x": None}}},
    "setting's type": {"settings": {"n": "1", "s": {"x": None}}},
    "no setting": {"settings": {}},
}


@tabled("seen", SEEN)
def test_what_the_model_sees_changes_it(seen: str):
    hashes = {asked(record, **WHO) for record in (RECORD, *SEEN.values())}
    assert len(hashes) == 1 + len(SEEN) and asked(SEEN[seen], **WHO) in hashes


@tabled("unseen", UNSEEN)
def test_what_the_model_does_not_see_does_not(unseen: str):
    assert getattr(RECORD, unseen) != UNSEEN[unseen]
    assert asked(replace(RECORD, **{unseen: UNSEEN[unseen]}), **WHO) == asked(RECORD, **WHO)


def test_every_column_is_one_or_the_other():
    assert {f.name for f in fields(Record)} == {*UNSEEN, "messages", "image_sha256", "choices"}


@tabled("other", OTHERS)
def test_who_is_asked_changes_it(other: str):
    assert asked(RECORD, **WHO | OTHERS[other]) != asked(RECORD, **WHO)


def test_it_is_the_same_on_every_machine_and_in_every_order_of_settings():
    assert asked(RECORD, ["a", "b"], "t", {"s": {"x": None}, "n": 1}) == asked(RECORD, **WHO)
    text = (
        '{"choices": ["YES", "NO"], "images": ["' + "0" * 64 + '"], "messages": [["system", [["text", "Be brief."]]], '
        '["user", [["image", ""], ["text", "Disc?"]]]], "settings": {"n": 1, "s": {"x": null}}, "template": "t", '
        '"weights": ["a", "b"]}'
    )
    assert asked(RECORD, **WHO) == hashlib.sha256(text.encode()).hexdigest()
    with pytest.raises(TypeError):
        asked(RECORD, [], "", {"n": object()})
