"""Chi-square, Fisher and permutation tests, against scipy, statsmodels and counting by hand."""

from itertools import permutations, product
from math import comb

import numpy as np
import pytest
from scipy.stats import chi2_contingency, fisher_exact
from statsmodels.stats.contingency_tables import Table

from lmod_train.core.errors import BadArgument
from lmod_train.scoring.association import DRAWS, independence, permutation_p, relabelling


def drawn(rng, groups):
    sizes = rng.integers(1, 40, size=groups)
    return rng.binomial(sizes, rng.random(groups) ** rng.choice([0.2, 1, 4])), sizes


@pytest.mark.parametrize("tables", [200, pytest.param(1000, marks=pytest.mark.slow)])
def test_two_groups_are_those_of_scipy(tables):
    rng = np.random.default_rng(0)
    for _ in range(tables):
        right, sizes = drawn(rng, 2)
        found = independence(right, sizes)
        assert found.p_fisher == pytest.approx(fisher_exact([right, sizes - right]).pvalue, rel=1e-6)


@pytest.mark.parametrize("tables", [200, pytest.param(1000, marks=pytest.mark.slow)])
def test_chi_square_is_that_of_scipy_and_statsmodels(tables):
    rng = np.random.default_rng(1)
    chosen = set()
    for _ in range(tables):
        right, sizes = drawn(rng, int(rng.integers(2, 4)))
        table, found = np.stack([right, sizes - right]), independence(right, sizes)
        if 0 in table.sum(axis=1):
            assert (found.p_chi_square, found.p_fisher, found.p) == (1.0, 1.0, 1.0)
            continue
        expected = chi2_contingency(table, correction=False)
        assert (found.chi_square, found.p_chi_square) == pytest.approx((expected.statistic, expected.pvalue))
        other = Table(table, shift_zeros=False).test_nominal_association()
        assert (found.chi_square, found.p_chi_square) == pytest.approx((other.statistic, other.pvalue))
        counts = expected.expected_freq
        poor = counts.min() < 1 or np.sum(counts < 5) > 0.2 * counts.size
        assert (found.chosen == "Fisher") == poor
        assert found.p == (found.p_fisher if poor else found.p_chi_square)
        chosen.add(found.chosen)
    assert chosen == {"Fisher", "chi-square"}


def counted(right, sizes):
    """Fisher's p value of several groups by listing every table in whole numbers."""
    ways = {}
    for row in product(*(range(n + 1) for n in sizes)):
        if sum(row) == sum(right):
            ways[row] = np.prod([comb(n, k) for n, k in zip(sizes, row, strict=True)], dtype=object)
    own = ways[tuple(right)]
    return float(sum(w for w in ways.values() if w <= own) / sum(ways.values()))


def test_fisher_of_several_groups_is_that_of_all_tables():
    rng = np.random.default_rng(2)
    for _ in range(60):
        sizes = rng.integers(1, 9, size=int(rng.integers(2, 5))).tolist()
        right = [int(rng.integers(0, n + 1)) for n in sizes]
        assert independence(right, sizes).p_fisher == pytest.approx(counted(right, sizes), rel=1e-9)


def test_fisher_of_too_many_tables_is_simulated_and_near_chi_square():
    found = independence([30, 50, 40, 45], [120, 100, 110, 90])
    assert found.simulated and found.chosen == "chi-square"
    assert found.p_fisher == pytest.approx(found.p_chi_square, abs=0.005)
    assert independence([0, 200, 0, 200], [200] * 4).p_fisher == 1 / (DRAWS + 1)
    assert independence([30, 50, 40, 45], [120, 100, 110, 90]) == found, "the same tables each time"


def test_one_group_none_and_wrong_counts():
    assert independence([3], [5]) is independence([], []) is independence([3, 0], [5, 0]) is None
    for right, sizes in (([3], [2]), ([-1, 1], [2, 2]), ([1], [2, 2])):
        with pytest.raises(BadArgument, match="count the right items"):
            independence(right, sizes)


def between(values, labels):
    values, labels = np.array(values, dtype=float), np.array(labels)
    return sum(np.sum(labels == k) * (values[labels == k].mean() - values.mean()) ** 2 for k in set(labels))


