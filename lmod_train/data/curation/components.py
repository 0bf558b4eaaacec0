"""Parts of a structure: a stray pixel or polygon far from the others moves its bounding box."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from lmod_train.core.types import Box

SEVERAL = frozenset({"microaneurysms", "haemorrhages", "hard exudates", "soft exudates", "intraretinal cysts"})
"""Structures that are several by nature, whose components are not compared with the largest."""

SMALL = 0.25
"""Components below this share of the largest are small; a hole parts a retina in pieces of similar size."""

STRAY_PIXELS, STRAY = 4, 0.02
"""Components of a structure in `SEVERAL` are small with at most so many pixels, below this share of the largest."""

MOVED = 0.02
"""Small components are far if they move a side of the box by more than this share of its longer side."""


@dataclass(frozen=True, slots=True)
class Extent:
    """Where a structure lies.

    Attributes:
        box: Bounding box of the components that count.
        far: What was found far away, in words; empty for nothing.
    """

    box: Box
    far: str = ""


def extent_of(inside: npt.NDArray[np.bool_], structure: str, specks: float = 0.0) -> Extent | None:
    """Return the bounding box of a structure's pixels, and its small components far from the others.

    Pixels that touch at a corner are connected.

    Args:
        inside: Whether a pixel is of the structure (height, width).
        structure: Its name in the vocabulary.
        specks: Components with fewer pixels than this share of the largest are left out of the box, those of
            structures in `SEVERAL` excepted; 0 keeps all.

    Returns:
        None for a structure without pixels.

    Example:
        >>> inside = np.zeros((50, 60), dtype=bool); inside[10:30, 10:30] = True; inside[49, 59] = True
        >>> extent_of(inside, "optic cup").far
        'optic cup: 1 far component of 1 pixel, the largest has 400; the box is 50 x 40 pixels with it, 20 x 20 without'
        >>> extent_of(inside, "optic cup", specks=0.01).box
        Box(x0=10, y0=10, x1=30, y1=30)
    """
    whole = bounding_box(inside)
    if whole is None:
        return None
    sizes, boxes = _components(inside[whole.y0 : whole.y1, whole.x0 : whole.x1], whole)
    return _extent(sizes, boxes, structure, specks, "component")


def extent_of_polygons(
    polygons: Sequence[Sequence[tuple[float, float]]], structure: str, specks: float = 0.0
) -> tuple[list[int], str]:
    """Return the indices of the polygons of a structure that count, and what was found far away, in words.

    Args:
        polygons: (x, y) in pixels of the corners of each polygon, or of two opposite corners of a box.
        structure: Its name in the vocabulary.
        specks: As of `extent_of`, by area.

    Example:
        >>> square = ((10.0, 10.0), (30.0, 10.0), (30.0, 30.0), (10.0, 30.0))
        >>> extent_of_polygons([square, ((0.0, 0.0), (1.0, 1.0))], "pupil", specks=0.01)[0]
        [0]
    """
    ends = [np.array([np.min(p, axis=0), np.max(p, axis=0)]) for p in polygons]
    boxes = np.array([[*np.floor(low), *np.ceil(high)] for low, high in ends]).astype(np.int64)
    sizes = np.array([max(1, round(_area(p))) for p in polygons])
    found = _extent(sizes, boxes, structure, specks, "polygon")
    kept = range(len(polygons)) if structure in SEVERAL else np.flatnonzero(sizes >= specks * sizes.max()).tolist()
    return list(kept), found.far


def _area(points: Sequence[tuple[float, float]]) -> float:
    if len(points) == 2:
        return abs((points[1][0] - points[0][0]) * (points[1][1] - points[0][1]))
    x, y = np.array(points).T
    return float(abs(np.dot(x, np.roll(y, 1)) - np.dot(y, np.roll(x, 1))) / 2)


def _extent(
    sizes: npt.NDArray[np.int64], boxes: npt.NDArray[np.int64], structure: str, specks: float, part: str
) -> Extent:
    """Return box and far parts, from number of pixels and box (x0, y0, x1, y1) of each part."""
    whole, largest = _around(boxes), int(sizes.max())
    if len(sizes) == 1:
        return Extent(whole)
    several = structure in SEVERAL
    small = (sizes <= STRAY_PIXELS) & (sizes < STRAY * largest) if several else sizes < SMALL * largest
    out = np.zeros_like(small) if several else sizes < specks * largest
    small |= out
    small[sizes.argmax()] = False
    body, kept = _around(boxes[~small]), _around(boxes[~out])
    if not _moved(body, whole):
        return Extent(kept)
    found = _counted(sizes[small & _beyond(boxes, body)], part)
    measures = f"the box is {_sides(whole)} pixels with it, {_sides(body)} without"
    used = f"; {_sides(kept)} is used" if out.any() else ""
    return Extent(kept, f"{structure}: {found}, the largest has {largest}; {measures}{used}")


def bounding_box(inside: npt.NDArray[np.bool_]) -> Box | None:
    """Return the smallest box around all true pixels (height, width), None where there is none.

    Example:
        >>> inside = np.zeros((5, 6), dtype=bool); inside[1:3, 2] = True
        >>> bounding_box(inside)
        Box(x0=2, y0=1, x1=3, y1=3)
    """
    columns, rows = np.flatnonzero(inside.any(axis=0)), np.flatnonzero(inside.any(axis=1))
    if not len(columns):
        return None
    return Box(int(columns[0]), int(rows[0]), int(columns[-1]) + 1, int(rows[-1]) + 1)


def _components(inside: npt.NDArray[np.bool_], at: Box) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return number of pixels and box (x0, y0, x1, y1) of every component of a part of an image."""
    from scipy import ndimage

    labels, n = ndimage.label(inside, structure=np.ones((3, 3), dtype=np.int8))
    if n == 1:
        return np.ones(1, dtype=np.int64), np.array([[at.x0, at.y0, at.x1, at.y1]])
    sizes = np.bincount(labels.reshape(-1), minlength=n + 1)[1:]
    found = ndimage.find_objects(labels)
    boxes = [[at.x0 + c.start, at.y0 + r.start, at.x0 + c.stop, at.y0 + r.stop] for r, c in found]
    return sizes, np.array(boxes)


def _around(boxes: npt.NDArray[np.int64]) -> Box:
    (x0, y0), (x1, y1) = boxes[:, :2].min(axis=0).tolist(), boxes[:, 2:].max(axis=0).tolist()
    return Box(x0, y0, x1, y1)


def _moved(body: Box, whole: Box) -> bool:
    most = max(body.x0 - whole.x0, body.y0 - whole.y0, whole.x1 - body.x1, whole.y1 - body.y1)
    return most > MOVED * max(body.width, body.height)


def _beyond(boxes: npt.NDArray[np.int64], body: Box) -> npt.NDArray[np.bool_]:
    """Return which boxes reach beyond another one."""
    before = (boxes[:, :2] < np.array([body.x0, body.y0])).any(axis=1)
    behind = (boxes[:, 2:] > np.array([body.x1, body.y1])).any(axis=1)
    return np.logical_or(before, behind)


def _counted(sizes: npt.NDArray[np.int64], part: str) -> str:
    most = int(sizes.max())
    pixels = f"{'at most ' if len(sizes) > 1 else ''}{most} pixel{'s' if most > 1 else ''}"
    return f"{len(sizes)} far {part}{'s' if len(sizes) > 1 else ''} of {pixels}"


def _sides(box: Box) -> str:
    return f"{box.width} x {box.height}"
