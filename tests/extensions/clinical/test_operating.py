"""Operating points against scikit-learn's ROC curve, and what the choice of thresholds may not depend on."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import softmax
from sklearn.metrics import recall_score, roc_curve

from lmod_train.extensions.clinical.operating import FIXED, LEVELS, operating_points, threshold_at
from lmod_train.scoring.classification import classification_scores
from tests.scoring.make import by_metric, item
from tests.tabled import tabled

THREE, TWO = ("a", "b", "c"), ("yes", "no")


def table(seed, choices=THREE, n=80, skill=1.0, truths=None):
    """Items of one run, two of each patient; log-likelihoods are quarters, so that many are tied."""
    rng, made = np.random.default_rng(seed), []
    true = rng.integers(len(choices), size=n) if truths is None else truths
    for i, place in enumerate(true):
        logs = (4 * (rng.normal(size=len(choices)) + skill * np.eye(len(choices))[place])).round() / 4
        likelihoods = dict(zip(choices, logs.tolist(), strict=True))
        answer = choices[int(logs.argmax())]
        made.append(item(f"{i:03}", answer, choices[place], choices, group=f"p{i // 2}", likelihoods=likelihoods))
    return made


def soft(items, choices):
    return softmax([[i.likelihoods[c] for c in choices] for i in items], axis=1)


@tabled("seed", range(20))
@tabled("fixed", FIXED)
def test_the_best_corner_of_scikit_learns_curve_is_taken(seed, fixed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(4, 120))
    true = rng.random(n) < 0.4
    true[:2] = [True, False]
    probabilities = (rng.random(n) * 0.7 + 0.3 * true).round(int(rng.integers(1, 4)))
    alarms, caught, at = roc_curve(true, probabilities, drop_intermediate=False)
    negatives = np.sum(~true)
    specificity = (negatives - np.rint(alarms * negatives)) / negatives
    for level in (0.5, *LEVELS, 1.0):
        held, free = (specificity, caught) if fixed == "specificity" else (caught, specificity)
        most = free[held >= level].max()
        best = max(np.flatnonzero((held >= level) & (free == most)), key=lambda i: held[i])
        assert threshold_at(probabilities, true, fixed, level) == at[best]


def test_ties_stay_together_and_no_alarm_may_mean_no_flag():
    true = np.array([True, True, False, False])
    tied = np.array([0.5, 0.5, 0.5, 0.5])
    assert threshold_at(tied, true, "specificity", 0.85) == np.inf, "one of four equal items cannot be flagged alone"
    assert threshold_at(tied, true, "sensitivity", 0.85) == 0.5
    assert threshold_at(np.array([0.9, 0.1, 0.8, 0.7]), true, "specificity", 0.9) == 0.9
    ten = np.arange(20) / 20
    assert threshold_at(ten, np.arange(20) >= 10, "specificity", 0.9) == 0.5
    swapped = np.r_[ten[:9], ten[10], ten[9], ten[11:]]  # one of ten items of the rest is above one of the class
    assert threshold_at(swapped, np.arange(20) >= 10, "specificity", 0.9) == pytest.approx(0.45)
    assert threshold_at(swapped, np.arange(20) >= 10, "specificity", 0.95) == pytest.approx(0.55)


@pytest.mark.parametrize("choices", [TWO, THREE])
def test_the_reached_values_on_test_are_those_of_scikit_learn_at_the_threshold_of_validation(choices):
    validation, test = table(1, choices), table(2, choices)
    points = operating_points("demo", [validation], [test], choices)
    classes = choices[:1] if len(choices) == 2 else choices
    expected = [(c, f, level) for c in classes for f in FIXED for level in LEVELS]
    assert [(p.label, p.fixed, p.level) for p in points] == expected
    for point in points:
        place = choices.index(point.label)
        true = [i.truth == point.label for i in validation]
        alarms, caught, at = roc_curve(true, soft(validation, choices)[:, place], drop_intermediate=False)
        reaching = (1 - alarms if point.fixed == "specificity" else caught) >= point.level - 1e-9
        free = caught if point.fixed == "specificity" else 1 - alarms
        (threshold,) = point.thresholds
        assert free[np.isclose(at, threshold, rtol=0, atol=1e-12)].tolist() == [free[reaching].max()]
        assert (point.positives, point.negatives) == (sum(true), len(true) - sum(true))
        flagged = soft(test, choices)[:, place] >= threshold - 1e-12
        true = np.array([i.truth == point.label for i in test])
        assert point.sensitivity.value == pytest.approx(recall_score(true, flagged))
        assert point.specificity.value == pytest.approx(recall_score(~true, ~flagged))
        assert (point.sensitivity.n, point.specificity.n) == (true.sum(), (~true).sum())
        assert point.each == pytest.approx(np.array([[point.sensitivity.value, point.specificity.value]]))


def test_truths_of_test_items_never_influence_thresholds():
    validation, test = table(1), table(2)
    turned = [replace(i, truth=THREE[(THREE.index(i.truth) + 1) % 3]) for i in test]
    own, other = (operating_points("demo", [validation], [items], THREE) for items in (test, turned))
    assert [p.thresholds for p in own] == [p.thresholds for p in other]
    assert [p.sensitivity.value for p in own] != [p.sensitivity.value for p in other]
    few = operating_points("demo", [validation], [test[:3]], THREE)
    assert [p.thresholds for p in own] == [p.thresholds for p in few]
    moved = operating_points("demo", [table(3)], [test], THREE)
    assert [p.thresholds for p in own] != [p.thresholds for p in moved], "those of validation items do"


def test_the_interval_is_that_of_sensitivity_and_specificity_of_answers_at_this_threshold():
    """Answers that say what the threshold says have the same scores, by the code of single runs."""
    validation, test = table(1, TWO), table(2, TWO)
    for point in operating_points("demo", [validation], [test], TWO):
        flagged = soft(test, TWO)[:, 0] >= point.thresholds[0] - 1e-12
        told = [replace(i, answer=TWO[0 if f else 1]) for i, f in zip(test, flagged, strict=True)]
        scores = by_metric(classification_scores("demo", told, TWO, positive="yes"))
        for name, own in (("sensitivity", point.sensitivity), ("specificity", point.specificity)):
            s = scores[name]
            assert (own.n, own.value, own.low, own.high) == pytest.approx((s.n, s.value, s.low, s.high))
            assert own.low < own.high


def test_patients_and_not_items_are_counted_in_intervals():
    validation, test = table(1, TWO), table(2, TWO, n=40)
    copied = [replace(i, id=f"{i.id}-{k}") for i in test for k in range(5)]
    for one, five in zip(*(operating_points("d", [validation], [t], TWO) for t in (test, copied)), strict=True):
        for a, b in ((one.sensitivity, five.sensitivity), (one.specificity, five.specificity)):
            assert a.value == b.value and b.n == 5 * a.n
            assert b.high - b.low > 0.85 * (a.high - a.low), "the same patients, photographed five times"


def test_several_runs_have_thresholds_of_their_own_and_the_mean_of_their_values():
    truths = np.random.default_rng(0).integers(2, size=60)
    validation, test = [table(s, TWO) for s in (1, 2, 3)], [table(s, TWO, n=60, truths=truths) for s in (4, 5, 6)]
    several = operating_points("demo", validation, test, TWO)
    single = [operating_points("demo", [v], [t], TWO) for v, t in zip(validation, test, strict=True)]
    for point, *own in zip(several, *single, strict=True):
        assert point.thresholds == tuple(o.thresholds[0] for o in own) and len(set(point.thresholds)) > 1
        assert point.sensitivity.value == pytest.approx(np.mean([o.sensitivity.value for o in own]))
        assert point.specificity.value == pytest.approx(np.mean([o.specificity.value for o in own]))
        assert point.each == pytest.approx(np.concatenate([o.each for o in own]))
        assert point.sensitivity.n == own[0].sensitivity.n, "an item counts once, however many runs answer it"


@pytest.mark.parametrize("copies", [1, 3])
def test_equal_runs_have_the_interval_of_one(copies):
    validation, test = table(1), table(2)
    (one, several) = (operating_points("d", [validation] * k, [test] * k, THREE) for k in (1, copies))
    for a, b in zip(one, several, strict=True):
        for own, other in ((a.sensitivity, b.sensitivity), (a.specificity, b.specificity)):
            assert (own.value, own.low, own.high) == pytest.approx((other.value, other.low, other.high))


def empty(point):
    scores = (point.sensitivity, point.specificity)
    return point.thresholds == () and all((s.value, s.n, s.low) == (None, 0, None) for s in scores)


def test_without_validation_items_of_a_class_or_likelihoods_there_is_no_threshold():
    validation, test = table(1), table(2)
    without = [i for i in validation if i.truth != "b"]
    points = operating_points("demo", [without], [test], THREE)
    assert all(empty(p) == (p.label == "b") for p in points)
    assert {p.positives for p in points if p.label == "b"} == {0}
    one_run_without = operating_points("demo", [validation, without], [test, test], THREE)
    assert all(empty(p) == (p.label == "b") for p in one_run_without), "no mean over a part of the runs"
    silent = [replace(i, likelihoods={}) for i in validation]
    for chosen_on in ([silent], [[]], []):
        assert all(map(empty, operating_points("demo", chosen_on, [test], THREE)))


def test_without_test_items_of_a_kind_a_score_is_empty_and_the_other_is_not():
    validation, test = table(1), table(2)
    for point in operating_points("demo", [validation], [[i for i in test if i.truth != "b"]], THREE):
        assert ((point.sensitivity.value, point.sensitivity.n) == (None, 0)) == (point.label == "b")
        assert point.specificity.value is not None and point.thresholds
    for items in ([], [replace(i, likelihoods={}) for i in test]):
        for point in operating_points("demo", [validation], [items], THREE):
            assert point.thresholds and (point.sensitivity.value, point.sensitivity.n) == (None, 0)
    other = operating_points("demo", [validation] * 2, [test, test[1:]], THREE)
    assert all(p.sensitivity.n == p.specificity.n == 0 for p in other), "runs on other items have no mean"


def test_the_positive_class_of_a_yes_or_no_question_can_be_named():
    points = operating_points("demo", [table(1, TWO)], [table(2, TWO)], TWO, positive="no", levels=(0.9,))
    assert [(p.label, p.level) for p in points] == [("no", 0.9)] * 2
