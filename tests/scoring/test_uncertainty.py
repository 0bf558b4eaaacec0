"""The uncertainty-aware score against loops in plain Python, its range, and its empty and missing cases."""

import numpy as np
import pytest

from lmod_train.core.errors import BadArgument
from lmod_train.extensions.xpcr.scores import (
    CATEGORIES,
    MEASURES,
    categories,
    columns_of,
    uncertainty_scores,
    weights_of,
)
from tests.scoring.chains import chain_items, random_items, step_item
from tests.scoring.make import by_metric, values
from tests.tabled import tabled

SHARES = ("uas", "uas_unit", "uas_flat", "uas_worst")
SCORES = {"cc": 1.0, "cu": 0.7, "iu": 0.3, "ic": -0.5}


def by_hand(items):
    """Sums over the items as the definitions state them."""
    sums = {name: [0.0, 0.0] for name in ("uas", "uas_unit", "uas_flat", "uas_worst")}
    for i in items:
        right, c = i.answer == i.truth, i.confidence
        level, impact = "RAS".find(i.tags.get("level", "?")), float(i.tags.get("impact", 3))
        worst = -0.5 if not right else 0.7
        s = worst if c is None else (1.0 if c >= 0.7 else 0.7) if right else (0.3 if c < 0.5 else -0.5)
        raw, unit = 0.6 * (level + 1) + 0.4 * impact, 0.6 * level / 2 + 0.4 * (impact - 1) / 4
        for name, weight, counts in (
            ("uas", raw, c is not None and level >= 0),
            ("uas_unit", unit, c is not None and level >= 0),
            ("uas_flat", 1.0, c is not None),
            ("uas_worst", raw, level >= 0),
        ):
            if counts:
                sums[name][0] += weight * s
                sums[name][1] += weight
    return {name: 100 * total / weight if weight else None for name, (total, weight) in sums.items()}


@tabled("seed", range(6))
def test_all_weightings_as_by_hand(seed):
    items = random_items(seed, confident=0.7, several=seed % 2 == 0)
    items += [step_item("x", "DD", True, q, confidence=0.4) for q in range(5)]
    got = by_metric(uncertainty_scores("chain", "all", items))
    for name, expected in by_hand(items).items():
        assert got[name].value == pytest.approx(expected), name
        assert -50 <= got[name].low < got[name].value < got[name].high <= 100
    stated = [i for i in items if i.confidence is not None]
    assert got["uas_flat"].n == len(stated) == got["share_cc"].n and got["uas"].n == len(stated) - 5
    assert got["uas_worst"].n == len(items) - 5


@tabled("seed", range(4))
def test_the_plain_sum_is_that_of_equation_6(seed):
    items = random_items(seed, confident=0.7)
    total = sum(
        (0.6 * (1 + "RAS".find(i.tags["level"])) + 0.4 * float(i.tags.get("impact", 3)))
        * SCORES[category(i.answer == i.truth, i.confidence)]
        for i in items
        if i.confidence is not None
    )
    got = by_metric(uncertainty_scores("chain", "all", items))
    assert got["uas_sum"].value == pytest.approx(total) and got["uas_sum"].n == got["uas"].n
    assert (got["uas_sum"].low, got["uas_sum"].high) == (None, None)
    twice = by_metric(uncertainty_scores("chain", "all", [*items, *items]))
    assert twice["uas_sum"].value == pytest.approx(2 * total) and twice["uas"].value == pytest.approx(got["uas"].value)


def category(right, confidence):
    (row,) = categories(np.array([right]), np.array([confidence]))
    return list(CATEGORIES)[int(row.argmax())]


def test_categories():
    edges = {True: [(0, "cu"), (0.69, "cu"), (0.7, "cc"), (1, "cc")], False: [(0, "iu"), (0.49, "iu"), (0.5, "ic")]}
    for right, cases in edges.items():
        assert all(category(right, float(confidence)) == expected for confidence, expected in cases)
    assert (category(True, np.nan), category(False, np.nan)) == ("cu", "ic"), "the worst without a confidence"
    items = random_items(0, confident=0.7)
    stated = [i for i in items if i.confidence is not None]
    got = values(uncertainty_scores("chain", "all", items))
    for name in SCORES:
        share = np.mean([category(i.answer == i.truth, i.confidence) == name for i in stated])
        assert got[f"share_{name}"] == pytest.approx(share)
    assert CATEGORIES == SCORES and sum(got[f"share_{name}"] for name in SCORES) == pytest.approx(1)
    assert got["uas_flat"] == pytest.approx(100 * sum(SCORES[name] * got[f"share_{name}"] for name in SCORES))


