"""Numbers as answers: errors, and what a constant answer gives; sets of choices, against scikit-learn."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import f1_score

from lmod_train.core.errors import BadArgument
from lmod_train.core.types import Unparsed
from lmod_train.scoring.items import Item
from lmod_train.scoring.numbers import number_scores, several_scores

CHOICES = ("drusen", "exudates", "scar")


def items(*pairs: tuple[object, object]) -> list[Item]:
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


def scores_of(*pairs: tuple[str | Unparsed, str]) -> dict[str, tuple[float | None, int]]:
    return {s.metric: (s.value, s.n) for s in several_scores("signs", items(*pairs), CHOICES)}


def test_f1_is_scikit_learns() -> None:
    rng = np.random.default_rng(0)
    true, said = rng.integers(0, 2, (40, 3)), rng.integers(0, 2, (40, 3))
    text = [["; ".join(c for c, on in zip(CHOICES, row, strict=True) if on) for row in rows] for rows in (said, true)]
    found = scores_of(*zip(*text, strict=True))
    assert found["f1_micro"][0] == pytest.approx(f1_score(true, said, average="micro"))
    assert found["f1_macro"][0] == pytest.approx(f1_score(true, said, average="macro"))
    assert found["exact_match"][0] == pytest.approx((true == said).all(axis=1).mean())


def test_no_answer_is_wrong_and_none_of_them_is_an_answer() -> None:
    found = scores_of((Unparsed("no_match"), ""), ("", ""), (Unparsed("no_match"), "scar"), ("scar", "scar"))
    assert found["exact_match"] == (0.5, 4)
    assert found["exact_match_answered"] == (1.0, 2)
    assert found["f1_micro"][0] == pytest.approx(2 / 3)
    assert found["majority"] == (0.5, 4)


def test_f1_of_nothing_has_no_value() -> None:
    found = scores_of(("", ""), ("", ""))
    assert found["f1_micro"] == found["f1_macro"] == (None, 0)
    assert found["exact_match"] == (1.0, 2)


def test_every_score_but_the_baseline_has_an_interval() -> None:
    found = several_scores("signs", items(*[("drusen", "drusen"), ("scar", "drusen"), ("scar", "scar")] * 5), CHOICES)
    assert {s.metric for s in found if s.low is None} == {"majority"}
    assert all(s.low <= s.value <= s.high for s in found if s.low is not None and s.high is not None and s.value)


def test_other_words_are_an_error() -> None:
    with pytest.raises(BadArgument, match="answer of 0='oedema'"):
        scores_of(("oedema", "scar"))
    assert several_scores("signs", [], CHOICES) == []
