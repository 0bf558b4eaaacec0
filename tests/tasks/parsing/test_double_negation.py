"""A denied absence is an assertion; a hedged one is not (more in test_slots.py)."""

from __future__ import annotations

import pytest

from lmod_train.core.types import Unparsed
from lmod_train.tasks.parsing.stance import start_of_denied_absence
from tests.tabled import tabled
from tests.tasks.parsing.asked import parse


@tabled(
    "before",
    ["not free of ", "cannot be said to be free of ", "n't without signs of ", "There is no absence of ", "并非没有"],
)
def test_a_denied_absence_is_found(before: str) -> None:
    assert start_of_denied_absence(before, "") == (9 if before.startswith("There") else 0)


@tabled("before", ["free of ", "does not rule out ", "not free of haze, with no ", "not without doubt, "])
def test_other_negations_are_not_found(before: str) -> None:
    assert start_of_denied_absence(before, "") is None


@pytest.mark.parametrize(
    "text", ["If this eye is not free of glaucoma, treat it.", "I doubt that this eye is not free of glaucoma."]
)
def test_a_hypothetical_denied_absence_is_no_answer(text: str) -> None:
    assert isinstance(parse("glaucoma", text), Unparsed)
