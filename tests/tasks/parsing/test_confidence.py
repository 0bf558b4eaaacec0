"""The confidence that a reply states, by the rules of the specification."""

from __future__ import annotations

import random

import pytest

from lmod_train.tasks.parsing.confidence import parse_confidence
from tests.growth import growth
from tests.tabled import stored
from tests.tasks.parsing.test_reading import hostile, mutated

VALUES = stored(__file__, "confidence.VALUES")  # fmt: skip
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
