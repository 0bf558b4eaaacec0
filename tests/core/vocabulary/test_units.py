"""Units: no spelling of two units, and words for limits that are no units."""

from __future__ import annotations

from lmod_train.core.vocabulary.units import LIMITS, OPEN, UNITS


def test_a_spelling_names_one_unit() -> None:
    spellings = [name for names in UNITS for name in names]
    assert len(set(spellings)) == len(spellings)
    assert all(name == name.strip() for name in spellings)


def test_words_of_limits_are_no_units() -> None:
    spellings = {name.casefold() for names in UNITS for name in names}
    assert not spellings & {*LIMITS, *OPEN}
