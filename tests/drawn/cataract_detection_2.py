"""Phantoms in the folder layout of Cataract Detection 2: one eye per image, its box named by the state of the lens."""

from __future__ import annotations

import numpy as np

from lmod_train.phantom.eye_photograph import boxes, draw_eye_photograph
from lmod_train.phantom.shots import eye_seed
from lmod_train.phantom.truth import Truth
from tests.drawn.roboflow import Export, Exported, Place, Project, places, stems

_SOURCE = "cataract_detection_2"
_PROJECT = Project("srm-university-ramapuram", "cataract-detection-2", ("cataract", "normal"))


def truths(n: int, seed: int, size: int = 256) -> list[Truth]:
    """Return the truth of each of `n` images; cataract and normal alternate in every part."""
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


def _images(n: int, seed: int, size: int) -> list[Exported]:
    """Return the images of the export, of alternating classes; none is augmented."""
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


write = Export(_SOURCE, "Cataract Detection 2", _PROJECT, _images).write
"""Writer of the dataset below ``out/Cataract Detection 2``, see `Export.write`."""
