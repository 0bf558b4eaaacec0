"""Reading of OIMHS's two tables: patient and stage of each eye, and quality of each scan."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from lmod_train.data.sources.sheets import UnreadableSheet, misfit, plain_header, read_sheet

STAGES = ("1", "2", "3", "4")
_SEXES = {"female": "female", "f": "female", "male": "male", "m": "male"}
_SIDES = {"od": "right", "os": "left"}
_COLUMNS = ("Patient ID", "Eye category", "Age(years)", "Sex", "Stage")
_FLAGS = {
    "Low signal strength": "signal strength low",
    "Signal shield": "signal shield",
    "Image blur": "blurred",
}
NO_DEFECT = "no defect noted"
"""Quality of a scan whose three flags are all 0."""

_INTEGER = re.compile(r"0*(\d+)(?:\.0*)?")


@dataclass(frozen=True, slots=True)
class EyeRow:
    """Demographics and stage of one eye; empty or None where there is no readable value."""

    patient: str = ""
    laterality: str | None = None
    age: float | None = None
    sex: str | None = None
    stage: str = ""


def integer(text: str) -> str:
    """Return an integer without leading zeros and ``.0``, an empty string for anything else.

    Example:
        >>> integer("007"), integer("12.0"), integer("0"), integer("1a"), integer("1.5")
        ('7', '12', '0', '', '')
    """
    found = _INTEGER.fullmatch(text.strip())
    return found[1] if found else ""


def read_eyes(path: Path) -> tuple[dict[str, EyeRow], list[str]]:
    """Return eye number -> its demographics, and a message for each value that cannot be used.

    An eye with two different rows is dropped, as it is not known which of them is right.

    Args:
        path: Table with the columns `Patient ID`, `Eye ID`, `Eye category` (OD, OS), `Age(years)`, `Sex` and `Stage`
            (1 to 4); if a column is missing, only its values are.

    Raises:
        UnreadableSheet: The file is damaged or has no column `Eye ID`.
    """
    rows = read_sheet(path, "Eye ID")
    problems = _missing(rows, _COLUMNS)
    eyes: dict[str, EyeRow] = {}
    twice: set[str] = set()
    for at, row in enumerate(rows, start=1):
        eye = "" if misfit(row) else integer(row["eyeid"])
        if not eye:
            problems.append(f"row {at}: {_why_no_number(row, 'Eye ID', row['eyeid'])}")
            continue
        read, unreadable = _eye_row(row)
        problems += [f"eye {eye}: {problem}" for problem in unreadable]
        if eyes.setdefault(eye, read) != read:
            twice.add(eye)
    problems += [f"eye {eye}: rows that differ" for eye in sorted(twice, key=int)]
    return {eye: read for eye, read in eyes.items() if eye not in twice}, problems


def read_quality(path: Path) -> tuple[dict[tuple[str, str], str], list[str]]:
    r"""Return (eye, scan) -> its quality in words, and a message for each row that cannot be used.

    Args:
        path: Table with the columns `Eye ID`, `Image ID`, `Low signal strength`, `Signal shield` and `Image blur`, the
            last three 0 or 1.

    Raises:
        UnreadableSheet: The file is damaged, or one of these columns is missing.

    Example:
        >>> import tempfile
        >>> file = Path(tempfile.mkdtemp()) / "Quality Assessment.csv"
        >>> header = "Eye ID,Image ID,Low signal strength,Signal shield,Image blur"
        >>> _ = file.write_text(header + "\n1,0,1,0,1\n1,1,0,0,0\n")
        >>> read_quality(file)
        ({('1', '0'): 'signal strength low; blurred', ('1', '1'): 'no defect noted'}, [])
    """
    rows = read_sheet(path, "Eye ID")
    missing = _missing(rows, ("Image ID", *_FLAGS))
    if missing:
        raise UnreadableSheet("; ".join(missing))
    found: dict[tuple[str, str], str] = {}
    problems: list[str] = []
    twice: set[tuple[str, str]] = set()
    for at, row in enumerate(rows, start=1):
        scan = integer(row["eyeid"]), integer(row["imageid"].casefold().removesuffix(".png"))
        flags = {words: integer(row[plain_header(column)]) for column, words in _FLAGS.items()}
        if misfit(row) or not all(scan):
            problems.append(f"row {at}: {_why_no_number(row, 'Eye ID, Image ID', (row['eyeid'], row['imageid']))}")
        elif not set(flags.values()) <= {"0", "1"}:
            shown = ", ".join(f"{column} {row[plain_header(column)]!r}" for column in _FLAGS)
            problems.append(f"eye {scan[0]}, scan {scan[1]}: {shown}, expected 0 or 1")
        else:
            quality = "; ".join(words for words, flag in flags.items() if flag == "1") or NO_DEFECT
            if found.setdefault(scan, quality) != quality:
                twice.add(scan)
    problems += [f"eye {eye}, scan {scan}: rows that differ" for eye, scan in sorted(twice)]
    return {scan: quality for scan, quality in found.items() if scan not in twice}, problems


def _missing(rows: list[dict[str, str]], columns: tuple[str, ...]) -> list[str]:
    """Return a message for each missing column; [] for a table without rows."""
    there = rows[0].keys() if rows else {plain_header(column) for column in columns}
    return [f"no column {column!r}" for column in columns if plain_header(column) not in there]


def _why_no_number(row: Mapping[str, str], column: str, value: object) -> str:
    return misfit(row) or f"{column} {value!r} is not an integer"


def _eye_row(row: Mapping[str, str]) -> tuple[EyeRow, list[str]]:
    """Return one row of the demographics, and a message for each value that cannot be used."""
    problems = []
    side, sex = row.get("eyecategory", ""), row.get("sex", "")
    stage, age, patient = row.get("stage", "1"), row.get("ageyears", ""), row.get("patientid", "?")
    years = _age(age)
    if not patient:
        problems.append("no Patient ID; the eye is a group of its own")
    if integer(stage) not in STAGES:
        problems.append(f"Stage {stage!r}, expected 1, 2, 3 or 4")
    if age and years is None:
        problems.append(f"Age(years) {age!r}, expected a number of years from 0 to below 120")
    if sex and sex.casefold() not in _SEXES:
        problems.append(f"Sex {sex!r}, expected Female or Male")
    if side and side.casefold() not in _SIDES:
        problems.append(f"Eye category {side!r}, expected OD or OS")
    return EyeRow(
        patient=integer(row.get("patientid", "")) or row.get("patientid", ""),
        laterality=_SIDES.get(side.casefold()),
        age=years,
        sex=_SEXES.get(sex.casefold()),
        stage=integer(row.get("stage", "")) if integer(stage) in STAGES else "",
    ), problems


def _age(text: str) -> float | None:
    """Return the age in years, None for anything that is not a number from 0 to below 120."""
    try:
        years = float(text)
    except ValueError:
        return None
    return years if 0 <= years < 120 else None
