"""Metrics of confidence against scikit-learn, enumeration, and answers with planted confidence."""

import itertools
import math

import numpy as np
import pytest
from sklearn.metrics import brier_score_loss, roc_auc_score

from lmod_train.core.types import Unparsed
from lmod_train.extensions.xpcr.scores import chain_scores
from lmod_train.scoring.confidence import (
    confidence_scores,
    likelihood_of_answer,
    mean_selective_accuracy,
    selective_accuracy,
)
from lmod_train.scoring.reliability import QUARTERS, TENTHS, bin_sums, debiased_calibration_error, ece
from tests.scoring.chains import OPTIONS, chain_items, random_items, step_item
from tests.scoring.make import by_metric, values
from tests.tabled import tabled

FOUR = ("ece_4", "ece_10", "brier_confidence", "auroc_confidence")


@tabled("seed", range(3))
def test_every_metric_is_that_of_scikit_learn_or_of_a_plain_function(seed):
    items = random_items(seed, confident=0.8, chains=60)
    own = [i for i in items if i.confidence is not None]
    confidence = np.array([i.confidence for i in own])
    right = np.array([i.answer == i.truth for i in own])
    got = by_metric(confidence_scores("chain", "all", items))
    assert got["ece_4"].value == pytest.approx(ece(confidence, right, QUARTERS))
    assert got["ece_10"].value == pytest.approx(ece(confidence, right, TENTHS))
    mended = debiased_calibration_error(bin_sums(confidence, right, QUARTERS))
    assert got["ece_4_debiased"].value == pytest.approx(mended)
    assert got["brier_confidence"].value == pytest.approx(brier_score_loss(right, confidence))
    assert got["auroc_confidence"].value == pytest.approx(roc_auc_score(right, confidence))
    assert got["selective_accuracy"].value == pytest.approx(mean_selective_accuracy(confidence, right))
    assert {got[name].n for name in FOUR} == {len(own)} and (got["ece_4"].low, got["ece_10"].low) == (None, None)
    for name in ("brier_confidence", "auroc_confidence", "share_without_confidence"):
        assert got[name].low < got[name].value < got[name].high
    share = got["share_without_confidence"]
    assert (share.value, share.n) == (pytest.approx(1 - len(own) / len(items)), len(items))
    assert not any("likelihood" in name for name in got)


def test_planted_confidence_is_recovered():
    """Of 10 answers with 90 % 8 are right, of 10 with 40 % 2: ECE 0.15, UAS by hand."""
    items = [step_item(f"a{k}", "DD", k < 8, level="A", confidence=0.9) for k in range(10)]
    items += [step_item(f"b{k}", "DD", k < 2, level="A", confidence=0.4) for k in range(10)]
    got = values(chain_scores("chain", items), "stage=DD")
    assert [got["ece_4"], got["ece_10"]] == pytest.approx([0.15, 0.15])
    assert got["brier_confidence"] == pytest.approx((8 * 0.01 + 2 * 0.81 + 2 * 0.36 + 8 * 0.16) / 20)
    assert got["auroc_confidence"] == pytest.approx((8 * 8 + 0.5 * (8 * 2 + 2 * 8)) / 100)
    expected = 100 * (8 * 1 + 2 * -0.5 + 2 * 0.7 + 8 * 0.3) / 20
    assert [got["uas"], got["uas_flat"]] == pytest.approx([expected, expected])
    assert [got[f"share_{name}"] for name in ("cc", "ic", "cu", "iu")] == pytest.approx([0.4, 0.1, 0.1, 0.4])


def test_a_missing_answer_is_wrong_with_its_stated_confidence():
    items = [step_item("a", "DD", None, confidence=1.0), step_item("b", "DD", True, confidence=1.0)]
    got = values(confidence_scores("chain", "all", items))
    assert got["ece_4"] == got["brier_confidence"] == 0.5


