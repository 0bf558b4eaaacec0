"""Bare names are statements only if nothing else in their field has a meaning."""

from __future__ import annotations

import re

from lmod_train.tasks.parsing.bare_choice import (
    contains_only_choices,
    is_isolated,
)
from tests.tabled import tabled

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
