"""Runs of the macular hole stage with a known number of correct answers, and curated folders of a known protocol."""

from dataclasses import replace
from pathlib import Path

import yaml

from lmod_train.core.artifacts.manifest import write_json
from lmod_train.core.artifacts.predictions import write_predictions
from lmod_train.core.artifacts.records import write_records
from lmod_train.core.artifacts.scores import write_scores
from lmod_train.core.types import Reply, Sample
from lmod_train.report.results import read_results
from lmod_train.tasks.parsed_replies import parse_replies, scores_of
from lmod_train.tasks.staging import Staging
from tests.scoring.make import record

STAGE = "lmod_train.tasks.staging.Staging"


def curated(folder, protocol="lmod_naacl", balanced=("macular_hole_stage",)):
    accounts = {task: [{"cell": [task, "en", "all", ""], "n_per_class": 19}] for task in balanced}
    write_json(
        folder / "manifest.json", {"schema_version": 4, "protocol": protocol, "balance": accounts, "sources": {}}
    )
    return folder


def staged(
    folder, right, *, n=76, model="", curated=None, split="all", step=0, refused=0, phantom=False,
    task="macular_hole_stage", wording="lmod_naacl",
):  # fmt: skip
    """A run in which the first `right` of `n` answers are correct and the last `refused` are refusals."""
    own = Staging(task, wording)
    asked, replies = [], {}
    for i in range(n):
        stage = own.choices[i % len(own.choices)]
        made = record(str(i), f"Stage: {stage}", task=task, choices=own.choices, group=f"p{i}")
        (question,) = own.ask(Sample("oimhs", str(i), "OCT", Path(), "", "", labels={task: stage}))
        wrong = own.choices[(i + 1) % len(own.choices)]
        text = f"Stage: {stage if i < right else wrong}" if i < n - refused else "I cannot determine the stage."
        asked.append(replace(made, task_class=STAGE, phantom=phantom, messages=question.messages))
        replies[made.id] = Reply(made.id, text, model=model, step=step)
    predictions = parse_replies(own, asked, replies)
    write_records(folder / "records.parquet", asked)
    write_predictions(folder / "predictions.parquet", predictions)
    write_scores(folder / "scores.csv", folder.name, model, scores_of([own], predictions))
    config = {"data": {"init_args": {"curated": str(curated), "split": split}}} if curated else {}
    if config:
        config["data"]["init_args"]["tasks"] = [{"class_path": STAGE, "init_args": {"scale": task, "wording": wording}}]
    (folder / "config.yaml").write_text(yaml.safe_dump(config), encoding="utf-8")
    return folder


def results(*runs):
    return read_results(runs)