def by_hand(values, labels, patients):
    """The p value over all permutations of the labels of patients, each as often as it can be made."""
    names = sorted(set(patients))
    own = {p: labels[patients.index(p)] for p in names}
    statistics = [
        between(values, [dict(zip(names, order, strict=True))[p] for p in patients])
        for order in permutations(own.values())
    ]
    return np.mean([s >= between(values, labels) - 1e-9 for s in statistics])


def test_labels_of_few_patients_are_permuted_in_all_ways():
    rng = np.random.default_rng(3)
    for _ in range(4):
        sizes = rng.integers(1, 4, size=6)
        patients = [f"p{k}" for k, n in enumerate(sizes) for _ in range(n)]
        sex = dict(zip("012345", rng.permutation(list("mmffxx")).tolist(), strict=True))
        labels, values = [sex[p[1]] for p in patients], rng.integers(0, 2, size=len(patients))
        relabelled = relabelling(labels, patients)
        assert relabelled.exact and len(relabelled.labels) == 1 + 90
        assert permutation_p(values, relabelled) == pytest.approx(by_hand(values.tolist(), labels, patients))


def test_labels_of_both_eyes_are_permuted_within_the_patient():
    labels, patients = ["L", "R"] * 4, [p for p in "abcd" for _ in "LR"]
    relabelled = relabelling(labels, patients)
    assert relabelled.exact and len(relabelled.labels) == 1 + 2**4
    assert permutation_p([1, 0] * 4, relabelled) == 2 / 2**4
    assert permutation_p([1, 1, 0, 0] * 2, relabelled) == 1.0, "what differs between patients says nothing about eyes"


def test_one_item_per_patient_in_two_groups_is_near_fisher_and_drawn_ones_repeat():
    rng = np.random.default_rng(4)
    labels, values = list("mf" * 100), rng.random(200) < np.tile([0.45, 0.6], 100)
    relabelled = relabelling(labels, [str(i) for i in range(200)])
    assert not relabelled.exact and relabelled.labels.shape == (1 + DRAWS, 200)
    right = [int(values[k::2].sum()) for k in (0, 1)]
    assert permutation_p(values, relabelled) == pytest.approx(independence(right, [100, 100]).p_fisher, abs=0.03)
    assert permutation_p([1, 0] * 100, relabelled) == 1 / (1 + DRAWS), "never 0"
    again = relabelling(labels, [str(i) for i in range(200)])
    assert permutation_p(values, again) == permutation_p(values, relabelled)


def test_drawn_permutations_keep_the_labels_of_each_stratum():
    labels = ["L", "R"] * 20 + ["L"] * 10 + ["R"] * 30
    patients = [f"both{i // 2}" for i in range(40)] + [f"one{i}" for i in range(40)]
    relabelled = relabelling(labels, patients)
    items = relabelled.labels[:, relabelled.block]
    assert (np.sort(items[:, :40].reshape(-1, 20, 2), axis=2) == [0, 1]).all()
    assert (items[:, 40:].sum(axis=1) == 30).all() and len(np.unique(items, axis=0)) > 900


def test_items_of_one_patient_are_not_independent():
    rng = np.random.default_rng(5)
    small = []
    for _ in range(100):
        skill = np.repeat(rng.random(12) < 0.5, 10)
        labels, patients = np.repeat(list("mf" * 6), 10).tolist(), [str(i // 10) for i in range(120)]
        right = [int(skill[np.array(labels) == k].sum()) for k in "mf"]
        small.append(
            (permutation_p(skill, relabelling(labels, patients)) < 0.05, independence(right, [60, 60]).p < 0.05)
        )
    by_patient, by_item = np.mean(small, axis=0)
    assert by_patient < 0.12 < 0.4 < by_item, "without a difference, a test should find one in 5 % of the samples"


def test_one_group_one_patient_all_right_and_no_items():
    assert permutation_p([1, 0], relabelling(["m", "m"], ["a", "b"])) is None
    assert permutation_p([1, 0, 1], relabelling(list("mmm"), list("aaa"))) is None
    assert permutation_p([1, 0], relabelling(["m", "f"], ["a", "a"])) == 1.0, "one patient, two ways"
    assert permutation_p([1] * 6, relabelling(list("mmmfff"), list("abcdef"))) == 1.0
    assert permutation_p([], relabelling([], [])) is None
    with pytest.raises(BadArgument, match="pair them"):
        relabelling(["m"], [])
