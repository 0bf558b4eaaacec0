"""Crops of curated pictures: which there are, how one is cut, and a table of all of them that is cut only once.

A run of 20 epochs would decode every picture 20 times to look at its few boxes; a table holds the crops alone, 48 KiB
each at 128 pixels, in one file that is mapped into memory and shared by all processes of a machine.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import time
import uuid
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt
from PIL import Image

from lmod_train.errors import ArtifactError, BadArgument
from lmod_train.models.pixels import open_rgb, pad_square
from lmod_train.types import Record

VERSION = 2
"""Of the way crops are cut; counted up, every table is cut anew."""

STALE = 24 * 3600.0  # seconds after which the half-written file of a killed process is taken away

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
        BadArgument: The record has no image.
    """
    if not record.image_plain:
        raise BadArgument("data.tasks", record.task, f"an image ({record.id} has none)", "leave the task out")
    name, sha256 = record.image_plain[0], record.image_sha256[0]
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


class CropTable:
    """Crops that have been cut, by name.

    Sent to another process a table on disk is opened there, and one in memory is copied.

    Args:
        rows: Crop -> row of `pixels`.
        pixels: (crops, side, side, 3), 0 to 255.
        file: Where they lie on disk; None for a table in memory.
    """

    def __init__(self, rows: Mapping[Crop, int], pixels: Pixels, file: Path | None = None) -> None:
        self._rows, self._pixels, self._file = rows, pixels, file

    def __len__(self) -> int:
        """Crops, each counted once however many records ask about it."""
        return len(self._rows)

    def __contains__(self, crop: Crop) -> bool:
        """Whether the crop has been cut."""
        return crop in self._rows

    def take(self, crops: Sequence[Crop]) -> Pixels:
        """Return copies of crops, (crops, side, side, 3).

        Raises:
            KeyError: One of them is not in the table.
        """
        return self._pixels[[self._rows[crop] for crop in crops]]

    def __getstate__(self) -> dict[str, Any]:
        """Leave out what the other process opens for itself."""
        return {**self.__dict__, "_pixels": None} if self._file else self.__dict__

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Open what was left out."""
        self.__dict__.update(state)
        if self._file:
            self._pixels = np.load(self._file, mmap_mode="r")


def crop_table(
    crops: Iterable[Crop],
    root: Path,
    side: int,
    resampling: Resampling = "bilinear",
    place: Literal["disk", "memory"] = "disk",
) -> CropTable:
    """Return the table of these crops, cut now or found below ``CURATED/cache``.

    On disk its folder is named by a hash of all that the pixels follow from: every crop's raw image, box, and curated
    file with its size and time of change; side, resampling and `VERSION`. Whatever differs gives another folder. A file
    of the wrong size or header is cut again; changed pixels inside it are not noticed. The file appears whole; two
    processes that cut at once write the same bytes, one over the other. ``rm -r CURATED/cache`` costs nothing but the
    time to cut again.

    Args:
        crops: In any order; repeated ones are cut once. None gives an empty table, which is not written.
        root: The curated folder.
        side: Of a crop in pixels.
        resampling: How it is resized.
        place: ``disk``, or ``memory`` for this process alone.

    Raises:
        ArtifactError: A curated picture is missing or damaged.
        BadArgument: The table cannot be written, because the folder is read-only or the disk full.
    """
    order = sorted(set(crops))
    rows, shape = {crop: i for i, crop in enumerate(order)}, (len(order), side, side, 3)
    if place == "memory" or not order:
        pixels: Pixels = np.empty(shape, np.uint8)
        _fill(pixels, order, root, resampling)
        return CropTable(rows, pixels)
    file = root / "cache" / f"crops-{table_key(order, root, side, resampling)}" / "pixels.npy"
    found = _opened(file, shape)
    if found is None:
        try:
            _write(file, order, root, shape, resampling)
        except OSError as error:
            raise BadArgument(
                "model.init_args.cache",
                "disk",
                f"a curated folder that can be written to; {file.parent}: {error.strerror or error}",
                "set model.init_args.cache to memory, or to none to cut in every epoch",
            ) from error
        found = np.load(file, mmap_mode="r")
    return CropTable(rows, found, file)


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
        raise ArtifactError(
            file, f"curated image cannot be read ({error})", "curate again: `python -m lmod_train curate ...`"
        ) from error
    return stat.st_size, stat.st_mtime_ns


def _opened(file: Path, shape: tuple[int, ...]) -> Pixels | None:
    """Map a file, or return None where there is none that fits."""
    try:
        pixels: Pixels = np.load(file, mmap_mode="r")
    except (OSError, ValueError, EOFError):  # missing, cut off, or no array at all
        return None
    return pixels if pixels.shape == shape and pixels.dtype == np.uint8 else None


def _write(file: Path, order: Sequence[Crop], root: Path, shape: tuple[int, ...], resampling: Resampling) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    for left in file.parent.glob(".*.part"):
        if time.time() - left.stat().st_mtime > STALE:
            left.unlink(missing_ok=True)
    beside = file.with_name(f".{uuid.uuid4().hex}.part")
    try:
        pixels = np.lib.format.open_memmap(beside, "w+", np.uint8, shape)
        _reserve(beside)
        _fill(pixels, order, root, resampling)
        pixels.flush()
        del pixels
        beside.replace(file)
    finally:
        beside.unlink(missing_ok=True)


def _reserve(file: Path) -> None:
    """Claim the disk's blocks for all of a file: writing a mapped page that finds no room would kill the process.

    Raises:
        OSError: The disk is full, or a quota used up.
    """
    if not hasattr(os, "posix_fallocate"):  # macOS, Windows
        return
    with file.open("rb+") as stream:
        try:
            os.posix_fallocate(stream.fileno(), 0, file.stat().st_size)
        except OSError as error:
            if error.errno not in (errno.EOPNOTSUPP, errno.EINVAL):  # file systems that cannot promise it
                raise


def _fill(pixels: Pixels, order: Sequence[Crop], root: Path, resampling: Resampling) -> None:
    """Cut every crop into its row, each picture decoded once; decoding and resizing run outside Python's lock."""
    rows: dict[str, list[int]] = defaultdict(list)
    for row, crop in enumerate(order):
        rows[crop.image].append(row)

    def fill(name: str) -> None:
        picture = open_rgb(root / name)
        for row in rows[name]:
            pixels[row] = cut(picture, order[row].box, pixels.shape[1], resampling)

    with ThreadPoolExecutor(min(8, os.cpu_count() or 1)) as threads:
        for _ in threads.map(fill, rows):
            pass
