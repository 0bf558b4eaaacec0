"""Training data of the small base: each drawn image in two variants, plain or with numbered boxes.

The boxes are drawn by curation, so that they look as in records: in random order, around structures, instruments and
empty areas. The data are written in several files, so that an interrupted rebuild can continue.
"""

from __future__ import annotations

import argparse
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, fields
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import numpy.typing as npt
from box_description import HELD
from pictures import draw, modality_of
from PIL import Image
from shown import BOXES, CHANNELS, FACTS, FINE, Shown
from tqdm import tqdm

from lmod_train.core.types import Box, Region
from lmod_train.data.curation.prepare import label_boxes, mark

INPUT, GRID = 192, 12
MEAN, STD = (0.42, 0.30, 0.24), (0.28, 0.22, 0.20)
"""Colour with which images are padded to a square, as by the tower's processor."""
VARIANTS = 2
PART = 1000
"""Number of images per file."""


@dataclass
class Taught:
    """One training image with its truth, on a square of `INPUT` pixels.

    Attributes:
        image: uint8 (INPUT, INPUT, 3).
        patches: uint8 (channels, GRID, GRID), the share of each patch that each channel covers, 255 for all of it.
        facts: float32 (facts,), NaN for a fact that does not apply.
        boxes: float32 (BOXES, 4), corners of box n in row n - 1, 0 to 1; NaN without a box.
        held: int8 (BOXES,), content of box n as an index into `HELD`; -1 for none.
    """

    image: npt.NDArray[np.uint8]
    patches: npt.NDArray[np.uint8]
    facts: npt.NDArray[np.float32]
    boxes: npt.NDArray[np.float32]
    held: npt.NDArray[np.int8]


def regions_of(shown: Shown, index: int, variant: int) -> tuple[Region, ...]:
    """Return the numbered boxes of one variant in pixels of the drawn image; () for the plain variant."""
    rng, modality = np.random.default_rng([index, variant, 31]), modality_of(index)
    boxes = [b for b in shown.boxes if max(b[1].width, b[1].height) >= 0.02 * max(shown.image.size)]
    share = rng.random()
    if share < {"CFP": 1.0 if variant == 0 else 0.04, "OCT": 0.8 if variant == 0 else 0.0}.get(modality, 0.06):
        return ()
    draw_ = rng.random()
    if modality in ("CFP", "SLO"):
        names = (
            ["optic disc", "optic cup"] if draw_ < 0.7 else ["optic disc"] if draw_ < 0.8 else ["optic disc", "fovea"]
        )
        boxes = [b for b in boxes if b[0] in names]
    elif modality == "LP" and draw_ < 0.3:
        boxes = [b for b in boxes if b[0].endswith(" eye")] or boxes
    elif draw_ < 0.1:
        boxes = [b for b in boxes if rng.random() < 0.7] or boxes
    if rng.random() < 0.06 and len(boxes) < BOXES:
        boxes = [*boxes, ("place", _place(rng, shown.image.size))]
    order = rng.permutation(len(boxes))[:BOXES]
    return tuple(Region(boxes[i][0], boxes[i][1], n) for n, i in enumerate(order, 1))


def _place(rng: np.random.Generator, size: tuple[int, int]) -> Box:
    (x, y), (w, h) = rng.uniform(0.05, 0.75, 2), rng.uniform(0.06, 0.25, 2)
    left, top = round(x * size[0]), round(y * size[1])
    return Box(left, top, min(size[0], left + round(w * size[0])), min(size[1], top + round(h * size[1])))


