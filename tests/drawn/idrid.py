"""Phantoms in the folder layout of IDRiD: masks in part A, grades in part B, centre points in part C."""

from __future__ import annotations

import io
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from PIL import Image

from lmod_train.core.files import make_folder, write_beside
from lmod_train.core.types import Box
from lmod_train.phantom.eye import Eye, LesionKind, Point, draw_eye
from lmod_train.phantom.frame import Frame, frame_for, photograph
from lmod_train.phantom.fundus import disc_mask
from lmod_train.phantom.retinopathy import Exudates, grade_eye
from lmod_train.phantom.shots import Files, draw_all, eye_seed, note
from lmod_train.phantom.truth import Truth, extent
from scripts.base.masks import lesion_mask, place

_SOURCE = "idrid"
_WIDTH, _HEIGHT = 4288, 2848  # of the published photographs; lengths refer to this width
_FILL = 1.1  # the image cuts the field above and below, as in the published photographs
_FOLDERS = {"train": "a. Training Set", "test": "b. Testing Set"}
_LESIONS: dict[LesionKind, tuple[str, str, str]] = {
    "microaneurysm": ("1. Microaneurysms", "MA", "microaneurysms"),
    "haemorrhage": ("2. Haemorrhages", "HE", "haemorrhages"),
    "hard exudate": ("3. Hard Exudates", "EX", "hard exudates"),
    "cotton-wool spot": ("4. Soft Exudates", "SE", "soft exudates"),
}
_PLACES: tuple[Exudates, ...] = ("none", "far", "near")  # by risk of macular edema


@dataclass(frozen=True, slots=True)
class Photograph:
    """One phantom: part, split and stem, eye and frame, grade and risk of macular edema."""

    part: str
    split: str
    stem: str
    eye: Eye
    frame: Frame
    grade: int
    risk: int

    @property
    def key(self) -> str:
        """Key of the sample as the source yields it."""
        return f"{self.part}/{self.split}/{self.stem}"

    def point(self, at: Point) -> tuple[int, int]:
        """Return a point of the eye in the unit of the tables, integer pixels of the photograph."""
        x, y = self.frame.pixel(at)
        return round(x), round(y)


@dataclass(frozen=True, slots=True)
class _Take:
    """One photograph and its masks to write."""

    root: Path
    drawn: Photograph

    @property
    def masks(self) -> dict[str, Path]:
        """Structure -> mask file, for every structure drawn; {} in B and C."""
        drawn = self.drawn
        if drawn.part != "A":
            return {}
        folder = self.root / "A. Segmentation" / "2. All Segmentation Groundtruths" / _FOLDERS[drawn.split]
        kinds = {lesion.kind for lesion in drawn.eye.lesions}
        named = [_LESIONS[kind] for kind in _LESIONS if kind in kinds] + [("5. Optic Disc", "OD", "optic disc")]
        return {structure: folder / name / f"{drawn.stem}_{code}.tif" for name, code, structure in named}

    @property
    def photographs(self) -> list[Path]:
        """Paths of the photograph: one in A, or two with the same content in B and C."""
        parts = ["A. Segmentation"] if self.drawn.part == "A" else ["B. Disease Grading", "C. Localization"]
        folders = [self.root / part / "1. Original Images" / _FOLDERS[self.drawn.split] for part in parts]
        return [folder / f"{self.drawn.stem}.jpg" for folder in folders]

    @property
    def files(self) -> tuple[Path, ...]:
        """Files to write, the photographs last."""
        return (*self.masks.values(), *self.photographs)


