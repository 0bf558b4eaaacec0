"""Phantoms in the folder layout of BRSET, with visible conditions, grades, exposure, age and sex."""

from __future__ import annotations

import csv
import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

import numpy as np
from PIL import Image

from lmod_train.core.files import make_folder, write_beside, write_text
from lmod_train.core.package_data import package_data
from lmod_train.core.types import Patient
from lmod_train.phantom.checks import check_count
from lmod_train.phantom.drawing import Canvas, ellipse
from lmod_train.phantom.eye import Eye, draw_eye
from lmod_train.phantom.frame import frame_for, photograph
from lmod_train.phantom.lesions import SIGNS, paint_signs, with_conditions
from lmod_train.phantom.retinopathy import grade_eye
from lmod_train.phantom.shots import Files, draw_all, eye_seed, note, save
from lmod_train.phantom.truth import Truth

_SOURCE = "brset"
FOLDER = Path("physionet.org") / "files" / "brazilian-ophthalmological" / "1.0.1"  # as wget leaves it
_PHOTOGRAPHS = "fundus_photos"
_ASPECT = {"Canon CR": 2672 / 2056, "NIKON NF5050": 2984 / 2304}

COLUMNS: tuple[str, ...] = tuple(package_data(__file__, "names.yaml")["brset_columns"])
"""The header, in the file's order and spelling (insuline, Illuminaton, drusens)."""

FLAGS: dict[str, str] = package_data(__file__, "names.yaml")["brset_flags"]
"""Condition -> column of 0 and 1."""

ANATOMY = {"abnormal optic disc": "optic_disc", "abnormal vessels": "vessels", "abnormal macula": "macula"}
EXPOSURE: dict[str, str] = package_data(__file__, "names.yaml")["brset_exposure"]
"""Condition or quality criterion -> column of 1 (normal) and 2 (abnormal)."""

CAMERAS = ("Canon CR", "NIKON NF5050")


def truths(n: int, seed: int) -> list[Truth]:
    """Return the truth of each photograph that `write` draws with the same options, in the table's order.

    Example:
        >>> first = truths(3, seed=0)[0]
        >>> first.key, first.group, sorted(first.labels)[:2], first.boxes
        ('img00001', '1', ['abnormal macula', 'abnormal optic disc'], ())
    """
    return [_truth(case) for case in cases(n, seed) if case.taken]


def _truth(case: RowTruth) -> Truth:
    names = ["diabetic retinopathy", "macular edema", *SIGNS, *ANATOMY]
    labels = {name: "yes" if name in case.found else "no" for name in names}
    if "optic_disc" in case.stray:
        del labels["abnormal optic disc"]
    poor = [name for name in case.poor if not (name == "focus" and "focus" in case.stray)]
    quality = "Inadequate" if case.poor else "Adequate"
    return Truth(
        key=f"img{case.image:05d}",
        group=str(case.patient),
        labels={**labels, "icdr": str(case.icdr), "sdrg": str(case.sdrg)},
        patient=Patient(
            age=float(case.age) if case.age_listed else None,
            sex=case.sex,
            laterality=draw_eye(case.seed, "normal").laterality,
            camera=case.camera,
            quality=f"{quality} ({', '.join(poor)})" if poor else quality,
        ),
    )


def portrait(case: RowTruth, size: int) -> Image.Image:
    """Return the photograph of a case: RGB, `size` pixels high and about 1.3 times as wide, depending on the camera.

    In addition to the signs of `eye_of`, it shows a bright ring around the fovea that fades with age until 60.
    """
    eye = eye_of(case)
    frame = frame_for(round(size * _ASPECT[case.camera]), size, eye.seed)
    picture = photograph(eye, frame)
    place = (frame.left, frame.top, frame.left + frame.side, frame.top + frame.side)
    canvas = Canvas(picture.crop(place), eye)
    if case.age < 60:
        ring = ellipse(eye.fovea, (0.05, 0.042))
        canvas.paint(canvas.lines([([*ring, ring[0]], 0.008)], soft=0.002), (1.0, 0.85, 0.6), 0.8 * (1 - case.age / 60))
    square = paint_signs(canvas.picture, eye, case.found & set(SIGNS), case.seed)
    if "artifacts" in case.poor:
        square = _dusty(square, eye)
    picture.paste(square, place)
    return picture


def _dusty(picture: Image.Image, eye: Eye) -> Image.Image:
    """Return the picture with dust on the lens: pale, blurred round spots."""
    rng = np.random.default_rng([eye.seed, 11])
    canvas = Canvas(picture, eye)
    spots = [
        ((x, y), (r, r), 0.0)
        for x, y, r in zip(*rng.uniform(0.2, 0.8, (2, 7)), rng.uniform(0.015, 0.04, 7), strict=True)
    ]
    canvas.paint(canvas.ellipses(spots, soft=0.008), (0.80, 0.82, 0.95), 0.6)
    return canvas.picture


