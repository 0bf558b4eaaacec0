"""Calibration error in bins against loops, drawn bias and scikit-learn."""

import numpy as np
import pytest
from sklearn.calibration import calibration_curve

from lmod_train.core.errors import BadArgument
from lmod_train.scoring.reliability import (
    QUARTERS,
    TENTHS,
    Edges,
    bin_sums,
    debiased_calibration_error,
    ece,
    reliability_points,
)
from tests.tabled import tabled


def debiased(confidence, right, edges):
    """Return the calibration error less its bias."""
    return float(debiased_calibration_error(bin_sums(confidence, right, edges)))


def some(seed=0, n=300):
    rng = np.random.default_rng(seed)
    confidence = np.round(rng.random(n), 2)
    return confidence, rng.random(n) < confidence**1.5


def by_hand(confidence, right, edges):
    """Every item is compared with exact decimals, not with their binary neighbours."""
    gap = 0.0
    for b in range(edges.bins):
        low, high = 100 * b / edges.bins, 100 * (b + 1) / edges.bins
        percent = np.round(100 * confidence)
        if edges.included == "lower":
            inside = (percent >= low) & ((percent < high) | (b + 1 == edges.bins))
        else:
            inside = ((percent > low) | (b == 0)) & (percent <= high)
        if inside.any():
            gap += inside.mean() * abs(right[inside].mean() - confidence[inside].mean())
    return gap


@tabled("edges", [QUARTERS, TENTHS, Edges(10, "lower"), Edges(4, "upper")])
@tabled("seed", range(5))
def test_ece_is_the_mean_gap_over_bins(edges, seed):
    confidence, right = some(seed)
    if edges != Edges(10, "lower"):
        assert ece(confidence, right, edges) == pytest.approx(by_hand(confidence, right, edges))
    curve = reliability_points(confidence, right, edges)
    gaps = np.nan_to_num(np.abs(curve.right - curve.confidence))
    assert ece(confidence, right, edges) == pytest.approx((curve.items * gaps).sum() / curve.items.sum())


def test_points_are_those_of_scikit_learn_inside_the_bins():
    confidence = np.random.default_rng(1).random(400)
    right = np.random.default_rng(2).random(400) < confidence
    for edges in (QUARTERS, TENTHS):
        curve = reliability_points(confidence, right, edges)
        share, mean = calibration_curve(right, confidence, n_bins=edges.bins)
        assert curve.right == pytest.approx(share) and curve.confidence == pytest.approx(mean)


def test_ends_belong_to_the_bins_that_are_named():
    ends = np.array([0, 0.25, 0.5, 0.75, 1])
    right = np.ones(5, dtype=bool)
    assert reliability_points(ends, right, QUARTERS).items.tolist() == [1, 1, 1, 2]
    assert reliability_points(ends, right, Edges(4, "upper")).items.tolist() == [2, 1, 1, 1]
    tenths = np.arange(11) / 10
    assert reliability_points(tenths, np.ones(11, dtype=bool), TENTHS).items.tolist() == [2] + [1] * 9


def test_the_bias_is_that_of_drawn_accuracies():
    confidence, right = some(3, 60)
    curve, rng = reliability_points(confidence, right, TENTHS), np.random.default_rng(0)
    held = curve.items > 0
    p, n = curve.right[held], curve.items[held]
    drawn = rng.normal(p, np.sqrt(p * (1 - p) / n), size=(200_000, held.sum()))
    errors = (np.abs(drawn - curve.confidence[held]) * n).sum(axis=1) / n.sum()
    error = ece(confidence, right, TENTHS)
    assert debiased(confidence, right, TENTHS) == pytest.approx(2 * error - errors.mean(), abs=3e-4)


def test_the_bias_shrinks():
    """Stated confidences that are true, and such that overstate the accuracy by 0.1."""
    rng = np.random.default_rng(4)
    plain, mended = [], []
    for _ in range(300):
        confidence = rng.uniform(0.2, 1, size=80)
        right = rng.random((2, 80)) < np.stack([confidence, confidence - 0.1])
        plain.append([ece(confidence, r, TENTHS) for r in right])
        mended.append([debiased(confidence, r, TENTHS) for r in right])
    (true, over), (true_mended, over_mended) = np.mean(plain, axis=0), np.mean(mended, axis=0)
    assert true > 0.09 and true_mended < 0.7 * true, "a part remains"
    assert abs(over_mended - 0.1) < 0.4 * abs(over - 0.1)


def test_certain_items_have_no_bias():
    assert debiased(np.array([1.0, 1.0]), np.array([True, True]), TENTHS) == 0
    assert debiased(np.array([1.0, 1.0]), np.array([False, False]), QUARTERS) == 1


def test_without_items_there_is_no_error():
    none = np.zeros(0), np.zeros(0, dtype=bool)
    assert np.isnan(ece(*none, QUARTERS)) and np.isnan(debiased(*none, TENTHS))
    assert reliability_points(*none, QUARTERS).items.tolist() == [0] * 4


@tabled("wrong", [1.5, -0.1, float("nan"), 80.0])
def test_what_is_no_share_is_an_error(wrong):
    with pytest.raises(BadArgument, match="numbers from 0 to 1"):
        ece(np.array([0.5, wrong]), np.array([True, True]), QUARTERS)
