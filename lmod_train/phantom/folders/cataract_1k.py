"""Phantoms in the folder layout of Cataract-1K's segmentation subset, with COCO and Supervisely annotations."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from lmod_train.core.files import write_text
from lmod_train.core.package_data import package_data
from lmod_train.core.types import Box
from lmod_train.phantom.checks import check_count
from lmod_train.phantom.instruments import INSTRUMENTS, Point
from lmod_train.phantom.shots import Files, draw_all, eye_seed, note, save
from lmod_train.phantom.surgery import Scene, draw_operation, draw_scene, height_of, outlines, render
from lmod_train.phantom.truth import Truth

_SOURCE = "cataract_1k"
_IMAGES = "Annotations/Images-and-Supervisely-Annotations"
_COCO = "Annotations/Coco-Annotations"
_ODD = 5315  # its folder's files are named case_53153_NN.png
_CASES: list[int] = package_data(__file__, "names.yaml")["cataract_1k_cases"]
_FRAMES = 4
_CLASSES: list[str] = package_data(__file__, "names.yaml")["cataract_1k_classes"]


@dataclass(frozen=True, slots=True)
class _Shot:
    """One frame: its case, the stem of its files, its number in the case from 1, and its truth."""

    case: str
    stem: str
    number: int
    scene: Scene

    @property
    def key(self) -> str:
        """Key of the sample as the source yields it."""
        return f"{self.case}/{self.stem}"


def truths(n: int, seed: int, size: int = 256) -> list[Truth]:
    """Return the truth of each of `n` frames, in order of keys.

    A case has four frames, or more if `n` exceeds 120. Frames of a case share eye and light. The instruments (up to
    three per frame, all ten kinds equally often) and the implanted lens (in every second frame) are independent of
    them. Boxes are in pixels, and so depend on the image's size.

    Args:
        n: Number of frames, from 0.
        seed: Seed, from 0.
        size: Width of the image, as for `write`.

    Raises:
        BadArgument: `n` is negative, or `size` is below 32 or not a multiple of 4.

    Example:
        >>> [truth.key for truth in truths(2, seed=0)]
        ['case_5315/case_53153_01', 'case_5315/case_53153_02']
        >>> sorted({name for name, _ in truths(2, seed=0)[0].boxes} & {"cornea", "pupil"})
        ['cornea', 'pupil']
    """
    height_of(size)
    found = []
    for shot in sorted(_shots(n, seed), key=lambda shot: shot.key):
        boxes = tuple((name, _box(corners)) for name, corners in outlines(shot.scene, size))
        found.append(Truth(shot.key, shot.case, boxes=boxes))
    return found


def write(out: Path, n: int, seed: int, size: int = 256, workers: int = 2) -> None:
    """Draw `n` frames with both kinds of annotation below ``out/Cataract-1K``; existing files are kept.

    As in the published dataset, category ids differ between cases, image ids start again in each case, and the files of
    one case have another number than its folder. The second frame of every case names its pupil ``pupil1``.

    Args:
        out: Folder to write below.
        n: Number of frames, from 0.
        seed: Seed, from 0; the same seed writes the same files.
        size: Width in pixels, a multiple of 4 from 32; the height is 3/4 of it. The real ones are 1024 wide.
        workers: Number of processes to start; 0 works in this one.

    Raises:
        BadArgument: A number is out of range, or the folder contains phantoms drawn with other options.
    """
    shots = list(_shots(n, seed))
    height_of(size)  # raises on an invalid size before anything is written
    root = Path(out) / "Cataract-1K"
    note(root, {"source": _SOURCE, "n": n, "seed": seed, "size": size})
    for case in dict.fromkeys(shot.case for shot in shots):
        file = root / _COCO / case / "annotations" / "instances.json"
        _write_json(file, _coco([shot for shot in shots if shot.case == case], seed, size))
    folder = root / _IMAGES
    files = [(folder / s.case / "ann" / f"{s.stem}.png.json", folder / s.case / "img" / f"{s.stem}.png") for s in shots]
    draw_all(files, shots, partial(_draw, size=size), _SOURCE, workers)


def _shots(n: int, seed: int) -> Iterator[_Shot]:
    """Yield every frame with its truth."""
    check_count(n, "frames")
    cases = min(len(_CASES), math.ceil(n / _FRAMES))
    rng = np.random.default_rng([seed, n])
    implanted = rng.permutation(n) % 2 == 0
    hands = _hands(n, rng)
    for index, (kinds, lens) in enumerate(zip(hands, implanted.tolist(), strict=True)):
        place = index * cases // n
        first = -(-place * n // cases)  # of the frames of this case
        case, number = _CASES[place], index - first + 1
        operation = draw_operation(eye_seed(_SOURCE, seed, place))
        scene = draw_scene(eye_seed(f"{_SOURCE} frame", seed, index), operation, kinds, lens=lens)
        stem = f"case_{case}3_{number:02d}" if case == _ODD else f"case{case}_{number:02d}"
        yield _Shot(f"case_{case}", stem, number, scene)


def _hands(n: int, rng: np.random.Generator) -> list[list[str]]:
    """Return the instruments of each frame, up to three, drawn in rounds so that all kinds are equally frequent."""
    pack: list[str] = []
    hands = []
    for count in rng.choice(4, n, p=(0.1, 0.35, 0.35, 0.2)).tolist():
        hand: list[str] = []
        while len(hand) < count:
            pack = pack or rng.permutation(INSTRUMENTS).tolist()
            place = next((i for i, kind in enumerate(pack) if kind not in hand), None)
            if place is None:  # all remaining kinds of this round are in this frame already
                break
            hand.append(pack.pop(place))
        hands.append(hand)
    return hands


def _box(corners: Sequence[Point]) -> Box:
    """Return the box of all pixels that a polygon touches."""
    low, high = np.floor(np.min(corners, axis=0)).astype(int), np.ceil(np.max(corners, axis=0)).astype(int)
    return Box(int(low[0]), int(low[1]), int(high[0]), int(high[1]))


def _class_of(structure: str, shot: _Shot) -> str:
    """Return the class name of a structure in a frame's annotation."""
    return "pupil1" if structure == "pupil" and shot.number == 2 else structure.title()


