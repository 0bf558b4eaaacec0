"""Verdicts on statements, in English and Chinese; `?reason` is the reason of an `Unparsed`."""

from __future__ import annotations

import random

import pytest

from lmod_train.core.types import Unparsed
from lmod_train.tasks.parsing.verdict import parse_verdict
from tests.growth import growth
from tests.tabled import tabled
from tests.tasks.parsing.bilingual import CHOICES, labelled, measured, outcome, precision_and_recall
from tests.tasks.parsing.test_reading import hostile, mutated


def test_there_are_enough_labelled_replies_half_of_them_chinese() -> None:
    rows = labelled()
    assert len(rows) == len({(row.asked, row.reply) for row in rows}) >= 300
    assert sum(any("\u4e00" <= c <= "\u9fff" for c in row.reply) for row in rows) >= len(rows) / 2
    assert all(bool(row.answer) != bool(row.outcome) for row in rows)
    assert min(sum(row.split == half for row in rows) for half in ("develop", "held_out")) >= 150


@pytest.mark.parametrize("half", ["develop", "held_out"])
def test_labelled_replies_are_read_as_labelled(half: str) -> None:
    wrong, total = measured(half)
    assert [(row.asked, found) for row, found in wrong if not found.startswith("?")] == []
    assert len(wrong) <= 0.02 * total, wrong
    read, right, answers = precision_and_recall(half)
    assert read == right == answers


@tabled(
    ("text", "wanted"),
    [
        ("True. There is no haemorrhage.", "True"),
        ("No haemorrhage is seen, so the statement is false.", "False"),
        ("No haemorrhage is seen.", "?no_match"),
        ("A true aneurysm is seen in the right eye", "?no_match"),
        ("The correct answer is glaucoma", "?no_match"),
        ("The correct answer is False", "False"),
        ("It is not an incorrect statement.", "True"),
        ("I doubt it, but it might be true", "?no_match"),
        ("True and False", "?ambiguous"),
        ("True. Sorry, False.", "?ambiguous"),
        ("Is it true? No.", "False"),
        ("the text is inconsistent with the image", "False"),
        ("❌", "False"),
        ("", "?empty"),
    ],
)
def test_english_replies(text: str, wanted: str) -> None:
    assert outcome("true_false", text) == wanted


@tabled(
    ("text", "wanted"),
    [
        ("图中没有出血，因此描述有误。", "错"),
        ("对。图中的病变不是错构瘤。", "对"),
        ("晶状体错位", "?no_match"),
        ("双眼对称，符合正常眼底", "?no_match"),
        ("该文本不符合图片内容", "错"),
        ("并没有错", "对"),
        ("对，也不对", "?ambiguous"),
        ("这是对的吗？", "?no_match"),
        ("×", "错"),
        ("無法判斷", "?refused"),
    ],
)
def test_chinese_replies(text: str, wanted: str) -> None:
    assert outcome("dui_cuo", text) == wanted


@pytest.mark.parametrize("asked", ["true_false", "dui_cuo"])
def test_every_choice_is_read_as_itself(asked: str) -> None:
    assert [outcome(asked, choice) for choice in CHOICES[asked]] == list(CHOICES[asked])


def test_mutated_replies_never_raise() -> None:
    chance = random.Random(0)
    for _ in range(250):
        row = chance.choice(labelled())
        assert outcome(row.asked, mutated(row.reply, chance)) != "?parser_error"


OTHERS = ["true ", "not ", "对", "是", "不", '"', "'", "(", "描述", ", ", "does not describe the "]


@pytest.mark.parametrize("unit", ["the statement ", *(pytest.param(unit, marks=pytest.mark.slow) for unit in OTHERS)])
def test_adversarial_text_is_read_in_linear_time(unit: str) -> None:
    texts = {size: hostile(unit, size) for size in (1_000, 8_000)}
    assert growth(lambda size: [parse_verdict(text, ("True", "False")) for text in texts[size]], 1_000) < 2.5


def test_a_verdict_far_from_its_subject_is_none() -> None:
    assert isinstance(parse_verdict("the statement " + "x " * 300 + "is seen true", ("True", "False")), str | Unparsed)