def photographs(n: int, seed: int, size: int = 384, repeated: int = 0) -> list[Photograph]:
    """Return `n` phantoms in the order of the source: a quarter in part A, the others in B and C, most for training."""
    masked = n // 4
    # grade and risk in B and C: fifteen photographs contain every pair
    graded = [(i % 5, (i // 5) % 3 if i % 5 >= 2 else 0) for i in range(n - masked)]
    order = np.random.default_rng([seed, n]).permutation(len(graded))
    grades = [(i % 4 + 1, i % 3 if i % 4 else 0) for i in range(masked)] + [graded[i] for i in order]
    found = []
    for i, (grade, risk) in enumerate(grades):
        part, split, stem = _place(i, masked, n)
        seen = eye_seed(_SOURCE, seed, i)
        eye = grade_eye(draw_eye(seen, "normal"), grade, seen, _PLACES[risk])
        frame = frame_for(round(size * _WIDTH / _HEIGHT), size, seen, _FILL)
        found.append(Photograph(part, split, stem, eye, frame, grade, risk))
    for i in range(repeated):
        again = found[masked + i]
        found[masked + i] = replace(found[i], part=again.part, split=again.split, stem=again.stem)
    return found


def truths(
    n: int,
    seed: int,
    size: int = 384,
    fovea_side: int = 200,
    disc_size: tuple[int, int] | None = (600, 500),
    lesions: bool = False,
    repeated: int = 0,
) -> list[Truth]:
    """Return the truth of each phantom that `write` draws with the same options."""
    found = []
    several = photographs(n, seed, size, repeated)
    for drawn in several:
        if drawn.part == "A":
            masks = {"optic disc": disc_mask(drawn.eye, drawn.frame.side)}
            for kind, (_, _, structure) in _LESIONS.items() if lesions else ():
                masks[structure] = lesion_mask(drawn.eye, kind, drawn.frame.side)
            placed = {structure: place(mask, drawn.frame) for structure, mask in masks.items()}
            boxes = [(structure, extent(mask)) for structure, mask in placed.items() if mask.any()]
            found.append(Truth(drawn.key, drawn.key, _lesion_labels(drawn, several) if lesions else {}, tuple(boxes)))
            continue
        boxes = [("fovea", _around(drawn, drawn.eye.fovea, (fovea_side, fovea_side)))]
        if disc_size is not None:
            boxes.append(("optic disc", _around(drawn, drawn.eye.disc, disc_size)))
        labels = {"icdr": str(drawn.grade), "macular_edema_risk": str(drawn.risk)}
        found.append(Truth(drawn.key, drawn.key, labels, tuple(boxes)))
    return found


def write(out: Path, n: int, seed: int, size: int = 384, workers: int = 2, repeated: int = 0) -> None:
    """Draw `n` phantoms with masks or tables below ``out/IDRiD``; existing files are kept."""
    drawn = photographs(n, seed, size, repeated)
    root = Path(out) / "IDRiD"
    options: dict[str, int | float | str] = {"source": _SOURCE, "n": n, "seed": seed, "size": size}
    note(root, options | ({"repeated": repeated} if repeated else {}))
    for split, letter, word in (("train", "a", "Training"), ("test", "b", "Testing")):
        rows = [one for one in drawn if one.part == "BC" and one.split == split]
        grades = [f"{one.stem},{one.grade},{one.risk}" for one in rows]
        path = root / "B. Disease Grading" / "2. Groundtruths" / f"{letter}. IDRiD_Disease Grading_{word} Labels.csv"
        _write_table(path, "Image name,Retinopathy grade,Risk of macular edema ", grades)
        folder = root / "C. Localization" / "2. Groundtruths"
        discs = [f"{one.stem},{x},{y}" for one in rows for x, y in [one.point(one.eye.disc)]]
        path = folder / "1. Optic Disc Center Location" / f"{letter}. IDRiD_OD_Center_{word} Set_Markups.csv"
        _write_table(path, "Image No,X- Coordinate,Y - Coordinate", discs)
        foveas = [f"{one.stem},{x},{y}" for one in rows for x, y in [one.point(one.eye.fovea)]]
        path = folder / "2. Fovea Center Location" / f"IDRiD_Fovea_Center_{word} Set_Markups.csv"
        _write_table(path, "Image No,X- Coordinate,Y - Coordinate", foveas)
    takes = [_Take(root, one) for one in drawn]
    draw_all([take.files for take in takes], takes, _take, _SOURCE, workers)


def _place(i: int, masked: int, n: int) -> tuple[str, str, str]:
    """Return part, split and stem of phantom `i`; two thirds of A and four fifths of B and C are for training."""
    if i < masked:
        return "A", "train" if i < math.ceil(masked * 2 / 3) else "test", f"IDRiD_{i + 1:02d}"
    here, train = i - masked, math.floor((n - masked) * 4 / 5)
    return ("BC", "train", f"IDRiD_{here + 1:03d}") if here < train else ("BC", "test", f"IDRiD_{here - train + 1:03d}")


def _lesion_labels(drawn: Photograph, several: Sequence[Photograph]) -> dict[str, str]:
    """Return lesion -> ``yes`` or ``no``: whether the eye has it; without those that no eye of A and its split has."""
    alike = [one for one in several if (one.part, one.split) == (drawn.part, drawn.split)]
    known = {lesion.kind for one in alike for lesion in one.eye.lesions}
    kinds = {lesion.kind for lesion in drawn.eye.lesions}
    return {_LESIONS[kind][2]: "yes" if kind in kinds else "no" for kind in _LESIONS if kind in known}


def _around(drawn: Photograph, at: Point, sides: tuple[int, int]) -> Box:
    """Return the box with integer corners around a point of the tables, cut at the image border."""
    (x, y), frame = drawn.point(at), drawn.frame
    across, down = (side * frame.width / _WIDTH / 2 for side in sides)
    left, top = max(0, math.floor(x - across)), max(0, math.floor(y - down))
    return Box(left, top, min(frame.width, math.ceil(x + across)), min(frame.height, math.ceil(y + down)))


def _take(_: Files, take: _Take) -> None:
    """Write masks and photograph of one eye."""
    drawn = take.drawn
    kinds = {structure: kind for kind, (_, _, structure) in _LESIONS.items()}
    for structure, path in take.masks.items():
        kind = kinds.get(structure)
        mask = (
            disc_mask(drawn.eye, drawn.frame.side) if kind is None else lesion_mask(drawn.eye, kind, drawn.frame.side)
        )
        picture = Image.fromarray(place(mask, drawn.frame).astype(np.uint8))
        picture.putpalette([0, 0, 0, 255, 0, 0])  # red on black, as published
        with write_beside(path) as beside:
            picture.save(beside, format="TIFF", compression="tiff_lzw")
    encoded = io.BytesIO()
    photograph(drawn.eye, drawn.frame).save(encoded, format="JPEG", quality=92)
    for path in take.photographs:
        with write_beside(path) as beside:
            beside.write_bytes(encoded.getvalue())


def _write_table(path: Path, header: str, rows: Sequence[str]) -> None:
    """Write a table with unnamed columns and blank rows at the end, as in the published files."""
    text = "".join(f"{line},,\r\n" for line in (header, *rows, ",,", ",,"))
    make_folder(path.parent)
    with write_beside(path) as beside:
        beside.write_bytes(text.encode("utf-8"))
