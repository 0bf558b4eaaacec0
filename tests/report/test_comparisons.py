import numpy as np
import pytest
from statsmodels.stats.contingency_tables import mcnemar
from statsmodels.stats.multitest import multipletests

from lmod_train.errors import BadArgument
from lmod_train.report.comparisons import letter_display, pairs
from lmod_train.scoring.comparison import mcnemar_by_patient
from tests.scoring.make import item


def some(right, ids, each=1):
    return [item(i, "yes" if i in right else "no", "yes", group=str(i // each)) for i in ids]


def drawn(skills, n=80, each=1):
    """Runs of one task that answer right with a probability each, right on the same items as far as possible."""
    hard = np.random.default_rng(0).random(n)
    own = np.random.default_rng(1).random((len(skills), n)) * 0.2
    return {
        f"m{k}": {"g": some({i for i in range(n) if hard[i] < s - 0.1 + own[k][i]}, range(n), each)}
        for k, s in enumerate(skills)
    }


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
    assert (first.p, first.discovery, first.g) == (first.test.p, first.test.p, 0.5)
    assert (second.test.n, second.test.p, second.adjusted, second.difference.value) == (0, None, None, None)
    assert (second.p, second.discovery, second.g, second.detectable) == (None,) * 4


def test_a_reference_is_compared_with_each_other_run():
    runs = drawn([0.3, 0.8, 0.5])
    assert [(p.first, p.second) for p in pairs(runs)] == [("m0", "m1"), ("m0", "m2"), ("m1", "m2")]
    assert [(p.first, p.second) for p in pairs(runs, "best")] == [("m1", "m0"), ("m1", "m2")]
    assert [(p.first, p.second) for p in pairs(runs, "m2")] == [("m2", "m0"), ("m2", "m1")]
    assert all(p.difference.value > 0 for p in pairs(runs, "best"))
    runs["m2"]["h"], runs["m0"]["h"] = some({1}, {1, 2}), some({1}, {1, 2})
    assert [p.task for p in pairs(runs, "m1")] == ["g", "g"], "m1 has no task h"
    assert [(p.first, p.second) for p in pairs(runs, "best") if p.task == "h"] == [("m0", "m2")], "the first of equals"
    with pytest.raises(BadArgument, match=r"against='m9'.*'m0', 'm1', 'm2'"):
        pairs(runs, "m9")


def test_both_corrections_are_over_the_shown_pairs_and_the_p_values_by_patient():
    runs = drawn([0.3, 0.45, 0.8, 0.5], each=4)
    for against in ("all", "m0"):
        found = pairs(runs, against)
        ps = [p.p for p in found]
        assert [p.adjusted for p in found] == pytest.approx(multipletests(ps, method="holm")[1])
        assert [p.discovery for p in found] == pytest.approx(multipletests(ps, method="fdr_bh")[1])
        assert ps != [p.test.p for p in found], "four items of one patient are not four patients"
    assert pairs(runs, "m0")[0].adjusted < pairs(runs)[0].adjusted


def test_what_is_detectable_shrinks_with_the_patients():
    few, many = (pairs(drawn([0.5, 0.6], n))[0].detectable for n in (40, 400))
    assert 0.02 < many < few < 0.5
    clustered = pairs(drawn([0.5, 0.6], 400, each=8))[0].detectable
    assert clustered >= many
    assert pairs(drawn([0.5, 0.6], 4))[0].detectable is None


def test_letters_are_those_of_all_pairs_from_the_best_run():
    runs = drawn([0.2, 0.9, 0.88, 0.5], 120)
    places, tested = letter_display(runs)
    assert tested == 6 and [p.run for p in places] == ["m1", "m2", "m3", "m0"]
    assert [p.score for p in places] == sorted((p.score for p in places), reverse=True)
    apart = {frozenset((p.first, p.second)) for p in pairs(runs) if p.adjusted < 0.05}
    for a in places:
        for b in places:
            assert bool({*a.letters} & {*b.letters}) == (frozenset((a.run, b.run)) not in apart)
    assert {p.letters for p in places} == {"a", "b", "c"}
    assert letter_display(drawn([0.2, 0.9])) == ([], 0)


def test_runs_without_common_items_and_constant_ones_share_letters():
    apart = {"a": {"g": some({1}, {1, 2})}, "b": {"g": some({3}, {3, 4})}, "c": {"g": some(set(), {5})}}
    places, tested = letter_display(apart)
    assert [p.letters for p in places] == ["a"] * 3 and tested == 0
    same = {k: {"g": some(range(9), range(9))} for k in "abc"}
    assert [(p.letters, p.score) for p in letter_display(same)[0]] == [("a", 1.0)] * 3
    assert all((p.p, p.g, p.difference.value) == (1.0, None, 0.0) for p in pairs(same))
    wrong = pairs({"a": {"g": some(set(), range(9))}, "b": {"g": some(set(), range(9))}})[0]
    assert (wrong.p, wrong.adjusted, wrong.g) == (1.0, 1.0, None)


def test_p_by_patient_is_that_of_the_items():
    runs = drawn([0.4, 0.7], 60, each=3)
    first, second = ([i.answer == "yes" for i in runs[k]["g"]] for k in ("m0", "m1"))
    ids = [str(k // 3) for k in range(60)]
    assert pairs(runs)[0].p == pytest.approx(mcnemar_by_patient(first, second, ids))
