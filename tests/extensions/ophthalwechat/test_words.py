"""Spellings of OphthalWeChat's workbooks."""

from lmod_train.core.vocabulary.modalities import MODALITIES
from lmod_train.data.sources.spellings import plain
from lmod_train.extensions.ophthalwechat.words import (
    COLUMNS,
    LANGUAGES,
    MODALITY_NAMES,
    SUBSPECIALTIES,
    TYPES,
    half_width,
    kind_and_language,
    modality_of,
    shown,
    words,
)
from tests.tabled import stored, tabled

KNOWN = words()


@tabled("table", [COLUMNS, TYPES, LANGUAGES, MODALITY_NAMES])
def test_no_spelling_stands_for_two_names(table):
    every = [plain(word) for name, others in table.items() for word in {plain(w) for w in (name, *others)}]
    assert len(every) == len(set(every))
    assert table is not MODALITY_NAMES or set(table) <= {modality.name for modality in MODALITIES}


@tabled(
    ("text", "found"),
    stored(__file__, "words.kinds_and_languages"),
)
def test_kinds_and_languages(text, found):
    assert kind_and_language(text, KNOWN) == found


@tabled(
    ("text", "found"),
    stored(__file__, "words.modalities"),
)
def test_modalities(text, found):
    assert modality_of(text, KNOWN) == found


def test_subspecialties_in_both_languages():
    for term in SUBSPECIALTIES:
        for word in (term.name, *term.english, *term.chinese):
            assert KNOWN["subspecialties"][plain(word)] == term.name


def test_values_are_shown_short_and_without_control_characters():
    assert half_width("Ａ．　视盘\n") == "A. 视盘"
    for value in ("视" * 500, "\x1b[31m\u202e", None, 1e300, b"\xff" * 99):
        assert len(shown(value)) < 100 and shown(value).isprintable()
