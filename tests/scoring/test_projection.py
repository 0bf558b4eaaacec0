"""Totals of what is not measured, against draws whose total is known."""

import numpy as np
import pytest

from lmod_train.scoring.projection import Total, total_of


def test_a_linear_quantity_is_predicted_exactly():
    draw = np.random.default_rng(0).uniform(0, 100, (60, 2))
    values = 5 + draw @ [2.0, 0.3]
    found = total_of(draw[:20].tolist(), values[:20].tolist(), draw[20:].tolist())
    assert found.value == pytest.approx(values[20:].sum(), rel=1e-9) == found.low == found.high


def test_without_columns_it_is_the_mean_and_its_prediction_interval():
    """Reference: the t interval for a sum of m draws, by hand."""
    values, m = [4.0, 6.0, 8.0, 10.0], 10
    found = total_of([[]] * 4, values, [[]] * m)
    half = 3.182446305 * np.sqrt(np.var(values, ddof=1) * (m + m * m / 4))
    assert found == Total(70.0, pytest.approx(70 - half, rel=1e-6), pytest.approx(70 + half, rel=1e-6))


def test_the_interval_covers_the_total_as_often_as_it_says():
    random, covered = np.random.default_rng(1), 0
    for _ in range(400):
        x = random.uniform(50, 400, (300, 1))
        y = 20 + 0.5 * x[:, 0] + random.normal(0, 15, 300)
        found = total_of(x[:20].tolist(), y[:20].tolist(), x[20:].tolist())
        covered += found.low <= y[20:].sum() <= found.high
    assert 0.92 <= covered / 400 <= 0.98


def test_a_column_that_does_not_vary_or_has_too_few_items_is_left_out():
    assert total_of([[3.0, 1.0]] * 8, [2.0] * 8, [[3.0, 7.0]]) == Total(2.0, 2.0, 2.0)
    assert total_of([[1.0], [2.0]], [1.0, 2.0], [[3.0]]).value == 1.5


def test_nothing_left_is_nothing_and_nothing_measured_is_an_error():
    assert total_of([[1.0]], [2.0], []) == Total(0.0, 0.0, 0.0)
    with pytest.raises(ValueError, match="measured"):
        total_of([], [], [[1.0]])
