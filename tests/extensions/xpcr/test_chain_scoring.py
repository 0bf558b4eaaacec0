"""Chains against enumeration in plain Python, the published case, and bounds that hold for any chain."""

import numpy as np
import pytest

from lmod_train.core.types import Patient
from lmod_train.extensions.xpcr.scores import CHAIN_MEASURES, chain_columns, chain_scores
from lmod_train.scoring.chain_steps import STEPS, Chains, chains_of
from lmod_train.scoring.intervals import compute_scores
from tests.scoring.chains import chain_items, mean, random_items, rates, step_item, truth_table
from tests.scoring.make import by_metric, values
from tests.tabled import tabled


def survival(items):
    """Return step -> share of the complete chains that are right up to and with it."""
    found = {s.subset: s.value for s in chain_scores("chain", items) if s.metric == "survival" and s.value is not None}
    return {step: found[f"stage={step}"] for step in STEPS if f"stage={step}" in found}


@tabled("several", [False, True])
@tabled("seed", range(5))
def test_rates_of_whole_chains_are_those_of_an_enumeration(seed, several):
    items = random_items(seed, several=several, missing=0.03)
    got = values(chain_scores("chain", items))
    for name, expected in rates(items).items():
        assert got[name] == (None if expected is None else pytest.approx(expected)), name


def test_one_question_a_step_makes_all_rates_equal():
    got = values(chain_scores("chain", random_items(1, unanswered=0, missing=0)))
    assert got["ccr"] == got["ccr_strict"] == got["ccr_all"] == got["ccr_drawn"] == pytest.approx(got["ccr_expected"])
    assert 0 < got["ccr"] < 1 and got["share_complete"] == 1


def test_the_drawn_question_of_each_step_has_the_expected_rate():
    columns = [chain_columns(chains_of(random_items(s, several=True, missing=0, chains=60))) for s in range(20)]
    drawn, expected, whole = (np.array([c[name].mean() for c in columns]) for name in ("drawn", "expected", "whole"))
    assert abs((drawn - expected).mean()) < 0.02 and (drawn >= whole).all() and (drawn > whole).any()


def test_accuracy_of_each_stage():
    items = random_items(3, several=True)
    scores = chain_scores("chain", items)
    for step in STEPS:
        own = [i for i in items if i.chain_step == step]
        got = by_metric(scores, f"stage={step}")
        assert got["swa"].value == pytest.approx(mean([i.answer == i.truth for i in own]))
        assert got["swa"].n == len(own) and got["swa"].low < got["swa"].value < got["swa"].high
        answered = [i.answer == i.truth for i in own if i.status == "answered"]
        assert (got["swa_answered"].value, got["swa_answered"].n) == (pytest.approx(mean(answered)), len(answered))
        assert got["chance"].value == 0.25 and got["share_unparsed"].value == pytest.approx(
            1 - len(answered) / len(own)
        )
    assert values(scores)["swa_mean"] == pytest.approx(mean([values(scores, f"stage={s}")["swa"] for s in STEPS]))


def test_constant_answers():
    items = [step_item(f"c{k}", "IQA", True) for k in range(9)]
    got = values(chain_scores("chain", items), "stage=IQA")
    texts = [i.truth for i in items]
    assert got["majority"] == max(texts.count(t) for t in texts) / 9


def test_the_published_case():
    """Figure 3 of the supplement of X-PCR."""
    cases = {"GPT-5": [1] * 6, "MedGemma": [1, 1, 1, 0, 0, 0], "Qwen3": [1, 1, 0, 0, 0, 0]}
    for rights in cases.values():
        items = chain_items("case", [bool(r) for r in rights])
        got = values(chain_scores("chain", items))
        assert got["accuracy_strict"] == got["swa_mean"] == sum(rights) / 6
        assert got["ccr"] == (sum(rights) == 6)
        assert survival(items) == dict(zip(STEPS, np.cumprod(rights), strict=True))


def test_where_chains_break_is_recovered_from_planted_errors():
    """10 chains break first at each of four steps, then are right at every second step; 60 are whole."""
    items, expected = [], {}
    for at in range(1, 5):
        for k in range(10):
            rights = [i < at or (i > at and i % 2 == 0) for i in range(6)]
            items += chain_items(f"b{at}-{k}", rights)
        expected[STEPS[at]] = 0.1
    for k in range(60):
        items += chain_items(f"w{k}", [True] * 6)
    scores = chain_scores("chain", items)
    left = 1.0
    for i, step in enumerate(STEPS):
        got = values(scores, f"stage={step}")
        left -= expected.get(step, 0)
        assert got["survival"] == pytest.approx(left) and got["first_wrong"] == pytest.approx(expected.get(step, 0))
        if i:
            assert got["right_after_right"] == pytest.approx(left / (left + expected.get(step, 0)))
        if i > 1:
            assert got["right_after_wrong"] == (i % 2 == 0)
    assert values(scores, "stage=AL")["right_after_wrong"] is None, "no chain is wrong before its second step"
    assert "right_after_right" not in values(scores, "stage=IQA")
    assert values(scores)["ccr"] == 0.6 == pytest.approx(survival(items)["CD"])


def test_survival_is_that_of_an_enumeration():
    items = random_items(8, several=True, missing=0.02)
    rows = [[mean(row[s]) for s in STEPS] for row in truth_table(items).values() if len(row) == 6]
    assert list(survival(items).values()) == pytest.approx(list(np.cumprod(rows, axis=1).mean(axis=0)))


