"""Phantoms in the folder layout of REFUGE's challenge."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from lmod_train.core.package_data import package_data
from lmod_train.core.vocabulary.phantoms import REDRAWN
from lmod_train.phantom.checks import check_count
from lmod_train.phantom.eye import Eye, draw_eye
from lmod_train.phantom.fundus import cup_mask, disc_mask
from lmod_train.phantom.shots import Shot, eye_seed, note, take, write_workbook
from lmod_train.phantom.truth import Truth, extent

_SOURCE = "refuge"
_GREYS = (255, 128, 0)  # background, rim, cup


@dataclass(frozen=True, slots=True)
class _Part:
    """Folders of one part; `sorted_photographs`, `sorted_masks` are names of the glaucoma and the other subfolder."""

    photographs: str
    notes: str
    sheet: str
    label: Sequence[str]
    sorted_photographs: tuple[str, str] = ("", "")
    sorted_masks: tuple[str, str] = ("", "")


_PARTS: dict[str, _Part] = {
    name: _Part(**part) for name, part in package_data(__file__, "names.yaml")["refuge_parts"].items()
}


def truth(n: int, seed: int) -> list[tuple[str, Eye]]:
    """Return key and eye of each of `n` phantoms, part by part.

    Train, validation and test have a third each; if `n` is not a multiple of 3, the first parts have one more. Half of
    each part has glaucoma, rounded (of the published dataset a tenth has), so that a few phantoms are enough for
    training. Eyes without glaucoma are normal ones.

    Raises:
        BadArgument: `n` is negative.

    Example:
        >>> [(key, eye.diagnosis) for key, eye in truth(4, seed=0)][:2]
        [('train/g0001', 'glaucoma'), ('train/n0001', 'normal')]
    """
    check_count(n)
    found: list[tuple[str, Eye]] = []
    for place, part in enumerate(("train", "val", "test")):
        count = (n + 2 - place) // 3
        sick = np.zeros(count, dtype=bool)
        sick[: round(count / 2)] = True
        if part != "train":  # the training files are named by their class, the others are shuffled
            np.random.default_rng([seed, place, count]).shuffle(sick)
        for stem, ill in zip(_stems(part, sick.tolist()), sick.tolist(), strict=True):
            eye = draw_eye(eye_seed(_SOURCE, seed, len(found)), "glaucoma" if ill else "normal")
            found.append((f"{part}/{stem}", eye))
    return found


def truths(n: int, seed: int, size: int = 384) -> list[Truth]:
    """Return the truth of each phantom that `write` draws with the same options.

    Raises:
        BadArgument: As `truth`.

    Example:
        >>> [(t.key, t.labels["glaucoma"], [name for name, _ in t.boxes]) for t in truths(4, seed=0)][:1]
        [('train/g0001', 'yes', ['optic disc', 'optic cup'])]
    """
    return [truth_of(key, eye, size) for key, eye in truth(n, seed)]


def truth_of(key: str, eye: Eye, size: int) -> Truth:
    """Return the truth of a photograph of this layout."""
    return Truth(
        key=key,
        group=key.partition("/")[2],
        labels={"glaucoma": "yes" if eye.diagnosis == "glaucoma" else "no"},
        boxes=(("optic disc", extent(disc_mask(eye, size))), ("optic cup", extent(cup_mask(eye, size)))),
    )


def _stems(part: str, sick: Sequence[bool]) -> Iterator[str]:
    """Yield file stems in the style of the challenge."""
    seen = {True: 0, False: 0}
    for number, ill in enumerate(sick, start=1):
        seen[ill] += 1
        yield f"{'g' if ill else 'n'}{seen[ill]:04d}" if part == "train" else f"{part[0].upper()}{number:04d}"


def write(out: Path, n: int, seed: int, size: int = 384, workers: int = 2) -> None:
    """Draw `n` phantoms with masks and tables below ``out/REFUGE``; keep existing files.

    Args:
        out: Folder to write below.
        n: Number of photographs in all parts, from 0.
        seed: Seed, from 0; the same seed writes the same files.
        size: Side of the images in pixels.
        workers: Number of processes to start; 0 works in this one.

    Raises:
        BadArgument: A number is out of range, or the folder contains phantoms drawn with other options.
    """
    draw(out, truth(n, seed), {"source": _SOURCE, "n": n, "seed": seed, "size": size}, workers)


def draw(out: Path, eyes: Sequence[tuple[str, Eye]], drawn: Mapping[str, int | str], workers: int = 2) -> None:
    """Draw eyes with masks and tables below ``out/REFUGE``, by their keys; keep existing files.

    Args:
        out: Folder to write below.
        eyes: Key, of those of `truth`, and eye of each.
        drawn: Options by which they were drawn, ``size`` and ``source`` among them.
        workers: Number of processes to start; 0 works in this one.

    Raises:
        BadArgument: The folder contains phantoms drawn with other options.
    """
    root, size = Path(out) / "REFUGE", int(drawn["size"])
    note(root, drawn)
    shots: list[Shot] = []
    for name, part in _PARTS.items():
        members = [(key.split("/")[1], eye) for key, eye in eyes if key.startswith(f"{name}/")]
        shots += [_shot(root, part, stem, eye) for stem, eye in members]
        _write_sheet(root / part.notes / part.sheet, part.label, members, size)
    take(shots, size, str(drawn["source"]), workers)


def write_counterfactuals(out: Path, n: int, seed: int, size: int = 384, workers: int = 2) -> None:
    """Draw each phantom that `write` draws again, with only glaucoma or not changed.

    The pictures lie in hidden folders beside the photographs (`lmod_train.core.vocabulary.phantoms.REDRAWN`).

    Args:
        out: Folder in which `write` drew.
        n: As of `write`.
        seed: As of `write`.
        size: As of `write`.
        workers: Number of processes to start; 0 works in this one.
    """
    shots: list[Shot] = []
    for key, eye in truth(n, seed):
        part, stem = key.split("/")
        own = _shot(out / "REFUGE", _PARTS[part], stem, eye)
        other = draw_eye(eye.seed, "normal" if eye.diagnosis == "glaucoma" else "glaucoma")
        there = own.photograph.parent / f".{REDRAWN}" / own.photograph.name
        shots.append(Shot(other, there))
    take(shots, size, _SOURCE, workers)


def _shot(root: Path, part: _Part, stem: str, eye: Eye) -> Shot:
    """Return photograph and mask of one eye, with their paths."""
    well = eye.diagnosis != "glaucoma"
    photograph = root / part.photographs / part.sorted_photographs[well] / f"{stem}.jpg"
    mask = root / part.notes / "Disc_Cup_Masks" / part.sorted_masks[well] / f"{stem}.bmp"
    return Shot(eye, photograph, mask, _GREYS)


def _write_sheet(path: Path, label: Sequence[str], members: Sequence[tuple[str, Eye]], size: int) -> None:
    """Write the table of labels and fovea positions of a part, with its own headers; pixels count from 1."""
    rows = []
    for number, (stem, eye) in enumerate(members, start=1):
        fovea = [round(c * size + 0.5, 2) for c in eye.fovea]
        rows.append([number, f"{stem}.jpg", *[int(eye.diagnosis == "glaucoma")] * len(label), *fovea])
    write_workbook(path, ("ID", "ImgName", *label, "Fovea_X", "Fovea_Y"), rows)