def test_without_confidence_there_is_none_of_them():
    got = by_metric(confidence_scores("chain", "all", chain_items("a", [True] * 6)))
    assert got["share_without_confidence"].value == 1
    for name in (*FOUR, "ece_10_debiased", "selective_accuracy"):
        assert (got[name].value, got[name].n) == (None, 0)


def with_likelihoods(name, right, share):
    """The answered option has this share, the others the rest."""
    plain = step_item(name, "DD", right)
    logs = {o: math.log(share if o == plain.answer else (1 - share) / 3) - 7 for o in OPTIONS}
    return step_item(name, "DD", right, likelihoods=logs)


def test_likelihoods_of_the_answers():
    shares, rights = [0.9, 0.8, 0.7, 0.6, 0.5], [True, True, False, True, False]
    items = [with_likelihoods(f"c{i}", r, s) for i, (s, r) in enumerate(zip(shares, rights, strict=True))]
    assert [likelihood_of_answer(i) for i in items] == pytest.approx(shares)
    got = by_metric(confidence_scores("chain", "all", items))
    assert got["auroc_likelihood"].value == pytest.approx(roc_auc_score(rights, shares))
    assert got["brier_likelihood"].value == pytest.approx(brier_score_loss(rights, shares))
    assert got["ece_4_likelihood"].value == pytest.approx(ece(np.array(shares), np.array(rights), QUARTERS))
    assert got["ece_10_likelihood"].n == 5 and got["ece_4"].n == 0


@tabled(
    "facts",
    [
        {"answer": Unparsed("no_match"), "likelihoods": dict.fromkeys(OPTIONS, -1.0)},
        {"likelihoods": dict.fromkeys(OPTIONS[:3], -1.0)},
        {"likelihoods": dict.fromkeys(OPTIONS, -math.inf)},
        {"likelihoods": dict.fromkeys(OPTIONS, math.nan)},
        {"answer": "five", "likelihoods": dict.fromkeys(OPTIONS, -1.0)},
    ],
)
def test_there_is_no_likelihood_without_an_answer_and_all_options(facts):
    assert likelihood_of_answer(step_item("a", "DD", True, **facts)) is None


def some(seed, n):
    rng = np.random.default_rng(seed)
    return np.round(rng.random(n), 1), rng.random(n) < 0.6


@tabled("seed", range(4))
def test_selective_accuracy_is_that_of_the_most_confident(seed):
    confidence, right = some(seed, 40)
    curve = selective_accuracy(confidence, right)
    for coverage, accuracy, threshold in zip(curve.coverage, curve.accuracy, curve.threshold, strict=True):
        kept = confidence >= threshold
        assert (coverage, accuracy) == (pytest.approx(kept.mean()), pytest.approx(right[kept].mean()))
    assert curve.threshold.tolist() == sorted(set(confidence), reverse=True)
    assert curve.coverage[-1] == 1 and curve.accuracy[-1] == pytest.approx(right.mean())


@tabled("seed", range(4))
def test_mean_selective_accuracy_is_the_mean_over_all_orders_of_ties(seed):
    rng = np.random.default_rng(seed)
    confidence, right = rng.choice([0.2, 0.9], size=6), rng.random(6) < 0.5
    found = []
    for order in itertools.permutations(range(6)):
        if all(confidence[a] >= confidence[b] for a, b in itertools.pairwise(order)):
            found.append(np.mean(np.cumsum(right[list(order)]) / np.arange(1, 7)))
    assert mean_selective_accuracy(confidence, right) == pytest.approx(np.mean(found))


def test_mean_selective_accuracy_at_its_edges():
    right = np.array([True, False, False, True])
    assert mean_selective_accuracy(np.full(4, 0.8), right) == pytest.approx(0.5), "no information"
    assert mean_selective_accuracy(right.astype(float), right) > mean_selective_accuracy(1.0 - right, right)
    assert math.isnan(mean_selective_accuracy(np.zeros(0), np.zeros(0, dtype=bool)))
    assert len(selective_accuracy(np.zeros(0), np.zeros(0, dtype=bool)).coverage) == 0
