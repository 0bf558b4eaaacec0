"""Phantoms in the folder layout of CAU001: eyes with boxes around eye, iris and pupil, and augmented copies."""

from __future__ import annotations

import numpy as np

from lmod_train.core.types import Patient
from lmod_train.phantom.eye_photograph import View, boxes, draw_eye_photograph
from lmod_train.phantom.shots import eye_seed
from lmod_train.phantom.truth import Truth
from tests.drawn.roboflow import COPIES, Export, Exported, Project, places, stems

_SOURCE = "cau001"
_VIEWS: tuple[View, ...] = ("right", "left", "both", "left", "right", "both", "iris")
_CLASSES = {"iris": "Iris", "right eye": "Ojo Der", "left eye": "Ojo Izq", "pupil": "Pupila"}
_WORDS = {name: structure for structure, name in _CLASSES.items()}
_PROJECT = Project(
    "pupiup-rjvfv",
    "cau001",
    tuple(_CLASSES.values()),
    f"{COPIES} copies each, brightness between -45 % and +45 %, blur up to 2.75 pixels of 640, salt and pepper on 7 %",
)


def truths(n: int, seed: int, size: int = 256) -> list[Truth]:
    """Return the truth of each of `n` images, family by family."""
    found = []
    for image in _images(n, seed, size):
        view = image.photograph.view
        found.append(
            Truth(
                key=image.key,
                group=image.stem.partition(".rf.")[0],
                boxes=tuple((_WORDS[name], box) for name, box in image.objects),
                patient=Patient(laterality=view if view in ("right", "left") else None),
            )
        )
    return found


def _images(n: int, seed: int, size: int) -> list[Exported]:
    """Return the images of the export; copies of a family show the same photograph."""
    found = list(places(n))
    images = []
    for place, stem in zip(found, stems(_SOURCE, seed, found), strict=True):
        eye = eye_seed(_SOURCE, seed, place.family)
        cloudy = np.random.default_rng([eye, 3]).random() < 0.3
        photograph = draw_eye_photograph(eye, _VIEWS[place.family % len(_VIEWS)], cataract=bool(cloudy))
        objects = tuple((_CLASSES[structure], box) for structure, box in boxes(photograph, size))
        changed = None if place.copy is None else eye_seed(f"{_SOURCE} copy {place.copy}", seed, place.family)
        images.append(Exported(photograph, place.split, stem, objects, changed))
    return images


write = Export(_SOURCE, "CAU001", _PROJECT, _images).write
"""Writer of the dataset below ``out/CAU001``, see `Export.write`."""
