"""Brier score and calibration error against scikit-learn and counts by hand."""

import numpy as np
import pytest
from sklearn.metrics import brier_score_loss

from lmod_train.scoring.calibration import calibration_columns, calibration_measures, reliability
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
