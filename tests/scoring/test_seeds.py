"""The mean score of several trainings, and its interval over patients."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import accuracy_score, balanced_accuracy_score, cohen_kappa_score, f1_score, roc_auc_score

from lmod_train.scoring.classification import classification_scores
from lmod_train.scoring.intervals import Measure, compute_scores, items_in, ratio
from lmod_train.scoring.seeds import mean_scores
from tests.scoring.make import by_metric, item

CHOICES = ("a", "b", "c")


def trained(seed, n=90, skill=1.5, truths=0):
    """Items of one run: two of each patient, likelihoods of every choice, the likeliest one answered."""
    rng, made = np.random.default_rng([7, seed]), []
    true = np.random.default_rng(truths).integers(3, size=n)
    for i in range(n):
        logs = rng.normal(size=3) + skill * np.eye(3)[true[i]]
        likelihoods = dict(zip(CHOICES, logs.tolist(), strict=True))
        made.append(
            item(
                f"{i:03}",
                CHOICES[int(logs.argmax())],
                CHOICES[true[i]],
                CHOICES,
                group=f"p{i // 2}",
                likelihoods=likelihoods,
            )
        )
    return made


def test_means_are_those_of_numpy_over_the_scores_of_scikit_learn():
    runs = [trained(seed) for seed in range(4)]
    found = by_metric(mean_scores("demo", "accuracy_strict", runs, CHOICES))
    assert list(found) == ["accuracy_strict", "balanced_accuracy", "macro_f1", "kappa", "auroc_macro"]
    true, several = [i.truth for i in runs[0]], [[i.answer for i in run] for run in runs]
    expected = {
        "accuracy_strict": [accuracy_score(true, own) for own in several],
        "balanced_accuracy": [balanced_accuracy_score(true, own) for own in several],
        "macro_f1": [f1_score(true, own, average="macro") for own in several],
        "kappa": [cohen_kappa_score(true, own) for own in several],
    }
    soft = [np.exp([[i.likelihoods[c] for c in CHOICES] for i in run]) for run in runs]
    soft = [rows / rows.sum(axis=1, keepdims=True) for rows in soft]
    expected["auroc_macro"] = [roc_auc_score(true, rows, multi_class="ovr", average="macro") for rows in soft]
    for metric, values in expected.items():
        assert found[metric].value == pytest.approx(np.mean(values), abs=1e-9), metric
        assert found[metric].n == 90, "an item counts once, however many runs answer it"


@pytest.mark.parametrize("copies", [1, 3])
def test_the_interval_of_equal_runs_is_that_of_the_single_run(copies):
    """Repeating the same run adds no patient, so that the interval must not become narrower."""
    run = trained(0)
    single = by_metric(classification_scores("demo", run, CHOICES))
    for metric, score in by_metric(mean_scores("demo", "accuracy_strict", [run] * copies, CHOICES)).items():
        own = single[metric]
        assert (score.n, score.value, score.low, score.high) == pytest.approx((own.n, own.value, own.low, own.high))


def test_the_interval_is_that_of_each_items_mean_over_the_runs():
    runs = [trained(seed) for seed in range(3)]
    score = mean_scores("demo", "accuracy_strict", runs, CHOICES)[0]
    right = np.mean([[i.answer == i.truth for i in run] for run in runs], axis=0)
    columns, groups = {"items": np.ones(90), "right": right}, [i.group for i in runs[0]]
    (own,) = compute_scores(
        "demo", "all", columns, groups, [Measure("m", lambda s: ratio(s["right"], s["items"]), items_in)]
    )
    assert (score.low, score.high) == pytest.approx((own.low, own.high))
    widths = [s.high - s.low for run in runs for s in mean_scores("demo", "accuracy_strict", [run], CHOICES)[:1]]
    assert score.high - score.low < min(widths), "the mean of three trainings differs less between patients"


def test_other_tasks_have_the_mean_of_their_headline_score():
    regions = [item(str(i), {1: "x"} if i % 3 else {1: "y"}, {1: "x"}, ()) for i in range(30)]
    (score,) = mean_scores("anatomy", "f1_lmod_plus", [regions, regions[::1]], ("x", "y"))
    assert (score.metric, score.n, score.value) == ("f1_lmod_plus", 30, pytest.approx(2 / 3))
    assert score.low < 2 / 3 < score.high


def test_runs_on_other_items_have_no_mean_and_a_run_without_likelihoods_no_area():
    assert mean_scores("demo", "accuracy_strict", [trained(0), trained(1)[1:]], CHOICES) == []
    assert (
        mean_scores("demo", "accuracy_strict", [], CHOICES)
        == mean_scores("demo", "accuracy_strict", [[]], CHOICES)
        == []
    )
    silent = [item(i.id, i.answer, i.truth, CHOICES, group=i.group) for i in trained(1)]
    assert "auroc_macro" not in by_metric(mean_scores("demo", "accuracy_strict", [trained(0), silent], CHOICES))
