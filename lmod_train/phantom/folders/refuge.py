"""Phantoms in the three folder layouts in which REFUGE is distributed."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
from openpyxl import Workbook

from lmod_train.core.errors import BadArgument
from lmod_train.core.files import make_folder, write_beside
from lmod_train.core.vocabulary.phantoms import REDRAWN
from lmod_train.phantom.eye import Eye, draw_eye
from lmod_train.phantom.fundus import cup_mask, disc_mask
from lmod_train.phantom.shots import Shot, eye_seed, note, take
from lmod_train.phantom.truth import Truth, extent

Layout = Literal["challenge", "refuge2", "kaggle"]

_SOURCE = "refuge"
_INVERTED, _RISING = (255, 128, 0), (0, 1, 2)  # background, rim, cup: the challenge's bitmaps, and Kaggle's pngs


@dataclass(frozen=True, slots=True)
class _Part:
    """Folders of one part; `sorted_photographs`, `sorted_masks` are names of the glaucoma and the other subfolder."""

    photographs: str
    masks: str
    sheet: str
    header: tuple[str, ...]
    sorted_photographs: tuple[str, str] = ("", "")
    sorted_masks: tuple[str, str] = ("", "")


_BY_NAME = ("Glaucoma", "Non-Glaucoma")
_TRAIN_HEADER = ("ID", "ImgName", "Fovea_X", "Fovea_Y")
_VAL_HEADER = ("ID", "ImgName", "Glaucoma Label", "Fovea_X", "Fovea_Y")
_TEST_HEADER = ("ID", "ImgName", "Label(Glaucoma=1)", "Fovea_X", "Fovea_Y")


def _official(photographs: tuple[str, str, str], notes: tuple[str, str, str]) -> dict[str, _Part]:
    """Return the publisher's layout from the folders of photographs and of annotations of each part."""
    sheets = ("Fovea_location.xlsx", "Fovea_locations.xlsx", "Glaucoma_label_and_Fovea_location.xlsx")  # sic
    masks = [f"{folder}/Disc_Cup_Masks" for folder in notes]
    train, val, test = (f"{folder}/{sheet}" for folder, sheet in zip(notes, sheets, strict=True))
    return {
        "train": _Part(photographs[0], masks[0], train, _TRAIN_HEADER, _BY_NAME, _BY_NAME),
        "val": _Part(photographs[1], masks[1], val, _VAL_HEADER),
        "test": _Part(photographs[2], masks[2], test, _TEST_HEADER, sorted_masks=("G", "N")),
    }


def _challenge() -> dict[str, _Part]:
    """Return the layout of the challenge's archives, with the doubled folders of unpacking."""
    return _official(
        ("REFUGE-Training400/Training400", "REFUGE-Validation400/REFUGE-Validation400", "REFUGE-Test400/Test400"),
        ("Annotation-Training400/Annotation-Training400", "REFUGE-Validation400-GT", "REFUGE-Test-GT"),
    )


def _refuge2() -> dict[str, _Part]:
    """Return the layout of the REFUGE part of the REFUGE2 bundle."""
    train, val, test = (f"Train/REFUGE1-{part}" for part in ("train", "val", "test"))
    return _official((f"{train}/Training400", f"{val}/REFUGE-Validation400", f"{test}/Test400"), (train, val, test))


def _kaggle() -> dict[str, _Part]:
    """Return the layout of Kaggle's glaucoma-datasets."""
    return {
        part: _Part(f"{part}/Images", f"{part}/Masks", f"{part}/index.json", ()) for part in ("train", "val", "test")
    }


def truth(n: int, seed: int, prevalence: float = 0.5) -> list[tuple[str, Eye]]:
    """Return key and eye of each of `n` phantoms, part by part.

    Train, validation and test have a third each; if `n` is not a multiple of 3, the first parts have one more.
    `prevalence` is the share with glaucoma in each part, rounded; the default is a half (the published dataset has a
    tenth), so that a few phantoms are enough for training. Eyes without glaucoma are normal ones.

    Raises:
        BadArgument: `n` is negative or `prevalence` is not within 0 to 1.

    Example:
        >>> [(key, eye.diagnosis) for key, eye in truth(4, seed=0)][:2]
        [('train/g0001', 'glaucoma'), ('train/n0001', 'normal')]
    """
    if n < 0:
        raise BadArgument("n", n, "0 or more photographs", "give a number from 0")
    if not 0 <= prevalence <= 1:
        raise BadArgument(
            "prevalence", prevalence, "a share from 0 to 1", "use 0.5, or 0.1 as in the published dataset"
        )
    found: list[tuple[str, Eye]] = []
    for place, part in enumerate(("train", "val", "test")):
        count = (n + 2 - place) // 3
        sick = np.zeros(count, dtype=bool)
        sick[: round(prevalence * count)] = True
        if part != "train":  # the training files are named by their class, the others are shuffled
            np.random.default_rng([seed, place, count]).shuffle(sick)
        for stem, ill in zip(_stems(part, sick.tolist()), sick.tolist(), strict=True):
            eye = draw_eye(eye_seed(_SOURCE, seed, len(found)), "glaucoma" if ill else "normal")
            found.append((f"{part}/{stem}", eye))
    return found