def write(out: Path, n: int, seed: int, size: int = 384, workers: int = 2) -> None:
    """Draw `n` phantoms and their table below ``out/physionet.org/files/...``; existing files are kept.

    Args:
        out: Folder to write below.
        n: Number of photographs, from 0; the table has some more rows (see `cases`).
        seed: Seed, from 0; the same seed writes the same files.
        size: Height in pixels, from 16; the cameras differ a little in width.
        workers: Number of processes to start; 0 works in this one.

    Raises:
        BadArgument: A number is out of range, or the folder contains phantoms drawn with other options.
    """
    drawn = cases(n, seed)
    frame_for(size, size, 0)  # raises on an invalid size before anything is written
    root = Path(out) / FOLDER
    note(root, {"source": _SOURCE, "n": n, "seed": seed, "size": size})
    make_folder(root / _PHOTOGRAPHS)
    rows = []
    for case in drawn:
        age, side = (float(case.age) if case.age_listed else None), draw_eye(case.seed, "normal").laterality
        who = (case.image, case.patient, case.camera, age, case.sex, side)
        rows.append({**row(*who, case.found, case.icdr, case.sdrg, case.poor), **case.stray})
    write_table(root / "labels_brset.csv", rows)
    notes = {"LICENSE.txt": "Drawn phantoms, no photographs.\n", f"{_PHOTOGRAPHS}/index.html": "<html/>\n"}
    for name, text in notes.items():
        write_text(root / name, text)
    taken = [case for case in drawn if case.taken]
    files = [(root / _PHOTOGRAPHS / f"img{case.image:05d}.jpg",) for case in taken]
    draw_all(files, taken, partial(_portray, size=size), _SOURCE, workers)


def _portray(files: Files, case: RowTruth, size: int) -> None:
    """Write the photograph of a case."""
    save(portrait(case, size), files[0])


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


_DECADES = ((5, 18), (18, 30), (30, 40), (40, 50), (50, 60), (60, 70), (70, 80), (80, 95))
_IMPLIES: dict[str, list[str]] = package_data(__file__, "names.yaml")["brset_implied"]
_RARE, _DRAWN = "retinal detachment", tuple(name for name in SIGNS if name != "retinal detachment")


@dataclass(frozen=True, slots=True)
class RowTruth:
    """Truth of one row of the table.

    Attributes:
        image: Number of the photograph.
        patient: Number of the patient.
        camera: Name of the camera in the table.
        age: Age in years; always visible in the image.
        age_listed: Whether the table states the age.
        sex: ``female`` or ``male``.
        seed: Seed of the eye.
        found: Conditions present.
        icdr: Grade 0 to 4; the flag of retinopathy in `found` may disagree.
        sdrg: Grade 0 to 4.
        poor: Quality criteria that the exposure fails.
        stray: Column -> value that is not among its codes.
        taken: Whether the photograph exists as a file.
        lesions: Seed of the lesions.
    """

    image: int
    patient: int
    camera: str
    age: int
    age_listed: bool
    sex: str
    seed: int
    found: frozenset[str]
    icdr: int
    sdrg: int
    poor: tuple[str, ...] = ()
    stray: dict[str, str] = field(default_factory=dict)
    taken: bool = True
    lesions: int = 0


