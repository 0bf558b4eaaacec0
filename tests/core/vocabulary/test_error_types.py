"""Modes and types are those of the papers, and each has a definition."""

from lmod_train.core.vocabulary.error_types import (
    ERROR_LABELS,
    LMOD_MODES,
    LMOD_PLUS_TYPES,
    NO_ERROR,
    TITLES,
    type_called,
)


def test_there_are_six_modes_and_five_types_with_definitions():
    assert (len(LMOD_MODES), len(LMOD_PLUS_TYPES)) == (6, 5)
    assert all(kind.name and kind.definition for kind in (*LMOD_MODES, *LMOD_PLUS_TYPES))
    assert len({*ERROR_LABELS}) == len(ERROR_LABELS) and ERROR_LABELS[0] == NO_ERROR


def test_a_title_names_the_type_of_its_rule():
    for kind in LMOD_PLUS_TYPES:
        assert {type_called(TITLES[rule]) for rule in kind.rules} <= {kind.name}
