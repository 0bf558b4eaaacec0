"""The RETFound measures against the original program's numbers and scikit-learn, and with zero denominators."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from sklearn import metrics

from lmod_train.core.errors import BadArgument
from lmod_train.scoring.classification import classification_scores, retfound_measures
from lmod_train.scoring.grading import grading_scores
from tests.formula import table
from tests.scoring.make import item
from tests.tabled import tabled

REFERENCE = json.loads((Path(__file__).parents[1] / "models" / "vision" / "retfound_reference.json").read_text())[
    "metrics"
]


@tabled("case", REFERENCE)
def test_values_equal_those_of_the_original_program(case):
    measures = retfound_measures(*table(case["items"], case["classes"], case["key"], case["never_said"]))
    written = {f"retfound_{name}": np.nan if v is None else v for name, v in case["values"].items() if name != "top1"}
    assert measures == pytest.approx(written, rel=1e-8, nan_ok=True)


def test_values_equal_scikit_learn_over_the_classes_but_the_first():
    truths, probabilities = table(200, 5, 30, None)
    predicted, rest = probabilities.argmax(axis=1), [1, 2, 3, 4]
    own = [(truths == c, predicted == c) for c in rest]
    specificity = [metrics.recall_score(~true, ~answer) for true, answer in own]
    recall = [metrics.recall_score(true, answer) for true, answer in own]
    assert retfound_measures(truths, probabilities) == pytest.approx(
        {
            "retfound_accuracy": np.mean([metrics.accuracy_score(true, answer) for true, answer in own]),
            "retfound_sensitivity": metrics.recall_score(truths, predicted, labels=rest, average="macro"),
            "retfound_specificity": np.mean(specificity),
            "retfound_precision": metrics.precision_score(truths, predicted, labels=rest, average="macro"),
            "retfound_g_mean": np.mean(np.sqrt(np.multiply(recall, specificity))),
            "retfound_f1": metrics.f1_score(truths, predicted, labels=rest, average="macro"),
            "retfound_mcc": np.mean([metrics.matthews_corrcoef(true, answer) for true, answer in own]),
            "retfound_auroc": metrics.roc_auc_score(truths, probabilities, multi_class="ovr"),
            "retfound_auprc": np.mean(
                [metrics.average_precision_score(truths == c, probabilities[:, c]) for c in range(5)]
            ),
        }
    )
    assert (
        retfound_measures(truths, probabilities)["retfound_accuracy"] > metrics.accuracy_score(truths, predicted) + 0.1
    )  # no top-1 accuracy


def test_with_two_classes_accuracy_is_top_1():
    truths, probabilities = table(50, 2, 40, None)
    assert retfound_measures(truths, probabilities)["retfound_accuracy"] == metrics.accuracy_score(
        truths, probabilities.argmax(axis=1)
    )


def test_a_zero_denominator_gives_nan():
    never_right = [0, 1, 2, 2], [[1, 0, 0], [0, 1, 0], [1, 0, 0], [1, 0, 0]]
    assert np.isnan(retfound_measures(*never_right)["retfound_f1"]) and np.isnan(
        retfound_measures(*never_right)["retfound_mcc"]
    )
    assert retfound_measures(*never_right)["retfound_accuracy"] == 0.75
    absent = [0, 1, 1], [[0.8, 0.1, 0.1], [0.1, 0.8, 0.1], [0.3, 0.4, 0.3]]
    assert np.isnan(retfound_measures(*absent)["retfound_auroc"])
    assert all(np.isnan(value) for value in retfound_measures([], np.zeros((0, 3))).values())


@tabled(
    ("truths", "probabilities", "message"),
    [
        ([0, 1], [0.2, 0.8], r"probabilities='shape \(2,\)': expected \(items, classes\)"),
        ([0, 0], [[1.0], [1.0]], r"probabilities='shape \(2, 1\)'"),
        ([0], [[0.5, 0.5], [0.5, 0.5]], r"truths='shape \(1,\)': expected \(2,\)"),
        ([0, 2], [[0.5, 0.5], [0.5, 0.5]], "truths=2: expected a class from 0 to 1"),
        ([0, 0.5], [[0.5, 0.5], [0.5, 0.5]], "truths=0.5"),
        ([0, 1], [[0.5, 0.5], [np.nan, 0.5]], "probabilities='NaN or infinity'"),
    ],
)
def test_invalid_input_is_refused(truths, probabilities, message):
    with pytest.raises(BadArgument, match=message):
        retfound_measures(truths, probabilities)


DISEASES, LEVELS = ("cataract", "diabetic retinopathy", "glaucoma", "normal"), ("0", "1", "2", "3")
SIDES = ("TRUE", "FALSE")


def likely(choices, n=60, classes=None):
    """Items with likelihoods of all choices; the truths are the first `classes` of these in turn."""
    rng = np.random.default_rng(1)
    made = []
    for i in range(n):
        truth = i % (classes or len(choices))
        logs = rng.normal(size=len(choices)) + 1.5 * np.eye(len(choices))[truth]
        given = dict(zip(choices, logs.tolist(), strict=True))
        facts = {"modality": ("CFP", "OCT")[i % 2], "likelihoods": given}
        made.append(item(i, choices[int(logs.argmax())], choices[truth], choices, **facts))
    return made


def by_hand(items, order):
    """The measures with the classes in this order, the healthy one first."""
    logs = np.array([[i.likelihoods[choice] for choice in order] for i in items])
    return retfound_measures([order.index(i.truth) for i in items], np.exp(logs) / np.exp(logs).sum(1, keepdims=True))


@tabled(
    ("scores_of", "choices", "order", "more"),
    [
        (classification_scores, SIDES, ("FALSE", "TRUE"), {"positive": "TRUE"}),
        (classification_scores, DISEASES, ("normal", *DISEASES[:3]), {}),
        (classification_scores, DISEASES, ("glaucoma", *DISEASES[:2], "normal"), {"healthy": "glaucoma"}),
        (grading_scores, LEVELS, LEVELS, {}),
    ],
)
def test_scores_follow_ours_with_the_healthy_class_first(scores_of, choices, order, more):
    items = likely(choices)
    found = [s for s in scores_of("t", items, choices, **more) if s.metric.startswith("retfound_")]
    assert {s.metric: s.value for s in found} == pytest.approx(by_hand(items, order))
    assert {(s.subset, s.n, s.low, s.high) for s in found} == {("all", 60, None, None)}
    assert by_hand(items, order) != pytest.approx(by_hand(items, order[::-1]))


def names(scores):
    return {s.metric for s in scores if s.metric.startswith("retfound_")}


def test_no_scores_without_a_healthy_class_or_with_missing_likelihoods():
    items = likely(SIDES)
    assert len(names(classification_scores("t", items, SIDES, "TRUE"))) == 9
    assert not names(classification_scores("t", items, SIDES))
    lacking = [*items[1:], replace(items[0], likelihoods={"TRUE": -0.1})]
    assert not names(classification_scores("t", lacking, SIDES, "TRUE"))
    assert classification_scores("t", [], SIDES, "TRUE") == []
    assert not names(grading_scores("t", likely(("1",)), ("1",)))


def test_an_undefined_measure_has_no_value():
    found = grading_scores("t", likely(LEVELS, classes=3), LEVELS)
    own = {s.metric: (s.n, s.value) for s in found if s.metric.startswith("retfound_")}
    assert own["retfound_sensitivity"] == own["retfound_auroc"] == (0, None)  # nothing is of the last level
    assert own["retfound_specificity"][0] == 60


def test_an_unknown_healthy_class_is_refused():
    with pytest.raises(BadArgument, match="healthy='NONE'"):
        classification_scores("t", likely(SIDES), SIDES, healthy="NONE")
