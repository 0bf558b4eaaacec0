from pathlib import Path

import numpy as np
import pytest
from statsmodels.stats.contingency_tables import mcnemar
from statsmodels.stats.multitest import multipletests

from lmod_train.core.errors import BadArgument
from lmod_train.core.types import Score
from lmod_train.report import paired_runs as comparisons
from lmod_train.report.paired_runs import comparable, paired
from lmod_train.report.results import Outcomes, Results
from lmod_train.scoring.comparison import paired_test
from lmod_train.tasks.run_scores import RunScores
from lmod_train.tasks.statements import NOT_COMPARED
from tests.scoring.make import item


def of_items(compare):
    """Return a comparison of runs that are given as label -> task -> items."""
    return lambda runs, *args, **options: compare(paired(runs), *args, **options)


joint, letter_display, not_ranked, pairs, pairs_by_subset = map(
    of_items,
    (
        comparisons.joint,
        comparisons.letter_display,
        comparisons.not_ranked,
        comparisons.pairs,
        comparisons.pairs_by_subset,
    ),
)


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


def test_a_verdict_depends_on_no_other_task_unless_all_are_one_family():
    runs = drawn([0.2, 0.28, 0.6], 120)
    with_more = {name: own | {f"t{k}": own["g"] for k in range(30)} for name, own in runs.items()}
    alone, among, whole = (
        [p for p in pairs(r, **more) if p.task == "g"]
        for r, more in ((runs, {}), (with_more, {}), (with_more, {"family": "report"}))
    )
    assert [(p.adjusted, p.discovery) for p in alone] == [(p.adjusted, p.discovery) for p in among]
    assert all(p.adjusted < q.adjusted for p, q in zip(alone, whole, strict=True) if p.adjusted < 1)
    assert [p.adjusted for p in whole] == [
        p
        for p, pair in zip(comparisons.holm([q.p for q in pairs(with_more)]), pairs(with_more), strict=True)
        if pair.task == "g"
    ]
    letters = {
        family: [p.letters for p in letter_display(with_more, family=family)[0] if p.task == "g"]
        for family in ("task", "report")
    }
    assert letters["task"] == [p.letters for p in letter_display(runs)[0]] != letters["report"]


def test_only_common_items_are_compared_and_holm_runs_over_all_pairs():
    runs = {
        "a": {"g": some(range(10), range(20)), "h": some({1}, {1, 2})},
        "b": {"g": some(range(2, 4), range(2, 30))},
        "c": {"h": some(set(), {5})},
    }
    first, second = pairs(runs)
    assert (first.task, first.first, first.second, first.test.n) == ("g", "a", "b", 18)
    assert (first.test.only_first, first.test.only_second) == (6, 0)
    assert first.test.p == pytest.approx(mcnemar([[2, 6], [0, 10]], exact=True).pvalue)
    assert first.difference.value == pytest.approx(6 / 18)
    assert (first.p, first.adjusted, first.g) == (first.discovery, first.discovery, 0.5)
    assert first.p < 0.05 < first.test.p * 2 and first.difference.low > 0
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


def test_runs_without_common_items_are_not_compared_and_constant_ones_share_letters():
    apart = {"a": {"g": some({1}, {1, 2})}, "b": {"g": some({3}, {3, 4})}, "c": {"g": some(set(), {5})}}
    places, tested = letter_display(apart)
    assert [(p.run, p.n, p.score, p.letters) for p in places] == [
        ("a", 2, 0.5, NOT_COMPARED), ("b", 2, 0.5, NOT_COMPARED), ("c", 1, 0.0, NOT_COMPARED)
    ]  # fmt: skip
    assert tested == 0
    same = {k: {"g": some(range(9), range(9))} for k in "abc"}
    assert [(p.letters, p.score) for p in letter_display(same)[0]] == [("a", 1.0)] * 3
    assert all((p.p, p.g, p.difference.value) == (1.0, None, 0.0) for p in pairs(same))
    wrong = pairs({"a": {"g": some(set(), range(9))}, "b": {"g": some(set(), range(9))}})[0]
    assert (wrong.p, wrong.adjusted, wrong.g) == (1.0, 1.0, None)


