"""Reading of single rows of BRSET's table."""

from __future__ import annotations

import pytest

from lmod_train.core.types import Patient
from lmod_train.core.vocabulary.conditions import CONDITIONS
from lmod_train.data.sources.brset import ANATOMY, CONDITION_OF, EXPOSURE, missing_columns, read_row
from tests.tabled import tabled

WHOLE = {
    **dict.fromkeys(CONDITION_OF, "0"),
    **dict.fromkeys([*ANATOMY, *EXPOSURE], "1"),
    **{"drsdrg": "0", "dricdr": "0", "camera": "Canon CR", "patientage": "48", "patientsex": "1", "exameye": "2"},
    "quality": "Adequate",
}


def test_conditions_are_words_of_the_vocabulary_and_contain_the_twelve_of_lmod_plus() -> None:
    names = {*CONDITION_OF.values(), *ANATOMY.values()}
    assert names <= {term.name for term in CONDITIONS}
    asked = [term.name for term in CONDITIONS if "BRSET" in term.reference and "LMOD+" in term.reference]
    assert len(asked) == 12
    assert set(asked) <= names


def test_a_normal_row() -> None:
    reading = read_row(WHOLE)
    assert set(reading.labels.values()) == {"no", "0"}
    assert len(reading.labels) == 17
    assert reading.problems == []
    assert reading.patient == Patient(48.0, "male", "left", "Canon CR", "Adequate")


@tabled("column", [*CONDITION_OF, *ANATOMY])
def test_one_condition_at_a_time(column: str) -> None:
    reading = read_row({**WHOLE, column: "1" if column in CONDITION_OF else "2"})
    assert [name for name, word in reading.labels.items() if word == "yes"] == [{**CONDITION_OF, **ANATOMY}[column]]


@pytest.mark.parametrize(("scale", "column"), [("icdr", "dricdr"), ("sdrg", "drsdrg")])
def test_grades(scale: str, column: str) -> None:
    assert [read_row({**WHOLE, column: level}).labels[scale] for level in ("0", "1", "2.0", "3", "4.0")] == list(
        "01234"
    )


def test_quality_names_the_abnormal_criteria() -> None:
    poor = {**WHOLE, "quality": "inadequate", "focus": "2", "artifacts": "2"}
    assert read_row(poor).patient.quality == "Inadequate (focus, artifacts)"
    assert read_row({**WHOLE, "illuminaton": "2"}).patient.quality == "Adequate (illumination)"
    right = {key: value for key, value in WHOLE.items() if key != "illuminaton"}
    assert read_row({**right, "illumination": "2"}).patient.quality == "Adequate (illumination)"


def test_empty_values_are_unknown() -> None:
    assert read_row({**WHOLE, "patientage": ""}).problems == []
    assert read_row({**WHOLE, "patientage": "", "camera": ""}).patient == Patient(
        None, "male", "left", None, "Adequate"
    )
    assert read_row({}).labels == {}
    assert read_row({}).patient == Patient()
    assert set(missing_columns([])) == set(WHOLE)


@tabled("age", ["nan", "inf", "-3", "120", "4o"])
def test_invalid_ages_are_reported(age: str) -> None:
    reading = read_row({**WHOLE, "patientage": age})
    assert reading.patient.age is None
    assert reading.problems == [f"patientage {age!r} is not an age in years"]
