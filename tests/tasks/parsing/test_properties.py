"""What holds of any text: labels of judges, numbers with units, characters that become one, stated confidences."""

from __future__ import annotations

import random
import unicodedata

from hypothesis import given
from hypothesis import strategies as st

from lmod_train.core.types import Unparsed
from lmod_train.tasks.parsing.confidence import parse_confidence
from lmod_train.tasks.parsing.label import parse_label
from lmod_train.tasks.parsing.normalise import normalise
from lmod_train.tasks.parsing.number import number_of, parse_number
from tests.tabled import stored, tabled
from tests.tasks.parsing.test_reading import mutated

PAIR = ("TRUE", "FALSE")
THREE = ("correct", "partly correct", "wrong")


@tabled(("text", "label"), stored(__file__, "label.a_label_that_is_stated_is_read"))
def test_a_label_that_is_stated_is_read(text: str, label: str):
    assert parse_label(text, PAIR) == label


@given(st.text(max_size=60), st.text(max_size=60))
def test_a_text_with_two_labels_is_never_read(before: str, after: str):
    for text in (f"{before} TRUE {after} FALSE", f"FALSE\n{before}\n{after} TRUE"):
        assert isinstance(parse_label(text, PAIR), Unparsed)


@given(st.text(max_size=80))
def test_only_labels_are_returned(text: str):
    found = parse_label(text, THREE)
    assert isinstance(found, Unparsed) or found in THREE


@given(st.decimals(-9999, 9999, places=2).map(str), st.sampled_from(["", "mmHg", "µm", "D", "%"]))
def test_every_decimal_number_is_read_with_either_sign(number: str, unit: str) -> None:
    for written in (number, number.replace(".", ",")):
        for reply in (f"Answer: {written} {unit}", f"{written}{unit}", f'{{"answer": "{written} {unit}"}}'):
            assert parse_number(reply.strip(), unit) == float(number)
        assert number_of(written) == number


@given(st.text())
def test_normalising_is_idempotent(text: str) -> None:
    assert normalise(normalise(text)) == normalise(text)


@given(st.text(st.characters(min_codepoint=32, max_codepoint=126)))
def test_ascii_text_without_arrows_is_unchanged(text: str) -> None:
    text = text.replace(">", "").replace("`", "")
    assert normalise(text) == text == unicodedata.normalize("NFKC", text)


VALUES = stored(__file__, "confidence.VALUES")  # fmt: skip
"""Stated value -> share."""


def test_mutated_replies_never_raise_and_stay_within_0_and_1() -> None:
    chance = random.Random(0)
    for _ in range(500):
        reply = f"{chance.choice('ABx')}; Confidence: {chance.choice(list(VALUES))}. 60% of the disc, 置信度 70"
        share = parse_confidence(mutated(reply, chance))
        assert share is None or 0 <= share <= 1