def test_p_by_patient_is_that_of_the_difference():
    runs = drawn([0.4, 0.7], 60, each=3)
    first, second = ([i.answer == "yes" for i in runs[k]["g"]] for k in ("m0", "m1"))
    ids = [str(k // 3) for k in range(60)]
    assert (pairs(runs)[0].difference, pairs(runs)[0].p) == paired_test("g", first, second, ids)


def test_a_run_of_two_lucky_records_is_neither_the_best_nor_in_the_letters():
    runs = drawn([0.5, 0.9, 0.3], 100)
    runs["lucky"] = {"g": some(range(200), [3, 4])}
    runs["other folder"] = {"g": some(range(400, 500), range(400, 430))}
    assert [(p.first, p.second, p.test.n, p.alone) for p in pairs(runs, "best")] == [
        ("m1", "m0", 100, (0, 0)), ("m1", "m2", 100, (0, 0)), ("m1", "lucky", 2, (98, 0)),
        ("m1", "other folder", 0, (100, 30)),
    ]  # fmt: skip
    whole = {k: runs[k] for k in ("m0", "m1", "m2")}
    assert pairs(runs, "best")[0].p == pairs(whole, "best")[0].p
    places, tested = letter_display(runs)
    assert tested == 3 and [(p.run, p.letters) for p in places[:3]] == [
        (p.run, p.letters) for p in letter_display(whole)[0]
    ]
    assert [(p.run, p.n, p.letters) for p in places[3:]] == [
        ("lucky", 2, NOT_COMPARED),
        ("other folder", 30, NOT_COMPARED),
    ]
    assert joint(runs) == joint(whole)
    assert list(not_ranked(runs)) == [
        "g: 3 runs are ranked on the 100 records that all of them have a reply to (of up to 100); not ranked, with the "
        "number of their records: lucky (2), other folder (30)"
    ]
    assert list(not_ranked(whole)) == []


def test_runs_are_ranked_on_the_records_that_all_have():
    """The run without replies to the hard half has the best score of its own, and the lowest one on what all have."""
    runs = {
        "a": {"g": some({*range(55), *range(60, 70)}, range(100))},
        "b": {"g": some({*range(50), *range(60, 100)}, range(100))},
        "part": {"g": some(range(45), range(60))},
    }
    places, _ = letter_display(runs)
    assert [(p.run, p.n, round(p.score, 3)) for p in places] == [("a", 60, 0.917), ("b", 60, 0.833), ("part", 60, 0.75)]
    assert {(p.first, p.second) for p in pairs(runs, "best")} == {("a", "b"), ("a", "part")}
    without = {k: runs[k] for k in ("a", "b")}
    assert {(p.first, p.second) for p in pairs(without, "best")} == {("b", "a")}, "on the hard half b is better"
    assert list(not_ranked(runs)) == [
        "g: 3 runs are ranked on the 60 records that all of them have a reply to (of up to 100)"
    ]


def test_a_run_of_all_splits_is_ranked_with_those_of_the_test_split():
    runs = {f"m{k}": {"g": some({11, 12, k}, range(10, 30))} for k in range(4)}
    runs["all"] = {"g": some({11, 12, 13, 14}, range(100))}
    places, tested = letter_display(runs)
    assert {p.n for p in places} == {20} and tested == 10 and places[0].run == "all"


def test_short_runs_decide_nothing_however_many_they_are():
    """On their records the run that is worse on all others is right."""
    runs = {"worse": {"g": some(range(40), range(100))}, "better": {"g": some(range(20, 100), range(100))}}
    runs |= {f"smoke{k}": {"g": some(range(20), range(8 + 5 * k))} for k in range(8)}
    assert {(p.first, p.test.n) for p in pairs(runs, "best") if p.second == "worse"} == {("better", 100)}
    assert [p.run for p in letter_display(runs)[0]][:2] == ["better", "worse"]
    assert [p.letters == NOT_COMPARED for p in letter_display(runs)[0]] == [False] * 2 + [True] * 8


def test_regions_are_compared_by_the_score_that_ranks_them():
    """Of regions that is the mean F1, also where the better run has fewer images with every region right."""
    truth = {1: "a", 2: "b"}
    half = [item(i, truth if i < 3 else {1: "a", 2: "x"}, truth, choices=()) for i in range(60)]
    few = [item(i, truth if i < 15 else {1: "x", 2: "x"}, truth, choices=()) for i in range(60)]
    none = [item(i, {1: "x", 2: "x"}, truth, choices=()) for i in range(60)]
    places, _ = letter_display({"half": {"g": half}, "few": {"g": few}, "none": {"g": none}})
    found = {p.run: p.letters for p in places}
    assert found == {"half": "a", "few": "b", "none": "c"}


@pytest.mark.parametrize("flipped", [False, True])
def test_a_run_that_is_better_on_one_modality_only_is_so_there(flipped):
    def of(better):
        right = {i for i in range(120) if (i % 2 and better) or i % 4 == 0}
        return [
            item(i, "yes" if i in right else "no", "yes", modality=("CFP", "OCT")[i % 2], source="s")
            for i in range(120)
        ]

    runs = {"a": {"g": of(not flipped)}, "b": {"g": of(flipped)}}
    found = {pair.subset: pair for pair in pairs_by_subset(runs)}
    assert list(found) == ["modality=CFP", "modality=OCT"], "one source is no subset"
    cfp, oct_ = found.values()
    assert (cfp.test.n, cfp.p, cfp.adjusted) == (60, 1.0, 1.0)
    assert oct_.test.n == 60 and oct_.adjusted < 1e-6 and oct_.difference.value == (-1.0 if flipped else 1.0)
    assert [pair.adjusted for pair in found.values()] == pytest.approx(
        multipletests([pair.p for pair in found.values()], method="holm")[1]
    )


def test_conditions_are_subsets_of_the_task_that_asks_about_one_at_a_time():
    items = [item(i, "yes", "yes", variant=("amd", "drusen")[i % 2]) for i in range(8)]
    both = {k: dict.fromkeys(("conditions", "g"), items) for k in "ab"}
    assert [(p.task, p.subset) for p in pairs_by_subset(both)] == [
        ("conditions", "condition=amd"), ("conditions", "condition=drusen")
    ]  # fmt: skip


def test_a_question_of_which_one_way_failed_is_not_paired_with_another_way():
    """All requests with the first wording of run a failed; both runs read the second wording, and only it, rightly."""

    def asked(wording):
        answer = "yes" if wording else "no"
        ids = [f"q{k}/wording-1" if wording else f"q{k}" for k in range(30)]
        return [item(id, answer, "yes", group=id[:3], tags={"wording": str(wording)}) for id in ids]

    scores = RunScores(Path("r"), "r", "r", (Score("g", "all", "accuracy_strict", 60, 0.5),))
    whole = Outcomes((), {"g": asked(0) + asked(1)}, {}, None)
    lost = Outcomes((), {"g": asked(1)}, {}, None, failed=tuple(asked(0)))
    part = Outcomes((), {"g": asked(0) + asked(1)[:20]}, {}, None, failed=tuple(asked(1)[20:]))
    found = comparable(Results((scores,) * 3, {"lost": lost, "part": part, "whole": whole}, {}))
    assert set(found["g"]) == {"part", "whole"} and len(found["g"]["part"].items) == 40
    (pair,) = comparisons.pairs(found)
    assert (pair.test.only_first, pair.test.only_second, pair.alone) == (0, 0, (0, 20))


def test_two_runs_of_different_records_are_said_to_be_ranked_on_the_common_ones():
    runs = {"a": {"g": some({1, 2}, range(20))}, "b": {"g": some({3}, range(18))}}
    (said,) = not_ranked(runs)
    assert said.startswith("g: 2 runs are ranked on the 18 records")
    assert list(not_ranked({"a": runs["a"]})) == []
