"""Grading metrics against scikit-learn, and with missing answers and single classes."""

import numpy as np
import pytest
from sklearn.metrics import cohen_kappa_score, mean_absolute_error, precision_recall_fscore_support, precision_score

from lmod_train.core.types import Unparsed
from lmod_train.scoring.grading import grading_scores
from tests.scoring.make import by_metric, item, values
from tests.tabled import tabled

LEVELS = tuple("01234")


def some_items(seed, n=200, silent=0.2):
    rng = np.random.default_rng(seed)
    truths = rng.integers(0, 5, n)
    answers = np.clip(truths + rng.integers(-2, 3, n), 0, 4)
    quiet = rng.random(n) < silent
    return [
        item(i, Unparsed("refused") if q else str(a), str(t), LEVELS, group=str(i // 2))
        for i, (a, t, q) in enumerate(zip(answers, truths, quiet, strict=True))
    ]


@tabled("seed", range(4))
@tabled("silent", [0, 0.3])
def test_as_scikit_learn(seed, silent):
    items = some_items(seed, silent=silent)
    scores = grading_scores("icdr", items, LEVELS)
    got = values(scores)
    pairs = [(i.truth, i.answer) for i in items if i.status == "answered"]
    truths, answers = zip(*pairs, strict=True)
    assert got["kappa_quadratic"] == pytest.approx(
        cohen_kappa_score(truths, answers, labels=LEVELS, weights="quadratic")
    )
    assert got["mean_absolute_error"] == pytest.approx(mean_absolute_error([*map(int, truths)], [*map(int, answers)]))
    everything = [i.truth for i in items], [i.answer if i.status == "answered" else "none" for i in items]
    precisions, recalls, f1s, support = precision_recall_fscore_support(*everything, labels=LEVELS)
    for place, level in enumerate(LEVELS):
        own = by_metric(scores, f"stage={level}")
        assert own["precision"].value == pytest.approx(precisions[place])
        assert own["recall"].value == pytest.approx(recalls[place])
        assert own["f1"].value == pytest.approx(f1s[place])
        assert own["recall"].n == support[place]
        assert own["precision"].n == answers.count(level)
        assert own["recall"].low < own["recall"].value < own["recall"].high
    assert got["macro_precision"] == pytest.approx(precision_score(*everything, labels=LEVELS, average="macro"))
    assert got["balanced_accuracy"] == pytest.approx(np.mean(recalls))
    assert got["macro_f1"] == pytest.approx(np.mean(f1s))


def test_kappa_has_an_interval_and_n_of_the_answered():
    items = some_items(0)
    kappa = by_metric(grading_scores("icdr", items, LEVELS))["kappa_quadratic"]
    assert kappa.n == sum(i.status == "answered" for i in items) < len(items)
    assert kappa.low < kappa.value < kappa.high


def test_full_agreement_of_few_has_a_wider_interval_than_a_share():
    got = by_metric(grading_scores("s", [item(i, str(i % 2), str(i % 2), LEVELS) for i in range(20)], LEVELS))
    assert got["kappa_quadratic"].value == got["kappa_quadratic"].high == 1
    assert -1 <= got["kappa_quadratic"].low < got["accuracy_strict"].low  # one error may be four stages wide
    assert got["mean_absolute_error"].value == got["mean_absolute_error"].low == 0
    assert got["mean_absolute_error"].high == pytest.approx(4 * (1 - got["accuracy_strict"].low))
    assert got["accuracy_strict"].low < 1


def test_one_answer_for_all_is_no_agreement_and_one_class_alone_has_none():
    constant = [item(i, "2", str(i % 5), LEVELS) for i in range(10)]
    assert values(grading_scores("s", constant, LEVELS))["kappa_quadratic"] == pytest.approx(0)
    alone = by_metric(grading_scores("s", [item(i, "2", "2", LEVELS) for i in range(4)], LEVELS))
    assert (alone["kappa_quadratic"].value, alone["kappa_quadratic"].n) == (None, 0)


def test_a_published_always_stage_three():
    # LMOD+, table 5, OIMHS: whoever always answers 3 has a precision of .2703 = 1043 of 3,859 scans.
    truths = ["1"] * 19 + ["2"] * 610 + ["3"] * 1043 + ["4"] * 2187
    items = [item(i, "3", t, "1234", group=str(i % 125)) for i, t in enumerate(truths)]
    three = by_metric(grading_scores("macular_hole_stage", items, "1234"), "stage=3")
    assert (round(three["precision"].value, 4), three["recall"].value) == (0.2703, 1.0)


def test_no_items_no_scores():
    assert grading_scores("s", [], LEVELS) == []
