"""A denied absence is a presence; what is neither said nor denied is not (grids in test_slots.py)."""

from __future__ import annotations

import pytest

from lmod_train.parsing.doubled import absence_denied
from lmod_train.types import Unparsed
from tests.parsing.asked import parse


@pytest.mark.parametrize(
    "before",
    ["not free of ", "cannot be said to be free of ", "n't without signs of ", "There is no absence of ", "并非没有"],
)
def test_a_denied_absence_is_found(before: str) -> None:
    assert absence_denied(before, "") == (9 if before.startswith("There") else 0)


@pytest.mark.parametrize(
    "before", ["free of ", "does not rule out ", "not free of haze, with no ", "not without doubt, "]
)
def test_nothing_else_is(before: str) -> None:
    assert absence_denied(before, "") is None


@pytest.mark.parametrize(
    "text", ["If this eye is not free of glaucoma, treat it.", "I doubt that this eye is not free of glaucoma."]
)
def test_a_supposed_one_is_none(text: str) -> None:
    assert isinstance(parse("glaucoma", text), Unparsed)
