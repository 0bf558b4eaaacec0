"""The confidence that a reply states, by the rules of the specification."""

from __future__ import annotations

import random

import pytest

from lmod_train.tasks.parsing.confidence import parse_confidence
from tests.growth import growth
from tests.tasks.parsing.test_reading import hostile, mutated

VALUES = {
    "80%": 0.8, "80 %": 0.8, "80": 0.8, "0.8": 0.8, ".8": 0.8, "80.5%": 0.805, "0.8%": 0.008, "100%": 1, "0%": 0,
    "1.0": 1, "1": 0.01, "0": 0, "1.5": 0.015, "150%": 1, "1000%": 1, "-20%": 0, "80 percent": 0.8, "８０％": 0.8,
    "70-80%": 0.75, "70%-80%": 0.75, "70 to 80%": 0.75, "between 70% and 80%": 0.75, "0.7-0.8": 0.75, "70–80": 0.75,
    "70～80%": 0.75, "8/10": 0.8, "80/100": 0.8, "80 out of 100": 0.8, "~80%": 0.8, "about 80%": 0.8, ">90%": 0.9,
    "over 90%": 0.9, "<80>%": 0.8, "80,5%": 0.805, "high (80%)": 0.8, "very high": None, "very sure": None,
    "high": None, "eighty percent": None, "N/A": None, "": None, "80mm": None, "<0-100>%": None, "unknown": None,
    "80% (high)": 0.8, "**80%**": 0.8, "80%.": 0.8, '"80%"': 0.8, "约80%": 0.8,
}  # fmt: skip
"""Stated value -> share."""


def test_mutated_replies_never_raise_and_stay_within_0_and_1() -> None:
    chance = random.Random(0)
    for _ in range(500):
        reply = f"{chance.choice('ABx')}; Confidence: {chance.choice(list(VALUES))}. 60% of the disc, 置信度 70"
        share = parse_confidence(mutated(reply, chance))
        assert share is None or 0 <= share <= 1


OTHERS = ["80% ", "confidence 8", "Confidence: about ", "0-1", "sure: 1,", "置信度"]


@pytest.mark.parametrize("unit", ["Answer: B (", *(pytest.param(unit, marks=pytest.mark.slow) for unit in OTHERS)])
def test_adversarial_text_is_read_in_linear_time(unit: str) -> None:
    texts = {size: hostile(unit, size) for size in (500, 4_000)}
    assert growth(lambda size: [parse_confidence(text) for text in texts[size]], 500, 8) < 2.5
