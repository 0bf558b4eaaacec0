import numpy as np
import pytest
from statsmodels.stats.proportion import proportion_confint

from lmod_train.scoring.intervals import Figure, clopper_pearson, items_in, measure, ratio

MEAN = Figure("mean", lambda sums: ratio(sums["hit"], sums["items"]), items_in)


def mean_of(hits, groups, **options):
    columns = {"items": np.ones(len(hits)), "hit": np.asarray(hits, dtype=float)}
    return measure("demo", "all", columns, groups, [MEAN], **options)[0]


@pytest.fixture
def clustered():
    rng = np.random.default_rng(5)
    skill = rng.beta(2, 1, size=60)
    groups = np.repeat(np.arange(60), rng.integers(1, 6, size=60))
    return rng.random(len(groups)) < skill[groups], groups


def naive(hits, groups, draws=4000):
    rng, names = np.random.default_rng(99), np.unique(groups)
    means = []
    for _ in range(draws):
        rows = np.concatenate([np.flatnonzero(groups == g) for g in rng.choice(names, len(names))])
        means.append(hits[rows].mean())
    return np.percentile(means, [2.5, 97.5])


def test_it_is_the_percentile_bootstrap_of_whole_groups(clustered):
    hits, groups = clustered
    score = mean_of(hits, groups, draws=4000)
    assert score.value == hits.mean()
    np.testing.assert_allclose([score.low, score.high], naive(hits, groups), atol=0.006)


def test_copies_of_an_item_in_its_group_do_not_narrow_the_interval():
    hits, groups = [True, False, True, True, False, True] * 5, [str(i) for i in range(30)]
    once = mean_of(hits, groups)
    thrice = mean_of(hits * 3, groups * 3)
    apart = mean_of(hits * 3, [f"{g}-{k}" for k in range(3) for g in groups])
    assert (thrice.low, thrice.high) == (once.low, once.high)
    assert apart.high - apart.low < 0.7 * (once.high - once.low)


def test_the_same_items_in_another_order_give_the_same_interval(clustered):
    hits, groups = clustered
    order = np.random.default_rng(0).permutation(len(hits))
    assert mean_of(hits, groups) == mean_of(hits[order], groups[order]) == mean_of(hits, groups)


def test_blocks_of_draws_do_not_change_the_interval(clustered, monkeypatch):
    whole = mean_of(*clustered)
    monkeypatch.setattr("lmod_train.scoring.intervals._CELLS", 700)
    assert mean_of(*clustered) == whole


@pytest.mark.parametrize("value", [0.0, 1.0])
def test_where_all_agree_the_interval_is_exact_over_groups_not_items(value):
    score = mean_of([value] * 40, [str(i // 4) for i in range(40)])
    expected = proportion_confint(round(value * 10), 10, method="beta")
    assert (score.low, score.high) == pytest.approx([np.nan_to_num(v, nan=value) for v in expected])
    assert score.n == 40


def test_no_interval_with_one_group_and_no_value_without_items():
    one = mean_of([1, 0, 1], ["a", "a", "a"])
    assert (one.n, one.value, one.low, one.high) == (3, pytest.approx(2 / 3), None, None)
    none = mean_of([], [])
    assert (none.n, none.value, none.low, none.high) == (0, None, None, None)


def test_no_false_certainty_where_every_group_is_alike_but_not_extreme():
    score = mean_of([1, 0] * 10, [str(i // 2) for i in range(20)])
    assert (score.value, score.low, score.high) == (0.5, None, None)


@pytest.mark.parametrize("hits", [0, 1, 7, 20])
def test_clopper_pearson_as_statsmodels_has_it(hits):
    assert clopper_pearson(hits, 20) == pytest.approx(proportion_confint(hits, 20, method="beta"), nan_ok=True)


def test_the_interval_covers_the_truth_about_as_often_as_it_says():
    rng, inside, rounds = np.random.default_rng(1), 0, 300
    groups = np.repeat(np.arange(50), 4)
    for _ in range(rounds):
        hits = rng.random(200) < rng.beta(3, 2, size=50)[groups]  # true mean 0.6, strongly alike within a group
        score = mean_of(hits, groups, draws=300)
        inside += score.low <= 0.6 <= score.high
    assert 0.90 <= inside / rounds <= 0.98
