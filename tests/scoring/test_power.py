"""The detectable difference, against simulated tests."""

import numpy as np
import pytest
from scipy.stats import binomtest

from lmod_train.scoring.comparison import detectable_difference, effective_pairs, paired_test, power
from tests.tabled import tabled


def simulated(rng, n, share, difference, draws=2000):
    """The share of draws in which McNemar's exact test has p < 0.05."""
    wins = rng.multinomial(n, [(share + difference) / 2, (share - difference) / 2, 1 - share], size=draws)
    p = {(a, b): binomtest(a, a + b).pvalue if a + b else 1.0 for a, b, _ in {tuple(map(int, row)) for row in wins}}
    return np.mean([p[a, b] < 0.05 for a, b, _ in wins.tolist()])


@tabled(("n", "share", "difference"), [(30, 0.4, 0.3), (120, 0.2, 0.1), (600, 0.05, 0.02)])
def test_power_is_that_of_simulated_tests(n, share, difference):
    found = simulated(np.random.default_rng(0), n, share, difference)
    assert power(n, share, difference) == pytest.approx(found, abs=0.03)  # 3 standard errors of 2,000 draws


@tabled(("n", "share"), [(20, 0.5), (200, 0.2), (1000, 0.02)])
def test_the_detectable_difference_is_detected_4_times_of_5(n, share):
    difference = detectable_difference(n, share)
    found = simulated(np.random.default_rng(1), n, max(share, difference), difference)
    assert found == pytest.approx(0.8, abs=0.03)


def test_it_shrinks_with_items_and_grows_with_discordance():
    assert detectable_difference(50, 0.2) > detectable_difference(100, 0.2) > detectable_difference(10_000, 0.2)
    assert detectable_difference(100, 0.0) < detectable_difference(100, 0.1) < detectable_difference(100, 0.6)
    assert detectable_difference(5, 0.5) is None and detectable_difference(0, 0.0) is None
    assert detectable_difference(6, 1.0) == pytest.approx(2 * 0.8 ** (1 / 6) - 1, abs=1e-3), "all of six: p = 0.031"


def clustered(rng, patients, each, difference):
    """Outcomes of two models; a third of the patients separates them, and most items of such a patient alike."""
    side = rng.choice([1, -1, 0], size=patients, p=[1 / 6 + difference / 2, 1 / 6 - difference / 2, 2 / 3])
    lead = np.where(rng.random((patients, each)) < 0.8, side[:, None], 0).ravel()
    return lead > 0, lead < 0, [str(k) for k in range(patients) for _ in range(each)]


def test_with_several_items_per_patient_it_is_detected_4_times_of_5():
    rng = np.random.default_rng(2)
    first, second, groups = clustered(rng, 4000, 4, 0.1)
    share = 120 / 4000 * effective_pairs(first, second, groups)
    difference = detectable_difference(share, float(np.mean(first | second)))
    draws = [clustered(rng, 120, 4, difference / 0.8) for _ in range(400)]
    found = np.mean([paired_test("t", *draw)[1] < 0.05 for draw in draws])
    assert found == pytest.approx(0.8, abs=0.07)  # 3 standard errors of 400 draws are 0.06; an approximation of 0.01


def test_copies_in_a_patient_are_no_items_and_one_item_each_is_one():
    rng = np.random.default_rng(3)
    first, second = rng.random(300) < 0.7, rng.random(300) < 0.6
    alone = [str(i) for i in range(300)]
    assert effective_pairs(first, second, alone) == pytest.approx(300)
    assert effective_pairs([*first] * 3, [*second] * 3, alone * 3) == pytest.approx(300, rel=0.01)
    same = [True] * 40
    assert effective_pairs(same, same, [str(i // 4) for i in range(40)]) == pytest.approx(40 / 3.1), "correlation 0.7"
    assert effective_pairs(first, second, ["one"] * 300) < 3, "one patient"
