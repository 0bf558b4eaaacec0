from itertools import combinations, product

import numpy as np
import pytest
from statsmodels.stats import contingency_tables
from statsmodels.stats.multitest import multipletests

from lmod_train.core.errors import BadArgument
from lmod_train.scoring.comparison import (
    Paired,
    benjamini_hochberg,
    cochran_q,
    cohens_g,
    holm,
    mcnemar,
    mcnemar_by_patient,
    p_by_patient,
    paired_difference,
)


@pytest.mark.parametrize("tables", [200, pytest.param(1000, marks=pytest.mark.slow)])
def test_mcnemar_as_statsmodels(tables):
    rng = np.random.default_rng(0)
    for _ in range(tables):
        n, (often, rarely) = int(rng.integers(1, 80)), rng.random(2)
        a, b = rng.random(n) < often, rng.random(n) < rarely
        table = [[np.sum(a & b), np.sum(a & ~b)], [np.sum(~a & b), np.sum(~a & ~b)]]
        got = mcnemar(a, b)
        assert got.p == pytest.approx(contingency_tables.mcnemar(table, exact=True).pvalue)
        assert (got.only_first, got.only_second) == (table[0][1], table[1][0])
        alone = [str(i) for i in range(n)]
        assert mcnemar_by_patient(a, b, alone) == pytest.approx(got.p), "one item each: the same test"


def test_mcnemar_by_patient_is_the_share_of_all_signs():
    rng = np.random.default_rng(1)
    for _ in range(50):
        patients = np.repeat(np.arange(8), rng.integers(1, 5, size=8))
        a, b = rng.random((2, len(patients))) < rng.random((2, 1))
        leads = np.bincount(patients, a.astype(int) - b)
        sums = [abs(np.dot(signs, leads)) for signs in product((1, -1), repeat=8)]
        expected = np.mean([total >= abs(leads.sum()) for total in sums])
        assert mcnemar_by_patient(a, b, [str(k) for k in patients]) == pytest.approx(expected)


def test_mcnemar_by_patient_does_not_take_items_of_one_patient_for_independent():
    rng, small = np.random.default_rng(2), []
    for _ in range(300):
        a, b = (np.repeat(rng.random(20) < 0.5, 6) for _ in range(2))
        groups = [str(i // 6) for i in range(120)]
        small.append((mcnemar_by_patient(a, b, groups) < 0.05, mcnemar(a, b).p < 0.05))
    by_patient, by_item = np.mean(small, axis=0)
    assert by_patient <= 0.05 + 0.025 and by_item > 0.2, "equal models should differ in 5 % of the samples or fewer"


def test_mcnemar_by_patient_at_its_edges():
    assert mcnemar_by_patient([True, False], [True, False], ["a", "b"]) == 1.0
    assert mcnemar_by_patient([True, False], [False, True], ["a", "a"]) == 1.0, "the patient's items cancel"
    assert mcnemar_by_patient([True] * 9, [False] * 9, ["a"] * 9) == 1.0, "one patient proves nothing"
    assert mcnemar_by_patient([], [], []) is None
    with pytest.raises(BadArgument, match="pair the items by id"):
        mcnemar_by_patient([True], [True], [])


def test_cohens_g_is_that_of_its_definition():
    assert [cohens_g(Paired(20, *sides, 1.0)) for sides in ((6, 2), (0, 4), (0, 0))] == [0.25, -0.5, None]


def test_mcnemar_without_differences_and_without_items():
    assert mcnemar([True, False], [True, False]).p == 1.0
    assert mcnemar([], []).p is None
    with pytest.raises(BadArgument, match="pair the items by id"):
        mcnemar([True], [])


@pytest.mark.parametrize("tables", [200, pytest.param(1000, marks=pytest.mark.slow)])
def test_cochran_q_as_statsmodels(tables):
    rng = np.random.default_rng(2)
    for _ in range(tables):
        n, models = rng.integers(2, 60), rng.integers(2, 7)
        right = rng.random((n, models)) < rng.random(models)
        if (right.all(axis=1) | ~right.any(axis=1)).all():
            continue  # no item separates the models: 0 / 0 there
        expected = contingency_tables.cochrans_q(right.astype(int))
        assert cochran_q(right) == pytest.approx((expected.statistic, expected.pvalue))


def test_cochran_q_at_its_edges():
    assert cochran_q(np.ones((5, 3))) == (0.0, 1.0)
    assert cochran_q(np.ones((0, 3))) == (0.0, None)
    with pytest.raises(BadArgument, match="models >= 2"):
        cochran_q([[1], [0]])


def grids(count):
    rng = np.random.default_rng(3)
    return [np.round(rng.random(rng.integers(1, 7)) ** 3, 2) for _ in range(count)]  # rounded: with ties


@pytest.mark.parametrize(("ours", "theirs", "count"), [(holm, "holm", 2), (benjamini_hochberg, "fdr_bh", 1000)])
def test_adjusted_p_values_as_statsmodels(ours, theirs, count):
    for p in grids(count):  # statsmodels takes up to a second for each of Holm's
        assert ours(p) == pytest.approx(multipletests(p, method=theirs)[1])
        assert ours([None, *p, None]) == [None, *ours(p), None], "what has no p value is no test"
    assert ours([]) == []


def test_holm_is_the_closed_test_of_bonferroni_on_1000_grids():
    for p in grids(1000):
        places = range(len(p))
        sets = [s for n in places for s in combinations(places, n + 1)]
        closed = [max(min(1.0, len(s) * min(p[k] for k in s)) for s in sets if i in s) for i in places]
        assert holm(p) == pytest.approx(closed)


def test_paired_difference_is_narrower_than_unpaired_and_clustered():
    rng = np.random.default_rng(4)
    hard = rng.random(200) < 0.5
    a, b = hard | (rng.random(200) < 0.15), hard
    score = paired_difference("demo", a, b, [str(i) for i in range(200)])
    assert score.value == pytest.approx(a.mean() - b.mean())
    se = np.std(a.astype(float) - b, ddof=1) / np.sqrt(200)
    assert (score.low, score.high) == pytest.approx((score.value - 1.96 * se, score.value + 1.96 * se), abs=0.01)
    doubled = paired_difference("demo", [*a, *a], [*b, *b], [str(i) for i in range(200)] * 2)
    assert (doubled.low, doubled.high) == pytest.approx((score.low, score.high), abs=0.01)


def test_paired_difference_at_its_edges():
    same = paired_difference("demo", [1, 0] * 10, [1, 0] * 10, [str(i) for i in range(20)])
    assert same.value == 0 and same.low == -same.high and 0.1 < same.high < 0.3, "20 items could miss a difference"
    assert paired_difference("demo", [1, 0, 1], [1, 0, 1], list("aab")).low is None, "two patients prove nothing"
    all_lost = paired_difference("demo", [0] * 8, [1] * 8, list("abcdefgh"))
    assert (all_lost.value, all_lost.low) == (-1.0, -1.0)
    assert -0.5 < all_lost.high < 0
    assert paired_difference("demo", [], [], []).n == 0
    with pytest.raises(BadArgument, match="pair the items by id"):
        paired_difference("demo", [1], [1, 0], ["a"])


def test_no_p_value_from_few_discordant_items():
    for n in range(10):
        a, b = [True] * (n + 2), [False] * n + [True] * 2
        p = p_by_patient(mcnemar(a, b), a, b, [str(i) for i in range(n + 2)])
        assert p == (None if n < 6 else mcnemar(a, b).p) and (p is None or p < 0.05)
    assert mcnemar([True] * 5, [False] * 5).p > 0.05