@tabled(("right", "confidence", "expected"), [(True, 1.0, 100), (False, 1.0, -50), (False, 0.0, 30)])
def test_the_range_is_reached(right, confidence, expected):
    items = [i for k in range(5) for i in chain_items(f"c{k}", [right] * 6, level="S", confidence=confidence)]
    got = by_metric(uncertainty_scores("chain", "all", items))
    for name in ("uas", "uas_unit", "uas_flat", "uas_worst"):
        assert got[name].value == pytest.approx(expected)
        assert got[name].low is None or -50 <= got[name].low <= expected + 1e-9 <= got[name].high + 2e-9 <= 100 + 3e-9


def test_the_range_on_10_000_random_chains():
    """Each set of chains has its own accuracy, confidence and weights, some without any."""
    rng, found = np.random.default_rng(0), []
    for _ in range(200):
        right = rng.random(300) < rng.random()
        confidence = rng.beta(*rng.random(2) * 3 + 0.05, size=300)
        confidence[rng.random(300) < rng.random() / 3] = np.nan
        difficulty, impact = rng.integers(1, 4, size=300), rng.integers(1, 6, size=300)
        raw, unit = 0.6 * difficulty + 0.4 * impact, 0.6 * (difficulty - 1) / 2 + 0.4 * (impact - 1) / 4
        columns = columns_of(right, confidence, np.stack([raw, unit * (rng.random() < 0.9), np.ones(300)], axis=1))
        sums = {name: column.sum(axis=0) for name, column in columns.items()}
        found.append([float(m.value(sums)) for m in MEASURES if m.name in SHARES])
    values = np.array(found)
    empty = np.isnan(values)
    assert empty[:, 1].any() and not empty[:, [0, 2, 3]].any(), "only weights of 0 give no value"
    assert (values[~empty] >= -0.5).all() and (values[~empty] <= 1).all()
    assert np.nanmin(values) < -0.2 and np.nanmax(values) > 0.8


def test_weights():
    assert weights_of(step_item("a", "DD", True, level="R", impact="1")) == pytest.approx((1.0, 0.0, 1.0))
    assert weights_of(step_item("a", "DD", True, level="S", impact="5")) == pytest.approx((3.8, 1.0, 1.0))
    assert weights_of(step_item("a", "DD", True, level="A")) == pytest.approx((2.4, 0.5, 1.0)), "impact 3 if unknown"


def test_without_any_weight_the_unit_weighting_is_empty():
    items = chain_items("a", [True] * 6, level="R", impact="1", confidence=0.9)
    got = by_metric(uncertainty_scores("chain", "all", items))
    assert (got["uas_unit"].value, got["uas_unit"].n) == (None, 0) and got["uas"].value == 100


def test_without_levels_only_equal_weights_are_left():
    got = by_metric(uncertainty_scores("chain", "all", chain_items("a", [True] * 6, confidence=0.9)))
    assert {name: got[name].n for name in ("uas", "uas_unit", "uas_flat", "uas_worst")} == {
        "uas": 0,
        "uas_unit": 0,
        "uas_flat": 6,
        "uas_worst": 0,
    }


def test_missing_confidence_is_left_out_or_the_worst():
    items = [step_item("a", "DD", True, level="A"), step_item("b", "DD", False, level="A")]
    got = by_metric(uncertainty_scores("chain", "all", items))
    assert got["uas"].n == got["share_cc"].n == 0 and got["uas_worst"].value == pytest.approx(100 * (0.7 - 0.5) / 2)


def test_a_missing_answer_is_wrong_with_its_stated_confidence():
    items = [step_item(f"a{k}", "DD", None, confidence=c) for k, c in enumerate((0.9, 0.1))]
    assert values(uncertainty_scores("chain", "all", items))["uas_flat"] == pytest.approx(100 * (0.3 - 0.5) / 2)


def test_no_items_no_value():
    assert {s.n for s in uncertainty_scores("chain", "all", [])} == {0}


@tabled("impact", ["0", "5.1", "high", "nan"])
def test_an_impact_out_of_range_is_an_error_that_names_the_record(impact):
    with pytest.raises(BadArgument, match=r"impact of a/DD/0.*from 1 to 5"):
        uncertainty_scores("chain", "all", [step_item("a", "DD", True, level="A", impact=impact)])
