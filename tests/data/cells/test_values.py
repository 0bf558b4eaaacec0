"""Cells as words: both polarities of every disease in every language, and nothing guessed."""

from __future__ import annotations

import pytest

from lmod_train.core.vocabulary.conditions import CONDITIONS
from lmod_train.data.cells.diagnoses import findings_of
from lmod_train.data.cells.values import age_of, flag_of, number_of, numbers_of, sex_of, side_of, split_of
from lmod_train.data.cells.vocabulary import DIAGNOSES, DOUBTS, NEGATIONS, PASTS, SEX_WORDS, SIDES

NAMES = [(term.name, word) for term in CONDITIONS for word in (term.name, *term.english, *term.chinese)]
NAMES += [(name, word) for name, words in DIAGNOSES.items() for word in sorted(words)]
DISEASES = [(name, word) for name, word in NAMES if name != "normal"]


@pytest.mark.parametrize("written", [str, str.upper, str.title, lambda word: f"  {word} "])
def test_every_name_of_a_disease_is_read(written):
    for name, word in NAMES:
        found = findings_of(written(word))
        assert found.present == (name,) and not found.others, word
        assert found.labels["diagnosis"] == name


def test_a_denied_suspected_or_past_disease_is_none():
    for _, word in DISEASES:
        for before in (*NEGATIONS, *(w for w in (*DOUBTS, *PASTS) if len(w) > 1)):
            text = f"{before.strip()} {word}"
            assert not findings_of(text).present, text
        for behind in ("?", " (suspected)", ", suspected", " suspect", " - ruled out", "verdacht", " excluded", ": no"):
            assert not findings_of(word + behind).present, word + behind


def test_a_denied_disease_is_denied_and_not_normal():
    for name, word in DISEASES:
        found = findings_of(f"no {word}")
        assert found.absent in ((name,), ()) and found.labels.get("diagnosis") is None
    assert findings_of("no DR").labels == {"diabetic retinopathy": "no"}


@pytest.mark.parametrize("separator", ["; ", ", ", " + ", " and ", " und ", "、", "/", "\n"])
def test_several_diseases_are_several(separator: str):
    found = findings_of(f"DR{separator}AMD")
    assert found.present == ("diabetic retinopathy", "age-related macular degeneration")
    assert "diagnosis" not in found.labels and found.words == "diabetic retinopathy; age-related macular degeneration"
    mixed = findings_of(f"AMD{separator}suspected glaucoma")
    assert mixed.present in (("age-related macular degeneration",), ()) and "diagnosis" not in mixed.labels


@pytest.mark.parametrize("text", ["H40.0", "H35.3", "E11.9", "blepharitis", "cupping", "POAG/OHT?", "glacoma"])
def test_what_is_not_known_stays_the_tables_own_word(text: str):
    assert findings_of(text).others == (text,) and findings_of(text).words == text and not findings_of(text).labels


@pytest.mark.parametrize(
    ("code", "name"), [("H40.11", "glaucoma"), ("h25.1", "cataract"), ("H35.31", "age-related macular degeneration")]
)
def test_codes_of_icd_10_are_read(code: str, name: str):
    assert findings_of(code).present == (name,)


def test_sides_and_sexes_are_read_and_codes_are_not():
    for name, words in SIDES.items():
        assert {side_of(word) for word in words} == {name}
    for name, words in SEX_WORDS.items():
        assert {sex_of(word.upper()) for word in words} == {name}
    for cell in ("1", "2", "0", "OU", "both", "x", ""):
        assert side_of(cell) is None and sex_of(cell) is None
    assert [sex_of(cell, frozenset("hm")) for cell in "HM"] == ["male", "female"], "hombre and mujer"
    assert [sex_of(cell, frozenset("hf")) for cell in "HF"] == ["male", "female"], "homme and femme"
    assert [sex_of(cell, frozenset("wm")) for cell in "wm"] == ["female", "male"]


def test_ages_are_of_people():
    assert [age_of(text) for text in ("0", "119", "64 years", "64 J.", "18 months", "63.5 岁")] == [
        0,
        119,
        64,
        64,
        1.5,
        63.5,
    ]
    assert not any(map(age_of, ("120", "1957", "-3", "60-69", "60+", "12/03/1957", "unknown", "")))


def test_flags_splits_and_numbers():
    assert [flag_of(text) for text in ("Ja", "nein", "1", "0", "是", "+", "-", "2", "maybe")] == [
        "yes", "no", "yes", "no", "yes", "yes", "no", None, None,
    ]  # fmt: skip
    assert [split_of(text) for text in ("Training", "dev", "Teste", "fold1")] == ["train", "val", "test", None]
    assert [number_of(text) for text in ("0,5", "-1.25", "1.234,5", "3-4", "")] == [0.5, -1.25, None, None, None]


SIGNS = " -; (-);: -; \u2013; \u2212; +/-; -/-; [-]; \u274c; \u00b1;\uff08-\uff09;\uff1f; (?)"
SIGNED = [f"{{}}{sign}" for sign in SIGNS.split(";")] + ["\u00ac{}", "~{}", "\u00bf{}?"]


@pytest.mark.parametrize("form", SIGNED)
@pytest.mark.parametrize("name", ["DR", "glaucoma", "\u9752\u5149\u773c", "H40.1"])
def test_signs_of_denial_and_doubt_are_not_overlooked(form: str, name: str):
    assert not findings_of(form.format(name)).present
    assert not findings_of(f"{form.format(name)}, {form.format('AMD')}").present


@pytest.mark.parametrize(
    ("code", "is_there"),
    [("H40.1V", False), ("H40.1A", False), ("H40.9Z", False), ("H40.1G", True), ("H40.1GR", True), ("H40.1L", True)],
)
def test_german_letters_of_certainty_count(code: str, is_there: bool):
    assert bool(findings_of(code).present) == is_there


def test_a_degree_stands_before_or_behind_its_disease():
    for text in ("mild NPDR", "NPDR mild", "leichte NPDR", "severe NPDR", "Feuchte AMD", "AMD trocken"):
        assert findings_of(text).present in (("diabetic retinopathy",), ("age-related macular degeneration",)), text
    assert not findings_of("mild").present and not findings_of("severe").present


def test_mujer_and_varon_are_told_from_male():
    assert [sex_of(cell, frozenset("mv")) for cell in "MV"] == ["female", "male"]
    assert age_of("45m") is None and age_of("45M") is None


@pytest.mark.parametrize("swap", [str, lambda text: text.translate(str.maketrans(".,", ",."))])
@pytest.mark.parametrize("beside", ["12,5", "0,125", "1.234,5", "1.234.567", "1234,567"])
def test_other_cells_show_which_sign_groups_thousands(swap, beside: str):
    read = numbers_of(map(swap, ["2.345", "7", beside]))
    assert read[swap("2.345")] == 2345 and read["7"] == 7
    assert read[swap(beside)] == float(beside.replace(".", "").replace(",", "."))
    assert numbers_of(map(swap, ["2,345", beside]))[swap("2,345")] == 2.345


def test_a_number_that_may_be_two_is_none():
    assert numbers_of(["2.345", "23.451", "7"]) == {"7": 7} and not numbers_of(["2,345"])
    assert numbers_of(["1,5", "1.5", "2.345"]) == {"1,5": 1.5, "1.5": 1.5}
    assert numbers_of(["12,5 %", "3%"]) == {"12,5 %": 12.5, "3%": 3} and numbers_of(["5 %", "5"]) == {"5": 5}
