"""Curves, areas under them and their intervals, against scikit-learn and worked cases."""

import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest
from sklearn.metrics import average_precision_score, precision_recall_curve, roc_auc_score, roc_curve

from lmod_train.scoring.ranking import area_difference, area_scores, areas, precision_recall_points, rank, roc_points
from tests.scoring.make import by_metric
from tests.tabled import tabled

SCRIPT = Path(__file__).parents[2] / "scripts" / "benchmarks" / "rare_classes.py"


def some(n=200, classes=4, seed=0, digits=2):
    """Truths and probabilities that favour them; rounded, so that there are equals."""
    rng = np.random.default_rng(seed)
    truths = rng.integers(classes, size=n)
    logits = rng.normal(size=(n, classes)) + 1.2 * np.eye(classes)[truths]
    probabilities = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    return truths, probabilities.round(digits)


def score(truths, probabilities, classes, groups=None, **options):
    groups = [str(i) for i in range(len(truths))] if groups is None else groups
    return by_metric(area_scores("t", "all", truths, probabilities, groups, classes, **options))


@tabled("seed", range(4))
def test_weighted_areas_as_scikit_learn(seed):
    truths, probabilities = some(seed=seed, digits=1)
    weights = np.random.default_rng(seed + 9).integers(0, 4, size=(5, len(truths))).astype(float)
    for c in range(4):
        roc, precision = areas(rank(probabilities[:, c], truths == c), weights)
        for row, w in enumerate(weights):
            assert roc[row] == pytest.approx(roc_auc_score(truths == c, probabilities[:, c], sample_weight=w))
            expected = average_precision_score(truths == c, probabilities[:, c], sample_weight=w)
            assert precision[row] == pytest.approx(expected)


@tabled("classes", [2, 3, 5])
def test_macro_over_classes_as_scikit_learn(classes):
    truths, probabilities = some(classes=classes)
    got = score(truths, probabilities, range(classes))
    one_hot = np.eye(classes)[truths]
    assert got["auroc_macro"].value == pytest.approx(roc_auc_score(one_hot, probabilities, average="macro"))
    assert got["auprc_macro"].value == pytest.approx(average_precision_score(one_hot, probabilities, average="macro"))
    assert got["auroc_macro"].n == 200


def test_a_class_that_does_not_occur_is_left_out():
    truths, probabilities = some(classes=3)
    truths[truths == 2] = 1
    got = score(truths, probabilities, range(3))
    assert got["auroc_macro"].value == pytest.approx(
        np.mean([roc_auc_score(truths == c, probabilities[:, c]) for c in (0, 1)])
    )


