"""The macro mean: each kind counts alike."""

import numpy as np
import pytest

from lmod_train.core.types import Unparsed
from lmod_train.scoring.macro import macro_accuracy, macro_mean
from tests.scoring.make import item


def test_it_is_the_mean_of_the_kinds_own_accuracies():
    rng = np.random.default_rng(0)
    items = [item(i, str(rng.choice(["yes", "no"], p=[0.7, 0.3])), "yes", group=str(i // 3)) for i in range(90)]
    kinds = {i.id: str(rng.choice(["a", "b", "c"], p=[0.8, 0.15, 0.05])) for i in items}
    (score,) = macro_accuracy("c", items, lambda i: kinds[i.id])
    by_kind = [[i.answer == i.truth for i in items if kinds[i.id] == kind] for kind in "abc"]
    assert score.value == pytest.approx(np.mean([np.mean(right) for right in by_kind]))
    assert score.value != pytest.approx(np.mean([i.answer == i.truth for i in items]))
    assert (score.metric, score.subset, score.n) == ("accuracy_macro", "all", 90)
    assert score.low < score.value < score.high


def test_silence_is_wrong_and_nothing_gives_nothing():
    items = [item(1, "yes", "yes"), item(2, Unparsed("refused"), "yes")]
    assert macro_accuracy("c", items, lambda i: i.id)[0].value == 0.5
    assert macro_accuracy("c", [], lambda i: "a") == []


def test_a_mean_of_any_value_by_kind():
    (score,) = macro_mean("c", "macro", [1.0, 0.5, 0.0], ["a", "a", "b"], ["1", "2", "3"])
    assert (score.metric, score.value, score.n) == ("macro", 0.375, 3)
    assert macro_mean("c", "macro", [], [], []) == []
