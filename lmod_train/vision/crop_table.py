"""Crops of curated pictures: which there are, how one is cut, and a table of all of them that is cut only once.

A run of 20 epochs would decode every picture 20 times to look at its few boxes; a table holds the crops alone, 48 KiB
each at 128 pixels, in files that are mapped into memory and shared by all processes of a machine.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections import defaultdict
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt
from PIL import Image

from lmod_train.cache import Table, table
from lmod_train.errors import CuratedDamaged
from lmod_train.pixels import open_rgb, pad_square
from lmod_train.types import Record
from lmod_train.vision.one_picture import one_picture

VERSION = 2
"""Of the way crops are cut; counted up, every table is cut anew."""

PIECE = 2**26  # bytes of a piece of the table: what a stopped run has to do again

Resampling = Literal["bilinear", "bicubic"]
Pixels = npt.NDArray[np.uint8]


class Crop(NamedTuple):
    """A box of a curated picture, or all of it.

    Attributes:
        image: The plain picture, relative to the curated folder.
        sha256: Of the raw image it was curated from.
        box: (x0, y0, x1, y1) in pixels of the curated picture, x1 and y1 exclusive; empty for the whole picture.
    """

    image: str
    sha256: str
    box: tuple[int, ...] = ()


def crops_of(record: Record) -> list[Crop]:
    """Return a crop for each region, in the record's order; the whole picture where it has none.

    A box thinner than a curated pixel becomes one pixel wide. One that rounds to the far edge is moved back into the
    picture by `cut`, which knows the picture's size.

    Raises:
        BadArgument: The record has no image, or several.
    """
    name, sha256 = one_picture(record), record.image_sha256[0]
    if not record.regions:
        return [Crop(name, sha256)]
    crops = []
    for box in (region.box for region in record.regions):
        x0, y0, x1, y1 = (round(edge * record.scale) for edge in (box.x0, box.y0, box.x1, box.y1))
        crops.append(Crop(name, sha256, (x0, y0, max(x1, x0 + 1), max(y1, y0 + 1))))
    return crops


def cut(picture: Image.Image, box: Sequence[int], side: int, resampling: Resampling = "bilinear") -> Pixels:
    """Return one crop (side, side, 3), 0 to 255: a box stretched to the square, or the picture padded to it in black.

    A box that begins on or past the far edge, as rounding may leave it, is the last row or column of pixels.

    Example:
        >>> cut(Image.new("RGB", (40, 20), "white"), (0, 0, 10, 5), 8).shape
        (8, 8, 3)
    """
    if box:
        x0, y0 = min(box[0], picture.width - 1), min(box[1], picture.height - 1)
        x1, y1 = min(box[2], picture.width), min(box[3], picture.height)
        picture = picture.crop((x0, y0, max(x1, x0 + 1), max(y1, y0 + 1)))
    else:
        picture = pad_square(picture, (0, 0, 0))
    return np.asarray(picture.resize((side, side), Image.Resampling[resampling.upper()]))


def cut_all(
    crops: Sequence[Crop], root: Path, side: int, resampling: Resampling = "bilinear", threads: int | None = None
) -> Pixels:
    """Return crops (crops, side, side, 3), each picture decoded once.

    Args:
        crops: In any order; none gives no rows.
        root: The curated folder.
        side: Of a crop in pixels.
        resampling: How it is resized.
        threads: That decode and resize, outside Python's lock; None for one a core, at most 8.

    Raises:
        ArtifactError: A curated picture is missing or damaged.
    """
    pixels = np.empty((len(crops), side, side, 3), np.uint8)
    rows: dict[str, list[int]] = defaultdict(list)
    for row, crop in enumerate(crops):
        rows[crop.image].append(row)

    def fill(name: str) -> None:
        picture = open_rgb(root / name)
        for row in rows[name]:
            pixels[row] = cut(picture, crops[row].box, side, resampling)

    with ThreadPoolExecutor(threads or min(8, os.cpu_count() or 1)) as pool:
        for _ in pool.map(fill, rows):
            pass
    return pixels


def crop_table(
    crops: Iterable[Crop],
    root: Path,
    side: int,
    resampling: Resampling = "bilinear",
    place: Literal["disk", "memory"] = "disk",
    share: tuple[int, int] = (0, 1),
) -> Table[Crop]:
    """Return the table of these crops, rows of (side, side, 3), cut now or found below ``CURATED/cache``.

    On disk its folder is named by a hash of all that the pixels follow from: every crop's raw image, box, and curated
    file with its size and time of change; side, resampling and `VERSION`. Whatever differs gives another folder.
    ``rm -r CURATED/cache`` costs nothing but the time to cut again. How several processes cut it is said at
    `lmod_train.cache.table`.

    Args:
        crops: In any order; repeated ones are cut once. None gives an empty table, which is not written.
        root: The curated folder.
        side: Of a crop in pixels.
        resampling: How it is resized.
        place: ``disk``, or ``memory`` for this process alone.
        share: (this process, of how many) that cut it together.

    Raises:
        ArtifactError: A curated picture is missing or damaged.
        BadArgument: The table cannot be written, because the folder is read-only or the disk full.
    """
    order = sorted(set(crops))
    folder = root / "cache" / f"crops-{table_key(order, root, side, resampling)}" if place == "disk" else None
    like = np.empty((0, side, side, 3), np.uint8)
    size = max(1, PIECE // (side * side * 3))
    return table(order, like, lambda some: cut_all(some, root, side, resampling), folder, size, share)


def table_key(order: Sequence[Crop], root: Path, side: int, resampling: Resampling) -> str:
    """Return a short hash of all that the pixels of these crops follow from.

    Raises:
        ArtifactError: A curated picture is missing.
    """
    digest = hashlib.sha256(json.dumps([VERSION, side, resampling]).encode())
    stats: dict[str, tuple[int, int]] = {}
    for crop in order:
        if crop.image not in stats:
            stats[crop.image] = _stat(root / crop.image)
        digest.update(json.dumps([*crop, *stats[crop.image]]).encode())
    return digest.hexdigest()[:20]


def _stat(file: Path) -> tuple[int, int]:
    try:
        stat = file.stat()
    except OSError as error:
        raise CuratedDamaged(file, f"curated image cannot be read ({error})") from error
    return stat.st_size, stat.st_mtime_ns
