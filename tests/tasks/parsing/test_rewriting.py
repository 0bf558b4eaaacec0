"""Rewritten constructions: contrasts, shared words, parentheses, retractions, losses and pronouns."""

from __future__ import annotations

import pytest

from lmod_train.core.types import Unparsed
from lmod_train.tasks.parsing.clean import expand_coordination, split_contrasts, without_losses, without_parentheses
from tests.tabled import tabled
from tests.tasks.parsing.asked import parse


@tabled(
    ("ask", "text", "wanted"),
    [
        ("sex", "This is not a female patient but a male one.", "MALE"),
        ("sex", "Not male but female.", "FEMALE"),
        ("four_way", "This is not glaucoma but cataract.", "cataract"),
        ("four_way", "It isn't cataract, but rather advanced glaucoma.", "glaucoma"),
        ("anatomy CFP", "Region 1 is not the optic cup but the optic disc.", {1: "optic disc"}),
        ("anatomy CFP", "区域1不是视盘，而是视杯。", {1: "optic cup"}),
    ],
)
def test_the_second_name_is_asserted(ask: str, text: str, wanted: object) -> None:
    assert parse(ask, text) == wanted


@tabled(
    "text",
    [
        "I am not certain but perhaps glaucoma.",
        "It is not normal, but glaucoma may be too much to say.",
        "not only cataract but the view is dark",
        "It does not look like much but no glaucoma.",
    ],
)
def test_hedged_and_denied_names_are_not_asserted(text: str) -> None:
    assert split_contrasts(text) == text
    answer = parse("glaucoma", text)
    assert isinstance(answer, Unparsed) or answer == "NON-GLAUCOMA"


@tabled("than", ["rather than", "instead of", "as opposed to"])
@tabled(("one", "other"), [("male", "female"), ("female", "male"), ("Female", "male")])
def test_the_name_before_rather_than_is_asserted(one: str, other: str, than: str) -> None:
    assert parse("sex", f"{one} {than} {other}") == one.upper() == parse("sex", f"{one} {than} {other}.")


@pytest.mark.parametrize(("one", "other", "wanted"), [("男性", "女性", "FEMALE"), ("女性", "男性", "MALE")])
def test_chinese_contrast_asserts_the_second_name(one: str, other: str, wanted: str) -> None:
    assert parse("sex", f"与其说是{one}，不如说是{other}。") == wanted


TWO = ("diabetic", "hypertensive")
ASK = {name: f"conditions {name} retinopathy" for name in TWO}


@tabled("join", [" or ", " and ", " nor ", "/", " and/or ", " rather than ", ", not ", " versus "])
@tabled(("first", "second"), [TWO, TWO[::-1]])
def test_both_names_are_expanded(first: str, second: str, join: str) -> None:
    written = expand_coordination(f"signs of {first}{join}{second} retinopathy.")
    assert written == f"signs of {first} retinopathy{join}{second} retinopathy."


@tabled(
    "text",
    ["diabetic retinopathy or hypertensive retinopathy", "a diabetic or hypertensive patient", "diabetic"],
)
def test_text_without_a_shared_last_word_is_unchanged(text: str) -> None:
    assert expand_coordination(text) == text


@tabled(("first", "second"), [TWO, TWO[::-1]])
@tabled("layout", ["There is {} rather than {} retinopathy.", "It shows {}, not {} retinopathy."])
def test_a_contrast_asserts_the_one_and_denies_the_other(layout: str, first: str, second: str) -> None:
    text = layout.format(first, second)
    assert parse(ASK[first], text) == "TRUE"
    assert parse(ASK[second], text) == "FALSE"


@tabled(("first", "second"), [TWO, TWO[::-1]])
@tabled("asked", TWO)
def test_coordinated_names_are_asserted_denied_or_hedged_alike(asked: str, first: str, second: str) -> None:
    assert parse(ASK[asked], f"The image shows {first} and {second} retinopathy.") == "TRUE"
    assert parse(ASK[asked], f"There are no signs of {first} or {second} retinopathy.") == "FALSE"
    assert parse(ASK[asked], f"Neither {first} nor {second} retinopathy is seen.") == "FALSE"
    assert not isinstance(parse(ASK[asked], f"The image shows {first} or {second} retinopathy."), str)


