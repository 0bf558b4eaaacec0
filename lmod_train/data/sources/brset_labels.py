"""Reading of one row of BRSET's table: labels in the words of the vocabulary, patient, and unreadable values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from lmod_train.core.types import Patient

IMAGE, PATIENT = "imageid", "patientid"

CONDITION_OF = {
    "diabeticretinopathy": "diabetic retinopathy",
    "macularedema": "macular edema",
    "scar": "scar",
    "nevus": "nevus",
    "amd": "age-related macular degeneration",
    "vascularocclusion": "vascular occlusion",
    "hypertensiveretinopathy": "hypertensive retinopathy",
    "drusens": "drusen",
    "hemorrhage": "hemorrhage",
    "retinaldetachment": "retinal detachment",
    "myopicfundus": "myopic fundus",
    "increasedcupdisc": "increased cup-to-disc ratio",
}
"""Condition by column; values 0 and 1. The column ``other`` names no condition and is not read."""

ANATOMY = {"opticdisc": "abnormal optic disc", "vessels": "abnormal vessels", "macula": "abnormal macula"}
"""Label by column; values 1 (normal) and 2 (abnormal)."""

GRADES = {"drsdrg": "sdrg", "dricdr": "icdr"}
"""Grade by column; values 0 to 4."""

EXPOSURE = {"focus": "focus", "illuminaton": "illumination", "imagefield": "image field", "artifacts": "artifacts"}
"""Quality criterion by column; values 1 (normal) and 2 (abnormal). ``Illuminaton`` is the table's spelling."""

DEMOGRAPHICS = ("camera", "patientage", "patientsex", "exameye", "quality")

_RESPELLED = {"illuminaton": "illumination", "insuline": "insulin"}
_FLAG, _NORMAL = {"0": "no", "1": "yes"}, {"1": "no", "2": "yes"}
_LEVEL = {level: level for level in "01234"}
_SEX, _SIDE = {"1": "male", "2": "female"}, {"1": "right", "2": "left"}
_QUALITY = {"adequate": "Adequate", "inadequate": "Inadequate"}


@dataclass(slots=True)
class Reading:
    """Content of one row; `problems` has one message for each value that could not be read."""

    labels: dict[str, str] = field(default_factory=dict)
    patient: Patient = field(default_factory=Patient)
    problems: list[str] = field(default_factory=list)


def missing_columns(header: Sequence[str]) -> list[str]:
    """Return the columns that are read but missing in a table's header (names as returned by `plain_header`).

    Example:
        >>> columns = [*CONDITION_OF, *ANATOMY, *GRADES, *EXPOSURE, *DEMOGRAPHICS]
        >>> missing_columns(columns), missing_columns([c for c in columns if c != "macula"])
        ([], ['macula'])
        >>> missing_columns([_RESPELLED.get(c, c) for c in columns])
        []
    """
    known = {*header, *(wrong for wrong, right in _RESPELLED.items() if right in header)}
    return [c for c in (*CONDITION_OF, *ANATOMY, *GRADES, *EXPOSURE, *DEMOGRAPHICS) if c not in known]


def read_row(row: Mapping[str, str]) -> Reading:
    """Return labels and patient of one row of the table, as returned by `lmod_train.data.sources.sheets.read_sheet`.

    A value that is not among its column's codes gives no label and a message in `problems`; so does an empty value,
    except for an empty age, which is common. Missing columns give no message here.

    Example:
        >>> reading = read_row({"scar": "1", "macula": "2", "dricdr": "3", "opticdisc": "bv", "patientage": "61.0"})
        >>> reading.labels, reading.problems, reading.patient.age
        ({'scar': 'yes', 'icdr': '3', 'abnormal macula': 'yes'}, ["opticdisc 'bv' is not one of 1, 2"], 61.0)
    """
    row = {**row, **{wrong: row[right] for wrong, right in _RESPELLED.items() if right in row and wrong not in row}}
    reading = Reading()
    for columns, codes in ((CONDITION_OF, _FLAG), (GRADES, _LEVEL), (ANATOMY, _NORMAL)):
        for column, concept in columns.items():
            word = _code(row, column, codes, reading.problems)
            if word is not None:
                reading.labels[concept] = word
    reading.patient = Patient(
        age=_age(row.get("patientage", ""), reading.problems),
        sex=_code(row, "patientsex", _SEX, reading.problems),
        laterality=_code(row, "exameye", _SIDE, reading.problems),
        camera=row.get("camera") or None,
        quality=_quality(row, reading.problems),
    )
    return reading


def _code(row: Mapping[str, str], column: str, codes: Mapping[str, str], problems: list[str]) -> str | None:
    """Return the meaning of a coded value, None without one; a table saved by another program may have 1.0 for 1."""
    value = row.get(column)
    if value is None:
        return None
    word = codes.get(value.removesuffix(".0").casefold())
    if word is None:
        problems.append(f"{column} {value!r} is not one of {', '.join(codes)}")
    return word


def _age(text: str, problems: list[str]) -> float | None:
    """Return the age in years, None for an empty cell or one that is no age."""
    if not text:
        return None
    try:
        age = float(text)
    except ValueError:
        age = -1.0
    if not 0 <= age < 120:
        problems.append(f"patientage {text!r} is not an age in years")
        return None
    return age


def _quality(row: Mapping[str, str], problems: list[str]) -> str | None:
    """Return the table's word for the quality, followed by the abnormal quality criteria in brackets."""
    word = _code(row, "quality", _QUALITY, problems)
    poor = [name for column, name in EXPOSURE.items() if _code(row, column, _NORMAL, problems) == "yes"]
    if word is None or not poor:
        return word
    return f"{word} ({', '.join(poor)})"