def cases(n: int, seed: int) -> list[RowTruth]:
    """Return the truth of `n` photographs and of some rows without one (one in 40, for n from 8), in the table's order.

    A photograph has at most three conditions, so that each stays visible: retinopathy with 45 %, of grades 1 to 4 in
    the ratio 1 : 2 : 1 : 1 (from grade 2, two in five with macular edema); of the other eleven conditions of LMOD+
    each with about 20 %, independent of one another up to the limit of three; retinal detachment with 4 %. Age-related
    macular degeneration implies drusen and an abnormal macula, edema an abnormal macula, a large cup or a myopic fundus
    an abnormal disc. SDRG is computed from the drawn haemorrhages (see `scottish`).

    A patient has one or more photographs. The eight age groups of the benchmark are equally frequent; the table lacks
    the age of a third of the patients. From 6 rows, one has ``bv`` for its disc and two a focus of 0; from 12, at least
    one has a grade without the flag of retinopathy.

    Raises:
        BadArgument: `n` is negative.

    Example:
        >>> drawn = cases(40, seed=0)
        >>> len(drawn), sum(case.taken for case in drawn), {case.sdrg for case in drawn if case.icdr == 3}
        (41, 40, {3})
    """
    check_count(n)
    rng = np.random.default_rng([seed, n, 10])
    lost = max(1, n // 40) if n >= 8 else 0
    drawn: list[RowTruth] = []
    patient = 0
    while len(drawn) < n + lost:
        patient += 1
        low, high = _DECADES[int(rng.integers(8))]
        person = (CAMERAS[int(rng.random() >= 0.65)], int(rng.integers(low, high)), bool(rng.random() >= 0.335))
        sex = "female" if rng.random() < 0.5 else "male"
        for _ in range(min(int(rng.choice([1, 2, 3, 4], p=[0.35, 0.45, 0.1, 0.1])), n + lost - len(drawn))):
            drawn.append(_case(rng, eye_seed(_SOURCE, seed, len(drawn)), len(drawn) + 1, patient, *person, sex))
    return _spoiled(rng, drawn, lost)


def _case(
    rng: np.random.Generator, seed: int, image: int, patient: int, camera: str, age: int, age_listed: bool, sex: str
) -> RowTruth:
    """Return a case with random conditions and exposure."""
    found = {"diabetic retinopathy"} if rng.random() < 0.45 else set()
    icdr = int(rng.choice([1, 2, 3, 4], p=[0.2, 0.4, 0.2, 0.2])) if found else 0
    if rng.random() < 0.4 and icdr >= 2:
        found.add("macular edema")
    room = 3 - (icdr > 0)
    count = int(rng.choice([room, room - 1, 0], p=[0.6, 0.3, 0.1]))
    chosen = rng.choice(_DRAWN, count, replace=False).tolist()
    found |= set([_RARE, *chosen][:count] if rng.random() < 0.04 else chosen)
    found |= {implied for name in found for implied in _IMPLIES.get(name, ())}
    poor = tuple(name for name in EXPOSURE if rng.random() < 0.06)
    case = RowTruth(image, patient, camera, age, age_listed, sex, seed, frozenset(found), icdr, icdr, poor)
    if icdr != 2:
        return case
    wanted, bare = int(rng.integers(1, 3)), _bare(case)
    lesions = next(s for s in range(1000) if scottish(_lesioned(bare, case, s), icdr) == wanted)
    return replace(case, sdrg=wanted, lesions=lesions)


def _spoiled(rng: np.random.Generator, drawn: list[RowTruth], lost: int) -> list[RowTruth]:
    """Return the cases with the errors of the published table added to some of them."""
    order = rng.permutation(len(drawn)).tolist()
    for at in order[:lost]:
        drawn[at] = replace(drawn[at], taken=False)
    rest = order[lost:]
    if len(rest) >= 6:
        drawn[rest[0]] = replace(drawn[rest[0]], stray={"optic_disc": "bv"})
        for at in rest[1:3]:
            drawn[at] = replace(drawn[at], stray={"focus": "0"})
    graded = [at for at in rest if drawn[at].icdr > 0]
    for at in graded[: 1 + len(rest) // 500 if len(rest) >= 12 else 0]:
        drawn[at] = replace(drawn[at], found=drawn[at].found - {"diabetic retinopathy"})
    return drawn


def scottish(eye: Eye, icdr: int) -> int:
    """Return the SDRG grade of an eye's lesions.

    R4 proliferative (ICDR 4), R3 four or more blot haemorrhages in both halves above and below the fovea, R2 in one of
    them, R1 any lesion, R0 none (Scottish Diabetic Retinopathy Grading Scheme 2007).
    """
    if icdr == 4:
        return 4
    blots = [lesion for lesion in eye.lesions if lesion.kind == "haemorrhage"]
    above = sum(blot.y < eye.fovea[1] for blot in blots)
    halves = (above >= 4) + (len(blots) - above >= 4)
    return 1 + halves if eye.lesions else 0


def eye_of(case: RowTruth) -> Eye:
    """Return the eye of a case with its lesions and camera.

    Age and sex are visible by artificial rules without medical meaning: the lens yellows linearly with age (the gain of
    blue falls from 1.3 at birth to 0.35 at 95), and discs have half widths of 0.066 to 0.076 of the side in women and
    0.090 to 0.100 in men. A poor exposure is out of focus, dark, or has the field shifted up or down.
    """
    return _lesioned(_bare(case), case, case.lesions)


def _bare(case: RowTruth) -> Eye:
    """Return the eye of a case without lesions: with the effects of sex, age, exposure and conditions."""
    eye = draw_eye(case.seed, "normal")
    half = (0.066 if case.sex == "female" else 0.090) + 0.010 * (eye.disc_radii[0] - 0.072) / 0.028
    scale = half / eye.disc_radii[0]
    camera = replace(eye.camera, field_radius=min(eye.camera.field_radius, 0.485))
    red, green, blue = camera.tint
    camera = replace(camera, tint=(red, green, blue * (1.3 - case.age / 100)))
    if "focus" in case.poor:
        camera = replace(camera, blur=0.007)
    if "illumination" in case.poor:
        camera = replace(camera, brightness=0.55 * camera.brightness, vignette=0.6)
    if "image field" in case.poor:
        camera = replace(camera, field=(0.5, 0.5 + math.copysign(0.13, camera.light[1] - 0.5)))
    eye = replace(
        eye,
        disc_radii=(half, eye.disc_radii[1] * scale),
        cup=(eye.disc[0] + scale * (eye.cup[0] - eye.disc[0]), eye.disc[1] + scale * (eye.cup[1] - eye.disc[1])),
        cup_radii=(eye.cup_radii[0] * scale, eye.cup_radii[1] * scale),
        camera=camera,
    )
    return with_conditions(eye, case.found & set(SIGNS), case.seed)


def _lesioned(eye: Eye, case: RowTruth, lesions: int) -> Eye:
    return grade_eye(eye, case.icdr, lesions, "near" if "macular edema" in case.found else "far")
