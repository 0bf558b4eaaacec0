""" "Not X but Y" asserts Y, for a sex, a disease and a box."""

from __future__ import annotations

import pytest

from lmod_train.parsing.contrast import split_contrasts
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
def test_the_second_name_is_asserted(ask: str, text: str, wanted: object) -> None:
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
def test_hedged_and_denied_names_are_not_asserted(text: str) -> None:
    assert split_contrasts(text) == text
    answer = parse("glaucoma", text)
    assert isinstance(answer, Unparsed) or answer == "NON-GLAUCOMA"


@pytest.mark.parametrize("than", ["rather than", "instead of", "as opposed to"])
@pytest.mark.parametrize(("one", "other"), [("male", "female"), ("female", "male"), ("Female", "male")])
def test_the_name_before_rather_than_is_asserted(one: str, other: str, than: str) -> None:
    assert parse("sex", f"{one} {than} {other}") == one.upper() == parse("sex", f"{one} {than} {other}.")


@pytest.mark.parametrize(("one", "other", "wanted"), [("男性", "女性", "FEMALE"), ("女性", "男性", "MALE")])
def test_chinese_contrast_asserts_the_second_name(one: str, other: str, wanted: str) -> None:
    assert parse("sex", f"与其说是{one}，不如说是{other}。") == wanted
