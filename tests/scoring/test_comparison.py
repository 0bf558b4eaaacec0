import numpy as np
import pytest
from statsmodels.stats import contingency_tables
from statsmodels.stats.multitest import multipletests

from lmod_train.errors import BadArgument
from lmod_train.scoring.comparison import benjamini_hochberg, cochran_q, holm, mcnemar, paired_difference


@pytest.mark.parametrize("seed", range(4))
def test_mcnemar_as_statsmodels(seed):
    rng = np.random.default_rng(seed)
    a, b = rng.random(60) < 0.8, rng.random(60) < 0.6
    table = [[np.sum(a & b), np.sum(a & ~b)], [np.sum(~a & b), np.sum(~a & ~b)]]
    got = mcnemar(a, b)
    assert got.p == pytest.approx(contingency_tables.mcnemar(table, exact=True).pvalue)
    assert (got.only_first, got.only_second) == (table[0][1], table[1][0])


def test_mcnemar_without_differences_and_without_items():
    assert mcnemar([True, False], [True, False]).p == 1.0
    assert mcnemar([], []).p is None
    with pytest.raises(BadArgument, match="pair the items by id"):
        mcnemar([True], [])


def test_cochran_q_as_statsmodels():
    right = np.random.default_rng(2).random((80, 4)) < [0.5, 0.6, 0.7, 0.8]
    expected = contingency_tables.cochrans_q(right.astype(int))
    assert cochran_q(right) == pytest.approx((expected.statistic, expected.pvalue))


def test_cochran_q_at_its_edges():
    assert cochran_q(np.ones((5, 3))) == (0.0, 1.0)
    assert cochran_q(np.ones((0, 3))) == (0.0, None)
    with pytest.raises(BadArgument, match="models >= 2"):
        cochran_q([[1], [0]])


@pytest.mark.parametrize(("ours", "theirs"), [(holm, "holm"), (benjamini_hochberg, "fdr_bh")])
def test_adjusted_p_values_as_statsmodels(ours, theirs):
    p = np.random.default_rng(3).random(12) ** 3
    p[4] = p[7]
    assert ours(p) == pytest.approx(multipletests(p, method=theirs)[1])
    assert ours([]) == []


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
