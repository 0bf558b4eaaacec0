"""A folder of BRSET with the size and class counts of the published one (version 1.0.1) and photographs of noise."""

from pathlib import Path

import numpy as np
from PIL import Image

from lmod_train.phantom.folders.brset import CAMERAS, EXPOSURE, FOLDER, row, write_table

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


def write_published(out: Path, seed: int = 0) -> None:
    """Write the table of `published_rows` and a photograph of each row but those of `MISSING`."""
    photographs = out / FOLDER / "fundus_photos"
    photographs.mkdir(parents=True)
    rows = published_rows(seed)
    write_table(out / FOLDER / "labels_brset.csv", rows)
    for number in sorted({*range(1, len(rows) + 1)} - {*MISSING}):
        noise(photographs / f"img{number:05d}.jpg", 40_000 + number)


def noise(path: Path, number: int, size: tuple[int, int] = (8, 6)) -> None:
    """Write a photograph of a few pixels unlike that of every other number."""
    path.parent.mkdir(parents=True, exist_ok=True)
    pixels = np.random.default_rng(number).integers(0, 255, (size[1], size[0], 3), dtype=np.uint8)
    Image.fromarray(pixels).save(path)


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
