"""Find photographs that are copies of each other, turned or mirrored ones too, by their pixels.

A copy is found in two looks at a 64 x 64 thumbnail of the field of view. Both compare local detail (vessels, disc,
lesions: what is left after blurring and dividing by the local contrast), so that neither the black border, which all
fundus photographs share, nor brightness makes two eyes alike. The first look correlates 16 x 16 averages of all pairs
by matrix products, in four orientations; the second correlates the pairs that are left pixel by pixel, allowing a
shift of one pixel. A photograph without detail (a dense cataract) is like no other, and only its file names a copy.

Measured on 4,217 real photographs of four classes, of which 600 are known by name to be mirrored, turned, shifted and
brightened copies of others: see `NEAR`. The thresholds were chosen on these same photographs, all 600 among them.
"""

from __future__ import annotations

import base64
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from tempfile import TemporaryFile
from typing import BinaryIO

import numpy as np
import numpy.typing as npt
from PIL import Image

SIDE = 64
"""Rows and columns of a thumbnail."""

COARSE = 16
"""Rows and columns of the first look."""

MAYBE = 0.70
"""Correlation of the first look from which a pair is looked at again."""

NEAR = 0.78
"""Correlation of the second look from which two photographs are kept together.

Of the 600 known copies 599 reach it; the last, whose grey values have a median of 4, has 0.755. Of 6.6 million pairs
of two classes 1 does that is no copy, and photographs that share the same dirt on the lens: joined, such pairs cost
nothing but a split less free.
"""

NEAR_ELSEWHERE = 0.93
"""The same for what is no fundus photograph: frames of surgery and scans share their layout, and different drawn ones
of 300 a source reached 0.77 (OCT) and 0.87 (surgery)."""

SURE = 0.85
"""Correlation from which two photographs are called one when something follows from it: contradicting labels."""

BLACK, DARK = 8, 10
"""Grey values, of 255, up to which a pixel is cut off with the surround, and up to which it is not looked at."""

DIM = 80
"""Grey value that the brightest twentieth of a photograph reaches, or both limits fall with it: the copies of an almost
black one are cut off alike only if they are cut off by its own light."""

FLAT = 0.1
"""Root mean square of detail below which a photograph shows nothing but rounding errors, which copies share."""

ORIENTATIONS = ("as is", "mirrored", "upside down", "turned by 180 degrees")
"""What must be done to one photograph to lay it upon its copy: mirrored is left to right."""

Floats = npt.NDArray[np.float32]
Numbers = npt.NDArray[np.intp]


@dataclass(frozen=True, slots=True, order=True)
class Copy:
    """Two photographs that are one: their places in the list, how they lie to each other, and how alike they are.

    Attributes:
        first: Place of one.
        second: Place of the other, larger than `first`.
        orientation: One of `ORIENTATIONS`.
        correlation: Of local detail in that orientation, `NEAR` to 1.
    """

    first: int
    second: int
    orientation: str
    correlation: float


def thumbnail(image: Image.Image) -> str:
    """Return the field of view of an image as `SIDE` x `SIDE` grey values in base64.

    The black surround is cut off first: the same photograph with more or less of it gives the same thumbnail.
    """
    grey = image.convert("L").resize((2 * SIDE, 2 * SIDE), Image.Resampling.LANCZOS)
    view = grey.crop(_field_of_view(np.asarray(grey))).resize((SIDE, SIDE), Image.Resampling.LANCZOS)
    return base64.b64encode(view.tobytes()).decode("ascii")


