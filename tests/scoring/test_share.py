"""The share of items against its exact interval."""

import pytest
from scipy.stats import binomtest

from lmod_train.scoring.share import share_score


def test_a_share_of_nothing_has_no_value_and_one_of_ten_its_interval():
    assert share_score("x", [], []).value is None
    score = share_score("x", [True] + [False] * 9, [str(i) for i in range(10)])
    exact = binomtest(1, 10).proportion_ci(method="exact")
    assert (score.n, score.value) == (10, 0.1)
    assert (score.low, score.high) == pytest.approx((exact.low, exact.high), abs=0.02)