def _coco(shots: Sequence[_Shot], seed: int, size: int) -> dict[str, object]:
    """Return the COCO file of one case."""
    names = np.random.default_rng([seed, int(shots[0].case.removeprefix("case_"))]).permutation(_CLASSES).tolist()
    annotations: list[dict[str, object]] = []
    for shot in shots:
        for structure, corners in outlines(shot.scene, size):
            (x0, y0), (x1, y1) = np.min(corners, axis=0).tolist(), np.max(corners, axis=0).tolist()
            annotations.append(
                {
                    "id": len(annotations) + 1,
                    "image_id": shot.number,
                    "category_id": names.index(_class_of(structure, shot)) + 1,
                    "segmentation": [[value for corner in corners for value in corner]],
                    "area": round(_area(corners), 2),
                    "bbox": [x0, y0, round(x1 - x0, 2), round(y1 - y0, 2)],
                    "iscrowd": 0,
                }
            )
    return {
        "images": [
            {"id": s.number, "file_name": f"{s.stem}.png", "height": height_of(size), "width": size} for s in shots
        ],
        "annotations": annotations,
        "categories": [{"id": number, "name": name} for number, name in enumerate(names, start=1)],
    }


def _area(corners: Sequence[Point]) -> float:
    """Return the area of a polygon by the shoelace formula."""
    x, y = np.asarray(corners).T
    return float(abs(np.dot(x, np.roll(y, 1)) - np.dot(y, np.roll(x, 1))) / 2)


def _supervisely(shot: _Shot, size: int) -> dict[str, object]:
    """Return the Supervisely file of one frame."""
    objects = [
        {
            "id": number,
            "geometryType": "polygon",
            "classTitle": _class_of(structure, shot),
            "tags": [],
            "points": {"exterior": [list(corner) for corner in corners], "interior": []},
        }
        for number, (structure, corners) in enumerate(outlines(shot.scene, size), start=1)
    ]
    return {"description": "", "tags": [], "size": {"height": height_of(size), "width": size}, "objects": objects}


def _draw(files: Files, shot: _Shot, size: int) -> None:
    """Write the annotation and the image of one frame, the image last."""
    note, image = files
    _write_json(note, _supervisely(shot, size))
    save(render(shot.scene, size), image, compress_level=1)


def _write_json(path: Path, content: dict[str, object]) -> None:
    if not path.exists():
        write_text(path, json.dumps(content))