def truths(n: int, seed: int, size: int = 384, prevalence: float = 0.5) -> list[Truth]:
    """Return the truth of each phantom that `write` draws with the same options, in any layout.

    Raises:
        BadArgument: As `truth`.

    Example:
        >>> [(t.key, t.labels["glaucoma"], [name for name, _ in t.boxes]) for t in truths(1, seed=0, prevalence=1)]
        [('train/g0001', 'yes', ['optic disc', 'optic cup'])]
    """
    return [
        Truth(
            key=key,
            group=key.partition("/")[2],
            labels={"glaucoma": "yes" if eye.diagnosis == "glaucoma" else "no"},
            boxes=(("optic disc", extent(disc_mask(eye, size))), ("optic cup", extent(cup_mask(eye, size)))),
        )
        for key, eye in truth(n, seed, prevalence)
    ]


def _stems(part: str, sick: Sequence[bool]) -> Iterator[str]:
    """Yield file stems in the style of the challenge."""
    seen = {True: 0, False: 0}
    for number, ill in enumerate(sick, start=1):
        seen[ill] += 1
        yield f"{'g' if ill else 'n'}{seen[ill]:04d}" if part == "train" else f"{part[0].upper()}{number:04d}"


def write(
    out: Path,
    n: int,
    seed: int,
    size: int = 384,
    layout: Layout = "challenge",
    prevalence: float = 0.5,
    workers: int = 2,
) -> None:
    """Draw `n` phantoms with masks and tables below ``out/REFUGE`` or ``out/REFUGE2``; keep existing files.

    Args:
        out: Folder to write below.
        n: Number of photographs in all parts, from 0.
        seed: Seed, from 0; the same seed writes the same files.
        size: Side of the images in pixels.
        layout: Layout of the copy: the challenge's archives, the REFUGE2 bundle, or Kaggle's.
        prevalence: Share of glaucoma, see `truth`.
        workers: Number of processes to start; 0 works in this one.

    Raises:
        BadArgument: A number is out of range, the layout is unknown, or the folder contains phantoms drawn with other
            options.
    """
    layouts = {"challenge": _challenge, "refuge2": _refuge2, "kaggle": _kaggle}
    if layout not in layouts:
        raise BadArgument("layout", layout, f"one of {', '.join(layouts)}", "leave it out for the challenge's own")
    root = Path(out) / ("REFUGE2" if layout == "refuge2" else "REFUGE")
    eyes = truth(n, seed, prevalence)
    note(root, {"source": _SOURCE, "n": n, "seed": seed, "size": size, "layout": layout, "prevalence": prevalence})
    shots: list[Shot] = []
    for name, part in layouts[layout]().items():
        members = [(key.split("/")[1], eye) for key, eye in eyes if key.startswith(f"{name}/")]
        shots += [_shot(root, part, stem, eye, kaggle=layout == "kaggle") for stem, eye in members]
        make_folder((root / part.sheet).parent)
        if layout == "kaggle":
            _write_index(root / part.sheet, members, size)
        else:
            _write_sheet(root / part.sheet, part.header, members, size)
    take(shots, size, _SOURCE, workers)


def write_counterfactuals(out: Path, n: int, seed: int, size: int = 384, workers: int = 2) -> None:
    """Draw each phantom that `write` draws in the challenge's layout again, with only glaucoma or not changed.

    The pictures lie in hidden folders beside the photographs (`lmod_train.core.vocabulary.phantoms.REDRAWN`).

    Args:
        out: Folder in which `write` drew.
        n: As of `write`.
        seed: As of `write`.
        size: As of `write`.
        workers: Number of processes to start; 0 works in this one.
    """
    parts, shots = _challenge(), list[Shot]()
    for key, eye in truth(n, seed):
        part, stem = key.split("/")
        own = _shot(out / "REFUGE", parts[part], stem, eye, kaggle=False)
        other = "normal" if eye.diagnosis == "glaucoma" else "glaucoma"
        there = own.photograph.parent / f".{REDRAWN}" / own.photograph.name
        shots.append(Shot(eye.seed, other, there))
    take(shots, size, _SOURCE, workers)


def _shot(root: Path, part: _Part, stem: str, eye: Eye, *, kaggle: bool) -> Shot:
    """Return photograph and mask of one eye, with their paths."""
    well = eye.diagnosis != "glaucoma"
    photograph = root / part.photographs / part.sorted_photographs[well] / f"{stem}.jpg"
    mask = root / part.masks / part.sorted_masks[well] / f"{stem}{'.png' if kaggle else '.bmp'}"
    return Shot(eye.seed, eye.diagnosis, photograph, mask, _RISING if kaggle else _INVERTED)


def _write_sheet(path: Path, header: tuple[str, ...], members: Sequence[tuple[str, Eye]], size: int) -> None:
    """Write the table of labels and fovea positions of a part, with its own headers; pixels count from 1."""
    book = Workbook(write_only=True)
    sheet = book.create_sheet("Sheet1")
    sheet.append(header)
    for number, (stem, eye) in enumerate(members, start=1):
        fovea = [round(c * size + 0.5, 2) for c in eye.fovea]
        label = [int(eye.diagnosis == "glaucoma")] if len(header) == 5 else []
        sheet.append([number, f"{stem}.jpg", *label, *fovea])
    with write_beside(path) as beside:
        book.save(beside)


def _write_index(path: Path, members: Sequence[tuple[str, Eye]], size: int) -> None:
    """Write Kaggle's ``index.json`` of a part."""
    index = {
        str(number): {
            "ImgName": f"{stem}.jpg",
            "Fovea_X": round(eye.fovea[0] * size + 0.5, 2),
            "Fovea_Y": round(eye.fovea[1] * size + 0.5, 2),
            "Size_X": size,
            "Size_Y": size,
            "Label": int(eye.diagnosis == "glaucoma"),
        }
        for number, (stem, eye) in enumerate(members)
    }
    with write_beside(path) as beside:
        beside.write_text(json.dumps(index, indent=1), encoding="utf-8")
