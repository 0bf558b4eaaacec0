"""Slips in a label or in the word of the requested format; a word far from every choice is left alone."""

from __future__ import annotations

import pytest

from lmod_train.parsing.respelling import relabelled, respelled
from lmod_train.types import Unparsed
from tests.parsing.asked import parse


@pytest.mark.parametrize(
    ("ask", "text", "wanted"),
    [
        ("four_way", "DISAESE: Cataract", "cataract"),
        ("four_way", "DISEASE: Diabetic Retinopahty; Explanation: red dots", "diabetic retinopathy"),
        ("four_way", "Diagnosi: glaucmoa", "glaucoma"),
        ("glaucoma", "GLACUOMA; Explanation: notch", "GLAUCOMA"),
        ("glaucoma", "NON-GLACUOMA; Explanation: intact rim", "NON-GLAUCOMA"),
        ("anatomy CFP", "Regoin ID: 1; Tpye: optic dics", {1: "optic disc"}),
    ],
)
def test_a_slip_is_set_right(ask: str, text: str, wanted: object) -> None:
    assert parse(ask, text) == wanted


@pytest.mark.parametrize("text", ["Colour: red", "Comment: glaucmoa", "the cup: large", "GLAUCOMA?", "No glacuoma?"])
def test_what_is_no_slip_of_an_answer_says_nothing(text: str) -> None:
    assert isinstance(parse("glaucoma", text), Unparsed)


def test_other_words_stay() -> None:
    assert respelled("Lens: hazy", {"cataract": "cataract"}) == "Lens: hazy"
    assert relabelled("Religion ID: 1; Tape: iris") == "Religion ID: 1; type: iris"


def test_a_slip_in_the_plural_of_a_label() -> None:
    assert parse("four_way", "Dieases: Glaucma; Explanatons: a big cup.") == "glaucoma"
