"""A bare name says something only where its field holds nothing that could say something else."""

from __future__ import annotations

import re

import pytest

from lmod_train.parsing.alone import announces, says_only, stands_alone
from tests.parsing.asked import parse

NAME = re.compile("glaucoma|cataract", re.IGNORECASE)


def alone(clause: str) -> bool:
    at = clause.lower().index("glaucoma")
    return stands_alone(clause, at, at + len("glaucoma"), [NAME])


@pytest.mark.parametrize(
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
def test_names_that_stand_alone(clause: str) -> None:
    assert alone(clause)


@pytest.mark.parametrize(
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
def test_names_that_do_not(clause: str) -> None:
    assert not alone(clause)


def test_a_clause_says_only_choices() -> None:
    assert says_only("It is glaucoma", [NAME])
    assert says_only("glaucoma, with a large cup", [NAME])
    assert not says_only("glaucoma is a group of diseases", [NAME])
    assert says_only("AMD: FALSE", [None])
    assert not says_only("glaucoma " * 50, [NAME])


@pytest.mark.parametrize(
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
def test_an_option_in_capitals_announces_its_reasons(clause: str, wanted: bool) -> None:
    assert announces(clause, "GLAUCOMA") is wanted


@pytest.mark.parametrize("name", ["cataract", "diabetic retinopathy", "glaucoma", "normal"])
@pytest.mark.parametrize("lead", ["Based on what is seen,", "Given these features,", "Considering it all,"])
def test_a_choice_behind_an_opening_phrase(lead: str, name: str) -> None:
    assert parse("four_way", f"{lead} {name}.") == name


@pytest.mark.parametrize("lead", ["I found nothing wrong:", "I looked for cupping and exudates and see none:"])
def test_normal_behind_a_colon(lead: str) -> None:
    assert parse("four_way", f"{lead} normal.") == "normal"


@pytest.mark.parametrize(
    "lead", ["You asked about:", "Please check for:", "Question:", "To be excluded:", "Family history:", "Topic:"]
)
def test_a_disease_behind_a_colon_may_be_the_question(lead: str) -> None:
    assert not isinstance(parse("glaucoma", f"{lead} glaucoma"), str)
