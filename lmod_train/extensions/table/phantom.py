"""Phantoms as a clinic has its photographs: a spreadsheet, and a folder of images with numbers for names."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from lmod_train.core.types import Patient
from lmod_train.phantom.eye import DIAGNOSES, Eye, draw_eye
from lmod_train.phantom.shots import Shot, eye_seed, note, take, write_workbook
from lmod_train.phantom.truth import Truth

_SOURCE = "clinic"

HEADER = ("Photo", "Patient", "Eye", "Diagnosis", "Age", "Sex", "Quality")


def truths(n: int, seed: int) -> list[Truth]:
    """Return the truth of each phantom that `write` draws with the same options, without boxes.

    Two photographs are of one patient.

    Example:
        >>> [(t.key, t.group, t.labels["diagnosis"]) for t in truths(2, seed=0)]
        [('IMG_0001', 'P001', 'cataract'), ('IMG_0002', 'P001', 'diabetic retinopathy')]
    """
    return _truths(_eyes(n, seed), seed)


def _truths(eyes: Sequence[Eye], seed: int) -> list[Truth]:
    n = len(eyes)
    people = np.random.default_rng([seed, n])
    ages, sexes = people.integers(31, 88, size=n), people.integers(0, 2, size=n)
    return [
        Truth(
            key=f"IMG_{i + 1:04d}",
            group=f"P{i // 2 + 1:03d}",
            labels={"diagnosis": eye.diagnosis},
            patient=Patient(
                age=int(ages[i // 2]),
                sex=("male", "female")[sexes[i // 2]],
                laterality=eye.laterality,
                quality="good" if i % 5 else "poor",
            ),
        )
        for i, eye in enumerate(eyes)
    ]


def write(out: Path, n: int, seed: int, size: int = 384, workers: int = 2) -> None:
    """Draw `n` phantoms to ``out/clinic/photos``, and their table to ``out/clinic/patients.xlsx``.

    Args:
        out: Folder to write below.
        n: Number of photographs, from 0.
        seed: Seed, from 0; the same seed draws the same eyes.
        size: Side of the images in pixels.
        workers: Number of processes to start; 0 works in this one.

    Raises:
        BadArgument: The folder contains phantoms drawn with other options.
    """
    root = Path(out) / _SOURCE
    note(root, {"source": _SOURCE, "n": n, "seed": seed, "size": size})
    eyes = _eyes(n, seed)
    drawn = _truths(eyes, seed)
    rows = []
    for one in drawn:
        person, diagnosis = one.patient, one.labels["diagnosis"]
        side, sex = {"right": "OD", "left": "OS"}[person.laterality or ""], (person.sex or "")[:1].upper()
        rows.append([f"{one.key}.jpg", one.group, side, diagnosis, person.age, sex, person.quality])
    write_workbook(root / "patients.xlsx", HEADER, rows, "patients")
    shots = [Shot(eye, root / "photos" / f"{t.key}.jpg") for t, eye in zip(drawn, eyes, strict=True)]
    take(shots, size, _SOURCE, workers)


def _eyes(n: int, seed: int) -> list[Eye]:
    return [draw_eye(eye_seed(_SOURCE, seed, i), DIAGNOSES[i % 4]) for i in range(n)]
