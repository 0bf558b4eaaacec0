"""Folds are pooled to one run with one interval over patients."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from sklearn.metrics import accuracy_score, roc_auc_score

from lmod_train.core.artifacts.records import write_run_records
from lmod_train.core.artifacts.replies import ReplyFile
from lmod_train.core.artifacts.run import Run
from lmod_train.core.artifacts.scores import read_scores
from lmod_train.core.artifacts.training_set import training_warnings
from lmod_train.core.errors import ArtifactError
from lmod_train.core.types import Reply
from lmod_train.extensions.clinical.operating import OperatingPoints
from lmod_train.report.folds import pool
from lmod_train.report.report import write_report
from lmod_train.report.sections.provenance import Provenance
from lmod_train.report.sections.scores import Scores
from lmod_train.report.seed_spread import seeds_text
from lmod_train.tasks.glaucoma import Glaucoma
from lmod_train.tasks.rescore import rescore
from tests.scoring.make import by_metric, record

CHOICES = Glaucoma.choices


def fold(folder, ids, steps):
    """A scored run on some of the records, with likelihoods that depend on the record."""
    records, replies = [], []
    for i in ids:
        rng = np.random.default_rng(i)
        truth = i * 7 % 11 % 2
        logs = np.log(rng.dirichlet([1, 1]) * 0.5 + 0.5 * np.eye(2)[truth] * rng.random())
        made = record(f"{i:02}", CHOICES[truth], task="glaucoma", choices=CHOICES, group=f"p{i // 2}")
        kind = f"{Glaucoma.__module__}.{Glaucoma.__qualname__}"
        records.append(replace(made, task_class=kind, task_version=Glaucoma.version))
        likelihoods = dict(zip(CHOICES, logs.tolist(), strict=True))
        word = CHOICES[int(logs.argmax())]
        replies.append(Reply(made.id, word, model="cnn", step=steps, likelihoods=likelihoods, asked=f"h{i}"))
    run = Run(folder)
    run.write_config({"data": {"fold": "x"}, "provenance": {"weights": {"checkpoints/last.ckpt": folder.name}}})
    write_run_records(run.records, records, {r.id: r.asked for r in replies})
    file = ReplyFile(run.replies_of(0))
    file.append(replies)
    file.close()
    rescore(folder)
    return records, replies


@pytest.fixture
def folds(tmp_path):
    """Sixty records of thirty patients in three folds, trained for different numbers of steps."""
    made = [fold(tmp_path / "CV" / f"fold_{k + 1}of3", range(20 * k, 20 * k + 20), 100 + k) for k in range(3)]
    return tmp_path / "CV", [r for own, _ in made for r in own], [r for _, own in made for r in own]


def test_pooled_scores_are_those_of_all_records_at_once(folds, tmp_path):
    folder, records, replies = folds
    printed = pool(folder)
    assert "60 of 60 records have a reply" in printed and "| glaucoma | cnn   | CV " in printed
    scores = by_metric([s for _, _, s in read_scores(Run(folder).scores)])
    true, answers = [r.answer for r in records], [r.reply for r in replies]
    assert scores["accuracy_strict"].value == pytest.approx(accuracy_score(true, answers), abs=1e-6)
    odds = [r.likelihoods[CHOICES[0]] - r.likelihoods[CHOICES[1]] for r in replies]
    area = roc_auc_score([answer == CHOICES[0] for answer in true], odds)
    assert scores["auroc_macro"].value == pytest.approx(area, abs=1e-6)
    fold(tmp_path / "whole", range(60), 100)
    whole = by_metric([s for _, _, s in read_scores(tmp_path / "whole" / "scores.csv")])
    for metric, score in scores.items():
        assert (score.n, score.value, score.low, score.high) == (
            whole[metric].n, whole[metric].value, whole[metric].low, whole[metric].high,
        ), f"{metric}: one interval over all patients, as of a single run"  # fmt: skip


def test_the_report_shows_one_run_and_no_deviation_over_folds(folds, tmp_path):
    folder, *_ = folds
    pool(folder)
    printed = []
    write_report([folder], tmp_path / "out", sections=[Scores(), Provenance(), OperatingPoints()], log=printed.append)
    text = (tmp_path / "out" / "tables.md").read_text()
    assert printed[1].count("glaucoma") == 1 and "fold_" not in "".join(printed[:2])
    assert "3 folds, each record answered by the model that was not trained on its patient" in "\n".join(printed)
    assert "sd over" not in text and "checkpoint steps" not in text and seeds_text(folder) == ""
    weights = Run(folder).read_config()["provenance"]["weights"]
    assert weights == {f"fold_{k}of3/checkpoints/last.ckpt": f"fold_{k}of3" for k in (1, 2, 3)}


def test_a_warning_about_the_training_of_one_fold_is_one_of_the_pool(folds):
    folder, *_ = folds
    second = Run(folder / "fold_2of3")
    on = {"sources": {"s": 40}, "warnings": {"nothing learned": "the loss never left ln 2"}}
    second.write_config({**second.read_config(), "provenance": {"trained_on": on}})
    pool(folder)
    found = training_warnings(Run(folder).read_config())
    assert found == {"nothing learned": "fold_2of3: the loss never left ln 2"}


def test_a_pool_is_written_again_and_needs_every_fold_once(folds):
    folder, *_ = folds
    first = pool(folder)
    assert pool(folder) == first and len(list(Run(folder).replies.glob("*.jsonl"))) == 3
    fold(folder / "fold_2of3", range(10, 30), 101)
    with pytest.raises(ArtifactError, match=r"20 records are in two folds|10 records are in two folds"):
        pool(folder)
    Run(folder / "fold_2of3").scores.unlink()
    with pytest.raises(ArtifactError, match=r"3 of 3 folds are evaluated; without scores: fold_2of3"):
        pool(folder)