def test_the_interval_is_the_bootstrap_of_whole_patients():
    truths, probabilities = some(n=120, classes=2)
    groups = [str(i // 3) for i in range(120)]
    got = score(truths, probabilities, [1], groups)["auroc_macro"]
    rng, drawn = np.random.default_rng(5), []
    for _ in range(500):
        rows = np.concatenate([np.arange(3) + 3 * g for g in rng.integers(40, size=40)])
        drawn.append(roc_auc_score(truths[rows] == 1, probabilities[rows, 1]))
    low, high = np.percentile(drawn, [2.5, 97.5])
    assert (got.low, got.high) == (pytest.approx(low, abs=0.025), pytest.approx(high, abs=0.025))
    apart = score(truths, probabilities, [1])["auroc_macro"]
    assert (apart.low, apart.high) != (got.low, got.high)


def test_a_perfect_ranking_has_the_interval_of_the_rarest_class():
    truths = np.array([1] * 5 + [0] * 95)
    probabilities = np.stack([1 - truths * 0.9, truths * 0.9], axis=1)
    got = score(truths, probabilities, [1])
    assert got["auroc_macro"].value == got["auprc_macro"].value == 1
    assert got["auroc_macro"].low == pytest.approx(0.025 ** (1 / 5))  # Clopper & Pearson, 5 of 5
    assert (got["auprc_macro"].low, got["auprc_macro"].high) == (None, None)
    two = score(truths, probabilities, [1], ["same"] * 5 + [str(i) for i in range(95)])
    assert two["auroc_macro"].low is None, "one patient proves nothing"


@pytest.mark.parametrize("truths", [[1, 1, 1], []])
def test_one_class_alone_has_no_area(truths):
    truths = np.array(truths, dtype=np.intp)
    for found in score(truths, np.full((len(truths), 2), 0.5), [1]).values():
        assert (found.n, found.value, found.low) == (0, None, None)
    assert roc_points(truths, np.full((len(truths), 2), 0.5), [0, 1]) is None
    assert precision_recall_points(truths, np.full((len(truths), 2), 0.5), [0, 1]) is None


def test_the_order_of_items_does_not_matter():
    truths, probabilities = some()
    shuffled = np.random.default_rng(1).permutation(len(truths))
    groups = np.array([str(i // 2) for i in range(len(truths))])
    again = score(truths[shuffled], probabilities[shuffled], range(4), groups[shuffled])
    for name, found in score(truths, probabilities, range(4), groups).items():
        assert (again[name].value, again[name].low, again[name].high) == pytest.approx(
            (found.value, found.low, found.high)
        )


def test_the_roc_curve_of_one_class_as_scikit_learn():
    truths, probabilities = some(classes=2)
    rates, true = roc_points(truths, probabilities, [1])
    false, hit, _ = roc_curve(truths == 1, probabilities[:, 1], drop_intermediate=False)
    assert {(round(x, 9), round(y, 9)) for x, y in zip(false, hit, strict=True)} >= {
        (round(x, 9), round(y, 9)) for x, y in zip(rates, true, strict=True)
    }
    assert (rates[0], true[0], rates[-1], true[-1]) == (0, 0, 1, 1)


def test_the_precision_recall_curve_of_one_class_as_scikit_learn():
    truths, probabilities = some(classes=2)
    recalls, precisions = precision_recall_points(truths, probabilities, [1])
    precision, recall, _ = precision_recall_curve(truths == 1, probabilities[:, 1])
    known = {(round(x, 9), round(y, 9)) for x, y in zip(recall, precision, strict=True)}
    assert {(round(x, 9), round(y, 9)) for x, y in zip(recalls, precisions, strict=True)} <= known


@tabled("digits", [1, 6])
@tabled("classes", [2, 3, 5])
def test_the_areas_under_the_drawn_curves_are_the_metrics(classes, digits):
    truths, probabilities = some(n=60, classes=classes, digits=digits)
    got = score(truths, probabilities, range(classes))
    rates, true = roc_points(truths, probabilities, range(classes))
    assert np.trapezoid(true, rates) == pytest.approx(got["auroc_macro"].value)
    recalls, precision = precision_recall_points(truths, probabilities, range(classes))
    assert np.sum(np.diff(recalls, prepend=0) * precision) == pytest.approx(got["auprc_macro"].value)
    assert np.all(np.diff(rates) >= 0) and np.all(np.diff(true) >= -1e-12)


def confidences(n=400, seed=0):
    """Outcomes, a confidence that follows them, and one that follows the first in part."""
    rng = np.random.default_rng(seed)
    right = rng.random(n) < 0.6
    first = rng.normal(size=n) + right
    return right, first, 0.5 * first + rng.normal(size=n)


def delong(right, *confidences):
    """Standard error of the difference of two areas (DeLong, DeLong & Clarke-Pearson 1988)."""
    won = [np.sign(c[right][:, None] - c[~right][None, :]) / 2 + 0.5 for c in confidences]
    parts = [(np.cov([w.mean(axis=axis) for w in won]), won[0].shape[1 - axis]) for axis in (1, 0)]
    return np.sqrt(sum((s[0, 0] + s[1, 1] - 2 * s[0, 1]) / n for s, n in parts))


def test_a_difference_of_areas_has_the_interval_of_delong():
    right, first, second = confidences()
    found = area_difference(right, first, second, [str(i) for i in range(400)])
    expected = roc_auc_score(right, first) - roc_auc_score(right, second)
    assert (found.n, found.value) == (400, pytest.approx(expected))
    error = delong(right, first, second)
    assert [found.low, found.high] == pytest.approx(
        [expected - 1.96 * error, expected + 1.96 * error], abs=0.25 * error
    )


def test_a_difference_is_clustered_by_patient_and_empty_without_errors():
    right, first, second = (np.repeat(part, 4) for part in confidences(60))
    width = [
        found.high - found.low
        for groups in (range(240), np.repeat(range(60), 4))
        for found in [area_difference(right, first, second, list(map(str, groups)))]
    ]
    assert 1.7 < width[1] / width[0] < 2.3  # four copies of each answer
    assert area_difference(right, first, first, list(map(str, range(240)))).value == 0
    assert area_difference(right, first, second, ["a", "b"] * 120).low is None
    assert area_difference(np.ones(3, bool), first[:3], second[:3], list("abc")).value is None


def eyes(rare, rest, seed, each=4):
    """Truths, confidences and patients; `rare` patients have the class, of all images of whom 9 of 10 rank high."""
    rng = np.random.default_rng(seed)
    place = np.repeat(np.arange(rare + rest), rng.integers(1, 2 * each, rare + rest))
    own = rng.normal(size=rare + rest)[place]
    true = place < rare
    return true.astype(int), 1.3 * true + 0.6 * own + 0.8 * rng.normal(size=len(place)), place


def obuchowski(truths, confidence, place):
    """Area and variance of clustered data (Obuchowski 1997, Biometrics 53), by comparing all pairs."""
    x, y = confidence[truths == 1], confidence[truths == 0]
    won = np.sign(x[:, None] - y) / 2 + 0.5
    area, count = won.mean(), place.max() + 1
    sums = [
        np.bincount(place[truths == c], won.mean(axis=axis) - area, minlength=count) for c, axis in ((1, 1), (0, 0))
    ]
    held = [len(set(place[truths == c])) for c in (1, 0)]
    m, n = len(x), len(y)
    s10, s01 = (g / (g - 1) * k * (s @ s) / k for g, s, k in zip(held, sums, (m, n), strict=True))
    s11 = count / (count - 1) * sums[0] @ sums[1]
    return area, s10 / m**2 + s01 / n**2 + 2 * s11 / (m * n)


@tabled("mixed", [False, True])
def test_with_many_patients_the_interval_of_an_area_is_obuchowskis(mixed):
    truths, confidence, place = eyes(150, 250, seed=4)
    if mixed:
        truths = np.where(np.random.default_rng(5).random(len(truths)) < 0.5, truths, 0)
    area, variance = obuchowski(truths, confidence, place)
    got = score(truths, np.stack([-confidence, confidence], axis=1), [1], [str(k) for k in place])["auroc_macro"]
    assert got.value == pytest.approx(area)
    assert got.high - got.low == pytest.approx(2 * 1.96 * variance**0.5, rel=0.06)


def test_an_area_of_a_rare_class_is_not_as_wide_as_that_of_a_perfect_ranking():
    for seed in range(20):
        truths, confidence, place = eyes(12, 90, seed, each=5)
        x, y = confidence[truths == 1], confidence[truths == 0]
        rng, drawn = np.random.default_rng(9), []
        for _ in range(300):
            rows = np.concatenate([np.flatnonzero(place == g) for g in rng.integers(102, size=102)])
            if 0 < truths[rows].sum() < len(rows):
                right = truths[rows] == 1
                drawn.append(np.mean(confidence[rows][right][:, None] > confidence[rows][~right]))
        low, high = np.percentile(drawn, [2.5, 97.5])
        got = score(truths, np.stack([-confidence, confidence], axis=1), [1], [str(k) for k in place])["auroc_macro"]
        assert got.low < np.mean(x[:, None] > y) < got.high
        assert 0.9 < (got.high - got.low) / (high - low) < 2


def test_copies_of_a_patients_images_do_not_narrow_the_interval_of_an_area():
    truths, confidence, place = eyes(30, 60, seed=6)
    pair, groups = np.stack([-confidence, confidence], axis=1), [str(k) for k in place]
    once = score(truths, pair, [1], groups)["auroc_macro"]
    thrice = score(np.tile(truths, 3), np.tile(pair, (3, 1)), [1], groups * 3)["auroc_macro"]
    assert thrice.high - thrice.low == pytest.approx(once.high - once.low, rel=0.05)


def test_classes_that_err_together_are_no_more_evidence_than_one():
    truths, confidence, place = eyes(30, 60, seed=7)
    pair, groups = np.stack([-confidence, confidence], axis=1), [str(k) for k in place]
    one, both = (score(truths, pair, classes, groups)["auroc_macro"] for classes in ([1], [0, 1]))
    assert (both.value, both.low, both.high) == pytest.approx((one.value, one.low, one.high))


def test_the_script_of_rare_classes_runs():
    spec = importlib.util.spec_from_file_location("rare_classes", SCRIPT)
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    rng = np.random.default_rng(0)
    for design in module.DESIGNS:
        found = module.drawn(rng, design)
        assert set(found) == {"AUROC", "sensitivity"} and found["AUROC"].low < found["AUROC"].high
    for world in module.PAIRED.values():
        held, gains, losses = world(rng)
        assert (gains + losses <= held).all() and gains.min() >= 0
    many = [module.by_size(np.random.default_rng(k), 0.3) for k in range(3000)]
    assert abs(np.mean([(gains - losses).sum() for _, gains, losses in many])) < 0.35, "equally good models"
