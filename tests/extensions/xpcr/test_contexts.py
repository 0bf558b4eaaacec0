"""Differences of regimes on the same questions, recomputed by hand."""

import pytest
from statsmodels.stats.multitest import multipletests

from lmod_train.extensions.xpcr.results import chain_runs, effects
from tests.report.chained import chain_run, planted, results_of

FIRST_WRONG = {"AL": 9, "LC": 7, "DD": 3}


def rows(wrong, n=20):
    return [[i >= wrong.get(stage, 0) for stage in ("IQA", "AL", "LC", "DD", "SG", "CD")] for i in range(n)]


def runs_of(*made):
    return chain_runs(results_of(*made), "chain")


def test_context_and_propagation_with_holm_over_the_stages_that_have_a_test():
    runs = runs_of(
        chain_run("ind", planted(rows({}))),
        chain_run("cas", planted(rows(FIRST_WRONG), regime="cas_all")),
        chain_run("oracle", planted(rows({"AL": 1}), regime="oracle")),
    )
    found = {e.kind: e for e in effects(runs)}
    assert list(found) == ["effect of context", "error propagation", "effect of true answers"]
    context = {s.step: s for s in found["effect of context"].stages}
    assert (found["effect of context"].first, found["effect of context"].second) == ("cas_all", "independent")
    for stage, lost in (("AL", 9), ("LC", 7), ("DD", 3), ("SG", 0)):
        effect = context[stage]
        assert (effect.test.only_first, effect.test.only_second) == (0, lost)
        assert effect.score.value == pytest.approx(-lost / 20) and effect.score.n == 20
        assert (effect.first, effect.second) == (pytest.approx(1 - lost / 20), 1.0)
    assert context["AL"].p < context["LC"].p < 0.05 < context["DD"].p, "three discordant pairs are too few"
    given = [one for one in context.values() if one.p is not None]
    assert [one.adjusted for one in given] == pytest.approx(multipletests([o.p for o in given], method="holm")[1])
    mean, ccr = found["effect of context"].whole
    assert mean.value == pytest.approx(-(9 + 7 + 3) / 120) and ccr.value == pytest.approx(-9 / 20)
    propagation = {s.step: s for s in found["error propagation"].stages}
    assert propagation["AL"].score.value == pytest.approx(8 / 20)


def test_runs_of_different_models_have_no_effect():
    runs = runs_of(chain_run("a", planted(rows({}))), chain_run("b", planted(rows({}), regime="oracle"), model="other"))
    assert list(effects(runs)) == []


def test_several_runs_of_a_model_in_one_regime_are_named_by_their_runs():
    cascade = [chain_run(name, planted(rows({}), regime="cas_last")) for name in ("b", "c")]
    runs = runs_of(chain_run("a", planted(rows({}))), *cascade)
    assert [e.model for e in effects(runs)] == ["b - a", "c - a"]


def test_questions_that_one_run_alone_was_asked_are_left_out():
    alone, cascade = planted(rows({}, 6)), planted([[None, *r[1:]] for r in rows({"AL": 2}, 4)], regime="cas_all")
    (found,) = effects(runs_of(chain_run("a", alone), chain_run("b", cascade)))
    assert [(s.step, s.score.n) for s in found.stages] == [(stage, 4) for stage in ("AL", "LC", "DD", "SG", "CD")]
    assert [s.metric for s in found.whole] == ["swa_mean_difference"]
