"""The time that a reader takes is linear in the length of a text, whatever it repeats."""

from __future__ import annotations

import pytest

from lmod_train.tasks.parsing.age_group import parse_age_group
from lmod_train.tasks.parsing.confidence import parse_confidence
from lmod_train.tasks.parsing.option import open_limits
from lmod_train.tasks.parsing.option_signs import OTHERS, in_full, mark
from lmod_train.tasks.parsing.verdict import parse_verdict
from tests.growth import growth
from tests.tasks.parsing.test_reading import hostile

GROUPS = ("<18", "18–29", "30–39", "40–49", "50–59", "60–69", "70–79", "80+")
GRADES = tuple(f"ICDR grade {n}" for n in range(5))
READERS = {
    "age group": (lambda text: parse_age_group(text, GROUPS), 5_000),
    "confidence": (parse_confidence, 500),
    "verdict": (lambda text: parse_verdict(text, ("True", "False")), 1_000),
}
UNITS = {
    "age group": ["Age Group: 3; 18-29, ", "Group 3 ", "30-39 ", "the patient is 4", "age " * 3, "12", "<", "over 6 "],
    "confidence": ["Answer: B (", "80% ", "confidence 8", "Confidence: about ", "0-1", "sure: 1,", "置信度"],
    "verdict": [
        "the statement ", "true ", "not ", "对", "是", "不", '"', "'", "(", "描述", ", ", "does not describe the ",
    ],
}  # fmt: skip
CASES = [
    pytest.param(reader, unit, marks=[pytest.mark.slow] if number else [])
    for reader, units in UNITS.items() for number, unit in enumerate(units)
]  # fmt: skip


@pytest.mark.parametrize(("reader", "unit"), CASES)
def test_adversarial_text_is_read_in_linear_time(reader: str, unit: str) -> None:
    read, size = READERS[reader]
    texts = {long: hostile(unit, long) for long in (size, 8 * size)}
    assert growth(lambda long: [read(text) for text in texts[long]], size, 8) < 2.5


def test_limits_and_shortened_names_are_found_in_linear_time() -> None:
    marked = {n: mark("at least ICDR grade 2 or worse than " * n, GRADES) for n in (200, 1_600)}
    assert OTHERS in open_limits(marked[200])
    assert growth(lambda n: open_limits(marked[n]), 200) < 2.5
    texts = {n: "ICDR grade 2 or maybe possibly " * n for n in (300, 2_400)}
    assert growth(lambda n: in_full(texts[n], GRADES), 300) < 2.5
