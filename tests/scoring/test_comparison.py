from itertools import combinations

import numpy as np
import pytest
from scipy.stats import beta, binom
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
    paired_difference,
    paired_test,
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


def uneven(rng, win, patients=24):
    """Outcomes of two models: patients of 1 to 15 items of whom a few lose nearly all, and the others win some."""
    held = rng.integers(1, 6, size=patients) ** 2 // 2 + 1
    place, lost = np.repeat(np.arange(patients), held), rng.random(patients) < 0.12
    lead = np.where(lost[place], -1 * (rng.random(len(place)) < 0.9), rng.random(len(place)) < win).astype(int)
    return lead > 0, lead < 0, [f"{k:02d}" for k in place]


def test_p_and_interval_never_contradict_each_other():
    rng, apart = np.random.default_rng(1), 0
    for k in range(400):
        first, second, groups = uneven(rng, 0.12 + 0.15 * (k % 2))
        gap, p = paired_test("t", first, second, groups)
        assert (p < 0.05) == (gap.low > 0 or gap.high < 0)
        assert gap == paired_difference("t", first, second, groups)
        apart += p < 0.05
        back, q = paired_test("t", second, first, groups)
        assert (q, back.value, back.low, back.high) == pytest.approx((p, -gap.value, -gap.high, -gap.low), abs=1e-6)
    assert 10 < apart < 390, "both verdicts occur"


def by_hand(first, second, level):
    """Interval of a difference of one item a patient: Zou and Donner's of gain and loss, both clearly above 0."""
    n, sides = len(first), np.stack([first & ~second, second & ~first]).astype(float)
    ends = []
    for own in sides:
        right = own.sum()
        inward = min(max((min(right, n - right) - 5) / 5, 0), 1) / 2
        tails = beta([right + inward, right + 1 - inward], [n - right + 1 - inward, n - right + inward])
        ends.append(tails.ppf([(1 - level) / 2, (1 + level) / 2]))
    (gain, loss), ((a, b), (c, d)), r = sides.mean(axis=1), ends, np.corrcoef(sides)[0, 1]
    below, above = gain - a, b - gain
    down = np.sqrt(below**2 + (d - loss) ** 2 - 2 * r * below * (d - loss))
    up = np.sqrt(above**2 + (loss - c) ** 2 - 2 * r * above * (loss - c))
    return gain - loss - down, gain - loss + up


@pytest.mark.parametrize("seed", range(5))
def test_p_of_one_item_a_patient_is_that_of_an_independent_formula(seed):
    rng = np.random.default_rng(seed)
    first, second = rng.random(150) < 0.75, rng.random(150) < 0.66
    gap, p = paired_test("t", first, second, [str(i) for i in range(150)])
    assert (gap.low, gap.high) == pytest.approx(
        by_hand(first, second, 0.95), abs=6e-4
    )  # ours has a few degrees of freedom less
    nearest = min(by_hand(first, second, 1 - p), key=abs)
    assert nearest == pytest.approx(0, abs=4e-3)
    assert 0.3 < p / mcnemar(first, second).p < 1.1, "near McNemar's, which is discrete"


def test_the_test_does_not_take_items_of_one_patient_for_independent():
    rng, small = np.random.default_rng(2), []
    for _ in range(300):
        a, b = (np.repeat(rng.random(20) < 0.5, 6) for _ in range(2))
        groups = [str(i // 6) for i in range(120)]
        small.append((paired_test("t", a, b, groups)[1] < 0.05, mcnemar(a, b).p < 0.05))
    by_patient, by_item = np.mean(small, axis=0)
    assert by_patient <= 0.05 + 0.025 and by_item > 0.2, "equal models should differ in 5 % of the samples or fewer"


def test_the_level_holds_where_few_patients_lose_in_bulk():
    rng, found = np.random.default_rng(3), []
    for _ in range(1000):
        lost = rng.random(80) < 0.06
        held = np.clip(np.rint(np.exp(rng.normal(1, 0.6, 80))), 1, 40).astype(int)
        place = np.repeat(np.arange(80), held)
        draw = rng.random(len(place))
        lead = np.where(lost[place], -1 * (draw < 0.8), draw < 0.8 * 0.06 / 0.94).astype(int)
        found.append(paired_test("t", lead > 0, lead < 0, [f"{k:02d}" for k in place])[1] < 0.05)
    assert np.mean(found) <= binom.ppf(0.999, 1000, 0.05) / 1000


def test_the_test_at_its_edges():
    assert paired_test("t", [True, False] * 3, [True, False] * 3, list("abcdef"))[1] == 1.0
    assert paired_test("t", [1, 0, 1, 0, 1, 0], [0, 1, 0, 1, 0, 1], list("aabbcc"))[1] is None, "all patients alike"
    assert paired_test("t", [True] * 9, [False] * 9, ["a"] * 9)[1] is None, "one patient proves nothing"
    assert paired_test("t", [], [], [])[1] is None
    many = [str(i) for i in range(3000)]
    assert 0 < paired_test("t", [True] * 3000, [False] * 3000, many)[1] <= 1e-15
    with pytest.raises(BadArgument, match="pair the items by id"):
        paired_test("t", [True], [], [])


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
