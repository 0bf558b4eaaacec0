"""The confidence that a reply states, by the rules of the specification."""

from __future__ import annotations

import random

import pytest

from lmod_train.core.types import Reply, Unparsed
from lmod_train.tasks.parsing.confidence import parse_confidence, read_confidence, without_confidence
from lmod_train.tasks.parsing.option import parse_option
from lmod_train.tasks.parsing.reading import read
from tests.growth import growth
from tests.tabled import tabled
from tests.tasks.parsing.test_reading import hostile, mutated

ASKED = "Please rate your confidence from 0 to 100%"

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


@tabled("layout", [
    "Answer: B; Confidence: {}", "Confidence: {}; Answer: B", "**Answer:** B\n**Confidence:** {}",
    "Answer: B\nConfidence level: {}\n", "答案：B；置信度：{}", "B. My confidence is {}", "B\n\n# Confidence\n{}",
    '{{"answer": "B", "confidence": "{}"}}',
])  # fmt: skip
@tabled("value", VALUES)
def test_labelled_values(value: str, layout: str) -> None:
    wanted = VALUES[value]
    assert parse_confidence(layout.format(value)) == (None if wanted is None else pytest.approx(wanted)), value


@tabled(
    ("text", "share"),
    [
        ("Answer: B", None),
        ("", None),
        ("60% of the disc is pale. Answer: B; Confidence: 90%", 0.9),
        ("Answer: B; Confidence: 90%. About 60% of the disc is pale.", 0.9),
        ("About 60% of the disc is pale. B", None),
        ("B. The confidence is high because 60% of the disc is pale.", None),
        ("My confidence is 60% of the usual", None),
        ("Please rate your confidence from 0 to 100%", None),
        ("Confidence (0-100%): 85%", 0.85),
        ("Confidence from 0 to 100%: 85%", 0.85),
        ("On a scale of 0 to 100, my confidence is 85", 0.85),
        ("Confidence (0-1): 0.85", 0.85),
        ("Confidence (1-10): 8", None),
        ("I'm 80% confident that it is B.", 0.8),
        ("I am 80% sure about B", 0.8),
        ("I am 80% sure it is not A but B", 0.8),
        ("I am 80% sure that it is B, no doubt", 0.8),
        ("B, with 80% certainty", 0.8),
        ("B, with a confidence of 80%", 0.8),
        ("Confidence 80%", 0.8),
        ("I am confident (80%)", 0.8),
        ("I'm not 80% sure", None),
        ("B (95% confidence interval 0.7 to 0.9)", None),
        ("我有80%的把握", 0.8),
        ("置信度为80%", 0.8),
        ("置信度80", 0.8),
        ("信心：百分之80", 0.8),
        ("置信度：八成", None),
        ("把握较高", None),
        ("B (80%)", 0.8),
        ("B, 80", 0.8),
        ("B; 0.8", 0.8),
        ("Answer: B (80%)", 0.8),
        ("B. macula (80%)", 0.8),
        ("B\n80%", 0.8),
        ("A 10%, B 20%, C 60%, D 10%", None),
        ("A cup of 60%", None),
        ("A normal disc (60%)", None),
        ("B. cup-to-disc ratio (0.8)", None),
        ("B. 1 to 5 exudates; Confidence: 80%", 0.8),
        ("On a scale of 1 to 10, my confidence is 8", None),
        ("Confidence: 80%. I said confidence: 80%.", 0.8),
        ("Confidence: 80%\nConfidence: 60%", None),
        ("IQA: A; Confidence: 90%\nAL: B; Confidence: 80%\nAnswer: B; Confidence: 75%", 0.75),
        ("Answer: A; Confidence: 90%\nAnswer: B; Confidence: 80%", None),
        ("<think>Confidence: 20%</think>Answer: B; Confidence: 80%", 0.8),
        ("<think>Confidence: 20%", None),
        ("Answer: B; Confidence: 80%\n" + "so it is " * 40 + "Confidence: 20%", 0.8),
    ],
)
def test_replies(text: str, share: float | None) -> None:
    assert parse_confidence(text, ASKED) == share


@tabled("text", ["Answer: A (5 %)", "A\n5 %", "A, 5", "A (5%)"])
@tabled("question", ["", "Which share?\nA. 5 %\nB. 10 %", f"Which share?\nA. ５％\nB. 10 %\n{ASKED}"])
def test_a_percentage_of_an_option_is_no_confidence(text: str, question: str) -> None:
    assert parse_confidence(text, question) is None


def test_a_percentage_beside_the_letter_counts_where_a_confidence_is_asked_for() -> None:
    assert parse_confidence("Answer: A (70 %)", f"Which share?\nA. 5 %\nB. 10 %\n{ASKED}") == 0.7
    assert parse_confidence("Answer: A (5 %); Confidence: 80 %", f"A. 5 %\n{ASKED}") == 0.8
    assert read_confidence(Reply("a", "B (80%)"), ASKED) == 0.8
    assert read_confidence(Reply("a", "B (80%)")) is None


@tabled(
    "text",
    ["I'm 80% sure it is not A", "I am 80% certain that it isn't A.", "80% confident A is wrong", "我有80%的把握不是A"],
)
def test_the_confidence_of_a_denial_is_none_of_the_answer(text: str) -> None:
    assert parse_confidence(text, ASKED) is None
    assert isinstance(read(Reply("a", text), parse_option, ("disc", "cup")), Unparsed)


@tabled(
    ("text", "share"),
    [
        ("Answer: B; Confidence: 8", None),
        ("Answer: B; Confidence: 0.", None),
        ("Answer: B; Confidence: 70-8", None),
        ("Answer: B; Confidence: 80%", 0.8),
        ("Answer: B; Confidence: 80%. The disc is 2", 0.8),
        ("Answer: B; Confid", None),
    ],
)
def test_a_number_cut_off_at_the_token_limit_is_not_read(text: str, share: float | None) -> None:
    assert read_confidence(Reply("a", text, "length")) == share


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


def test_no_option_is_read_in_a_confidence() -> None:
    assert without_confidence("Confidence: C; Answer: B") == "\n; Answer: B"
    assert "B" in without_confidence("My confidence in B is 80%")
