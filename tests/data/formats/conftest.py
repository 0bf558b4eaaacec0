"""A curated folder written by hand: three tasks, two sources of which one must not be passed on, tiny images."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from lmod_train.core.artifacts.manifest import write_json
from lmod_train.core.artifacts.records import write_records
from lmod_train.core.artifacts.schema import SCHEMA_VERSION
from lmod_train.core.types import Box, Message, Part, Patient, Record, Region
from lmod_train.tasks.prompt import prompt

WORDS = 'Which eye is it?\n\tSay "left", or “right”; 左眼 <IMAGE TYPE>.\n'
"""Everything that quoting, escaping and joining could spoil."""


def record(task: str, number: int, split: str = "train", source: str = "open_eyes", **fields) -> Record:
    """Return a question about glaucoma with one image; `fields` say otherwise."""
    key = f"part/{number:03}"
    defaults = {
        "id": f"{task}/{source}/{key}",
        "task": task,
        "task_class": "lmod_train.tasks.glaucoma.Glaucoma",
        "task_version": 1,
        "source": source,
        "key": key,
        "modality": "CFP",
        "image": (f"images/{source}/{key}.jpg",),
        "image_plain": (f"images/{source}/{key}.jpg",),
        "image_sha256": ("0" * 64,),
        "split": split,
        "group": f"p{number}",
        "language": "en",
        "messages": prompt(WORDS),
        "choices": ("GLAUCOMA", "NON-GLAUCOMA"),
        "answer": ("GLAUCOMA", "NON-GLAUCOMA")[number % 2],
        "patient": Patient(age=61.5, sex="female"),
        "licence": "CC BY 4.0",
    }
    return Record(**defaults | fields)


def anatomy(number: int, split: str) -> Record:
    """Return a question about two numbered boxes, which shows the marked image."""
    regions = (Region("optic cup", Box(2, 2, 6, 6), 1), Region("optic disc", Box(1, 1, 9, 9), 2))
    return record(
        "anatomy",
        number,
        split,
        task_class="lmod_train.tasks.anatomy.Anatomy",
        image=(f"images/open_eyes/part/{number:03}.marked.jpg",),
        choices=("optic disc", "optic cup"),
        answer="Region ID: 1; Type: optic cup\nRegion ID: 2; Type: optic disc",
        regions=regions,
        scale=0.5,
    )


def talk() -> list[Record]:
    """Return two turns of one conversation, the second with the first before it."""
    first = prompt("Which eye?")
    said = Message("assistant", (Part("text", "Left."),))
    why = Message("user", (Part("text", "Why?"),))
    fields = {"task_class": "lmod_train.tasks.conversation.Conversation", "choices": ()}
    one = record("conversation", 0, id="conversation/open_eyes/part/000/1", messages=first, answer="Left.", **fields)
    turns = (*first, said, why)
    two = record("conversation", 0, id="conversation/open_eyes/part/000/2", messages=turns, answer="Disc.", **fields)
    return [one, two]


def two_images(number: int, split: str = "train") -> Record:
    """Return a question about two images, with words between them."""
    parts = (Part("image"), Part("text", "Then:"), Part("image"), Part("text", "Which is ill?"))
    images = ("images/open_eyes/part/a.jpg", "images/open_eyes/part/b.jpg")
    fields = {"image": images, "image_plain": images, "image_sha256": ("1" * 64, "2" * 64)}
    return record("glaucoma", number, split, messages=(Message("user", parts),), **fields)


def write_curated(folder: Path, records: list[Record], **sources: bool) -> Path:
    """Write records, a picture of its own for every image name, and a manifest that knows `sources`."""
    notes = {
        name: {"licence": f"licence of {name}", "redistributable": free, "reference": f"https://example.org/{name}"}
        for name, free in sources.items()
    }
    write_json(folder / "manifest.json", {"schema_version": SCHEMA_VERSION, "sources": notes})
    for task in {r.task for r in records}:
        write_records(folder / "records" / f"{task}.parquet", [r for r in records if r.task == task])
    for n, name in enumerate(sorted({name for r in records for name in (*r.image, *r.image_plain)})):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        pixels = np.random.default_rng(n).integers(0, 255, (12, 16, 3), dtype=np.uint8)
        Image.fromarray(pixels).save(path, quality=90)
    return folder


@pytest.fixture(scope="session")
def free(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four questions about glaucoma in two splits, two about anatomy, and a conversation of two turns; all free."""
    records = [record("glaucoma", n, "train" if n < 3 else "test") for n in range(4)]
    records += [anatomy(0, "train"), anatomy(1, "val"), *talk()]
    return write_curated(tmp_path_factory.mktemp("free"), records, open_eyes=True)


@pytest.fixture(scope="session")
def mixed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Questions of a source that may be passed on, of one that must not, and of one the manifest does not know."""
    records = [record("glaucoma", n, source=s) for n in range(2) for s in ("open_eyes", "closed_eyes", "unknown_eyes")]
    return write_curated(tmp_path_factory.mktemp("mixed"), records, open_eyes=True, closed_eyes=False)
