"""Phantoms in the folder shape of IDRiD: masks in part A, grades in part B, centre points in part C."""

from __future__ import annotations

import io
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from PIL import Image

from lmod_train.errors import BadArgument
from lmod_train.files import write_beside
from lmod_train.phantom.eye import Eye, LesionKind, Point, draw_eye
from lmod_train.phantom.frame import Frame, frame_for, photograph, place
from lmod_train.phantom.fundus import disc_mask
from lmod_train.phantom.retinopathy import Exudates, grade_eye, lesion_mask
from lmod_train.phantom.shots import draw_all, eye_seed, note
from lmod_train.phantom.truth import Truth, extent
from lmod_train.types import Box

_SOURCE = "idrid"
_WIDTH, _HEIGHT = 4288, 2848  # of the real photographs; the published lengths refer to this width
_FILL = 1.1  # the frame cuts the field above and below, as the real one does
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
    """One phantom: its place among parts and splits, its eye in a frame, its grade and its risk of macular edema."""

    part: str
    split: str
    stem: str
    eye: Eye
    frame: Frame
    grade: int
    risk: int

    @property
    def key(self) -> str:
        """As the source yields it."""
        return f"{self.part}/{self.split}/{self.stem}"

    def point(self, at: Point) -> tuple[int, int]:
        """Return a place of the eye as the tables tell it: whole pixels of the photograph."""
        x, y = self.frame.pixel(at)
        return round(x), round(y)


@dataclass(frozen=True, slots=True)
class _Take:
    """One photograph and its masks to write."""

    root: Path
    drawn: Photograph

    @property
    def masks(self) -> dict[str, Path]:
        """Structure -> mask file, for every structure drawn; none in B and C."""
        drawn = self.drawn
        if drawn.part != "A":
            return {}
        folder = self.root / "A. Segmentation" / "2. All Segmentation Groundtruths" / _FOLDERS[drawn.split]
        kinds = {lesion.kind for lesion in drawn.eye.lesions}
        told = [_LESIONS[kind] for kind in _LESIONS if kind in kinds] + [("5. Optic Disc", "OD", "optic disc")]
        return {structure: folder / name / f"{drawn.stem}_{code}.tif" for name, code, structure in told}

    @property
    def photographs(self) -> list[Path]:
        """Where the photograph lies: once in A, the same twice in B and C."""
        parts = ["A. Segmentation"] if self.drawn.part == "A" else ["B. Disease Grading", "C. Localization"]
        folders = [self.root / part / "1. Original Images" / _FOLDERS[self.drawn.split] for part in parts]
        return [folder / f"{self.drawn.stem}.jpg" for folder in folders]

    @property
    def files(self) -> tuple[Path, ...]:
        """What is written, the photographs last."""
        return (*self.masks.values(), *self.photographs)


