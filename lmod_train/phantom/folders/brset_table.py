"""BRSET's table: its 34 columns as spelled in the file, and a table with the class counts of the published one."""

from __future__ import annotations

import csv
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

import numpy as np

from lmod_train.core.files import write_beside

COLUMNS = (
    *("image_id", "patient_id", "camera", "patient_age", "comorbidities", "diabetes_time_y", "insuline"),
    *("patient_sex", "exam_eye", "diabetes", "nationality", "optic_disc", "vessels", "macula", "DR_SDRG", "DR_ICDR"),
    *("focus", "Illuminaton", "image_field", "artifacts", "diabetic_retinopathy", "macular_edema", "scar", "nevus"),
    *("amd", "vascular_occlusion", "hypertensive_retinopathy", "drusens", "hemorrhage", "retinal_detachment"),
    *("myopic_fundus", "increased_cup_disc", "other", "quality"),
)
"""The header, in the file's order and spelling (insuline, Illuminaton, drusens)."""

FLAGS = {
    "diabetic retinopathy": "diabetic_retinopathy",
    "macular edema": "macular_edema",
    "scar": "scar",
    "nevus": "nevus",
    "age-related macular degeneration": "amd",
    "vascular occlusion": "vascular_occlusion",
    "hypertensive retinopathy": "hypertensive_retinopathy",
    "drusen": "drusens",
    "hemorrhage": "hemorrhage",
    "retinal detachment": "retinal_detachment",
    "myopic fundus": "myopic_fundus",
    "increased cup-to-disc ratio": "increased_cup_disc",
    "other": "other",
}
"""Condition -> column of 0 and 1."""

ANATOMY = {"abnormal optic disc": "optic_disc", "abnormal vessels": "vessels", "abnormal macula": "macula"}
EXPOSURE = {
    "focus": "focus",
    "illumination": "Illuminaton",
    "image field": "image_field",
    "artifacts": "artifacts",
}
"""Condition or quality criterion -> column of 1 (normal) and 2 (abnormal)."""

CAMERAS = ("Canon CR", "NIKON NF5050")

PUBLISHED = {
    "diabetic retinopathy": 1070,
    "macular edema": 401,
    "scar": 291,
    "nevus": 130,
    "age-related macular degeneration": 299,
    "vascular occlusion": 101,
    "hypertensive retinopathy": 284,
    "drusen": 2833,
    "hemorrhage": 95,
    "retinal detachment": 7,
    "myopic fundus": 270,
    "increased cup-to-disc ratio": 3205,
    "other": 820,
    "abnormal optic disc": 3279,
    "abnormal vessels": 807,
    "abnormal macula": 4677,
}
"""Number of rows of the published table (1.0.1) with each condition."""

ROWS, PATIENTS, FEMALE, WITHOUT_AGE = 16_266, 8_524, 10_052, 5_449  # 33.5 % without an age
ICDR, SDRG = (15_183, 158, 451, 78, 396), (15_188, 280, 133, 263, 402)
MISSING = (*range(4414, 4420), 6900)
"""Numbers of the rows without a photograph in the published dataset."""

_FLAG_WITHOUT_GRADE = 1  # with the 14 graded rows without the flag that the counts leave, about 15 disagree


def row(
    image: int,
    patient: int,
    camera: str,
    age: float | None,
    sex: str,
    laterality: str,
    found: Collection[str],
    icdr: int,
    sdrg: int,
    poor: Collection[str] = (),
) -> dict[str, str]:
    """Return one row, column -> text; `found` are conditions, `poor` the quality criteria that the exposure fails.

    Example:
        >>> one = row(7, 3, "Canon CR", None, "female", "left", ["abnormal macula"], 0, 0, ["focus"])
        >>> one["image_id"], one["patient_age"], one["patient_sex"], one["macula"], one["focus"], one["quality"]
        ('img00007', '', '2', '2', '2', 'Inadequate')
    """
    diabetic = icdr > 0
    values = {
        "image_id": f"img{image:05d}",
        "patient_id": str(patient),
        "camera": camera,
        "patient_age": "" if age is None else f"{age:.1f}",
        "comorbidities": "diabetes, arterial hypertension" if diabetic else "",  # free text with commas
        "diabetes_time_y": str(image % 20) if diabetic else "",
        "insuline": "yes" if diabetic and image % 3 == 0 else "",
        "patient_sex": "1" if sex == "male" else "2",
        "exam_eye": "1" if laterality == "right" else "2",
        "diabetes": "yes" if diabetic else "No",
        "nationality": "Brazil",
        "DR_SDRG": str(sdrg),
        "DR_ICDR": str(icdr),
        "quality": "Inadequate" if poor else "Adequate",
    }
    values |= {column: str(int(name in found)) for name, column in FLAGS.items()}
    values |= {column: str(1 + (name in found)) for name, column in ANATOMY.items()}
    values |= {column: str(1 + (name in poor)) for name, column in EXPOSURE.items()}
    return {column: values[column] for column in COLUMNS}


