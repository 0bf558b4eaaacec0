"""Intervals against bootstraps, independent formulas, and their coverage in simulation."""

import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom
from statsmodels.stats.proportion import proportion_confint

from lmod_train.scoring.classification import classification_scores
from lmod_train.scoring.grading import grading_scores
from lmod_train.scoring.intervals import Measure, compute_scores, items_in, mean_measure, pseudovalues, ratio
from lmod_train.scoring.variance import variance_of
from tests.scoring.make import by_metric, item

MEAN = Measure("mean", lambda sums: ratio(sums["hit"], sums["items"]), items_in)
SCRIPT = Path(__file__).parents[2] / "scripts" / "benchmarks" / "coverage.py"


def mean_of(hits, groups):
    columns = {"items": np.ones(len(hits)), "hit": np.asarray(hits, dtype=float)}
    return compute_scores("demo", "all", columns, [str(g) for g in groups], [MEAN])[0]


@pytest.fixture
def clustered():
    rng = np.random.default_rng(5)
    skill = rng.beta(2, 1, size=60)
    groups = np.repeat(np.arange(60), rng.integers(1, 6, size=60))
    return rng.random(len(groups)) < skill[groups], groups


def naive(hits, groups, draws=4000):
    rng, names = np.random.default_rng(99), np.unique(groups)
    means = []
    for _ in range(draws):
        rows = np.concatenate([np.flatnonzero(groups == g) for g in rng.choice(names, len(names))])
        means.append(hits[rows].mean())
    return np.percentile(means, [2.5, 97.5])


def test_away_from_0_and_1_it_is_near_the_cluster_bootstrap(clustered):
    hits, groups = clustered
    score = mean_of(hits, groups)
    assert score.value == hits.mean()
    np.testing.assert_allclose([score.low, score.high], naive(hits, groups), atol=0.012)


def test_the_variance_equals_the_linearised_survey_variance(clustered):
    hits, groups = clustered
    sizes, right = np.bincount(groups).astype(float), np.bincount(groups, hits)
    by_group = {"items": sizes, "hit": right}
    totals = {name: column.sum() for name, column in by_group.items()}
    got = variance_of(pseudovalues(MEAN.value, totals, by_group)[:, 0])
    gaps = (right - hits.mean() * sizes) / sizes.sum()
    assert got == pytest.approx(60 / 59 * gaps @ gaps, rel=0.05)


def test_copies_of_an_item_in_its_group_do_not_narrow_the_interval():
    hits, groups = [True, False, True, True, False, True] * 5, [str(i) for i in range(30)]
    once = mean_of(hits, groups)
    thrice = mean_of(hits * 3, groups * 3)
    apart = mean_of(hits * 3, [f"{g}-{k}" for k in range(3) for g in groups])
    assert thrice.high - thrice.low == pytest.approx(once.high - once.low, rel=0.1)
    assert apart.high - apart.low < 0.7 * (once.high - once.low)


def test_the_same_items_in_another_order_give_the_same_interval(clustered):
    hits, groups = clustered
    order = np.random.default_rng(0).permutation(len(hits))
    assert mean_of(hits, groups) == mean_of(hits[order], groups[order]) == mean_of(hits, groups)


def test_blocks_do_not_change_the_interval(clustered, monkeypatch):
    whole = mean_of(*clustered)
    monkeypatch.setattr("lmod_train.scoring.intervals._CELLS", 14)
    again = mean_of(*clustered)
    assert (again.low, again.high) == pytest.approx((whole.low, whole.high))


@pytest.mark.parametrize("value", [0, 1])
def test_one_item_per_patient_without_spread_is_exact(value):
    score = mean_of([value] * 40, range(40))
    expected = np.nan_to_num(proportion_confint(value * 40, 40, method="beta"), nan=value)
    assert (score.low, score.high) == pytest.approx(expected)


def test_no_interval_with_two_groups_and_no_value_without_items():
    assert (mean_of([1, 0, 1], "aab").low, mean_of([1] * 3, "aab").low, mean_of([1] * 3, "aaa").low) == (None,) * 3
    one = mean_of([1], "a")
    assert (one.n, one.value, one.low, one.high) == (1, 1.0, None, None)
    none = mean_of([], [])
    assert (none.n, none.value, none.low, none.high) == (0, None, None, None)


