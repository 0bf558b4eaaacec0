"""What is said aside leaves the sentence as it is, and "however" between two statements parts them."""

from __future__ import annotations

import pytest

from lmod_train.parsing.aside import without_asides
from tests.parsing.asked import parse

ASIDES = ("however", "in my view", "unfortunately", "I think", "in all likelihood")


@pytest.mark.parametrize("aside", ASIDES)
@pytest.mark.parametrize(("noun", "wanted"), [("glaucoma", "GLAUCOMA"), ("no glaucoma", "NON-GLAUCOMA")])
def test_an_aside_changes_nothing(aside: str, noun: str, wanted: str) -> None:
    assert parse("glaucoma", f"There is, {aside}, {noun}.") == wanted == parse("glaucoma", f"There is {noun}.")


@pytest.mark.parametrize("text", ["The rim is thin, however, the cup is small.", "It is, if anything, glaucoma."])
def test_what_is_no_aside_stays(text: str) -> None:
    assert without_asides(text) == text