@tabled("opening", [". Or rather ", ". Hmm, or rather ", ". Or maybe ", "; or perhaps "])
def test_a_follow_up_question_adds_an_alternative(opening: str) -> None:
    assert expand_coordination(f"GLAUCOMA{opening}NON-GLAUCOMA?") == "GLAUCOMA or NON-GLAUCOMA."
    assert expand_coordination(f"GLAUCOMA{opening}NON-GLAUCOMA.") == f"GLAUCOMA{opening}NON-GLAUCOMA."


def test_the_only_name_among_the_choices_is_the_answer() -> None:
    assert parse("four_way", "The image shows signs of hypertensive or diabetic retinopathy.") == "diabetic retinopathy"
    assert expand_coordination("糖尿病和高血压视网膜病变") == "糖尿病视网膜病变和高血压视网膜病变"


ASIDES = ("however", "in my view", "unfortunately", "I think", "in all likelihood")


@tabled("aside", ASIDES)
@tabled(("noun", "wanted"), [("glaucoma", "GLAUCOMA"), ("no glaucoma", "NON-GLAUCOMA")])
def test_a_parenthesis_does_not_change_the_answer(aside: str, noun: str, wanted: str) -> None:
    assert parse("glaucoma", f"There is, {aside}, {noun}.") == wanted == parse("glaucoma", f"There is {noun}.")


@pytest.mark.parametrize("text", ["The rim is thin, however, the cup is small.", "It is, if anything, glaucoma."])
def test_other_text_is_unchanged(text: str) -> None:
    assert without_parentheses(text) == text


THOUGHTS = (
    "I first wrote {a}, but that was wrong; the image says otherwise. {b}.",
    "At first I thought {a}; that was a mistake: {b}",
    "I initially said {a}. I correct myself: {b}",
    "My first impression was {a}, but: {b}",
    "{a} - correction, I overlooked something: {b}.",
    "{a} -> no, I misread. Corrected: {b}",
    "{a}. I stand corrected: {b}",
    "我最初认为是{a}，但仔细看后更正为：{b}。",
    "起初以为{a}，因此改为{b}。",
)
PAIRS = {
    "glaucoma": ("GLAUCOMA", "NON-GLAUCOMA"),
    "conditions drusen": ("DRUSEN TRUE", "DRUSEN FALSE"),
    "icdr": ("Stage: 2", "Stage: 3"),
}


@tabled("ask", PAIRS)
@tabled("thought", THOUGHTS)
def test_the_later_answer_counts(thought: str, ask: str) -> None:
    for first, second in (PAIRS[ask], PAIRS[ask][::-1]):
        text = thought.format(a=first, b=second)
        assert parse(ask, text) == parse(ask, second), text


def test_a_first_thought_alone_is_no_answer() -> None:
    assert isinstance(parse("glaucoma", "I initially thought of glaucoma."), Unparsed)
    assert isinstance(parse("glaucoma", "I first thought of glaucoma, but I cannot decide."), Unparsed)


LOSSES = ("no rim left", "no healthy rim is left", "hardly any neuroretinal rim remains", "not a trace of rim remains")


@tabled("loss", LOSSES)
@tabled("lead", ["GLAUCOMA - {}", "GLAUCOMA: {}.", "Glaucoma – {}", "Glaucoma, {}."])
def test_a_loss_does_not_deny(lead: str, loss: str) -> None:
    assert parse("glaucoma", lead.format(loss)) == "GLAUCOMA"


@tabled("text", ["Drusen - no drusen left", "GLAUCOMA - no cupping seen", "Glaucoma: no sign remains"])
def test_denials_are_unchanged(text: str) -> None:
    assert without_losses(text) == text


def test_a_loss_alone_is_no_answer() -> None:
    assert parse("conditions drusen", "Drusen: no drusen left") == "FALSE"


@tabled(
    "nothing",
    [
        "I see no evidence of it",
        "This eye shows none of it",
        "There is little sign of it",
    ],
)
@tabled(("ask", "name", "wanted"), [("glaucoma", "glaucoma", "NON-GLAUCOMA"), ("conditions drusen", "drusen", "FALSE")])
def test_a_denial_of_it_denies_the_named_disease(ask: str, name: str, wanted: str, nothing: str) -> None:
    assert parse(ask, f"The referrer suspected {name}. {nothing}.") == wanted
    assert isinstance(parse(ask, f"{nothing}."), Unparsed)
