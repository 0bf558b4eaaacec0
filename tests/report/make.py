"""Run folders with known outcomes, made by the project's own tasks and files."""

import json
import random
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import yaml
from PIL import Image

from lmod_train.core.artifacts.manifest import write_json
from lmod_train.core.artifacts.predictions import write_predictions
from lmod_train.core.artifacts.records import write_records
from lmod_train.core.artifacts.scores import write_scores
from lmod_train.core.types import Box, Region, Reply, class_path
from lmod_train.core.vocabulary.scales import SCALES
from lmod_train.tasks.age_group import AgeGroup
from lmod_train.tasks.anatomy import Anatomy
from lmod_train.tasks.four_way import FourWay
from lmod_train.tasks.glaucoma import Glaucoma
from lmod_train.tasks.parsed_replies import parse_replies, scores_of
from lmod_train.tasks.sex import Sex
from lmod_train.tasks.staging import Staging
from tests.scoring.make import record

EYE = ("optic disc", "optic cup")
CLASSES = ("cataract", "diabetic retinopathy", "glaucoma", "normal")
LURE = "<script>alert(1)</script>"


def records(n=24, modalities=("CFP",)):
    found = []
    for i in range(n):
        place = {
            "image": f"images/phantoms/{i}.jpg",
            "modality": modalities[i % len(modalities)],
            "group": f"p{i // 2}",
        }
        regions = tuple(Region(s, Box(0, 0, 9, 9), k) for k, s in enumerate(EYE[:: 1 if i % 2 else -1], 1))
        told = "\n".join(f"Region ID: {r.id}; Type: {r.structure}" for r in regions)
        made = [
            (FourWay, record(str(i), f"DISEASE: {CLASSES[i % 4]}", task="four_way", choices=CLASSES, **place)),
            (
                Glaucoma,
                record(
                    str(i),
                    ("GLAUCOMA", "NON-GLAUCOMA")[i % 2],
                    task="glaucoma",
                    choices=("GLAUCOMA", "NON-GLAUCOMA"),
                    **place,
                ),
            ),
            (Anatomy, record(str(i), told, task="anatomy", choices=EYE, regions=regions, **place)),
        ]
        found += [replace(r, task_class=f"{c.__module__}.{c.__qualname__}", task_version=c.version) for c, r in made]
    return found


def answer(skill, seed):
    """Reply rightly with probability `skill`, otherwise with another record's answer, a refusal or a lure."""
    rng = random.Random(seed)

    def reply(r, every):
        said = r.answer
        if rng.random() > skill:
            others = [o.answer for o in every if o.task == r.task]
            said = rng.choice([*others, *others, "I cannot determine this from the image.", f"{LURE} 青光眼?"])
        return Reply(r.id, said, rendered="<image>", model="")

    return reply


def classify(folder: Path, skill, *, model="cnn", seed=0, n=60, given=1.0):
    """A run of a classifier that tells the likelihood of every choice, about glaucoma and a stage."""
    return written(folder, folder.name, model, *classified(skill, model, seed, n, given))


@cache  # many tests have the same runs
def classified(skill, model, seed, n, given):
    """Records, predictions and scores of a run of a classifier."""
    rng = np.random.default_rng(seed)
    tasks = [Glaucoma(), Staging("macular_hole_stage")]
    asked, replies = [], {}
    for task in tasks:
        for i in range(n):
            truth = (i * 7 % 11) % len(task.choices)
            word = task.choices[truth]
            told = word if task.name == "glaucoma" else f"Stage: {word}"
            logs = rng.normal(size=len(task.choices)) + skill * np.eye(len(task.choices))[truth]
            logs -= np.log(np.exp(logs).sum())
            kind = f"{type(task).__module__}.{type(task).__qualname__}"
            made = record(str(i), told, task=task.name, choices=task.choices, group=f"p{i // 2}")
            asked.append(replace(made, task_class=kind, task_version=task.version))
            said = told.replace(word, task.choices[int(logs.argmax())])
            likelihoods = dict(zip(task.choices, logs.round(6).tolist(), strict=True)) if rng.random() < given else {}
            replies[made.id] = Reply(made.id, said, model=model, likelihoods=likelihoods)
    predictions = [p for task in tasks for p in parse_replies(task, asked, replies)]
    return tuple(asked), tuple(predictions), tuple(scores_of(tasks, predictions))


