"""Numbers as answers: errors, and what a constant answer gives."""

from __future__ import annotations

import pytest

from lmod_train.core.errors import BadArgument
from lmod_train.core.types import Unparsed
from lmod_train.scoring.items import Item
from lmod_train.scoring.numbers import number_scores


def items(*pairs: tuple[object, float]) -> list[Item]:
    return [
        Item(str(i), "unparsed" if isinstance(a, Unparsed) else "answered", a, t, group=str(i))  # type: ignore[arg-type]
        for i, (a, t) in enumerate(pairs)
    ]


def test_errors_are_over_the_answered_and_baselines_over_all() -> None:
    pairs = [(10.0, 10.0), (16.0, 12.0), (Unparsed("no_match"), 20.0)]
    found = {s.metric: (s.value, s.n) for s in number_scores("iop", items(*pairs))}
    assert found["exact_match"] == (pytest.approx(1 / 3), 3)
    assert found["mean_absolute_error"] == (2.0, 2)
    assert found["mean_absolute_error_median"] == (pytest.approx(10 / 3), 3)
    assert found["majority"] == (pytest.approx(1 / 3), 3)


def test_always_answering_the_median_has_the_error_of_the_baseline() -> None:
    truths = [1.0, 2.0, 4.0, 8.0, 16.0]
    found = {s.metric: s.value for s in number_scores("iop", items(*[(4.0, t) for t in truths]))}
    assert found["mean_absolute_error"] == found["mean_absolute_error_median"] == pytest.approx(4.2)
    assert found["exact_match"] == found["majority"] == 0.2


def test_the_interval_holds_the_error_and_is_not_negative() -> None:
    found = {s.metric: s for s in number_scores("iop", items(*[(t + t % 3, float(t)) for t in range(30)]))}
    error = found["mean_absolute_error"]
    assert error.low is not None
    assert error.high is not None
    assert 0 <= error.low < 1.0 == error.value < error.high <= 2
    assert found["mean_absolute_error_median"].low is None


def test_equal_numbers_have_no_error_and_words_are_refused() -> None:
    found = {s.metric: s.value for s in number_scores("iop", items((1.0, 1.0), (1.0, 1.0)))}
    assert (found["mean_absolute_error"], found["exact_match"]) == (0.0, 1.0)
    with pytest.raises(BadArgument, match="a number"):
        number_scores("iop", items(("high", 1.0)))
    assert number_scores("iop", []) == []
