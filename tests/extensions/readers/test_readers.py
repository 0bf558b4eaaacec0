"""Readers and patients as samples: known variances, known truth in simulation, and the edges."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import statsmodels.formula.api as smf
from scipy.stats import t
from statsmodels.stats.anova import anova_lm

from lmod_train.core.errors import BadArgument
from lmod_train.extensions.readers.scores import against_readers, mean_reader, variance_of_mean
from lmod_train.scoring.comparison import paired_difference
from scripts.benchmarks.readers import Design, covered
from tests.tabled import tabled


def random_merits(seed: int, items: int, readers: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    hard = rng.normal(0, 1, items)[:, None] + rng.normal(0, 0.4, readers) + rng.normal(0, 1, (items, readers))
    return (hard > -0.7).astype(float)


def names(count: int) -> list[str]:
    return [f"p{n}" for n in range(count)]


@tabled(("seed", "items", "readers"), [(0, 30, 2), (1, 50, 4), (2, 80, 7)])
def test_the_variance_is_that_of_the_two_way_analysis_of_variance(seed: int, items: int, readers: int):
    """Independent computation: mean squares of statsmodels, (MS(reader) + MS(case) - MS(error)) / (items readers)."""
    item_scores = random_merits(seed, items, readers)
    rows = [(item_score, item, reader) for item, row in enumerate(item_scores) for reader, item_score in enumerate(row)]
    table = pd.DataFrame(rows, columns=["item_score", "case", "reader"])
    squares = anova_lm(smf.ols("item_score ~ C(reader) + C(case)", table).fit())["mean_sq"]
    case_part = max(0.0, squares["C(case)"] - squares["Residual"])
    expected = (squares["C(reader)"] + case_part) / (items * readers)
    assert variance_of_mean(item_scores, names(items))[0] == pytest.approx(expected)


def test_the_covariance_is_that_of_the_jackknife_over_patients():
    """By brute force: leave out each patient, recompute the scores of all readers, and apply the definition."""
    item_scores, groups = random_merits(3, 40, 3), [f"p{n % 11 if n < 30 else n}" for n in range(40)]
    patients = sorted(set(groups))
    left = np.array([item_scores[[g != out for g in groups]].mean(axis=0) for out in patients])
    covariance = np.cov(left.T, ddof=0) * (len(patients) - 1)
    between, common = item_scores.mean(axis=0).var(ddof=1) / 3, covariance[np.triu_indices(3, 1)].mean()
    variance, quantile = variance_of_mean(item_scores, groups)
    assert variance == pytest.approx(between + common)
    quantiles = [t.ppf(0.975, df) for df in (2, len(patients) - 1)]
    assert quantile == pytest.approx(np.average(quantiles, weights=[between, common]))


def test_the_intervals_contain_the_truth_as_often_as_they_state():
    """Readers and patients are drawn anew; of 300 intervals 95 % are 285, and fewer than 274 (91.3 %) have p < 0.01."""
    found = covered(Design(readers=4, patients=40, items=2, accuracy=0.8, spread=0.4), rounds=300)
    assert found.mean >= 0.913 and found.difference >= 0.913


def test_intervals_over_patients_alone_would_be_too_narrow():
    """With readers who differ, an interval that treats them as fixed misses the mean of all readers."""
    item_scores = np.repeat([[1.0, 1.0, 0.0], [1.0, 1.0, 1.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]], 25, axis=0)
    score = mean_reader("t", item_scores, names(100))
    fixed = mean_reader("t", item_scores.mean(axis=1, keepdims=True), names(100))
    assert score.value == fixed.value == pytest.approx(7 / 12)
    assert score.low is not None and fixed.low is not None and score.low < fixed.low - 0.1


def test_one_reader_has_the_interval_over_patients():
    item_scores = random_merits(4, 30, 1)
    model = random_merits(5, 30, 1)[:, 0]
    assert mean_reader("t", item_scores, names(30)).low is not None
    alone = paired_difference("t", list(model), list(item_scores[:, 0]), names(30))
    assert against_readers("t", list(model), item_scores, names(30)) == alone


def test_readers_who_are_all_right_have_an_interval():
    item_scores = np.ones((20, 3))
    score = mean_reader("t", item_scores, names(20))
    assert (score.value, score.high) == (1.0, 1.0) and score.low is not None and 0.7 < score.low < 0.9
    gap = against_readers("t", [1.0] * 20, item_scores, names(20))
    assert gap.value == 0 and gap.low is not None and gap.high is not None and gap.low < 0 < gap.high


def test_readers_with_equal_scores_and_no_common_error_have_an_interval():
    """Variance between readers and covariance are 0 but for rounding."""
    item_scores = 1 - np.eye(30)[:, :3]
    score = mean_reader("t", item_scores, names(30))
    assert score.low is not None and score.high is not None and 0.8 < score.low < score.value < score.high < 1


def test_without_items_or_patients_there_is_no_interval():
    assert mean_reader("t", np.ones((0, 2)), []).value is None
    assert against_readers("t", [], np.ones((0, 2)), []).n == 0
    two = mean_reader("t", np.array([[1.0, 0.0], [1.0, 1.0]]), names(2))
    assert (two.value, two.low) == (0.75, None)


@tabled("item_scores", [np.ones(3), np.ones((3, 0)), np.ones((2, 2))])
def test_another_shape_is_an_error(item_scores: np.ndarray):
    with pytest.raises(BadArgument, match="one column per reader"):
        mean_reader("t", item_scores, names(3))
