"""Net benefit against a count by hand, its intervals, and the curve."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.metrics import confusion_matrix

from lmod_train.extensions.clinical.decision import (
    GRID,
    THRESHOLDS,
    calibration_error_of,
    decision_curve,
    net_benefit_measures,
    net_benefits,
)
from lmod_train.scoring.calibration import calibration_columns
from lmod_train.scoring.intervals import compute_scores
from lmod_train.scoring.probability import probability_scores
from tests.extensions.clinical.test_operating import THREE, TWO, soft, table
from tests.scoring.make import by_metric


@pytest.mark.parametrize("choices", [TWO, THREE])
def test_it_is_the_formula_of_vickers_and_elkin_on_scikit_learns_counts(choices):
    items = table(1, choices, n=90)
    found = net_benefits("demo", [items], choices)
    classes = choices[:1] if len(choices) == 2 else choices
    assert [(b.label, b.threshold) for b in found] == [(c, t) for c in classes for t in THRESHOLDS]
    for b in found:
        true = np.array([i.truth == b.label for i in items])
        flagged = soft(items, choices)[:, choices.index(b.label)] >= b.threshold
        ((_, alarms), (_, caught)) = confusion_matrix(true, flagged, labels=[False, True])
        weight = b.threshold / (1 - b.threshold)
        expected, all_of = caught / 90 - alarms / 90 * weight, true.mean() - (1 - true.mean()) * weight
        assert b.model.value == pytest.approx(expected) and b.treat_all.value == pytest.approx(all_of)
        assert b.gain.value == pytest.approx(expected - all_of)
        assert b.model.n == 90 and b.each == pytest.approx([expected])
        assert b.model.low < b.model.value < b.model.high and b.gain.low < b.gain.value < b.gain.high


def test_by_hand_two_true_and_one_false_positive_of_ten():
    """2/10 - 1/10 * (0.2/0.8) = 0.175; of all: 3/10 - 7/10 / 4 = 0.125."""
    probabilities = np.array([0.9, 0.3, 0.1, 0.25, *[0.05] * 6])
    model, treat_all = decision_curve(probabilities, np.arange(10) < 3, [0.2])
    assert (model[0], treat_all[0]) == (pytest.approx(0.175), pytest.approx(0.125))


def test_the_curve_passes_through_the_scores_and_ends_at_treat_all_and_at_none():
    items = table(3, TWO)
    probabilities, true = soft(items, TWO)[:, 0], np.array([i.truth == "yes" for i in items])
    model, treat_all = decision_curve(probabilities, true)
    for b in net_benefits("demo", [items], TWO):
        place = GRID.index(b.threshold)
        assert (model[place], treat_all[place]) == pytest.approx((b.model.value, b.treat_all.value))
    low, high = decision_curve(probabilities, true, [probabilities.min() / 2, (1 + probabilities.max()) / 2])[0]
    assert low == pytest.approx(true.mean() - (1 - true.mean()) / (2 / probabilities.min() - 1)) and high == 0


def test_the_interval_covers_the_true_net_benefit():
    """Of 200 samples of 150 patients with two eyes, about 95 % of the intervals hold the value of the population."""
    rng, held = np.random.default_rng(5), []
    weight = 0.3 / 0.7
    truth = 0.3 * 0.8 - 0.7 * 0.2 * weight
    model, _, _ = net_benefit_measures(0.3)
    for _ in range(200):
        true = np.repeat(rng.random(150) < 0.3, 2)  # both eyes alike
        flagged = np.repeat(rng.random(150), 2) < np.where(true, 0.8, 0.2)
        columns = {"items": np.ones(300), "positive": true * 1.0}
        columns |= {"caught": (true & flagged) * 1.0, "alarms": (~true & flagged) * 1.0}
        (score,) = compute_scores("t", "all", columns, [f"p{i // 2}" for i in range(300)], [model])
        held.append(score.low <= truth <= score.high)
    assert 0.9 <= np.mean(held) <= 0.99


def test_several_runs_have_their_mean_and_equal_runs_the_interval_of_one():
    truths = np.random.default_rng(0).integers(3, size=60)
    runs = [table(s, n=60, truths=truths) for s in (1, 2, 3)]
    single = [net_benefits("demo", [run], THREE) for run in runs]
    for mean, *own in zip(net_benefits("demo", runs, THREE), *single, strict=True):
        assert mean.model.value == pytest.approx(np.mean([o.model.value for o in own])) and mean.model.n == 60
        assert mean.each == pytest.approx([o.model.value for o in own])
    for one, three in zip(single[0], net_benefits("demo", runs[:1] * 3, THREE), strict=True):
        for a, b in ((one.model, three.model), (one.gain, three.gain), (one.treat_all, three.treat_all)):
            assert (a.value, a.low, a.high) == pytest.approx((b.value, b.low, b.high))


def test_a_model_that_flags_nobody_has_a_net_benefit_of_0_without_an_interval():
    items = [replace(i, likelihoods={"yes": -9.0, "no": 0.0}) for i in table(1, TWO)]
    for b in net_benefits("demo", [items], TWO):
        assert (b.model.value, b.model.low, b.model.high) == (0, None, None)
        assert b.gain.value == pytest.approx(-b.treat_all.value)


def test_without_likelihoods_or_on_other_items_there_is_nothing():
    items = table(1)
    silent = [replace(i, likelihoods={}) for i in items]
    for runs in ([silent], [[]], [], [items, items[1:]], [items, silent]):
        assert net_benefits("demo", runs, THREE) == [] and calibration_error_of("demo", runs, THREE) is None


def test_the_calibration_error_is_that_of_the_scores_and_the_mean_over_runs():
    truths = np.random.default_rng(0).integers(3, size=60)
    runs = [table(s, n=60, truths=truths) for s in (1, 2)]
    own = [by_metric(probability_scores("demo", "all", run, truths, THREE))["ece"].value for run in runs]
    assert calibration_error_of("demo", runs[:1], THREE).value == pytest.approx(own[0])
    assert calibration_error_of("demo", runs, THREE).value == pytest.approx(np.mean(own))
    assert calibration_columns(truths, soft(runs[0], THREE))["items"].sum() == 60


@pytest.mark.parametrize("threshold", [0.1, 0.5])
def test_no_interval_leaves_what_a_benefit_can_be(threshold):
    weight = threshold / (1 - threshold)
    bounds = {measure.name: measure.bounds(None) for measure in net_benefit_measures(threshold)}
    assert bounds == {
        "net_benefit": (-weight, 1),
        "net_benefit_treat_all": (-weight, 1),
        "net_benefit_gain": (-1, weight),
    }