def teach(shown: Shown, index: int, variant: int) -> Taught:
    """Return one variant of an image with its truth."""
    regions = regions_of(shown, index, variant)
    image = mark(shown.image, regions, 1.0) if regions else shown.image
    side = max(image.size)
    corner = ((side - image.width) // 2, (side - image.height) // 2)
    square = Image.new("RGB", (side, side), tuple(int(255 * m) for m in MEAN))
    square.paste(image, corner)
    boxes, held = np.full((BOXES, 4), np.nan, np.float32), np.full(BOXES, -1, np.int8)
    for r in regions:
        boxes[r.id - 1] = _corners(r.box, corner, side)
        if r.structure in HELD:
            held[r.id - 1] = list(HELD).index(r.structure)
    small = np.asarray(square.resize((INPUT, INPUT), Image.Resampling.BICUBIC))
    patches = _patches(shown, boxes, corner, side)
    written = label_boxes(image.size, regions, 1.0)
    for r in regions:
        if r.structure in HELD:
            share = np.minimum(_share(_corners(written[r.id], corner, side)) * 2, 1)
            patches[CHANNELS.index(f"number {r.id} of {r.structure}")] = (share * 255).astype(np.uint8)
    return Taught(small, patches, _facts(shown, boxes), boxes, held)


def _corners(box: Box, corner: tuple[int, int], side: int) -> npt.NDArray[np.float32]:
    """Return the corners of a box on the padded square, 0 to 1."""
    corners = np.array((box.x0, box.y0, box.x1, box.y1)) + np.array(corner * 2)
    shares: npt.NDArray[np.float32] = (corners / side).astype(np.float32)
    return shares


def _patches(shown: Shown, boxes: npt.NDArray[np.float32], corner: tuple[int, int], side: int) -> npt.NDArray[np.uint8]:
    """Return the share of each patch that each channel covers; for small findings four times the share."""
    share = np.zeros((len(CHANNELS), GRID, GRID), np.float32)
    for name, mask in shown.layers.items():
        square = Image.new("L", (side, side))
        square.paste(Image.fromarray(mask.astype(np.uint8) * np.uint8(255)), corner)
        covered = np.asarray(square.resize((GRID, GRID), Image.Resampling.BOX), np.float32) / 255
        share[CHANNELS.index(name)] = np.minimum(covered * (4 if name in FINE else 1), 1)
    for number, box in enumerate(boxes):
        if not np.isnan(box[0]):
            share[len(CHANNELS) - BOXES + number] = _share(box)
    coverage: npt.NDArray[np.uint8] = (share * 255).round().astype(np.uint8)
    return coverage


def _share(box: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    """Return the share of each patch that a box covers."""
    edges = np.arange(GRID + 1, dtype=np.float32) / np.float32(GRID)
    x0, y0, x1, y1 = box
    wide = np.clip(np.minimum(x1, edges[1:]) - np.maximum(x0, edges[:-1]), 0, None) * GRID
    high = np.clip(np.minimum(y1, edges[1:]) - np.maximum(y0, edges[:-1]), 0, None) * GRID
    covered: npt.NDArray[np.float32] = (high[:, None] * wide[None]).astype(np.float32)
    return covered


def _facts(shown: Shown, boxes: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    facts = np.full(len(FACTS), np.nan, np.float32)
    facts[:5] = 0
    for name, value in shown.facts.items():
        facts[FACTS.index(name)] = value
    drawn = ~np.isnan(boxes[:, 0])
    facts[-5 * BOXES :] = np.concatenate([drawn[:, None], 2 * boxes - 1], axis=1).ravel()
    return facts


def _all_variants(index: int) -> list[Taught]:
    shown = draw(index)
    return [teach(shown, index, variant) for variant in range(VARIANTS)]


def main() -> None:
    """Draw `--n` images with their boxes, and write the missing files."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--n", type=int, default=18000)
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    starts = [s for s in range(0, arguments.n, PART) if not _file(arguments.out, s).exists()]
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        for start in tqdm(starts, desc=f"parts of {PART} pictures"):
            made = pool.map(_all_variants, range(start, min(start + PART, arguments.n)), chunksize=20)
            taught = [t for variants in made for t in variants]
            arrays = {f.name: np.stack([getattr(t, f.name) for t in taught]) for f in fields(Taught)}
            beside = _file(arguments.out, start).with_suffix(".tmp.npz")
            np.savez(beside, **arrays)  # type: ignore[arg-type]
            beside.rename(_file(arguments.out, start))  # so that an existing file is complete


def _file(folder: Path, start: int) -> Path:
    return folder / f"part-{start:06d}.npz"


def load(folder: Path) -> dict[str, npt.NDArray[np.generic]]:
    """Return the arrays of all files by the names of `Taught`; row 2 n + v is variant v of image n.

    The first call joins them into one file per array.
    """
    joined = {f.name: folder / f"{f.name}.npy" for f in fields(Taught)}
    for name, file in joined.items():
        if not file.exists():
            parts = [np.load(part)[name] for part in sorted(folder.glob("part-??????.npz"))]
            np.save(file, np.concatenate(parts))
    return {name: np.load(file, mmap_mode="r") for name, file in joined.items()}


if __name__ == "__main__":
    main()