def find_copies(thumbnails: Iterable[str], groups: Sequence[Hashable], near: float = NEAR) -> list[Copy]:
    """Return the pairs of photographs that are one, sorted; each pair in the orientation that fits best.

    Pairs within a group are not looked for: they are kept together anyway, and a video or a volume is full of them.
    The first look takes time quadratic in the number of photographs, by matrix products of blocks (see `_maybe`); the
    second, linear in the pairs that it leaves. Memory holds a kilobyte a photograph; the detail for the second look, of
    8 kB, waits in a temporary file.

    Args:
        thumbnails: As `thumbnail` gives them.
        groups: What each photograph belongs to already (patient, case, augmentation family).
        near: Correlation from which two photographs are one.
    """
    numbers = {group: number for number, group in enumerate(dict.fromkeys(groups))}
    best: dict[tuple[int, int], Copy] = {}
    with TemporaryFile() as file:
        coarse = np.concatenate([_NOTHING, *(_coarse(part, file) for part in _parts(thumbnails))])
        for orientation, first, second in _maybe(coarse, np.array([numbers[g] for g in groups])):
            for i, j, correlation in _confirmed(file, orientation, first, second):
                known = best.get((i, j))
                if correlation >= near and (known is None or known.correlation < correlation):
                    best[i, j] = Copy(i, j, ORIENTATIONS[orientation], correlation)
    return sorted(best.values())


def _field_of_view(grey: npt.NDArray[np.uint8]) -> tuple[int, int, int, int]:
    """Return the box (left, upper, right, lower) of what is not black; all of it where that is next to nothing."""
    bright = grey > BLACK * _light(grey)
    columns, rows = (np.flatnonzero(bright.mean(axis=axis) > 0.05) for axis in (0, 1))
    if min(len(columns), len(rows)) < SIDE // 4:
        return 0, 0, grey.shape[1], grey.shape[0]
    return int(columns[0]), int(rows[0]), int(columns[-1]) + 1, int(rows[-1]) + 1


def _light(grey: npt.NDArray[np.uint8]) -> float:
    """Return by how much the limits of darkness are lowered for an image: 1 where it is as bright as most.

    It is the 95th percentile of `numpy.percentile`, from sorted bytes in a fraction of the time.
    """
    at = 0.95 * (grey.size - 1)
    below = int(at)
    low, high = map(float, np.sort(grey, axis=None, kind="stable")[below : below + 2])
    return min(1.0, (high - (high - low) * (below + 1 - at)) / DIM)


