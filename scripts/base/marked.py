"""From drawn pictures to what the small base is taught with: each plain and marked, with what every patch holds.

Marks are drawn by curation itself, so that the base sees boxes as records show them: numbers in an order that tells
nothing, around disc, cup, fovea and empty places.
"""

from __future__ import annotations

import argparse
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import numpy.typing as npt
import torch
from pictures import SIDE, eye_of
from PIL import Image
from torch import Tensor
from tqdm import tqdm

from lmod_train.curation.markers import mark
from lmod_train.phantom.fundus import Eye, cup_mask, disc_mask
from lmod_train.types import Box, Region

INPUT, GRID, BOXES = 120, 10, 3
VARIANTS = 3
"""Pictures per eye: one plain, two marked."""


def findings() -> list[str]:
    """Name the channels of the patch truth."""
    return ["disc", "cup", "dark", "bright", "fovea", *(f"box{i + 1}" for i in range(BOXES))]


@dataclass
class Taught:
    """One picture with its truth: image uint8 (INPUT, INPUT, 3), patches uint8 (findings, GRID, GRID), facts."""

    image: npt.NDArray[np.uint8]
    patches: npt.NDArray[np.uint8]
    facts: npt.NDArray[np.float32]


def regions_of(index: int, variant: int) -> tuple[Region, ...]:
    """Return the numbered boxes of one variant, in pixels of the drawn picture; none for variant 0."""
    if variant == 0:
        return ()
    eye, rng = eye_of(index), np.random.default_rng([index, variant])
    x, y = eye.fovea
    boxes = {"optic disc": _around(disc_mask(eye, SIDE)), "optic cup": _around(cup_mask(eye, SIDE))}
    others = {
        "fovea": _clipped(x, y, 0.05, 0.05),
        "place": _clipped(*rng.uniform(0.2, 0.8, 2), *rng.uniform(0.03, 0.12, 2)),
    }
    names = ["optic disc", "optic cup"]
    draw = rng.random()
    if draw > 0.65:
        names = [*(names[:1] if draw < 0.8 else names[1:] if draw < 0.88 else names), rng.choice(list(others))]
    rng.shuffle(names)
    return tuple(Region(n, (boxes | others)[n], i + 1) for i, n in enumerate(names))


def _around(mask: npt.NDArray[np.bool_]) -> Box:
    rows, columns = np.flatnonzero(mask.any(1)), np.flatnonzero(mask.any(0))
    return Box(int(columns[0]), int(rows[0]), int(columns[-1]) + 1, int(rows[-1]) + 1)


def _clipped(x: float, y: float, half_width: float, half_height: float) -> Box:
    edges = np.clip([x - half_width, y - half_height, x + half_width, y + half_height], 0, 1) * SIDE
    return Box(*(int(e) for e in edges.round()))


def teach(picture: npt.NDArray[np.uint8], index: int, variant: int) -> Taught:
    """Return one variant of one picture with its truth."""
    eye, regions = eye_of(index), regions_of(index, variant)
    image = Image.fromarray(picture)
    if regions:
        image = mark(image, regions, 1.0)
    small = np.asarray(image.resize((INPUT, INPUT), Image.Resampling.BICUBIC))
    return Taught(small, _patches(eye, regions), _facts(eye, regions))


def _patches(eye: Eye, regions: tuple[Region, ...]) -> npt.NDArray[np.uint8]:
    """Return the share of each patch that each finding covers, 255 = whole."""
    layers = np.zeros((len(findings()), SIDE, SIDE), np.float32)
    layers[0], layers[1] = disc_mask(eye, SIDE), cup_mask(eye, SIDE)
    centres = (np.arange(SIDE) + 0.5) / SIDE
    for lesion in eye.lesions:
        dark = lesion.kind in ("haemorrhage", "microaneurysm")
        radius = max(lesion.radius * 1.5, 0.012)  # a spot must weigh enough in its patch to be worth learning
        spot = np.hypot(centres[None] - lesion.x, centres[:, None] - lesion.y) < radius
        layers[2 if dark else 3] = np.maximum(layers[2 if dark else 3], spot)
    layers[4] = np.hypot(centres[None] - eye.fovea[0], centres[:, None] - eye.fovea[1]) < 0.05
    for r in regions:
        layers[4 + r.id, r.box.y0 : r.box.y1, r.box.x0 : r.box.x1] = 1
    share = layers.reshape(len(layers), GRID, SIDE // GRID, GRID, SIDE // GRID).mean((2, 4))
    share[2:4] = np.minimum(share[2:4] * 4, 1)
    coverage: npt.NDArray[np.uint8] = (share * 255).round().astype(np.uint8)
    return coverage


def _facts(eye: Eye, regions: tuple[Region, ...]) -> npt.NDArray[np.float32]:
    """Return side, cup-to-disc ratio, haze, spots, and presence and extent of each box."""
    dark = sum(lesion.kind in ("haemorrhage", "microaneurysm") for lesion in eye.lesions)
    extent = np.zeros((BOXES, 2), np.float32)
    for r in regions:
        extent[r.id - 1] = 1, 4 * (r.box.area**0.5) / SIDE
    facts = [eye.laterality == "right", eye.cup_to_disc, eye.haze, dark / 10, (len(eye.lesions) - dark) / 10]
    return np.concatenate([np.array(facts, np.float32), extent.ravel()])


def _all_variants(pictures: Path, index: int) -> list[Taught]:
    picture = np.load(pictures, mmap_mode="r")[index]
    return [teach(picture, index, variant) for variant in range(VARIANTS)]


def load(folder: Path) -> tuple[Tensor, Tensor, Tensor]:
    """Return images uint8 (N, 3, INPUT, INPUT), patches uint8 (N, findings, GRID, GRID), facts; N = eyes x 3."""
    images, patches, facts = (torch.from_numpy(np.load(folder / f"{n}.npy")) for n in ("images", "patches", "facts"))
    return images.permute(0, 3, 1, 2).contiguous(), patches, facts


def main() -> None:
    """Mark all pictures and write three arrays."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pictures", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    arguments = parser.parse_args()
    total = len(np.load(arguments.pictures, mmap_mode="r"))
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        made = pool.map(partial(_all_variants, arguments.pictures), range(total), chunksize=64)
        taught = [t for variants in tqdm(made, total=total, desc="marked") for t in variants]
    arguments.out.mkdir(parents=True, exist_ok=True)
    np.save(arguments.out / "images.npy", np.stack([t.image for t in taught]))
    np.save(arguments.out / "patches.npy", np.stack([t.patches for t in taught]))
    np.save(arguments.out / "facts.npy", np.stack([t.facts for t in taught]))


if __name__ == "__main__":
    main()
