"""Bare names are statements only if nothing else in their field has a meaning."""

from __future__ import annotations

import re

import pytest

from lmod_train.core.types import Unparsed
from lmod_train.tasks.parsing.bare_choice import (
    contains_only_choices,
    is_conclusion,
    is_isolated,
    is_option_with_reason,
)
from tests.tabled import tabled
from tests.tasks.parsing.asked import parse

NAME = re.compile("glaucoma|cataract", re.IGNORECASE)


def alone(clause: str) -> bool:
    at = clause.lower().index("glaucoma")
    return is_isolated(clause, at, at + len("glaucoma"), [NAME])


@tabled(
    "clause",
    [
        "glaucoma",
        "Glaucoma.",
        "the glaucoma",
        "early glaucoma",
        "severe open-angle glaucoma",
        "glaucoma (POAG)",
        '"glaucoma"',
        "Diagnosis: glaucoma",
        "glaucoma because of the cup",
        "glaucoma with a large cup",
        "large cup, glaucoma, thin rim",
        "glaucoma or cataract",
        "早期 glaucoma 改变",
    ],
)
def test_isolated_names(clause: str) -> None:
    assert alone(clause)


@tabled(
    "clause",
    [
        "glaucoma: 0.3",
        "glaucoma +",
        "glaucoma -",
        "glaucoma = 85%",
        "glaucoma (no)",
        "glaucoma (possible)",
        "glaucoma (unknown)",
        "glaucoma screening",
        "glaucoma drops",
        "my grandmother's glaucoma",
        "glaucoma in eyes with a possible cup",
        "tests for ocular glaucoma",
    ],
)
def test_names_that_are_not_isolated(clause: str) -> None:
    assert not alone(clause)


def test_clauses_that_contain_only_choices() -> None:
    assert contains_only_choices("It is glaucoma", [NAME])
    assert contains_only_choices("glaucoma, with a large cup", [NAME])
    assert not contains_only_choices("glaucoma is a group of diseases", [NAME])
    assert contains_only_choices("AMD: FALSE", [None])
    assert not contains_only_choices("glaucoma " * 50, [NAME])


@tabled(
    ("clause", "wanted"),
    [
        ("GLAUCOMA: The cup is large and pale", True),
        ("GLAUCOMA - the rim is very thin", True),
        ("GLAUCOMA: large", False),
        ("GLAUCOMA: The image shows no cupping", False),
        ("GLAUCOMA: I cannot determine it", False),
        ("GLAUCOMA: it may be so", False),
        ("Glaucoma: The cup is large and pale", False),
    ],
)
def test_an_option_in_capitals_with_its_reason(clause: str, wanted: bool) -> None:
    assert is_option_with_reason(clause, "GLAUCOMA") is wanted


@tabled("name", ["cataract", "diabetic retinopathy", "glaucoma", "normal"])
@tabled("lead", ["Based on what is seen,", "Given these features,", "Considering it all,"])
def test_a_choice_behind_an_opening_phrase(lead: str, name: str) -> None:
    assert parse("four_way", f"{lead} {name}.") == name


@tabled("name", ["cataract", "diabetic retinopathy", "glaucoma"])
@tabled(
    "lead",
    ["Family history,", "You asked about,", "To be excluded,", "Given no cupping,", "Considering the lack of it,"],
)
def test_no_choice_behind_another_lead_or_an_opening_phrase_with_a_negation(lead: str, name: str) -> None:
    assert not is_conclusion(f"{lead} {name}", len(lead) + 1, len(lead) + 1 + len(name), healthy=False)
    assert not isinstance(parse("four_way", f"{lead} {name}."), str)


@pytest.mark.parametrize("lead", ["I found nothing wrong:", "I looked for cupping and exudates and see none:"])
def test_normal_behind_a_colon(lead: str) -> None:
    assert parse("four_way", f"{lead} normal.") == "normal"


@tabled("lead", ["You asked about:", "Please check for:", "Question:", "To be excluded:", "Family history:", "Topic:"])
def test_a_disease_behind_a_colon_may_be_the_question(lead: str) -> None:
    assert not isinstance(parse("glaucoma", f"{lead} glaucoma"), str)


@tabled("mark", [" ", " - ", ", ", ": "])
@tabled("reason", ["because the rim is lost", "due to the look of the disc", "because of its rim"])
@tabled("name", ["glaucoma", "cataract", "diabetic retinopathy"])
def test_a_name_with_its_reason_is_an_answer(name: str, reason: str, mark: str) -> None:
    assert parse("four_way", f"{name.capitalize()}{mark}{reason}.") == name


@tabled(
    "text",
    [
        "Glaucoma with a thin rim is a group of diseases.",
        "Glaucoma because of suspected damage to the rim.",
        "Glaucoma with low probability.",
    ],
)
def test_a_name_in_a_sentence_is_no_answer(text: str) -> None:
    assert isinstance(parse("four_way", text), Unparsed)


def test_no_doubt_is_a_modifier() -> None:
    assert parse("four_way", "Diabetic retinopathy, no doubt.") == "diabetic retinopathy"
