"""Phantoms in the folder layout of G1020."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from PIL import Image

from lmod_train.core.files import write_beside
from lmod_train.core.types import Box
from lmod_train.phantom.eye import Eye, Point, draw_eye
from lmod_train.phantom.frame import Frame, frame_for, photograph
from lmod_train.phantom.fundus import cup_mask, disc_mask
from lmod_train.phantom.shots import Files, draw_all, eye_seed, note, save
from lmod_train.phantom.truth import Truth, extent
from scripts.base.masks import place

Annotations = Literal["json", "masks"]

_SOURCE = "g1020"
_CORNERS = 64
_UNCUPPED = 0.2  # share without an outlined cup, close to the 230 of 1,020 of the published dataset


@dataclass(frozen=True, slots=True)
class Photograph:
    """One phantom: the number in its file name, eye and frame, and whether its cup is outlined."""

    number: int
    eye: Eye
    frame: Frame
    cup: bool

    @property
    def ellipses(self) -> list[tuple[str, Point, Point]]:
        """Label, centre and radii of every outlined ellipse, in pixels."""
        eye, side = self.eye, self.frame.side
        found = [("disc", eye.disc, eye.disc_radii), ("cup", eye.cup, eye.cup_radii)]
        return [
            (label, self.frame.pixel(centre), (radii[0] * side, radii[1] * side))
            for label, centre, radii in found[: 1 + self.cup]
        ]


def photographs(n: int, seed: int, size: int = 384, prevalence: float = 0.5) -> list[Photograph]:
    """Return `n` phantoms in order of their numbers, which have gaps and do not depend on the label."""
    rng = np.random.default_rng([seed, n])
    numbers = np.sort(rng.permutation(n + n // 2 + 1)[:n])
    sick = np.arange(n) < round(prevalence * n)
    uncupped = np.arange(n) < round(_UNCUPPED * n)
    rng.shuffle(sick)
    rng.shuffle(uncupped)
    found = []
    for i, number in enumerate(numbers.tolist()):
        eye = draw_eye(eye_seed(_SOURCE, seed, i), "glaucoma" if sick[i] else "normal")
        height = round(size * rng.uniform(0.9, 1.1))
        frame = frame_for(round(height * rng.uniform(1.08, 1.25)), height, eye.seed)
        found.append(Photograph(number, eye, frame, not uncupped[i]))
    return found


def truths(
    n: int, seed: int, size: int = 384, prevalence: float = 0.5, annotations: Annotations = "json"
) -> list[Truth]:
    """Return the truth of each phantom that `write` draws with the same options."""
    found = []
    for drawn in photographs(n, seed, size, prevalence):
        boxes = []
        for label, centre, radii in drawn.ellipses:
            box = _outer(centre, radii) if annotations == "json" else _pixels(drawn, label)
            if box is not None:
                boxes.append((f"optic {label}", box))
        key, ill = f"image_{drawn.number}", drawn.eye.diagnosis == "glaucoma"
        found.append(Truth(key, key, {"glaucoma": "yes" if ill else "no"}, tuple(boxes)))
    return found


def write(out: Path, n: int, seed: int, size: int = 384, prevalence: float = 0.5, workers: int = 2) -> None:
    """Draw `n` phantoms with outlines, masks and the list below ``out/G1020``; existing files are kept."""
    drawn = photographs(n, seed, size, prevalence)
    root = Path(out) / "G1020"
    note(root, {"source": _SOURCE, "n": n, "seed": seed, "size": size, "prevalence": prevalence})
    rows = [f"image_{one.number}.jpg,{int(one.eye.diagnosis == 'glaucoma')}\n" for one in drawn]
    text = "imageID,binaryLabels\n" + "".join(rows)
    with write_beside(root / "G1020.csv") as beside:
        beside.write_text(text, encoding="utf-8")
    places = (("Masks", "png"), ("Images", "json"), ("Images", "jpg"))
    files = [tuple(root / folder / f"image_{one.number}.{kind}" for folder, kind in places) for one in drawn]
    draw_all(files, drawn, _take, _SOURCE, workers)


def _take(files: Files, drawn: Photograph) -> None:
    """Write mask, outlines and photograph of one eye."""
    mask, outlines, image = files
    codes = place(disc_mask(drawn.eye, drawn.frame.side), drawn.frame).astype(np.uint8)
    if drawn.cup:
        codes += place(cup_mask(drawn.eye, drawn.frame.side), drawn.frame)
    save(Image.fromarray(codes), mask)
    text = json.dumps(_labelme(drawn), indent=2)
    with write_beside(outlines) as beside:
        beside.write_text(text, encoding="utf-8")
    save(photograph(drawn.eye, drawn.frame), image)


def _labelme(drawn: Photograph) -> dict[str, Any]:
    """Return the outlines in LabelMe's format: polygons, and the disc's box."""
    shapes = [(label, _polygon(centre, radii)) for label, centre, radii in drawn.ellipses]
    x0, y0, x1, y1 = _bounds(*drawn.ellipses[0][1:])
    margin = 0.2 * (y1 - y0)
    left, top, right, bottom = (round(v, 2) for v in (x0 - margin, y0 - margin, x1 + margin, y1 + margin))
    shapes.append(("discLoc", [[left, top], [right, top], [right, bottom], [left, bottom]]))
    return {
        "version": "4.5.6",
        "flags": {},
        "shapes": [
            {"label": label, "points": points, "group_id": None, "shape_type": "polygon", "flags": {}}
            for label, points in shapes
        ],
        "imagePath": f"image_{drawn.number}.jpg",
        "imageData": None,
        "imageHeight": drawn.frame.height,
        "imageWidth": drawn.frame.width,
    }


def _polygon(centre: Point, radii: Point) -> list[list[float]]:
    """Return the corners of an ellipse with its four extreme points, rounded to 0.01 pixels."""
    angles = [2 * math.pi * i / _CORNERS for i in range(_CORNERS)]
    return [
        [round(centre[0] + radii[0] * math.cos(a), 2), round(centre[1] + radii[1] * math.sin(a), 2)] for a in angles
    ]


def _bounds(centre: Point, radii: Point) -> tuple[float, float, float, float]:
    """Return left, top, right and bottom of an ellipse, rounded to 0.01 pixels."""
    (x, y), (across, down) = centre, radii
    return round(x - across, 2), round(y - down, 2), round(x + across, 2), round(y + down, 2)


def _outer(centre: Point, radii: Point) -> Box:
    """Return the smallest box with integer corners around an ellipse."""
    x0, y0, x1, y1 = _bounds(centre, radii)
    return Box(math.floor(x0), math.floor(y0), math.ceil(x1), math.ceil(y1))


def _pixels(drawn: Photograph, label: str) -> Box | None:
    """Return the smallest box around the pixels of the mask; None if the ellipse contains no pixel's centre."""
    mask = (disc_mask if label == "disc" else cup_mask)(drawn.eye, drawn.frame.side)
    placed = place(mask, drawn.frame)
    return extent(placed) if placed.any() else None