def write_table(path: Path, rows: Sequence[Mapping[str, str]]) -> None:
    """Write header and rows atomically; the same rows give the same bytes."""
    with write_beside(path) as beside, beside.open("w", encoding="utf-8", newline="") as file:
        table = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        table.writeheader()
        table.writerows(rows)


def published_rows(seed: int) -> list[dict[str, str]]:
    """Return 16,266 rows with every class count of the published table; labels are assigned at random.

    The counts of `PUBLISHED`, `ICDR`, `SDRG`, rows, patients, women, rows without an age, the one ``bv`` of optic_disc,
    the two zeros of focus, and the 15 rows in which flag and ICDR grade disagree are exact. The rows of `MISSING` have
    no condition, so that the counts hold for the photographs too. Not published, and chosen here: one or two
    photographs per patient, the distribution of ages, the shares of cameras and poor exposures.

    Example:
        >>> rows = published_rows(0)
        >>> len(rows), len({r["patient_id"] for r in rows}), sum(r["DR_ICDR"] == "3" for r in rows)
        (16266, 8524, 78)
    """
    rng = np.random.default_rng([seed, ROWS])
    found: list[set[str]] = [set() for _ in range(ROWS)]
    allowed = np.array([i for i in range(ROWS) if i + 1 not in MISSING])
    for name, count in PUBLISHED.items():
        if name != "diabetic retinopathy":
            for at in rng.choice(allowed, count, replace=False).tolist():
                found[at].add(name)
    icdr, sdrg = _grades(rng, allowed, found)
    people = _people(rng)
    poor = rng.random((ROWS, 4)) < 0.03
    rows = []
    for at, (patient, camera, age, sex) in enumerate(people):
        faults = [name for name, bad in zip(EXPOSURE, poor[at].tolist(), strict=True) if bad]
        side = "right" if rng.random() < 0.5 else "left"
        rows.append(row(at + 1, patient, camera, age, sex, side, found[at], icdr[at], sdrg[at], faults))
    plain = [at for at in allowed.tolist() if not found[at]]
    stray, *unfocused = rng.choice(plain, 3, replace=False).tolist()
    rows[stray]["optic_disc"] = "bv"
    for at in unfocused:
        rows[at]["focus"] = "0"
    return rows


def _grades(rng: np.random.Generator, allowed: np.ndarray, found: list[set[str]]) -> tuple[list[int], list[int]]:
    """Return both grades of every row, matched by severity, and add the flag of retinopathy to `found`."""
    graded = rng.choice(allowed, sum(ICDR[1:]) + _FLAG_WITHOUT_GRADE, replace=False).tolist()
    flagged_only, graded = graded[:_FLAG_WITHOUT_GRADE], graded[_FLAG_WITHOUT_GRADE:]
    grades = []
    for counts in (ICDR, SDRG):
        levels = [level for level in (4, 3, 2, 1) for _ in range(counts[level])]
        whole_table = [0] * ROWS
        for at, level in zip(graded, levels, strict=False):  # SDRG has a few more without a grade
            whole_table[at] = level
        grades.append(whole_table)
    with_flag = rng.choice(graded, PUBLISHED["diabetic retinopathy"] - _FLAG_WITHOUT_GRADE, replace=False).tolist()
    for at in [*flagged_only, *with_flag]:
        found[at].add("diabetic retinopathy")
    return grades[0], grades[1]


def _people(rng: np.random.Generator) -> list[tuple[int, str, float | None, str]]:
    """Return patient, camera, age and sex of every row; rows of a patient are adjacent and agree."""
    pairs = ROWS - PATIENTS
    women = FEMALE // 2
    kinds = [("female", 2)] * women + [("male", 2)] * (pairs - women) + [("male", 1)] * (PATIENTS - pairs)
    ageless = WITHOUT_AGE // 2
    known = [False] * ageless + [True] * (pairs - ageless)
    rng.shuffle(known)
    known += [i >= WITHOUT_AGE % 2 for i in range(PATIENTS - pairs)]
    people = []
    for number, at in enumerate(rng.permutation(PATIENTS).tolist(), start=1):
        (sex, photographs), age_listed = kinds[at], known[at]
        age = float(np.clip(round(rng.normal(57.6, 17)), 5, 97))
        camera = CAMERAS[int(rng.random() >= 0.65)]
        people += [(number, camera, age if age_listed else None, sex)] * photographs
    return people
