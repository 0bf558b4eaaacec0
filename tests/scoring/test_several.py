"""Sets of choices as answers, against scikit-learn."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import f1_score

from lmod_train.core.errors import BadArgument
from lmod_train.core.types import Unparsed
from lmod_train.scoring.items import Item
from lmod_train.scoring.numbers import several_scores

CHOICES = ("drusen", "exudates", "scar")


def items(*pairs: tuple[str | Unparsed, str]) -> list[Item]:
    return [
        Item(str(i), "answered" if isinstance(a, str) else "unparsed", a, t, group=str(i))
        for i, (a, t) in enumerate(pairs)
    ]


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
