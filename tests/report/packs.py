"""A curated folder with an open and a withheld source, and runs on it, for tests of packs."""

import json
from dataclasses import replace
from hashlib import sha256

import yaml

from lmod_train.core.artifacts.manifest import write_json
from lmod_train.core.artifacts.predictions import write_predictions
from lmod_train.core.artifacts.records import record_id, write_records
from lmod_train.core.artifacts.scores import write_scores
from lmod_train.core.types import Box, Message, Part, Patient, Record, Region, Reply
from lmod_train.tasks.anatomy import Anatomy
from lmod_train.tasks.glaucoma import Glaucoma
from lmod_train.tasks.parsed_replies import parse_replies, scores_of

WORDS = ("GLAUCOMA", "NON-GLAUCOMA")
SECRETS = ("Mueller", "train/Glaucoma", "sixty-four-year-old gentleman", "Canon-CR2", "group-of-Mueller")
"""Texts of the withheld source that no pack may contain."""


def question(source, i, split="test"):
    """Record `i` of a source; its key holds class folder and name of a patient, its words the patient's age."""
    truth = WORDS[i % 3 % 2]
    key = f"train/{truth.title()}/Mueller_{i:03}"
    age = "This is an image of a sixty-four-year-old gentleman, seen on a rainy Monday in the clinic. "
    regions = ()
    return Record(
        id=record_id("glaucoma", source, key),
        task="glaucoma",
        task_class="lmod_train.tasks.glaucoma.Glaucoma",
        task_version=Glaucoma.version,
        source=source,
        key=key,
        modality="CFP",
        image=(f"images/{source}/{key}.jpg",),
        image_plain=(f"images/{source}/{key}.jpg",),
        image_sha256=(sha256(f"{source} {i}".encode()).hexdigest(),),
        split=split,
        group=f"group-of-Mueller-{i // 2}",
        language="en",
        messages=(Message("user", (Part("image"), Part("text", f"{age}Does it show glaucoma? Number {i}."))),),
        choices=WORDS,
        answer=truth,
        regions=regions,
        patient=Patient(age=64.0, sex=("male", "female")[i % 2], camera="Canon-CR2"),
        licence="secret" if source == "closed" else "CC0",
    )


def boxes(source, i):
    asked = question(source, i)
    names = ("optic disc", "optic cup")[:: 1 if i % 2 else -1]
    regions = tuple(Region(name, Box(0, 0, 9, 9), k) for k, name in enumerate(names, 1))
    told = "\n".join(f"Region ID: {r.id}; Type: {r.structure}" for r in regions)
    more = {"task": "anatomy", "task_class": "lmod_train.tasks.anatomy.Anatomy", "task_version": Anatomy.version}
    return replace(
        asked, id=record_id("anatomy", source, asked.key), choices=names, answer=told, regions=regions, **more
    )


def curated(folder, n=24, manifest=None):
    """Write a curated folder with `n` records of each source; the withheld one is called `closed`."""
    asked = [question(source, i) for source in ("open", "closed") for i in range(n)]
    write_records(folder / "records" / "glaucoma.parquet", asked)
    write_records(folder / "records" / "anatomy.parquet", [boxes("open", i) for i in range(n)])
    sources = {
        "open": {"licence": "CC0", "redistributable": True, "root": str(folder / "raw"), "sha256": "a" * 64},
        "closed": {"licence": "secret", "redistributable": False, "root": str(folder / "raw"), "sha256": "b" * 64},
    }
    told = {"schema_version": 4, "protocol": "own", "command": f"curate {folder}", "sources": sources}
    write_json(folder / "manifest.json", told | (manifest or {}))
    return folder


def echo(record):
    """A reply that repeats the question, then answers rightly but for every fifth record."""
    words = record.messages[0].parts[1].text
    other = WORDS[record.answer == WORDS[0]]
    return f"You asked: {words} My answer: {other if record.key.endswith(('0', '5')) else record.answer}"


def run(folder, place, reply=echo, tasks=None, keep=lambda record: True, **facts):
    """Write a run of the records of a curated folder at `place`."""
    from lmod_train.core.artifacts.records import read_records

    tasks = tasks or [Glaucoma()]
    asked = [r for r in read_records(place / "records") if r.task in {t.name for t in tasks} and keep(r)]
    facts = {"model": "base", "settings": json.dumps({"temperature": 0})} | facts
    replies = {r.id: Reply(r.id, reply(r), rendered=f"<s>{r.messages[0].parts[1].text}", **facts) for r in asked}
    predictions = [p for task in tasks for p in parse_replies(task, asked, replies)]
    write_records(folder / "records.parquet", asked)
    write_predictions(folder / "predictions.parquet", predictions)
    write_scores(folder / "scores.csv", folder.name, "base", scores_of(tasks, predictions))
    weights = {"small/model.safetensors": "c" * 64}
    config = {"data": {"curated": str(place)}, "provenance": {"lmod_train": "0.2.0", "weights": weights}}
    (folder / "config.yaml").write_text(yaml.safe_dump(config))
    return folder
