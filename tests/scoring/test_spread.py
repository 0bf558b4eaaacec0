"""The spread over ways of asking, against NumPy and by hand."""

from __future__ import annotations

import numpy as np
import pytest

from lmod_train.core.types import Unparsed
from lmod_train.scoring.spread import same_answer, spread_scores
from tests.scoring.make import by_metric


def test_spread_is_minimum_maximum_and_sample_deviation():
    values = [0.25, 0.5, 0.625]
    found = by_metric(spread_scores("demo", "f1", "order", values, 8))
    assert found["f1_over_order_min"].value == 0.25 and found["f1_over_order_max"].value == 0.625
    assert found["f1_over_order_sd"].value == pytest.approx(np.std(values, ddof=1))
    assert {s.n for s in found.values()} == {8} and {s.low for s in found.values()} == {None}


@pytest.mark.parametrize("values", [[], [0.5]])
def test_fewer_than_two_ways_have_no_spread(values):
    assert spread_scores("demo", "f1", "order", values, 8) == []


def test_the_same_answer_is_one_answer_in_every_way():
    empty = Unparsed("empty")
    answers = [["yes"] * 3, ["yes", "yes", "no"], [empty] * 3, ["yes", empty, "yes"], [{1: "x"}] * 3]
    (score,) = same_answer("demo", "wording", answers, list("abcde"))
    assert (score.metric, score.n, score.value) == ("same_answer_over_wording", 5, 0.4)
    assert score.low is not None and score.low < 0.4 < (score.high or 0)
    assert same_answer("demo", "wording", [], []) == []