_NOTHING = np.zeros((0, 4, COARSE**2 // 4), np.float32)


def _parts(thumbnails: Iterable[str], size: int = 256) -> Iterator[npt.NDArray[np.uint8]]:
    waiting = map(base64.b64decode, thumbnails)
    while part := b"".join(islice(waiting, size)):
        yield np.frombuffer(part, np.uint8).reshape(-1, SIDE, SIDE)


def _coarse(greys: npt.NDArray[np.uint8], file: BinaryIO) -> Floats:
    """Return what the first look compares of each image, of unit length, and write its whole detail to a file.

    An image is the sum of four parts, each of which mirroring and turning upside down keep or turn to its negative; a
    quarter of the pixels of a part tells the others. Returned are the quarters, (images, parts, pixels).
    """
    details = _details(greys)
    file.write(details.tobytes())
    step = SIDE // COARSE
    coarse = _of_unit_length(details.astype(np.float32).reshape(-1, COARSE, step, COARSE, step).sum((2, 4)), 1e-3)
    down = coarse + coarse[:, ::-1], coarse - coarse[:, ::-1]
    parts = [one + sign * one[:, :, ::-1] for one in down for sign in (1, -1)]
    quarters = np.stack([part[:, : COARSE // 2, : COARSE // 2] / 2 for part in parts], axis=1)
    return np.asarray(quarters.reshape(len(coarse), len(parts), -1), np.float32)


def _details(greys: npt.NDArray[np.uint8]) -> npt.NDArray[np.float16]:
    """Return local detail, of unit length; all zero where there is none."""
    from scipy.ndimage import binary_erosion, gaussian_filter  # a fifth of a second, for which a worker need not wait

    views = greys.astype(np.float32)
    bright = np.stack([grey > DARK * _light(grey) for grey in greys])
    mask = binary_erosion(bright, _CROSS, iterations=4).astype(np.float32)

    def blurred(values: Floats, sigma: float) -> Floats:
        weights = gaussian_filter(mask, (0, sigma, sigma)) + 1e-6
        return np.asarray(gaussian_filter(values * mask, (0, sigma, sigma)) / weights, np.float32)

    detail = (blurred(views, 0.7) - blurred(views, 3)) * mask
    contrast = np.sqrt(np.maximum(blurred(detail * detail, 5), 0))
    detail = np.clip(detail / (contrast + 1), -3, 3) * mask  # one grey value and less is noise
    detail -= detail.sum((1, 2), keepdims=True) / np.maximum(mask.sum((1, 2), keepdims=True), 1) * mask
    return _of_unit_length(detail, FLAT * SIDE).astype(np.float16)


_CROSS = np.array([[[0, 1, 0], [1, 1, 1], [0, 1, 0]]], dtype=np.bool_)
"""Neighbours of a pixel, across and down, in its own image of several."""


def _of_unit_length(values: Floats, least: float) -> Floats:
    """Return each image divided by its length; those shorter than `least` stay shorter than 1."""
    axes = tuple(range(1, values.ndim))
    return np.asarray(values / np.maximum(np.sqrt((values * values).sum(axes, keepdims=True)), least), np.float32)


def _maybe(coarse: Floats, groups: Numbers, size: int = 1024) -> Iterator[tuple[int, Numbers, Numbers]]:
    """Yield (orientation, places of one, places of the other) of pairs of different groups that might be one.

    Each block of photographs is compared with itself and with those behind it; products of parts, as `_coarse` gives
    them, serve all orientations.
    """
    starts = range(0, len(coarse), size)
    for start, behind in ((start, behind) for start in starts for behind in starts if start <= behind):
        one, other = coarse[start : start + size], coarse[behind : behind + size]
        both, across, down, neither = (one[:, part] @ other[:, part].T for part in range(4))
        for upside_down, kept, turned in ((0, both + down, across + neither), (2, both - down, across - neither)):
            for orientation, alike in ((upside_down, kept + turned), (upside_down + 1, kept - turned)):
                first, second = np.nonzero(alike >= MAYBE)
                first, second = first + start, second + behind
                apart = (first < second) & (groups[first] != groups[second])
                yield orientation, first[apart], second[apart]


def _confirmed(
    file: BinaryIO, orientation: int, first: Numbers, second: Numbers, size: int = 256
) -> Iterator[tuple[int, int, float]]:
    """Yield (place, place, correlation) of the pairs as the second look finds them, from `MAYBE`."""
    for start in range(0, len(first), size):
        i, j = first[start : start + size], second[start : start + size]
        one, other = _details_of(i, file), _turned(_details_of(j, file), orientation)
        alike = np.max([_shifted(one, other, dx, dy) for dx in (-1, 0, 1) for dy in (-1, 0, 1)], axis=0)
        for k in np.flatnonzero(alike >= MAYBE).tolist():
            yield int(i[k]), int(j[k]), round(min(float(alike[k]), 1.0), 3)


def _details_of(places: Numbers, file: BinaryIO) -> Floats:
    """Return the detail of photographs, as `_coarse` has written it."""
    different, back = np.unique(places, return_inverse=True)
    held = bytearray()
    for place in different.tolist():
        file.seek(place * _DETAIL.itemsize)
        held += file.read(_DETAIL.itemsize)
    return np.frombuffer(held, _DETAIL)[back].astype(np.float32)


_DETAIL = np.dtype((np.float16, (SIDE, SIDE)))


def _turned(values: Floats, orientation: int) -> Floats:
    """Return images mirrored (1), upside down (2), or both (3)."""
    across = values[:, :, ::-1] if orientation & 1 else values
    return across[:, ::-1] if orientation & 2 else across


def _shifted(one: Floats, other: Floats, dx: int, dy: int) -> Floats:
    """Return the correlation of every pair with the other image moved by (dx, dy) pixels."""
    ours = one[:, max(dy, 0) : SIDE + min(dy, 0), max(dx, 0) : SIDE + min(dx, 0)]
    theirs = other[:, max(-dy, 0) : SIDE + min(-dy, 0), max(-dx, 0) : SIDE + min(-dx, 0)]
    return np.asarray(np.einsum("nij,nij->n", ours, theirs), np.float32)
