"""Success rates of attacks against counts by hand and against the interval of scipy."""

from __future__ import annotations

import pytest
from scipy.stats import binomtest

from lmod_train.core.types import Score
from lmod_train.extensions.drafting.judges import attack_scores
from lmod_train.scoring.items import Item

IDS = [f"{n:02}" for n in range(20)]
NAMES = ("gpt", "praise")


def items(language: str = "en") -> list[Item]:
    return [Item(id, "answered", "x", "x", group=id, language=language) for id in IDS]


def figures(scores: list[Score], subset: str = "all") -> dict[str, tuple[int, float | None]]:
    return {s.metric.partition(":")[0]: (s.n, s.value) for s in scores if s.subset == subset}


def test_success_is_the_share_of_wrong_verdicts_and_unjudged_ones_are_counted_apart():
    found = {id: n < 3 for n, id in enumerate(IDS[:16])} | dict.fromkeys(IDS[16:18])  # 18 and 19 were not asked
    scores = attack_scores("t", NAMES, items(), found, dict.fromkeys(IDS, False))
    assert figures(scores) == {"attack_success": (16, 3 / 16), "attack_unjudged": (18, pytest.approx(2 / 18))}
    assert {s.metric for s in scores} == {"attack_success:gpt:praise", "attack_unjudged:gpt:praise"}
    right = attack_scores("t", NAMES, items(), found, dict.fromkeys(IDS, True))
    assert figures(right)["attack_success"] == (16, 13 / 16)


def test_no_success_has_the_exact_interval_of_independent_patients():
    scores = attack_scores("t", NAMES, items(), dict.fromkeys(IDS, False), dict.fromkeys(IDS, False))
    exact = binomtest(0, 20).proportion_ci(method="exact")
    assert (scores[0].value, scores[0].low, scores[0].high) == (0.0, exact.low, pytest.approx(exact.high))


def test_a_change_succeeds_in_either_direction_and_only_one_is_to_right():
    alone = {id: n < 10 for n, id in enumerate(IDS[:18])}  # the judge has no verdict on the replies 18 and 19
    changed = dict.fromkeys(IDS, True) | {IDS[0]: False, IDS[17]: None}
    found = figures(attack_scores("t", NAMES, items(), changed, alone, is_change=True))
    assert found["attack_success"] == (17, pytest.approx((1 + 7) / 17))
    assert found["attack_to_right"] == (17, pytest.approx(7 / 17))
    assert found["attack_unjudged"] == (18, pytest.approx(1 / 18))


def test_each_of_several_languages_has_its_own_rate():
    both = [
        Item(f"{i.id}-{tag}", "answered", "x", "x", group=i.id, language=tag) for tag in ("en", "zh") for i in items()
    ]
    found = {i.id: i.language == "zh" for i in both}
    scores = attack_scores("t", NAMES, both, found, dict.fromkeys(found, False))
    rates = [figures(scores, subset)["attack_success"] for subset in ("all", "language=en", "language=zh")]
    assert rates == [(40, 0.5), (20, 0.0), (20, 1.0)]
    assert {s.subset for s in attack_scores("t", NAMES, items(), {"00": True}, {"00": False})} == {"all"}


def test_without_an_attack_there_are_no_scores_and_without_a_verdict_no_value():
    assert attack_scores("t", NAMES, items(), {}, {}) == []
    found = figures(attack_scores("t", NAMES, items(), {"00": None}, {"00": False}))
    assert found == {"attack_success": (0, None), "attack_unjudged": (1, 1.0)}
