"""What "not X but Y" says: Y, of sex, of a disease and of a box."""

from __future__ import annotations

import pytest

from lmod_train.parsing.contrast import told_apart
from lmod_train.types import Unparsed
from tests.parsing.asked import parse


@pytest.mark.parametrize(
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
def test_the_second_name_is_said(ask: str, text: str, wanted: object) -> None:
    assert parse(ask, text) == wanted


@pytest.mark.parametrize(
    "text",
    [
        "I am not certain but perhaps glaucoma.",
        "It is not normal, but glaucoma may be too much to say.",
        "not only cataract but the view is dark",
        "It does not look like much but no glaucoma.",
    ],
)
def test_what_is_left_open_or_denied_is_not_said(text: str) -> None:
    assert told_apart(text) == text
    answer = parse("glaucoma", text)
    assert isinstance(answer, Unparsed) or answer == "NON-GLAUCOMA"


@pytest.mark.parametrize("than", ["rather than", "instead of", "as opposed to"])
@pytest.mark.parametrize(("one", "other"), [("male", "female"), ("female", "male"), ("Female", "male")])
def test_a_name_rather_than_another(one: str, other: str, than: str) -> None:
    assert parse("sex", f"{one} {than} {other}") == one.upper() == parse("sex", f"{one} {than} {other}.")


@pytest.mark.parametrize(("one", "other", "wanted"), [("男性", "女性", "FEMALE"), ("女性", "男性", "MALE")])
def test_not_so_much_one_as_the_other_in_chinese(one: str, other: str, wanted: str) -> None:
    assert parse("sex", f"与其说是{one}，不如说是{other}。") == wanted
