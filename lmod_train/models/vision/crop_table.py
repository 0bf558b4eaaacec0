"""Crops of curated images, and a table of crops that are cut only once.

Without the table, a run of 20 epochs would decode every image 20 times for its few boxes. The table contains only the
crops, 48 KiB each at 128 pixels, in memory-mapped files that all processes of a machine share.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt
from PIL import Image

from lmod_train.core.artifacts.schema import SCHEMA_VERSION
from lmod_train.core.curated import Curated
from lmod_train.core.errors import CuratedDamaged
from lmod_train.core.pixels import pad_square
from lmod_train.core.types import Record
from lmod_train.models.vision.centre_crop import centre_cut
from lmod_train.models.vision.one_picture import one_picture
from lmod_train.models.vision.table import Table, table

PIECE = 2**26  # bytes per file of the table, which an interrupted run has to repeat

Resampling = Literal["bilinear", "bicubic"]
Square = Literal["pad", "crop"]
Pixels = npt.NDArray[np.uint8]


class Crop(NamedTuple):
    """A box of a curated image, or the whole image.

    Attributes:
        image: Path of the plain image, relative to the curated folder.
        sha256: SHA-256 of the raw image.
        box: (x0, y0, x1, y1) in pixels of the curated image, x1 and y1 exclusive; empty for the whole image.
    """

    image: str
    sha256: str
    box: tuple[int, ...] = ()


def crops_of(record: Record) -> list[Crop]:
    """Return a crop for each region, in the record's order; the whole image of a record without regions.

    A box thinner than a curated pixel becomes one pixel wide. A box that is rounded to the right or lower edge is moved
    back into the image by `cut`, which knows the image's size.

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


def cut(
    picture: Image.Image, box: Sequence[int], side: int, resampling: Resampling = "bilinear", square: Square = "pad"
) -> Pixels:
    """Return one crop (side, side, 3), 0 to 255: a box stretched to the square, or the image padded or cropped to it.

    A box that begins at or beyond the right or lower edge, due to rounding, becomes the last column or row of pixels.
    Padding is black; `square` is without effect on boxes.

    Example:
        >>> cut(Image.new("RGB", (40, 20), "white"), (0, 0, 10, 5), 8).shape
        (8, 8, 3)
    """
    if box:
        x0, y0 = min(box[0], picture.width - 1), min(box[1], picture.height - 1)
        x1, y1 = min(box[2], picture.width), min(box[3], picture.height)
        picture = picture.crop((x0, y0, max(x1, x0 + 1), max(y1, y0 + 1)))
    elif square == "crop":
        return np.asarray(centre_cut(picture, side, resampling))
    else:
        picture = pad_square(picture, (0, 0, 0))
    return np.asarray(picture.resize((side, side), Image.Resampling[resampling.upper()]))


def cut_all(
    crops: Sequence[Crop],
    root: Path | Curated,
    side: int,
    resampling: Resampling = "bilinear",
    square: Square = "pad",
    threads: int | None = None,
) -> Pixels:
    """Return crops (crops, side, side, 3), decoding each image once.

    Args:
        crops: Crops in any order; may be empty.
        root: The curated folder.
        side: Side of a crop in pixels.
        resampling: Interpolation of the resizing.
        square: How a whole image is made square, see `cut`.
        threads: Number of threads that decode and resize; None for one per core, at most 8.

    Raises:
        ArtifactError: A curated image is missing or damaged.
    """
    pixels = np.empty((len(crops), side, side, 3), np.uint8)
    images, rows = Curated.of(root), defaultdict[str, list[int]](list)
    for row, crop in enumerate(crops):
        rows[crop.image].append(row)

    def fill(name: str) -> None:
        picture = images.rgb(name)
        for row in rows[name]:
            pixels[row] = cut(picture, crops[row].box, side, resampling, square)

    with ThreadPoolExecutor(threads or min(8, os.cpu_count() or 1)) as pool:
        for _ in pool.map(fill, rows):
            pass
    return pixels


def crop_table(
    crops: Iterable[Crop],
    root: Path | Curated,
    side: int,
    resampling: Resampling = "bilinear",
    place: Literal["disk", "memory"] = "disk",
    share: tuple[int, int] = (0, 1),
) -> Table[Crop]:
    """Return the table of these crops, rows of (side, side, 3), from ``CURATED/cache`` or cut now.

    Its folder is named by a hash of everything that determines the pixels: raw image, box and curated file (with size
    and modification time) of every crop, side, resampling and the schema version. Any change gives another folder.
    ``rm -r CURATED/cache`` only costs the time to cut again. `lmod_train.models.vision.table.table` describes how
    several processes share the work.

    Args:
        crops: Crops in any order; repeated ones are cut once. Without crops the table is empty and not written.
        root: The curated folder.
        side: Side of a crop in pixels.
        resampling: Interpolation of the resizing.
        place: ``disk``, or ``memory`` for this process only.
        share: (index of this process, number of processes) that cut the table together.

    Raises:
        ArtifactError: A curated image is missing or damaged.
        BadArgument: The table cannot be written, as the folder is read-only or the disk full.
    """
    order = sorted(set(crops))
    cache = Curated.of(root).root / "cache"
    folder = cache / f"crops-{table_key(order, root, side, resampling)}" if place == "disk" else None
    like = np.empty((0, side, side, 3), np.uint8)
    size = max(1, PIECE // (side * side * 3))
    return table(order, like, lambda some: cut_all(some, root, side, resampling), folder, size, share)


def table_key(order: Sequence[Crop], root: Path | Curated, side: int, resampling: Resampling) -> str:
    """Return a short hash of everything that determines the pixels of these crops.

    Raises:
        ArtifactError: A curated image is missing.
    """
    digest = hashlib.sha256(json.dumps([SCHEMA_VERSION, side, resampling]).encode())
    for facts in _facts(order, root):
        digest.update(json.dumps(facts).encode())
    return digest.hexdigest()[:20]


def row_keys(order: Sequence[Crop], root: Path | Curated) -> list[str]:
    """Return for each crop a short hash of what determines its pixels, but for side and resampling.

    Raises:
        ArtifactError: A curated image is missing.
    """
    texts = (json.dumps([SCHEMA_VERSION, *facts]) for facts in _facts(order, root))
    return [hashlib.sha256(text.encode()).hexdigest()[:20] for text in texts]


def _facts(order: Sequence[Crop], root: Path | Curated) -> Iterator[list[object]]:
    """Yield for each crop its fields, and size and modification time of its curated image, read once an image."""
    images, stats = Curated.of(root), dict[str, tuple[int, int]]()
    for crop in order:
        if crop.image not in stats:
            stats[crop.image] = _stat(images.file(crop.image))
        yield [*crop, *stats[crop.image]]


def _stat(file: Path) -> tuple[int, int]:
    try:
        stat = file.stat()
    except OSError as error:
        raise CuratedDamaged(file, f"curated image cannot be read ({error})") from error
    return stat.st_size, stat.st_mtime_ns
