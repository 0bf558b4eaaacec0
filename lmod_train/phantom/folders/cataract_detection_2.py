"""Phantoms in the folder shape of Cataract Detection 2: one eye an image, its box named by the state of the lens."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from lmod_train.phantom.eye_photograph import boxes, draw_eye_photograph
from lmod_train.phantom.folders.roboflow import Exported, Flavour, Place, Project, check, places, stems, write_export
from lmod_train.phantom.shots import eye_seed
from lmod_train.phantom.truth import Truth

_SOURCE = "cataract_detection_2"
_PROJECT = Project("srm-university-ramapuram", "cataract-detection-2", ("cataract", "normal"))


def truths(n: int, seed: int, size: int = 256) -> list[Truth]:
    """Return what must come back for each of `n` images; cataract and normal come in turn, in every part.

    A cataract is a grey-white pupil; nothing else of a photograph depends on it. The workspace and the class names are
    made up: the real ones are not published.

    Args:
        n: Images, 0 or more.
        seed: From 0.
        size: Pixels a side, which boxes are counted in.

    Raises:
        BadArgument: A number is out of range.

    Example:
        >>> [(t.labels["diagnosis"], [name for name, _ in t.boxes]) for t in truths(2, seed=0)]
        [('cataract', ['eye']), ('normal', ['eye'])]
    """
    return [
        Truth(
            key=image.key,
            group=image.stem.partition(".rf.")[0],
            labels={"diagnosis": name, "cataract": "yes" if name == "cataract" else "no"},
            boxes=(("eye", box),),
        )
        for image in _images(n, seed, size)
        for name, box in image.objects
    ]


def write(out: Path, n: int, seed: int, size: int = 256, flavour: Flavour = "yolo", workers: int = 2) -> None:
    """Draw `n` images below ``out/Cataract Detection 2``; what is there already stays.

    Args:
        out: Folder to write below.
        n: As `truths`.
        seed: As `truths`; the same seed writes the same files.
        size: Pixels a side, from 64.
        flavour: Of the export, see `write_export`.
        workers: Processes to start; 0 works in this one.

    Raises:
        BadArgument: A number is out of range, or the folder holds phantoms of other numbers.
    """
    check(size, flavour)
    drawn: dict[str, int | float | str] = {"source": _SOURCE, "n": n, "seed": seed}
    write_export(Path(out) / "Cataract Detection 2", _images(n, seed, size), _PROJECT, drawn, size, flavour, workers)


def _images(n: int, seed: int, size: int) -> list[Exported]:
    """Return the images of the export, one of each class at every second place; none is augmented."""
    check(size)
    pairs = list(places((n + 1) // 2, copies=0)) if n > 0 else list(places(n))
    found = [Place(2 * pair.family + i, pair.split, None) for pair in pairs for i in (0, 1)][: max(n, 0)]
    images = []
    for place, stem in zip(found, stems(_SOURCE, seed, found), strict=True):
        eye, ill = eye_seed(_SOURCE, seed, place.family), place.family % 2 == 0
        side = np.random.default_rng([eye, 3]).random() < 0.5
        photograph = draw_eye_photograph(eye, "right" if side else "left", cataract=ill)
        (_, box), *_ = boxes(photograph, size)
        images.append(Exported(photograph, place.split, stem, (("cataract" if ill else "normal", box),)))
    return images