def table_of(right, asked=None):
    asked = np.ones_like(right) if asked is None else asked
    names = tuple((str(i),) for i in range(len(right)))
    return Chains(names, tuple(f"{i // 2}" for i in range(len(right))), asked, right, right > 0, asked / 4)


def sums_of(chains):
    return {name: column.sum(axis=0) for name, column in chain_columns(chains).items()}


def test_bounds_on_10_000_random_chains():
    rng = np.random.default_rng(0)
    measures = {m.name: m.value for m in CHAIN_MEASURES}
    for _ in range(200):
        asked = rng.integers(1, 4, size=(50, 6)).astype(float)
        skill = rng.random(6) ** 0.3 * (rng.random((50, 1)) if rng.random() < 0.5 else 1)
        sums = sums_of(table_of(rng.binomial(asked.astype(int), skill).astype(float), asked))
        swa = sums["shares"] / sums["complete"]
        expected, whole = (float(measures[name](sums)) for name in ("ccr_expected", "ccr_all"))
        assert max(0, 1 - (1 - swa).sum()) - 1e-12 <= expected <= swa.min() + 1e-12
        assert whole <= expected + 1e-12
        assert float(measures["ccr_minus_product"](sums)) == pytest.approx(expected - np.prod(swa))


def test_the_bounds_are_reached():
    """Errors on different chains give the lower end, errors on the same chains the upper one."""
    apart, together = np.ones((12, 6)), np.ones((12, 6))
    apart[range(6), range(6)], together[:1] = 0, 0
    assert sums_of(table_of(apart))["expected"] / 12 == pytest.approx(0.5) == pytest.approx(1 - 6 / 12)
    assert sums_of(table_of(together))["expected"] / 12 == pytest.approx(11 / 12)


def test_incomplete_chains_are_in_no_rate_but_the_strict_one():
    items = chain_items("a", [True] * 6) + chain_items("b", [True] * 5)
    got = by_metric(chain_scores("chain", items))
    assert (got["ccr"].value, got["ccr"].n) == (1.0, 1) and (got["ccr_strict"].value, got["ccr_strict"].n) == (0.5, 2)
    assert (got["share_complete"].value, got["share_complete"].n) == (0.5, 2)


def test_without_a_complete_chain_the_rates_are_empty():
    got = by_metric(chain_scores("chain", chain_items("b", [True] * 5)))
    for name in ("ccr", "ccr_expected", "ccr_all", "ccr_drawn", "ccr_product", "ccr_minus_product"):
        assert (got[name].value, got[name].n) == (None, 0)
    assert got["ccr_strict"].value == 0 and survival(chain_items("b", [True] * 5)) == {}
    assert chain_scores("chain", []) == []


def test_several_questions_a_step_are_in_no_rate_of_single_questions():
    items = [*chain_items("a", [True] * 6), step_item("a", "DD", False, 1)]
    got = by_metric(chain_scores("chain", items))
    assert got["ccr"].n == got["ccr_strict"].n == 0
    assert (got["ccr_expected"].value, got["ccr_all"].value) == (0.5, 0)


def test_subsets_that_cut_chains_have_no_rates_of_whole_chains():
    young, old = Patient(age=20), Patient(age=70)
    items = [*chain_items("a", [True] * 6, patient=young), *chain_items("b", [False] * 6, patient=old)]
    scores = chain_scores("chain", items)
    assert values(scores, "age=18-40")["ccr"] == 1 and values(scores, "age=60+")["ccr"] == 0
    assert "ccr" not in values(scores, "stage=IQA") and "swa" not in values(scores, "age=60+")


def test_ways_and_languages_are_chains_of_their_own():
    english, chinese = (chain_items("a", [True] * 6, language=language) for language in ("en", "zh"))
    other = chain_items("a", [False] * 6, tags={"wording": "1"})
    got = by_metric(chain_scores("chain", [*english, *chinese, *other]))
    assert got["ccr"].n == 3 and got["ccr"].value == pytest.approx(2 / 3)


def test_intervals_are_wider_if_chains_of_a_patient_are_alike():
    rng = np.random.default_rng(1)
    right = np.repeat(rng.random((40, 1)) < 0.6, 4, axis=0) * np.ones((1, 6))
    measures = [m for m in CHAIN_MEASURES if m.name == "ccr"]
    columns = chain_columns(table_of(right))

    def width(groups):
        (score,) = compute_scores("t", "all", columns, groups, measures)
        return score.high - score.low

    assert width([str(i // 4) for i in range(160)]) > 1.5 * width([str(i) for i in range(160)])


def test_the_difference_to_the_product_has_an_interval_where_no_chain_or_every_chain_is_right():
    (measure,) = [m for m in CHAIN_MEASURES if m.name == "ccr_minus_product"]
    for right in (np.ones((20, 6)), np.zeros((20, 6))):
        chains = table_of(right)
        (score,) = compute_scores("t", "all", chain_columns(chains), [str(i) for i in range(20)], [measure])
        assert score.value == 0 and score.low < 0 < score.high


def test_chains_of_one_and_of_several_questions_a_step():
    items = [*chain_items("a", [True] * 6), *chain_items("b", [True] * 5 + [False])]
    items += [*chain_items("c", [True] * 6), step_item("c", "DD", True, 1)]
    got = by_metric(chain_scores("chain", items))
    assert (got["ccr"].value, got["ccr"].n, got["ccr_strict"].value, got["ccr_strict"].n) == (0.5, 2, 0.5, 2)
    assert (got["ccr_expected"].value, got["ccr_expected"].n) == (pytest.approx(2 / 3), 3)