def photographs(n: int, seed: int, size: int = 384) -> list[Photograph]:
    """Return `n` phantoms as the source yields them: a quarter in part A, the others in B and C, most of them to train.

    Grades come in turn: 1 to 4 in A, 0 to 4 in B and C, where the risk of macular edema comes in turn as well from
    grade 2 on and is 0 below: hard exudates make it, and grades 0 and 1 have none. The order of both is shuffled, so
    numbers tell nothing. No photograph of A is repeated in B and C, as some of the real ones are.

    Raises:
        BadArgument: `n` is negative or `size` below 16.

    Example:
        >>> [drawn.key for drawn in photographs(4, seed=0)]
        ['A/train/IDRiD_01', 'BC/train/IDRiD_001', 'BC/train/IDRiD_002', 'BC/test/IDRiD_001']
    """
    if n < 0:
        raise BadArgument("n", n, "0 or more photographs", "give a number from 0")
    if size < 16:
        raise BadArgument("size", size, "at least 16 pixels", "use 120 or more to recognise anything")
    masked = n // 4
    # grade and risk of the ones in B and C: every pair of both comes up in fifteen
    graded = [(i % 5, (i // 5) % 3 if i % 5 >= 2 else 0) for i in range(n - masked)]
    order = np.random.default_rng([seed, n]).permutation(len(graded))
    told = [(i % 4 + 1, i % 3 if i % 4 else 0) for i in range(masked)] + [graded[i] for i in order]
    found = []
    for i, (grade, risk) in enumerate(told):
        part, split, stem = _place(i, masked, n)
        seen = eye_seed(_SOURCE, seed, i)
        eye = grade_eye(draw_eye(seen, "normal"), grade, seen, _PLACES[risk])
        frame = frame_for(round(size * _WIDTH / _HEIGHT), size, seen, _FILL)
        found.append(Photograph(part, split, stem, eye, frame, grade, risk))
    return found


def truths(
    n: int,
    seed: int,
    size: int = 384,
    fovea_side: int = 200,
    disc_size: tuple[int, int] | None = (600, 500),
    lesions: bool = False,
) -> list[Truth]:
    """Return what must come back of each phantom that `write` draws with the same numbers.

    The last three arguments are the source's options, lengths in pixels of a photograph 4288 pixels wide.

    Raises:
        BadArgument: As `photographs`.

    Example:
        >>> [(t.key, dict(t.labels), [name for name, _ in t.boxes]) for t in truths(4, seed=0)][:2]
        ... # doctest: +NORMALIZE_WHITESPACE
        [('A/train/IDRiD_01', {}, ['optic disc']),
         ('BC/train/IDRiD_001', {'icdr': '2', 'macular_edema_risk': '0'}, ['fovea', 'optic disc'])]
    """
    found = []
    for drawn in photographs(n, seed, size):
        if drawn.part == "A":
            masks = {"optic disc": disc_mask(drawn.eye, drawn.frame.side)}
            for kind, (_, _, structure) in _LESIONS.items() if lesions else ():
                masks[structure] = lesion_mask(drawn.eye, kind, drawn.frame.side)
            placed = {structure: place(mask, drawn.frame) for structure, mask in masks.items()}
            boxes = [(structure, extent(mask)) for structure, mask in placed.items() if mask.any()]
            found.append(Truth(drawn.key, drawn.key, boxes=tuple(boxes)))
            continue
        boxes = [("fovea", _around(drawn, drawn.eye.fovea, (fovea_side, fovea_side)))]
        if disc_size is not None:
            boxes.append(("optic disc", _around(drawn, drawn.eye.disc, disc_size)))
        labels = {"icdr": str(drawn.grade), "macular_edema_risk": str(drawn.risk)}
        found.append(Truth(drawn.key, drawn.key, labels, tuple(boxes)))
    return found


def write(out: Path, n: int, seed: int, size: int = 384, workers: int = 2) -> None:
    """Draw `n` phantoms with masks or tables below ``out/IDRiD``; what is there already stays.

    Points are in the phantoms' own pixels, as the published ones are in those of the real photographs.

    Args:
        out: Folder to write below.
        n: Photographs of all parts, 0 or more, see `photographs`.
        seed: From 0; the same seed writes the same files.
        size: Height in pixels; the width is half as much again, as in the real set.
        workers: Processes to start; 0 works in this one.

    Raises:
        BadArgument: A number is out of range, or the folder holds phantoms of other numbers.
    """
    drawn = photographs(n, seed, size)
    root = Path(out) / "IDRiD"
    note(root, {"source": _SOURCE, "n": n, "seed": seed, "size": size})
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
    draw_all([_Take(root, one) for one in drawn], _take, _SOURCE, workers)


def _place(i: int, masked: int, n: int) -> tuple[str, str, str]:
    """Return part, split and stem of phantom `i`: two thirds of A and four fifths of B and C to train, as published."""
    if i < masked:
        return "A", "train" if i < math.ceil(masked * 2 / 3) else "test", f"IDRiD_{i + 1:02d}"
    here, train = i - masked, math.floor((n - masked) * 4 / 5)
    return ("BC", "train", f"IDRiD_{here + 1:03d}") if here < train else ("BC", "test", f"IDRiD_{here - train + 1:03d}")


def _around(drawn: Photograph, at: Point, sides: tuple[int, int]) -> Box:
    """Return the box of whole pixels around a point of the tables, inside the photograph."""
    (x, y), frame = drawn.point(at), drawn.frame
    across, down = (side * frame.width / _WIDTH / 2 for side in sides)
    left, top = max(0, math.floor(x - across)), max(0, math.floor(y - down))
    return Box(left, top, min(frame.width, math.ceil(x + across)), min(frame.height, math.ceil(y + down)))


def _take(take: _Take) -> None:
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
    """Write a table with the publisher's columns without a name and blank rows at the end."""
    text = "".join(f"{line},,\r\n" for line in (header, *rows, ",,", ",,"))
    path.parent.mkdir(parents=True, exist_ok=True)
    with write_beside(path) as beside:
        beside.write_bytes(text.encode("utf-8"))