def written(folder, name, model, asked, predictions, scores):
    write_records(folder / "records.parquet", asked)
    write_predictions(folder / "predictions.parquet", predictions)
    write_scores(folder / "scores.csv", name, model, scores)
    return folder


def curate(folder, n=24, redistributable=True):
    for i in range(n):
        file = folder / "images" / "phantoms" / f"{i}.jpg"
        file.parent.mkdir(parents=True, exist_ok=True)
        picture = Image.new("RGB", (400, 300), (200, 40 + i * 8, 30))
        picture.paste((250, 220, 90), (150, 100, 210, 160))  # a picture of one colour would be refused in training
        picture.save(file)
    write_json(
        folder / "manifest.json",
        {"schema_version": 4, "sources": {"phantoms": {"licence": "CC0", "redistributable": redistributable}}},
    )
    write_records(folder / "records" / "all.parquet", records(n))
    return folder


def run(folder: Path, skill, *, model="base", name="", seed=0, curated=None, n=24, modalities=("CFP",)):
    written(folder, name or folder.name, model, *answered(skill, model, seed, n, tuple(modalities)))
    config = {"data": {"curated": str(curated)}} if curated else {}
    (folder / "config.yaml").write_text(yaml.safe_dump(json.loads(json.dumps(config))))
    return folder


@cache  # many tests have the same runs
def answered(skill, model, seed, n, modalities):
    """Records, predictions and scores of a run."""
    asked = records(n, modalities)
    reply = answer(skill, seed)
    replies = {r.id: replace(reply(r, asked), model=model) for r in asked}
    tasks = [FourWay(), Glaucoma(), Anatomy()]
    predictions = [p for task in tasks for p in parse_replies(task, asked, replies)]
    return tuple(asked), tuple(predictions), tuple(scores_of(tasks, predictions))


def many(root: Path, models=8, n=12, patient=None):
    """Runs of several models of nine tasks, and the curated folder with their records."""
    tasks = [FourWay(), Glaucoma(), Anatomy(), *(Staging(row.name) for row in SCALES), Sex(), AgeGroup()]
    asked = records(n)
    for task in tasks[3:]:
        for i in range(n):
            word, place = (
                task.choices[i % len(task.choices)],
                {"image": f"images/phantoms/{i}.jpg", "group": f"p{i // 2}"},
            )
            told = f"Stage: {word}" if isinstance(task, Staging) else word
            made = record(str(i), told, task=task.name, choices=task.choices, **place)
            asked.append(replace(made, task_class=class_path(type(task)), task_version=task.version))
    if patient:
        asked = [replace(r, patient=patient(int(r.key))) for r in asked]
    curated = curate(root / "curated", n)
    write_records(curated / "records" / "all.parquet", asked)
    for m in range(models):
        reply = answer(0.3 + 0.08 * m, m)
        replies = {r.id: replace(reply(r, asked), model=f"model_{m}") for r in asked}
        predictions = [p for task in tasks for p in parse_replies(task, asked, replies)]
        folder = written(root / f"run_{m}", f"run_{m}", f"model_{m}", asked, predictions, scores_of(tasks, predictions))
        stagings = [{"class_path": class_path(Staging), "init_args": {"scale": row.name}} for row in SCALES]
        (folder / "config.yaml").write_text(yaml.safe_dump({"data": {"curated": str(curated), "tasks": stagings}}))
    return [root / f"run_{m}" for m in range(models)], curated
