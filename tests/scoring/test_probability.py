"""Metrics of likelihoods: which items count, which are excluded, and the share of both."""

import importlib
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import yaml
from sklearn.metrics import accuracy_score, average_precision_score, roc_auc_score

from lmod_train.core.types import Patient, Sample, Unparsed
from lmod_train.core.vocabulary.findings import FINDINGS
from lmod_train.scoring.classification import classification_scores
from lmod_train.scoring.grading import grading_scores
from lmod_train.scoring.probability import probabilities_of
from tests.contracts import TaskContract
from tests.scoring.make import by_metric, item, values
from tests.tabled import tabled

CONFIGS = Path(__file__).parents[2] / "configs"
NAMES = ("auroc_macro", "auprc_macro", "accuracy_likeliest", "brier", "ece", "likelihoods_given")


def some(n=80, choices=("yes", "no"), seed=0, given=1.0):
    rng = np.random.default_rng(seed)
    made = []
    for i in range(n):
        truth = int(rng.integers(len(choices)))
        logs = rng.normal(size=len(choices)) - 3 + np.eye(len(choices))[truth]  # not normed: a softmax is due
        logs_of = dict(zip(choices, logs.tolist(), strict=True)) if rng.random() < given else {}
        answer = choices[int(logs.argmax())]
        made.append(item(i, answer, choices[truth], choices, group=str(i // 2), likelihoods=logs_of))
    return made


def table(items, choices):
    logs = np.array([[i.likelihoods[c] for c in choices] for i in items if i.likelihoods])
    truths = np.array([choices.index(i.truth) for i in items if i.likelihoods])
    return truths, np.exp(logs) / np.exp(logs).sum(axis=1, keepdims=True)


def test_a_question_of_yes_or_no_is_about_its_positive_class():
    items = some()
    truths, p = table(items, ("yes", "no"))
    for positive, c in (("yes", 0), ("no", 1)):
        got = by_metric(classification_scores("t", items, ("yes", "no"), positive=positive))
        assert got["auroc_macro"].value == pytest.approx(roc_auc_score(truths == c, p[:, c]))
        assert got["auprc_macro"].value == pytest.approx(average_precision_score(truths == c, p[:, c]))
        assert got["auroc_macro"].low < got["auroc_macro"].value < got["auroc_macro"].high


@pytest.mark.parametrize("scores_of", [classification_scores, grading_scores])
def test_several_classes_each_against_the_rest(scores_of):
    items = some(choices=("1", "2", "3"))
    truths, p = table(items, ("1", "2", "3"))
    items = [replace(i, answer=choice) for i, choice in zip(items, "123" * 27, strict=False)]  # the text is not used
    got = values(scores_of("t", items, ("1", "2", "3")))
    assert (
        got["accuracy_likeliest"] == pytest.approx(accuracy_score(truths, p.argmax(axis=1))) != got["accuracy_strict"]
    )
    assert got["auroc_macro"] == pytest.approx(roc_auc_score(truths, p, multi_class="ovr", average="macro"))
    assert got["likelihoods_given"] == 1


def test_items_without_likelihoods_are_left_out_and_counted():
    items = some(given=0.6)
    got = by_metric(classification_scores("t", items, ("yes", "no")))
    having = [i for i in items if i.likelihoods]
    assert [got[name].n for name in NAMES] == [len(having)] * 5 + [80]
    assert got["likelihoods_given"].value == len(having) / 80 < 1
    alone = by_metric(classification_scores("t", having, ("yes", "no")))
    assert [got[name].value for name in NAMES[:5]] == [alone[name].value for name in NAMES[:5]]


def test_without_likelihoods_the_metrics_are_absent_and_others_unchanged():
    items = some()
    bare = classification_scores("t", [replace(i, likelihoods={}) for i in items], ("yes", "no"))
    assert not {s.metric for s in bare} & set(NAMES)
    assert [s for s in classification_scores("t", items, ("yes", "no")) if s.metric not in NAMES] == bare


def test_a_subset_has_its_own():
    items = [replace(i, modality="OCT" if int(i.id) % 2 else "CFP") for i in some()]
    scores = classification_scores("t", items, ("yes", "no"))
    own = classification_scores("t", [i for i in items if i.modality == "OCT"], ("yes", "no"))
    assert values(scores, "modality=OCT")["auroc_macro"] == values(own)["auroc_macro"]


def test_an_unparsed_reply_with_likelihoods_still_ranks():
    items = [replace(i, answer=Unparsed("no_match"), status="unparsed") for i in some()]
    got = values(classification_scores("t", items, ("yes", "no")))
    assert got["accuracy_strict"] == 0 and got["auroc_macro"] > 0.6


@tabled(
    "likelihoods",
    [
        {}, {"yes": -1.0}, {"yes": math.nan, "no": -1.0}, {"yes": math.inf, "no": -1.0},
        dict.fromkeys(("yes", "no"), -math.inf),
    ],
)  # fmt: skip
def test_unusable_likelihoods_are_excluded(likelihoods):
    rows, p = probabilities_of([item(1, "yes", "yes", likelihoods=likelihoods)], ("yes", "no"))
    assert len(rows) == len(p) == 0 and p.shape == (0, 2)


def test_an_impossible_choice_has_probability_zero():
    rows, p = probabilities_of([item(1, "yes", "yes", likelihoods={"yes": -800.0, "no": -math.inf})], ("yes", "no"))
    assert rows.tolist() == [0] and p.tolist() == [[1.0, 0.0]]


def task_of(config):
    """The one task of an experiment, as its config sets it up."""
    (part,) = yaml.safe_load(config.read_text())["data"]["tasks"]
    task = yaml.safe_load((CONFIGS / part).read_text())
    module, _, name = task["class_path"].rpartition(".")
    return getattr(importlib.import_module(module), name)(**task.get("init_args", {}))


def samples(n=16):
    """Of the source that the tasks ask, with a label of each task, all classes in turn."""
    diagnoses = ("cataract", "diabetic retinopathy", "glaucoma", "normal")
    for i in range(n):
        labels = {f.condition: ("yes", "no")[i % 2] for f in FINDINGS} | {"glaucoma": ("yes", "no")[i % 2]}
        labels |= {"diagnosis": diagnoses[i % 4], "macular_hole_stage": str(1 + i % 4)}
        labels |= {"icdr": str(i % 5), "sdrg": str(i % 5)}
        patient = Patient(age=5 * i + 10, sex=("male", "female")[i % 2])
        yield Sample("brset", str(i), "CFP", Path("a.jpg"), f"p{i}", "open", labels=labels, patient=patient)


@tabled("config", sorted(CONFIGS.glob("retfound_*.yaml")))
def test_every_retfound_config_has_the_metric_that_selects_its_checkpoint(config):
    task, rng = task_of(config), np.random.default_rng(0)
    asked = [question for sample in samples() for question in task.ask(sample)]
    made = []
    for p in TaskContract.predictions_of(task, list(samples()), [question.answer for question in asked]):
        logs = np.log(rng.dirichlet(np.ones(len(p.record.choices)))).tolist()
        made.append(replace(p, reply=replace(p.reply, likelihoods=dict(zip(p.record.choices, logs, strict=True)))))
    got = by_metric(task.score(made))
    assert 0 < got["auroc_macro"].value < 1 and got["auroc_macro"].n == len(made) > 0
