"""Runs of classifiers over one or more splits, with the weights that they name."""

from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import yaml

from lmod_train.core.artifacts.predictions import write_predictions
from lmod_train.core.artifacts.records import write_records
from lmod_train.core.artifacts.scores import write_scores
from lmod_train.core.types import Reply
from lmod_train.tasks.glaucoma import Glaucoma
from lmod_train.tasks.parsed_replies import parse_replies, scores_of
from lmod_train.tasks.staging import Staging
from tests.scoring.make import record

GLAUCOMA, STAGES = Glaucoma(), Staging("macular_hole_stage")


def evaluate(
    folder: Path,
    splits=("test",),
    *,
    weights="a" * 64,
    seed=0,
    n=60,
    skill=1.5,
    task=None,
    step=5,
    likelihoods=True,
    flip=False,
    checkpoint="",
    **config,
):
    """A run whose likelihoods of a record depend on `seed` and the record alone; `flip` turns the truths of test."""
    steps = tuple(step) if isinstance(step, list) else (step,)
    asked, predictions, scores = answered(
        record, task or GLAUCOMA, tuple(splits), steps, seed=seed, n=n, skill=skill, likelihoods=likelihoods, flip=flip
    )
    folder.mkdir(parents=True, exist_ok=True)
    write_records(folder / "records.parquet", asked)
    write_predictions(folder / "predictions.parquet", predictions)
    write_scores(folder / "scores.csv", folder.name, "cnn", scores)
    known = {"provenance": {"weights": {"checkpoints/best.ckpt": weights} if weights else {}}}
    (folder / "config.yaml").write_text(
        yaml.safe_dump({**known, **({"weights": checkpoint} if checkpoint else {}), **config})
    )
    return folder


@cache  # many tests have runs that differ in their settings alone
def answered(record, task, splits, steps, *, seed, n, skill, likelihoods, flip):
    """Records, predictions and scores of a run; `record` makes a record."""
    asked, replies = [], {}
    for split in splits:
        for i in range(n):
            rng = np.random.default_rng([seed, {"train": 0, "val": 1, "test": 2}[split], i])
            truth = i * 7 % 11 % len(task.choices)
            logs = (rng.normal(size=len(task.choices)) + skill * np.eye(len(task.choices))[truth]).round(3)
            truth = (truth + (flip and split == "test")) % len(task.choices)
            word = task.choices[truth]
            answer = word if task.name == "glaucoma" else f"Stage: {word}"
            made = record(f"{split}{i}", answer, task=task.name, choices=task.choices, group=f"{split}{i // 2}")
            kind = f"{type(task).__module__}.{type(task).__qualname__}"
            asked.append(replace(made, task_class=kind, task_version=task.version, split=split))
            told = answer.replace(word, task.choices[int(logs.argmax())])
            known = dict(zip(task.choices, logs.tolist(), strict=True)) if likelihoods else {}
            replies[made.id] = Reply(made.id, told, model="cnn", likelihoods=known, step=steps[i % len(steps)])
    predictions = parse_replies(task, asked, replies)
    return tuple(asked), tuple(predictions), tuple(scores_of([task], predictions))
