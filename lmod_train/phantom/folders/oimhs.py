"""Phantoms in the folder layout of OIMHS: B-scans beside their coloured masks, and two workbooks."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Literal

import numpy as np
from PIL import Image

from lmod_train.core.types import Patient
from lmod_train.phantom.checks import check_count, check_size
from lmod_train.phantom.oct import STAGES, STRUCTURES, Scan, draw_oct_eye, draw_scan, label_map, render
from lmod_train.phantom.shots import Files, draw_all, eye_seed, note, save, write_workbook
from lmod_train.phantom.truth import Truth, boxes_of

_SOURCE = "oimhs"
_FOLDER = "OIMHS_dataset"
_EYES, _QUALITY = "Demographics of the participants.xlsx", "Quality Assessment.xlsx"
_EYE_HEADER = ("Patient ID", "Eye ID", "Eye category", "Age(years)", "Sex", "Stage")
_QUALITY_HEADER = ("Eye ID", "Image ID", "Low signal strength", "Signal shield", "Image blur")
_COLOURS = np.array([(0, 0, 0), (255, 255, 0), (0, 255, 0), (0, 0, 255), (255, 0, 0)], dtype=np.uint8)
_SCANS = 4  # of an eye
_BESIDE = 0.2  # probability that a scan other than an eye's middle one is beside the hole


@dataclass(frozen=True, slots=True)
class _Place:
    """One scan with its patient, eye and number."""

    patient: int
    eye: int
    number: int
    age: int
    sex: Literal["Female", "Male"]
    scan: Scan

    @property
    def flags(self) -> tuple[int, int, int]:
        """Low signal strength, signal shield and image blur."""
        return int(self.scan.dim), int(self.scan.shield is not None), int(self.scan.blurred)


def truths(n: int, seed: int, size: int = 256) -> list[Truth]:
    """Return the truth of each of `n` scans, eye by eye, four of each eye but the last, which may have fewer.

    Every fifth patient, from the second, has two eyes. Stages are equally frequent over the eyes, in random order. A
    fifth of the scans, but never an eye's middle one, are beside the hole and do not show it, as in real eyes, so that
    of four scans about 85 % show it; all have the stage of their eye. Sex, age, side and the three quality defects are
    independent of the stage.

    Args:
        n: Number of scans, from 0.
        seed: Seed, from 0.
        size: Side of the B-scan in pixels, the unit of the boxes.

    Raises:
        BadArgument: A number is out of range.

    Example:
        >>> first = truths(8, seed=0)[0]
        >>> first.key, first.group, sorted(first.labels)
        ('1/0', '1', ['macular_hole_stage'])
    """
    found = []
    for place in _places(n, seed):
        words = ("signal strength low", "signal shield", "blurred")
        labels = label_map(place.scan, size)
        quality = "; ".join(w for w, flag in zip(words, place.flags, strict=True) if flag) or "no defect noted"
        found.append(
            Truth(
                key=f"{place.eye}/{place.number}",
                group=str(place.patient),
                labels={"macular_hole_stage": place.scan.eye.stage},
                boxes=boxes_of((name, labels == number) for number, name in enumerate(STRUCTURES[1:], start=1)),
                patient=Patient(float(place.age), place.sex.lower(), place.scan.eye.laterality, quality=quality),
            )
        )
    return found


def write(out: Path, n: int, seed: int, size: int = 256, workers: int = 2) -> None:
    """Draw `n` scans to ``out/OIMHS_dataset/Images/<eye>/<scan>.png`` and the two workbooks; existing files are kept.

    Args:
        out: Folder to write below.
        n: As `truths`.
        seed: As `truths`; the same seed writes the same images.
        size: Side of the B-scan in pixels, from 16, 512 in the published dataset; the file is twice as wide.
        workers: Number of processes to start; 0 works in this one.

    Raises:
        BadArgument: As `truths`, or the folder contains phantoms drawn with other options.
    """
    root = Path(out) / _FOLDER
    places = _places(n, seed)
    check_size(size)
    note(root, {"source": _SOURCE, "n": n, "seed": seed, "size": size})
    eyes = {place.eye: place for place in places}.values()
    write_workbook(
        root / _EYES,
        _EYE_HEADER,
        [
            (p.patient, p.eye, "OD" if p.scan.eye.laterality == "right" else "OS", p.age, p.sex, int(p.scan.eye.stage))
            for p in eyes
        ],
    )
    write_workbook(root / _QUALITY, _QUALITY_HEADER, [(p.eye, p.number, *p.flags) for p in places])
    files = [(root / "Images" / str(p.eye) / f"{p.number}.png",) for p in places]
    draw_all(files, [p.scan for p in places], partial(_draw, size=size), _SOURCE, workers)


def _draw(files: Files, scan: Scan, size: int) -> None:
    """Write one B-scan with its mask at its right."""
    both = np.empty((size, 2 * size, 3), dtype=np.uint8)
    both[:, :size] = np.asarray(render(scan, size))[..., None]
    both[:, size:] = _COLOURS[label_map(scan, size)]
    save(Image.fromarray(both), files[0], compress_level=3)


def _places(n: int, seed: int) -> list[_Place]:
    """Return the random truth of every scan."""
    check_count(n, "scans")
    eyes = -(-n // _SCANS)
    stages = [STAGES[i % 4] for i in np.random.default_rng([seed, eyes]).permutation(eyes)]
    found: list[_Place] = []
    for (patient, eye, both), stage in zip(_patients(eyes), stages, strict=True):
        person = np.random.default_rng([eye_seed(_SOURCE, seed, 2 * patient), 1])
        age, female, right = int(person.integers(48, 82)), person.random() < 0.5, person.random() < 0.5
        right ^= both  # the second eye is the other one
        drawn = draw_oct_eye(eye_seed(_SOURCE, seed, 2 * eye + 1), stage, "right" if right else "left")
        for number in range(min(_SCANS, n - len(found))):
            index = len(found)
            place = np.random.default_rng([eye_seed(_SOURCE, seed, index), 2])
            beside = place.random() < _BESIDE and number != _SCANS // 2
            scan = draw_scan(eye_seed(_SOURCE, seed, index), drawn, None if beside else place.uniform(-0.5, 0.5))
            found.append(_Place(patient, eye, number, age, "Female" if female else "Male", scan))
    return found


def _patients(eyes: int) -> list[tuple[int, int, bool]]:
    """Return patient and eye number of every eye, from 1, and whether it is the patient's second."""
    found: list[tuple[int, int, bool]] = []
    patient = 0
    while len(found) < eyes:
        patient += 1
        found.append((patient, len(found) + 1, False))
        if patient % 5 == 2:
            found.append((patient, len(found) + 1, True))
    return found[:eyes]
