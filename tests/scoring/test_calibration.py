"""Brier score and calibration error against scikit-learn and counts by hand."""

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from scipy.special import softmax
from sklearn.isotonic import IsotonicRegression
from sklearn.metrics import brier_score_loss

from lmod_train.scoring.calibration import (
    LEAST,
    MOST,
    calibration_columns,
    calibration_measures,
    isotonic_of,
    reliability,
    temperature_of,
    with_isotonic,
    with_temperature,
)
from lmod_train.scoring.intervals import compute_scores
from tests.scoring.make import by_metric
from tests.scoring.test_ranking import some


def score(truths, probabilities):
    groups = [str(i) for i in range(len(truths))]
    measures = calibration_measures(probabilities.shape[1])
    return by_metric(compute_scores("t", "all", calibration_columns(truths, probabilities), groups, measures))


def normed(probabilities):
    return probabilities / probabilities.sum(axis=1, keepdims=True)


def test_brier_of_two_classes_as_scikit_learn():
    truths, probabilities = some(classes=2)
    probabilities = normed(probabilities)
    assert score(truths, probabilities)["brier"].value == pytest.approx(brier_score_loss(truths, probabilities[:, 1]))


def test_brier_of_several_classes_is_the_sum_over_classes():
    truths, probabilities = some(classes=4)
    probabilities = normed(probabilities)
    expected = np.mean([((p - np.eye(4)[t]) ** 2).sum() for t, p in zip(truths, probabilities, strict=True)])
    got = score(truths, probabilities)["brier"]
    assert got.value == pytest.approx(expected)
    assert got.low < got.value < got.high


@pytest.mark.parametrize("classes", [2, 5])
def test_ece_is_the_mean_gap_over_bins(classes):
    truths, probabilities = some(classes=classes)
    probabilities = normed(probabilities)
    confidence, right = probabilities.max(axis=1), probabilities.argmax(axis=1) == truths
    gap = 0.0
    for b in range(10):
        inside = (confidence > b / 10) & (confidence <= (b + 1) / 10)
        if inside.any():
            gap += inside.mean() * abs(right[inside].mean() - confidence[inside].mean())
    got = score(truths, probabilities)["ece"]
    assert got.value == pytest.approx(gap) and got.value > 0.01
    assert got.n == 200


def test_certain_and_right_has_no_error_and_certain_and_wrong_the_largest():
    sure = np.array([[1.0, 0.0], [1.0, 0.0]])
    assert score(np.array([0, 0]), sure)["ece"].value == score(np.array([0, 0]), sure)["brier"].value == 0
    assert score(np.array([1, 1]), sure)["ece"].value == score(np.array([1, 1]), sure)["brier"].value == 1


def test_bins_include_their_upper_ends():
    curve = reliability(np.array([0, 0, 0]), np.array([[0.6, 0.4], [0.61, 0.39], [1.0, 0.0]]))
    assert curve.items.tolist() == [0, 0, 0, 0, 0, 1, 1, 0, 0, 1]
    assert np.isnan(curve.right[0]) and curve.confidence[6] == 0.61


def test_no_items_give_an_empty_curve():
    curve = reliability(np.zeros(0, dtype=np.intp), np.zeros((0, 3)))
    assert curve.items.sum() == 0 and np.isnan(curve.right).all() and len(curve.items) == 10


def loss(log, truths, probabilities):
    return -np.log(softmax(np.log(probabilities) / np.exp(log), axis=1)[np.arange(len(truths)), truths]).mean()


@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize("sharp", [0.3, 1.0, 4.0])
def test_the_temperature_is_scipys_optimum(classes, sharp):
    rng = np.random.default_rng(classes)
    logs = rng.normal(size=(400, classes))
    truths = np.array([rng.choice(classes, p=p) for p in softmax(logs, axis=1)])
    probabilities = softmax(sharp * logs, axis=1)
    best = minimize_scalar(
        loss, bounds=(-3, 3), args=(truths, probabilities), method="bounded", options={"xatol": 1e-10}
    )
    found = temperature_of(truths, probabilities)
    assert found == pytest.approx(np.exp(best.x), rel=1e-5) and found == pytest.approx(sharp, rel=0.4)
    scaled = with_temperature(probabilities, found)
    assert np.allclose(scaled, softmax(sharp * logs / found, axis=1))
    assert np.array_equal(scaled.argmax(axis=1), probabilities.argmax(axis=1))


def test_a_temperature_without_an_optimum_is_at_its_bounds():
    sure = np.array([[0.9, 0.1], [0.2, 0.8]])
    assert temperature_of(np.array([0, 1]), sure) == LEAST
    assert temperature_of(np.array([1, 0]), sure) == MOST
    assert np.isfinite(with_temperature(np.array([[1.0, 0.0]]), LEAST)).all()


@pytest.mark.parametrize("classes", [2, 4])
def test_isotonic_curves_are_those_of_scikit_learn(classes):
    rng = np.random.default_rng(1)
    probabilities = normed(rng.integers(1, 9, (150, classes)).astype(float))  # many are equal
    truths = np.array([rng.choice(classes, p=p) for p in probabilities])
    unseen = normed(rng.random((80, classes)))
    each = []
    for place in range(classes):
        reference = IsotonicRegression(y_min=0, y_max=1, out_of_bounds="clip")
        each.append(reference.fit(probabilities[:, place], truths == place).predict(unseen[:, place]))
    total = np.sum(each, axis=0)
    expected = np.where(total > 0, each / np.where(total > 0, total, 1), 1 / classes).T
    assert np.abs(with_isotonic(unseen, isotonic_of(truths, probabilities)) - expected).max() < 1e-9


def test_where_no_class_has_a_frequency_all_are_equal():
    curves = [(np.array([0.0, 1.0]), np.array([0.0, 0.0]))] * 2
    assert with_isotonic(np.array([[0.5, 0.5]]), curves).tolist() == [[0.5, 0.5]]
