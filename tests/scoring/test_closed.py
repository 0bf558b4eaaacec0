"""Questions with options of their own: planted counts, constant answers in two languages."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.calibration import calibration_curve
from sklearn.metrics import brier_score_loss, roc_auc_score

from lmod_train.core.errors import BadArgument
from lmod_train.core.types import Unparsed
from lmod_train.scoring.closed import answer_scores, closed_scores
from tests.scoring.make import item, values

WORDS = {"en": ("True", "False"), "zh": ("对", "错")}


def planted(language, right, wrong, unparsed, refused, truths=0.5):
    """Items of one language with planted counts; a share of the truths is the first option."""
    yes, no = WORDS[language]
    plan = [True] * right + [False] * wrong + [Unparsed("no_match")] * unparsed + [Unparsed("refused")] * refused
    for k, outcome in enumerate(plan):
        truth = yes if k < truths * len(plan) else no
        answer = outcome if isinstance(outcome, Unparsed) else truth if outcome else {yes: no, no: yes}[truth]
        yield item(f"{k}-{language}", answer, truth, (yes, no), language=language, tags={"subspecialty": f"s{k % 2}"})


def test_every_figure_is_the_planted_one():
    items = [*planted("zh", 50, 30, 15, 5), *planted("en", 60, 40, 0, 0)]
    scores = closed_scores("binary_question", items)
    subsets = {"all", "language=en", "language=zh", "subspecialty=s0", "subspecialty=s1"}
    assert {s.subset for s in scores} == subsets
    zh = values(scores, "language=zh")
    assert (zh["accuracy_strict"], zh["accuracy_answered"], zh["accuracy_chance_filled"]) == (0.5, 0.625, 0.6)
    assert (zh["share_answered"], zh["share_unparsed"], zh["share_refused"]) == (0.8, 0.15, 0.05)
    assert sum(value for name, value in zh.items() if name.startswith("share_")) == pytest.approx(1)
    both = values(scores)
    assert both["accuracy_strict"] == 0.55 and both["chance"] == 0.5


def test_the_majority_is_the_best_constant_answer_in_each_language():
    items = [*planted("zh", 10, 0, 0, 0, truths=0.7), *planted("en", 10, 0, 0, 0, truths=0.2)]
    found = values(closed_scores("binary_question", items))
    assert found["majority"] == pytest.approx((7 + 8) / 20)


def test_the_options_of_each_question_are_its_own():
    items = [item(f"{k}-en", "b" if k else "c", "b", tuple("abcd"[: 4 - k % 2]), language="en") for k in range(8)]
    found = values(closed_scores("single_choice_question", items))
    assert found["accuracy_strict"] == 7 / 8 and found["chance"] == pytest.approx((4 / 4 + 4 / 3) / 8)
    assert found["majority"] == 1


def test_one_language_is_a_subset_too():
    assert {s.subset for s in closed_scores("q", [item("1-zh", "a", "a", ("a", "b"), language="zh")])} == {
        "all", "language=zh"
    }  # fmt: skip
    assert closed_scores("q", []) == []


def test_a_question_without_options_is_an_error():
    with pytest.raises(BadArgument, match="at least one option"):
        answer_scores("q", "all", [item("a", "x", "x", ())])


def test_likelihoods_of_options_that_differ_are_scored_as_scikit_learn_does():
    """Areas, Brier score and share are those of the probability of each answer among the item's own options."""
    rng = np.random.default_rng(0)
    items, probabilities, right = [], [], []
    for n in range(200):
        choices = tuple(f"option {n}-{k}" for k in range(rng.integers(2, 6)))
        logs = rng.normal(size=len(choices))
        weights = np.exp(logs) / np.exp(logs).sum()
        answer, truth = choices[int(weights.argmax())], choices[rng.choice(len(choices), p=weights)]
        given = dict(zip(choices, logs - 3.0, strict=True))
        items.append(replace(item(f"{n}", answer, truth, choices), likelihoods=given))
        probabilities.append(weights.max())
        right.append(answer == truth)
    found = values(closed_scores("question", items))
    assert found["auroc_likelihood"] == pytest.approx(roc_auc_score(right, probabilities))
    assert found["brier_likelihood"] == pytest.approx(brier_score_loss(right, probabilities))
    share, mean = calibration_curve(right, probabilities, n_bins=10)
    counts = np.histogram(probabilities, np.linspace(0, 1, 11))[0]
    apart = np.abs(share - mean) @ counts[counts > 0] / len(items)
    assert found["ece_10_likelihood"] == pytest.approx(apart)
    partly = [replace(one, likelihoods={}) if n % 2 else one for n, one in enumerate(items)]
    (area,) = (s for s in closed_scores("q", partly) if (s.subset, s.metric) == ("all", "auroc_likelihood"))
    assert area.n == 100
    assert not any("likelihood" in s.metric for s in closed_scores("q", [replace(i, likelihoods={}) for i in items]))
