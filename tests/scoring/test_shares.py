"""Intervals of shares: known values, monotone, never of zero width, none for two patients."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import t
from statsmodels.stats.proportion import proportion_confint

from lmod_train.scoring.share import share_score
from lmod_train.scoring.shares import (
    EDGE,
    MIDDLE,
    Evidence,
    beta_interval,
    combined_interval,
    df_factor,
    evidence_of,
    share_interval,
)
from tests.tabled import tabled


def of_counts(right, sizes):
    """Interval of a share from the right ones of each patient, its variance linearised as Korn and Graubard do."""
    right, sizes = np.asarray(right, dtype=float), np.asarray(sizes, dtype=float)
    share = right.sum() / sizes.sum()
    gaps = (right - share * sizes) / sizes.sum()
    variance = len(sizes) / (len(sizes) - 1) * float(gaps @ gaps)
    short = sizes - right if share > 0.5 else right
    return share_interval(share, variance, evidence_of(sizes, short))


@tabled("n", [3, 20, 57, 400])
def test_independent_items_near_0_and_1_have_the_exact_interval_of_statsmodels(n):
    for wrong in range(min(n, int(EDGE)) + 1):
        expected = np.nan_to_num(proportion_confint(n - wrong, n, method="beta"), nan=1.0)
        assert of_counts([1] * (n - wrong) + [0] * wrong, [1] * n) == pytest.approx(expected)


@tabled(("right", "n"), [(10, 20), (30, 57), (390, 400)])
def test_independent_items_in_the_middle_have_the_jeffreys_interval_of_statsmodels(right, n):
    assert min(right, n - right) >= MIDDLE
    expected = proportion_confint(right, n, method="jeffreys")
    assert of_counts([1] * right + [0] * (n - right), [1] * n) == pytest.approx(expected)


def test_clustered_items_have_the_korn_and_graubard_interval_by_hand():
    right = np.array([4, 4, 0, 4, 0, 4, 4, 0, 4, 4, 0, 4, 0, 4, 4, 0, 0, 4, 4, 0] * 2)  # items of a patient are alike
    n, patients = 160, 40
    share = right.mean() / 4
    effective = share * (1 - share) / (right.var(ddof=1) / 16 / patients) * n / (n - 1)  # its deff over n, not n - 1
    effective *= (t.ppf(0.975, n - 1) / t.ppf(0.975, patients - 1)) ** 2
    expected = proportion_confint(share * effective, effective, method="jeffreys")
    assert of_counts(right, [4] * patients) == pytest.approx(expected, abs=1e-3)


sizes_of = st.lists(st.integers(1, 8), min_size=3, max_size=40)


@settings(max_examples=300, deadline=None)
@given(sizes_of, st.data())
def test_no_interval_is_narrower_than_of_as_many_independent_right_items(sizes, data):
    right = [data.draw(st.integers(0, m)) for m in sizes]
    low, high = of_counts(right, sizes)
    if low is None:
        assert 0 < sum(right) < sum(sizes)
        assert len({r / m for r, m in zip(right, sizes, strict=True)}) == 1, "only where all patients are alike"
        return
    best = share_interval(1.0, 0.0, Evidence(sum(sizes), len(sizes), sum(sizes)))[0]  # as if all were independent
    assert low <= best + 1e-9 and high >= 1 - best - 1e-9
    assert 0 <= low <= sum(right) / sum(sizes) + 1e-9 and sum(right) / sum(sizes) - 1e-9 <= high <= 1
    assert high - low > 1e-3


@settings(max_examples=200, deadline=None)
@given(st.floats(1, 1e4), st.floats(0, 1), st.floats(0, 1))
def test_ends_increase_with_the_share(size, one, other):
    less, more = sorted([one, other])
    (low, high), (lower, higher) = beta_interval(less, size), beta_interval(more, size)
    assert low <= lower + 1e-9 and high <= higher + 1e-9


@settings(max_examples=100, deadline=None)
@given(sizes_of, st.integers(0, 2**32 - 1))
def test_right_and_wrong_are_mirrored(sizes, seed):
    right = np.random.default_rng(seed).integers(0, np.array(sizes) + 1)
    if 2 * right.sum() == sum(sizes):
        return  # both edges are as near
    low, high = of_counts(right, sizes)
    mirrored = of_counts(np.array(sizes) - right, sizes)
    assert low is None or mirrored == pytest.approx((1 - high, 1 - low), abs=1e-6)


def test_thousands_of_wrong_patients_leave_an_interval():
    low, high = share_interval(0.5, 0.25 / 30_000, Evidence(30_000, 10_000, 30_000, wrong=5_000))
    assert low == pytest.approx(0.5 - 1.96 * (0.25 / 30_000) ** 0.5, abs=1e-4)
    assert high == pytest.approx(1 - low)


def test_two_patients_have_no_interval_and_three_a_wide_one():
    assert of_counts([4, 4], [4, 4]) == of_counts([4, 1], [4, 4]) == (None, None)
    low, high = of_counts([4, 1, 2], [4, 4, 4])
    assert low < 0.2 and high > 0.9
    assert share_interval(1.0, 0.0, evidence_of(np.zeros(0))) == (None, None)


def test_without_spread_only_bounded_shares_of_0_and_1_have_an_interval():
    alike = Evidence(40, 20, 30)
    assert share_interval(0.5, 0.0, alike) == share_interval(1.0, 0.0, alike, bounded=False) == (None, None)
    low, high = share_interval(1.0, 0.0, alike)
    assert 0.8 < low < high == 1


def test_correlated_items_have_a_wider_interval():
    right = [1, 0, 1, 1, 0, 1, 1, 1, 0, 1, 0, 1]
    low, high = of_counts(right, [1] * 12)
    copied = of_counts([4 * r for r in right], [4] * 12)
    assert copied[0] < low + 0.02 and copied[1] > high - 0.02  # as wide as the 12, but for the few patients
    mixed = of_counts([2, 3] * 6, [4] * 12)
    assert mixed[1] - mixed[0] < high - low


def test_evidence_counts_patients_and_wrong_ones():
    found = evidence_of(np.array([4.0, 4, 0, 4]), np.array([0.0, 2, 0, 2]))
    assert (found.items, found.patients, found.wrong) == (12, 3, 2)
    assert found.at_edge == pytest.approx(12 / (1 + 3 * 0.7))
    assert evidence_of(np.ones(5)).at_edge == 5
    assert df_factor(10, 10) == 1 > df_factor(100, 10) > df_factor(100, 4)


def test_a_weighted_sum_has_the_zou_and_donner_interval():
    ends = [(0.5, 0.8), (0.1, 0.4)]
    shares, weights = np.array([0.7, 0.2]), np.array([1.0, -1.0])
    expected = (0.5 - np.hypot(0.2, 0.2), 0.5 + np.hypot(0.1, 0.1))
    assert combined_interval(shares, weights, ends, np.eye(2)) == pytest.approx(expected)
    opposed = combined_interval(shares, weights, ends, np.array([[1, -0.9], [-0.9, 1]]))
    assert opposed[0] < expected[0] and opposed[1] > expected[1]
    assert combined_interval(shares, weights, [(0.5, 0.8), (None, None)], np.eye(2)) == (None, None)


def test_a_share_of_nothing_has_no_value_and_one_of_ten_its_interval():
    assert share_score("x", [], []).value is None
    score = share_score("x", [True] + [False] * 9, [str(i) for i in range(10)])
    assert (score.n, score.value) == (10, 0.1)
    assert (score.low, score.high) == pytest.approx(proportion_confint(1, 10, method="beta"), abs=0.02)


def test_a_patient_with_right_and_wrong_items_ends_the_assumption_that_all_are_alike():
    sizes, wrong = np.full(12, 8.0), np.zeros((2, 12))
    wrong[0, 0], wrong[1, :2] = 8, 4
    none, alike, mixed = evidence_of(sizes), evidence_of(sizes, wrong[0]), evidence_of(sizes, wrong[1])
    assert none.assumed == 1 > alike.assumed > 0.5 > 0.2 > mixed.assumed
    assert none.perfect() == none and alike.perfect().at_edge < mixed.perfect().at_edge <= 96
