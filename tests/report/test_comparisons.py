import pytest
from statsmodels.stats.contingency_tables import mcnemar

from lmod_train.report.comparisons import merit, pairs
from tests.scoring.make import item


def some(right, ids):
    return [item(i, "yes" if i in right else "no", "yes") for i in ids]


def test_only_common_items_are_compared_and_holm_runs_over_all_pairs():
    runs = {
        "a": {"g": some(range(10), range(20)), "h": some({1}, {1, 2})},
        "b": {"g": some(range(2, 4), range(2, 30))},
        "c": {"h": some(set(), {5})},
    }
    first, second = pairs(runs)
    assert (first.task, first.first, first.second, first.test.n) == ("g", "a", "b", 18)
    assert (first.test.only_first, first.test.only_second) == (6, 0)
    assert first.test.p == first.adjusted == pytest.approx(mcnemar([[2, 6], [0, 10]], exact=True).pvalue)
    assert first.difference.value == pytest.approx(6 / 18)
    assert (second.test.n, second.test.p, second.adjusted, second.difference.value) == (0, None, None, None)


def test_an_image_counts_by_its_f1():
    assert merit(item(1, {1: "a", 2: "a"}, {1: "a", 2: "b"})) == 0.5
