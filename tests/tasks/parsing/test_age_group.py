"""Labelled replies to questions for the age group; `?reason` is the reason of an `Unparsed`."""

from __future__ import annotations

import pytest

from lmod_train.tasks.parsing.age_group import parse_age_group
from tests.growth import growth

GROUPS = ("<18", "18–29", "30–39", "40–49", "50–59", "60–69", "70–79", "80+")


OTHERS = ["Group 3 ", "30-39 ", "the patient is 4", "age " * 3, "12", "<", "over 6 ", "Group 2: 18-29; "]


@pytest.mark.parametrize(
    "piece", ["Age Group: 3; 18-29, ", *(pytest.param(piece, marks=pytest.mark.slow) for piece in OTHERS)]
)
def test_long_replies_are_read_in_linear_time(piece: str) -> None:
    assert growth(lambda size: parse_age_group(piece * (size // len(piece)), GROUPS), 5_000) < 2.5