def test_no_interval_without_spread_away_from_0_and_1():
    score = mean_of([1, 0] * 10, [str(i // 2) for i in range(20)])
    assert (score.value, score.low, score.high) == (0.5, None, None)


def test_a_mean_of_constant_parts_has_an_interval_of_positive_width():
    columns = {"asked": np.repeat(np.eye(2), 20, axis=0), "right": np.repeat([[1.0, 0], [0, 0]], 20, axis=0)}
    measure = mean_measure("mean", lambda s: ratio(s["right"], s["asked"]), lambda c: c["asked"])
    score = compute_scores("t", "all", columns, [str(i) for i in range(40)], [measure])[0]
    end = proportion_confint(0, 20, method="beta")[1]
    assert (score.low, score.high) == pytest.approx((0.5 - end / 2, 0.5 + end / 2))


CHOICES = tuple("0123")


@settings(max_examples=60, deadline=None)
@given(st.integers(3, 30), st.integers(1, 4), st.integers(0, 3), st.integers(0, 2**32 - 1))
def test_a_constant_answer_has_no_interval_of_zero_width(patients, each, answer, seed):
    truths = np.random.default_rng(seed).integers(0, 4, size=patients)
    asked = [(i, k, str(t)) for i, t in enumerate(truths) for k in range(each)]
    items = [item(f"{i}-{k}", str(answer), t, CHOICES, group=str(i)) for i, k, t in asked]
    for score in grading_scores("t", items, CHOICES):
        if score.low is not None:
            assert score.high - score.low > 0.005, score


@settings(max_examples=60, deadline=None)
@given(st.integers(3, 30), st.integers(1, 4), st.integers(0, 2**32 - 1))
def test_a_perfect_score_has_the_highest_lower_end_where_items_of_a_patient_are_alike(patients, each, seed):
    rng = np.random.default_rng(seed)
    truths, share = rng.integers(0, 4, size=patients), rng.random()

    def scores(wrong):
        made = []
        for i, t in enumerate(truths):
            answer = (t + rng.integers(1, 4)) % 4 if rng.random() < wrong else t
            for k in range(each):
                made.append(item(f"{i}-{k}", str(answer), str(t), CHOICES, group=str(i)))
        return by_metric(classification_scores("t", made, CHOICES, positive="0"))

    best, worse = scores(0.0), scores(share)
    for name in ("accuracy_strict", "accuracy_answered", "balanced_accuracy", "sensitivity", "specificity", "macro_f1"):
        if best[name].low is not None and worse[name].low is not None:
            assert best[name].low >= worse[name].low - 1e-9, name


def coverage_of(cell, rounds):
    spec = importlib.util.spec_from_file_location("coverage_script", SCRIPT)
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.covered(module.Cell(*cell), rounds, 50)


def at_least(share, rounds):
    """Least coverage that a true one of `share` shows with a probability of 99.9 %."""
    return binom.ppf(0.001, rounds, share) / rounds


def test_the_calibration_error_has_no_interval_and_shares_near_one_have_coverage():
    rows = {row.measure: row for row in coverage_of((50, 0, 0.95, 0.3), 60)}
    assert rows["ece"].none_after == 1
    assert rows["accuracy_strict"].after >= at_least(0.93, 60)


@pytest.mark.slow
@pytest.mark.parametrize("icc", [0.0, 0.3, 0.8])
@pytest.mark.parametrize("accuracy", [0.5, 0.8, 0.9, 0.95, 0.98, 1.0])
@pytest.mark.parametrize("patients", [20, 50, 200])
def test_the_intervals_have_their_nominal_coverage(patients, accuracy, icc):
    rounds = 250
    for row in coverage_of((patients, 0, accuracy, icc), rounds):
        if row.none_after == 1 or ("macro_f1" in row.measure and row.n < 50):
            continue
        assert row.after >= at_least(0.93, rounds), row
        if row.measure == "accuracy_strict" and row.wrong >= 10:
            assert row.after <= binom.ppf(0.999, rounds, 0.97) / rounds, row
