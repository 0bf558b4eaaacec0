"""Parentheses do not change a statement; "however" between two statements separates them."""

from __future__ import annotations

import pytest

from lmod_train.parsing.parenthesis import without_parentheses
from tests.parsing.asked import parse

ASIDES = ("however", "in my view", "unfortunately", "I think", "in all likelihood")


@pytest.mark.parametrize("aside", ASIDES)
@pytest.mark.parametrize(("noun", "wanted"), [("glaucoma", "GLAUCOMA"), ("no glaucoma", "NON-GLAUCOMA")])
def test_a_parenthesis_does_not_change_the_answer(aside: str, noun: str, wanted: str) -> None:
    assert parse("glaucoma", f"There is, {aside}, {noun}.") == wanted == parse("glaucoma", f"There is {noun}.")


@pytest.mark.parametrize("text", ["The rim is thin, however, the cup is small.", "It is, if anything, glaucoma."])
def test_other_text_is_unchanged(text: str) -> None:
    assert without_parentheses(text) == text
