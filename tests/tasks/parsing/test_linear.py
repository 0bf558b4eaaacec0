"""The time that a reader takes is linear in the length of a text, whatever it repeats."""

from __future__ import annotations

from itertools import count, cycle

import pytest

from lmod_train.tasks.parsing.age_group import parse_age_group
from lmod_train.tasks.parsing.confidence import parse_confidence
from lmod_train.tasks.parsing.option import open_limits
from lmod_train.tasks.parsing.option_signs import OTHERS, in_full, mark
from lmod_train.tasks.parsing.verdict import parse_verdict
from tests.growth import growth
from tests.tabled import tabled
from tests.tasks.parsing.test_blind import found
from tests.tasks.parsing.test_reading import STRUCTURES, hostile

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


EVERY = (
    "glaucoma", "conditions abnormal macula", "option al", "icdr", "age_group", "sex", "anatomy SS", "true_false",
    "en4", "own_choice", "own_several", "own_yes", "own_number", "confidence", "open_en",
)  # fmt: skip
"""Questions that have every parser among them."""


def growth_of(ask: str, unit: str, size: int, times: int, enough: float) -> float:
    """Return the growth with another text at every try: what was read is kept for a while."""
    first = count()
    return growth(
        lambda n: [found({"ask": ask, "reply": x}) for x in hostile(unit, n, next(first))], size, times, enough
    )


@tabled(("ask", "unit"), zip(EVERY, cycle(STRUCTURES), strict=False))
def test_what_governs_a_name_is_found_in_linear_time(ask: str, unit: str) -> None:
    assert growth_of(ask, unit, 1_000, 4, enough=2.5) < 2.5


@pytest.mark.slow
@pytest.mark.parametrize("unit", STRUCTURES)
@pytest.mark.parametrize("ask", EVERY)
def test_forty_kilobytes_take_at_most_four_and_a_half_times_ten(ask: str, unit: str) -> None:
    assert growth_of(ask, unit, 10_000, 4, enough=4.5 / 4) <= 4.5 / 4
