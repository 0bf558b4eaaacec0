"""Paired differences of two runs against plain Python, and a planted flow of errors."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from statsmodels.stats import contingency_tables
from statsmodels.stats.multitest import multipletests

from lmod_train.extensions.xpcr.scores import SAME_WORDS, asked_alike, chain_differences, stage_differences
from lmod_train.scoring.chain_steps import STEPS
from lmod_train.scoring.comparison import paired_items
from tests.scoring.chains import chain_items, mean, random_items, step_item, truth_table
from tests.scoring.make import by_metric
from tests.tabled import tabled


def flow(regime, chains=40):
    """Every fourth chain errs at LC; in CAS all later steps follow it, alone and with true answers they are right."""
    items = []
    for k in range(chains):
        errs = k % 4 == 0
        later = not (errs and regime == "cas")
        items += chain_items(f"c{k}", [True, True, not errs, later, later, later], group=f"p{k // 2}")
    return items


def test_planted_flow_of_errors_is_recovered():
    found = {d.step: d for d in stage_differences("chain", flow("oracle"), flow("cas"))}
    assert {step: d.score.value for step, d in found.items()} == {
        **dict.fromkeys(STEPS[:3], 0.0),
        **dict.fromkeys(STEPS[3:], 0.25),
    }
    assert all(found[s].score.low < 0.25 < found[s].score.high for s in STEPS[3:])
    assert (found["DD"].test.only_first, found["DD"].test.only_second, found["LC"].p) == (10, 0, 1.0)
    assert found["DD"].adjusted == pytest.approx(6 * found["DD"].p) and found["DD"].p < 0.05
    got = by_metric(chain_differences("chain", flow("cas"), flow("independent")))
    assert got["swa_mean_difference"].value == pytest.approx(-0.125)
    assert got["ccr_difference"].value == 0, "a chain that errs is wrong in both"


@tabled("seed", range(3))
def test_differences_at_each_step(seed):
    first, second = random_items(seed), random_items(seed + 100)
    one, two = ({i.id: i for i in items} for items in (first, second))
    both = sorted(one.keys() & two.keys())
    found = stage_differences("chain", first, second)
    assert [d.step for d in found] == list(STEPS) and sum(d.score.n for d in found) == len(both)
    for d in found:
        own = [key for key in both if f"/{d.step}/" in key]
        a, b = (np.array([r[k].answer == r[k].truth for k in own]) for r in (one, two))
        assert (d.first, d.second, d.score.value) == pytest.approx((a.mean(), b.mean(), a.mean() - b.mean()))
        table = [[np.sum(a & b), np.sum(a & ~b)], [np.sum(~a & b), np.sum(~a & ~b)]]
        assert d.test.p == pytest.approx(contingency_tables.mcnemar(table, exact=True).pvalue)
        assert (d.p is None) == (d.score.low is None)
        assert d.p is None or (d.p < 0.05) == (d.score.low > 0 or d.score.high < 0)
    given = [d for d in found if d.p is not None]
    if given:
        assert [d.adjusted for d in given] == pytest.approx(multipletests([d.p for d in given], method="holm")[1])


@tabled("seed", range(3))
def test_differences_over_whole_chains(seed):
    first, second = (random_items(s, several=True, missing=0.02) for s in (seed, seed + 50))
    pairs = paired_items(first, second)
    steps = [[(a.answer == a.truth) - (b.answer == b.truth) for a, b in pairs if a.chain_step == s] for s in STEPS]
    got = by_metric(chain_differences("chain", first, second))
    swa, ccr = got["swa_mean_difference"], got["ccr_difference"]
    assert (swa.value, swa.n) == (pytest.approx(mean([mean(s) for s in steps])), len(pairs))
    assert swa.low < swa.value < swa.high
    rates = []
    for items in ([a for a, _ in pairs], [b for _, b in pairs]):
        rows = {c: [row[s] for s in STEPS] for c, row in truth_table(items).items() if len(row) == 6}
        rates.append({c: mean([all(p) for p in itertools.product(*row)]) for c, row in rows.items()})
    expected = [rates[0][c] - rates[1][c] for c in rates[0]]
    assert (ccr.value, ccr.n) == (pytest.approx(mean(expected)), len(expected)) and ccr.low < ccr.value < ccr.high


def in_regime(items, regime):
    """Items with the tag of a regime where the question has an earlier one."""
    return [replace(i, tags={**i.tags, "regime": regime}) if i.chain_step != "IQA" else i for i in items]


def test_a_question_that_both_regimes_asked_in_the_same_words_has_no_difference():
    cascade, alone = in_regime(flow("cas"), "cas_all"), flow("independent")
    alone[0] = replace(alone[0], answer="another answer to the same words, as of sampled replies")
    found = {d.step: d for d in stage_differences("chain", cascade, alone)}
    assert list(found) == list(STEPS)
    assert (found["IQA"].score.value, found["IQA"].score.n, found["IQA"].why) == (None, 0, SAME_WORDS)
    assert found["DD"].score.value == -0.25 and not found["DD"].why
    assert asked_alike(cascade, alone) == {i.id for i in alone if i.chain_step == "IQA"}
    assert asked_alike(alone, alone) == asked_alike(cascade, cascade) == set(), "one regime: runs of two models"


def test_the_first_question_of_a_chain_without_an_earlier_stage_is_left_out_of_its_stage():
    whole, short = chain_items("a", [True] * 6, group="p"), chain_items("b", [True] * 6, group="q")[1:]
    cascade = [*in_regime(whole, "cas_all"), short[0], *in_regime(short[1:], "cas_all")]
    found = {d.step: d.score.n for d in stage_differences("chain", cascade, [*whole, *short])}
    assert found == {"IQA": 0, "AL": 1, **dict.fromkeys(STEPS[2:], 2)}


def test_runs_that_never_differ_have_an_interval():
    for score in chain_differences("chain", flow("cas"), flow("cas")):
        assert score.value == 0 and -0.25 < score.low < 0 < score.high < 0.25


def test_runs_without_common_questions_have_no_difference():
    first, second = chain_items("a", [True] * 6), chain_items("b", [True] * 6)
    assert stage_differences("chain", first, second) == []
    assert {(s.metric, s.n, s.value) for s in chain_differences("chain", first, second)} == {
        ("swa_mean_difference", 0, None),
        ("ccr_difference", 0, None),
    }


def test_questions_are_paired_by_id_and_those_of_one_run_left_out():
    first, second = flow("cas", 4), [*flow("oracle", 4)[::-1], step_item("z", "DD", True)]
    pairs = paired_items(first, second)
    assert [a.id for a, _ in pairs] == [b.id for _, b in pairs] and {a.id for a, _ in pairs} == {i.id for i in first}


def test_a_way_of_asking_is_not_more_evidence():
    ways = [{"order": "0"}, {"order": "1"}]
    first, second = [], []
    for k in range(4):
        for way in ways:
            suffix = "" if way["order"] == "0" else "/order-1"
            for items, right in ((first, True), (second, False)):
                one = step_item(f"c{k}", "DD", right, tags=way)
                items.append(type(one)(**{f: getattr(one, f) for f in one.__slots__} | {"id": one.id + suffix}))
    (found,) = stage_differences("chain", first, second)
    assert (found.score.n, found.test.n) == (8, 4)


@pytest.mark.parametrize("changed", [{"truth": "none"}, {"choices": ("one", "two", "three", "five")}])
@pytest.mark.parametrize("seed", [0, 1])
def test_questions_that_are_others_in_the_second_run_are_not_compared(changed, seed):
    first, second = random_items(seed), random_items(seed + 10)
    others = {item.id for item in second[::3]}
    curated_anew = [replace(item, **changed) if item.id in others else item for item in second]
    left = [[item for item in items if item.id not in others] for items in (first, second)]
    assert stage_differences("chain", first, curated_anew) == stage_differences("chain", *left)
    assert chain_differences("chain", first, curated_anew) == chain_differences("chain", *left)


def test_the_order_of_the_choices_does_not_make_another_question():
    first = random_items(0)
    turned = [replace(item, choices=item.choices[::-1]) for item in first]
    assert stage_differences("chain", first, turned) == stage_differences("chain", first, first)
