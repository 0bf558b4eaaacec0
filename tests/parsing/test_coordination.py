"""Names that share their last word, with every conjunction and in both orders."""

from __future__ import annotations

import pytest

from lmod_train.parsing.coordination import expand_coordination
from tests.parsing.asked import parse

TWO = ("diabetic", "hypertensive")
ASK = {name: f"conditions {name} retinopathy" for name in TWO}


@pytest.mark.parametrize("join", [" or ", " and ", " nor ", "/", " and/or ", " rather than ", ", not ", " versus "])
@pytest.mark.parametrize(("first", "second"), [TWO, TWO[::-1]])
def test_both_names_are_expanded(first: str, second: str, join: str) -> None:
    written = expand_coordination(f"signs of {first}{join}{second} retinopathy.")
    assert written == f"signs of {first} retinopathy{join}{second} retinopathy."


@pytest.mark.parametrize(
    "text",
    ["diabetic retinopathy or hypertensive retinopathy", "a diabetic or hypertensive patient", "diabetic"],
)
def test_text_without_a_shared_last_word_is_unchanged(text: str) -> None:
    assert expand_coordination(text) == text


@pytest.mark.parametrize(("first", "second"), [TWO, TWO[::-1]])
@pytest.mark.parametrize("layout", ["There is {} rather than {} retinopathy.", "It shows {}, not {} retinopathy."])
def test_a_contrast_asserts_the_one_and_denies_the_other(layout: str, first: str, second: str) -> None:
    text = layout.format(first, second)
    assert parse(ASK[first], text) == "TRUE"
    assert parse(ASK[second], text) == "FALSE"


@pytest.mark.parametrize(("first", "second"), [TWO, TWO[::-1]])
@pytest.mark.parametrize("asked", TWO)
def test_coordinated_names_are_asserted_denied_or_hedged_alike(asked: str, first: str, second: str) -> None:
    assert parse(ASK[asked], f"The image shows {first} and {second} retinopathy.") == "TRUE"
    assert parse(ASK[asked], f"There are no signs of {first} or {second} retinopathy.") == "FALSE"
    assert parse(ASK[asked], f"Neither {first} nor {second} retinopathy is seen.") == "FALSE"
    assert not isinstance(parse(ASK[asked], f"The image shows {first} or {second} retinopathy."), str)


@pytest.mark.parametrize("opening", [". Or rather ", ". Hmm, or rather ", ". Or maybe ", "; or perhaps "])
def test_a_follow_up_question_adds_an_alternative(opening: str) -> None:
    assert expand_coordination(f"GLAUCOMA{opening}NON-GLAUCOMA?") == "GLAUCOMA or NON-GLAUCOMA."
    assert expand_coordination(f"GLAUCOMA{opening}NON-GLAUCOMA.") == f"GLAUCOMA{opening}NON-GLAUCOMA."


def test_the_only_name_among_the_choices_is_the_answer() -> None:
    assert parse("four_way", "The image shows signs of hypertensive or diabetic retinopathy.") == "diabetic retinopathy"
    assert expand_coordination("糖尿病和高血压视网膜病变") == "糖尿病视网膜病变和高血压视网膜病变"
