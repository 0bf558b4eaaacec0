"""Scores of groups and their gaps, against counts by hand and the coverage of their intervals."""

import numpy as np
import pytest
from scipy.stats import norm

from lmod_train.core.errors import BadArgument
from lmod_train.extensions.clinical.fairness import equal_opportunity, gap, group_scores, worst_group
from lmod_train.scoring.intervals import Measure, compute_scores, items_in, ratio

RIGHT = [1, 1, 0, 1, 0, 0, 1, 0, 1, 1]
SEX = list("mmmmffffxx")
ALONE = list("abcdefghij")


def test_groups_are_their_means_sizes_and_intervals():
    groups = group_scores("t", "sex", RIGHT, SEX, [*"aabbccddee"])
    assert [(g.name, g.patients, g.score.subset, g.score.n, g.score.value) for g in groups] == [
        ("f", 2, "sex=f", 4, 0.25), ("m", 2, "sex=m", 4, 0.75), ("x", 1, "sex=x", 2, 1.0),
    ]  # fmt: skip
    assert all(g.score.low is None for g in groups), "two patients have no interval"
    columns = {"items": np.ones(4), "hit": np.array(RIGHT[:4], dtype=float)}
    mean = Measure("score", lambda s: ratio(s["hit"], s["items"]), items_in)
    assert (
        group_scores("t", "sex", RIGHT, SEX, ALONE)[1].score
        == compute_scores("t", "sex=m", columns, ALONE[:4], [mean])[0]
    )


def test_the_gap_is_between_groups_of_three_patients_or_more():
    found = gap("t", RIGHT, SEX, ALONE)
    assert (found.best, found.worst, found.difference.value) == ("m", "f", 0.5)
    assert found.difference.low < 0.5 < found.difference.high
    assert found.difference.n == 8
    assert gap("t", RIGHT, SEX, [*"aabbccddee"]) is None
    assert gap("t", RIGHT, ["m"] * 10, ALONE) is None and gap("t", [], [], []) is None


def test_worst_group_reaches_from_the_lowest_end_to_the_lowest_upper_end():
    right, labels = [1, 0] * 50 + [1, 0, 0, 0, 1] * 2, ["m"] * 100 + ["f"] * 10
    groups = group_scores("t", "sex", right, labels, [str(i) for i in range(110)])
    score = worst_group("t", groups)
    assert (score.subset, score.n, score.value) == ("sex=f", 10, 0.4)
    factor = norm.ppf(1 - 0.025 / 2) / norm.ppf(0.975)
    ends = [g.score.value + factor * (g.score.high - g.score.value) for g in groups]
    assert score.low == groups[0].score.low and score.high == pytest.approx(min(ends))
    assert worst_group("t", group_scores("t", "sex", RIGHT, SEX, [*"aabbccddee"])) is None


def test_equal_opportunity_is_the_gap_of_true_positive_rates():
    rng = np.random.default_rng(0)
    sex, truth = rng.choice(["m", "f"], 200), rng.choice(["yes", "no"], 200)
    right = (rng.random(200) < np.where((sex == "f") & (truth == "yes"), 0.4, 0.8)).astype(float)
    patients = [str(i) for i in range(200)]
    rates = [right[(sex == k) & (truth == "yes")].mean() for k in "mf"]
    name, found = equal_opportunity("t", right, truth, sex, patients, positive="yes")
    assert (name, found.best, found.worst) == ("yes", "m", "f")
    assert found.difference.value == pytest.approx(rates[0] - rates[1])
    assert equal_opportunity("t", right, truth, sex, patients)[0] == "yes", "the larger one of both classes"
    assert equal_opportunity("t", right, truth, ["m"] * 200, patients) is None
    assert equal_opportunity("t", right, truth, sex, patients, positive="never") is None


def test_both_eyes_of_a_patient_narrow_the_gap_and_copies_do_not():
    rng = np.random.default_rng(1)
    skill = np.repeat(rng.random(100), 2)
    right, eyes = (rng.random(200) < skill).astype(float), ["L", "R"] * 100
    both = [str(i // 2) for i in range(200)]

    def width(values, labels, patients):
        score = gap("t", values, labels, patients).difference
        return score.high - score.low

    assert width(right, eyes, both) < 0.95 * width(right, eyes, [str(i) for i in range(200)])
    assert width([*right] * 3, eyes * 3, both * 3) == pytest.approx(width(right, eyes, both), rel=0.1)


def test_all_right_and_all_wrong_have_a_gap_of_0_with_an_interval():
    for value in (0, 1):
        found = gap("t", [value] * 40, ["m", "f"] * 20, [str(i) for i in range(40)])
        assert found.difference.value == 0 and found.best != found.worst
        assert found.difference.low < 0 < found.difference.high
    with pytest.raises(BadArgument, match="one of each per item"):
        group_scores("t", "sex", [1], ["m"], [])


def test_intervals_of_the_gap_and_of_the_worst_of_five_groups_hold_the_truth():
    rng = np.random.default_rng(2)
    labels, patients, held = np.repeat(list("abcde"), 60), [str(i) for i in range(300)], []
    for _ in range(120):
        right = (rng.random(300) < 0.7).astype(float)
        score = worst_group("t", group_scores("t", "k", right, labels, patients))
        held.append((score.low <= 0.7 <= score.high, gap("t", right, labels, patients).difference.low <= 0))
    assert (np.mean(held, axis=0) > 0.9).all(), "2.5 standard errors of 120 draws below 0.95"
