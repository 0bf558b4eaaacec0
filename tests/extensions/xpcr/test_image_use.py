"""What the image adds after earlier answers, recomputed by hand from planted answers."""

from types import SimpleNamespace

import pytest
from statsmodels.stats.multitest import multipletests

from lmod_train.extensions.xpcr.account import image_uses
from lmod_train.scoring.chain_steps import STEPS
from tests.report.chained import results_of
from tests.report.probing import question, run_of, said

BLIND = {"IQA": 10, "AL": 9, "LC": 7, "DD": 3}
"""Stage -> number of cases that are wrong without the image; with it, all are right."""


def asked(wrong, kind="", *, regime="oracle", n=20, earlier=False, variants=("",)):
    """Predictions in which the cases before a number are wrong at a stage, at each of its questions."""
    made = []
    for case in range(n):
        for place, stage in enumerate(STEPS):
            needs = [(step,) for step in STEPS[:place]] if earlier else ()
            own = [question(case, stage, v, kind, regime=regime, needs=needs) for v in variants]
            made += [said(one, case >= wrong.get(stage, 0)) for one in own]
    return made


def uses(*runs):
    return [SimpleNamespace(effect=effect, same=same) for effect, same in image_uses(results_of(*runs), "chain")]


def test_the_difference_of_each_stage_with_holm_over_the_stages_that_have_a_test():
    (use,) = uses(run_of("run", asked({}) + asked(BLIND, "none")))
    stages = {s.step: s for s in use.effect.stages}
    assert (use.effect.model, use.effect.first, use.effect.second) == ("base", "oracle", "oracle")
    assert list(stages) == list(STEPS)
    for step in STEPS:
        one, lost = stages[step], BLIND.get(step, 0)
        assert one.score.n == 20 and one.score.value == pytest.approx(lost / 20)
        assert (one.first, one.second) == (1.0, pytest.approx(1 - lost / 20))
        assert (one.test.only_first, one.test.only_second) == (lost, 0)
    assert stages["IQA"].p < stages["AL"].p < stages["LC"].p < 0.05 < stages["DD"].p, "three pairs are too few"
    given = [one for one in stages.values() if one.p is not None]
    assert [one.adjusted for one in given] == pytest.approx(multipletests([o.p for o in given], method="holm")[1])
    assert {s.metric: s.value for s in use.effect.whole} == {
        "swa_mean_difference": pytest.approx(sum(BLIND.values()) / 120),
        "ccr_difference": pytest.approx(10 / 20),
    }


def test_several_questions_of_a_stage_are_pairs_of_their_own_and_one_patient():
    variants = ("q1", "q2")
    (use,) = uses(run_of("run", asked({}, variants=variants) + asked(BLIND, "none", variants=variants)))
    iqa = use.effect.stages[0]
    assert (iqa.score.n, iqa.test.only_first, iqa.score.value) == (40, 20, 0.5)
    (once,) = uses(run_of("run", asked({}) + asked(BLIND, "none")))
    assert iqa.p == pytest.approx(once.effect.stages[0].p, rel=0.2), "ten patients differ, not twenty questions"


def test_other_kinds_and_regimes_without_earlier_answers_are_none():
    assert uses(run_of("run", asked({}) + asked(BLIND, "options"))) == []
    assert uses(run_of("run", asked({}, regime="") + asked(BLIND, "none", regime=""))) == []
    assert uses(run_of("run", asked({}))) == [] and uses(run_of("run", asked(BLIND, "none"))) == []


def test_the_probe_may_be_another_run_of_the_model_in_the_same_regime():
    image, blind = run_of("a", asked({})), run_of("b", asked(BLIND, "none"))
    other = run_of("c", asked({}, "none"), model="other")
    (use,) = uses(image, blind, other, run_of("d", asked({}, "none", regime="cas_all")))
    assert use.effect.model == "base" and use.effect.stages[1].score.value == pytest.approx(9 / 20)


def test_the_probe_of_the_same_run_goes_before_others():
    both, again = run_of("a", asked({}) + asked(BLIND, "none")), run_of("b", asked({}, "none"))
    (use,) = uses(both, again)
    assert use.effect.stages[1].score.value == pytest.approx(9 / 20)


def test_several_runs_of_a_model_in_one_regime_are_named_by_their_runs():
    runs = [run_of(name, asked({}) + asked(BLIND, "none")) for name in ("a", "b")]
    assert [use.effect.model for use in uses(*runs)] == ["a", "b"]
    found = uses(run_of("a", asked({})), run_of("b", asked({})), run_of("c", asked(BLIND, "none")))
    assert [use.effect.model for use in found] == ["a - c", "b - c"]


def test_true_earlier_answers_are_the_same_and_own_ones_where_all_of_them_are_equal():
    (oracle,) = uses(run_of("run", asked({}) + asked(BLIND, "none")))
    assert oracle.same == dict.fromkeys(STEPS[1:], 1.0)
    made = asked({}, regime="cas_all", earlier=True) + asked(
        {"AL": 9, "DD": 12}, "none", regime="cas_all", earlier=True
    )
    (own,) = uses(run_of("run", made))
    assert own.same == {"AL": 1.0, "LC": 11 / 20, "DD": 11 / 20, "SG": 8 / 20, "CD": 8 / 20}
