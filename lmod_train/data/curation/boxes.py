"""Masks to boxes: Algorithm 1 of the LMOD papers, first step, from connected components of a mask."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any, get_args

import numpy as np
import numpy.typing as npt
from PIL import Image, ImageDraw

from lmod_train.core.errors import BadArgument, check_one_of
from lmod_train.core.pixels import UNREADABLE, orientation_of, turned_by
from lmod_train.core.raw import read_bytes
from lmod_train.core.types import OTHER, Box, Dropped, MaskFile, Outline, Region, Sample
from lmod_train.data.curation.guard import detail_of
from lmod_train.data.curation.image_files import cut_out
from lmod_train.data.curation.orientation import Frame, SizeDiffers, Turned, orientation_between, size_after, turn

BACKGROUND = "background"

BLOCK = 2**20
"""Pixels looked at together where each takes many bytes while it is looked at."""

Pixels = npt.NDArray[np.integer[Any]]

Coding = Mapping[str, tuple[int, ...]]


@dataclass(frozen=True, slots=True)
class BoxRule:
    """How annotations become boxes.

    Attributes:
        turned: Where annotations lie if the photograph has an EXIF orientation and sizes do not show it: ``list``
            leaves their regions out and lists the sample; ``stored`` is on the pixels as stored, ``upright`` on the
            upright picture.
        specks: Components of a mask with fewer pixels than this share of the structure's largest are left out; 0 keeps
            all, as published.
    """

    turned: Turned = "list"
    specks: float = 0.0

    def __post_init__(self) -> None:
        check_one_of("turned", self.turned, get_args(Turned), "the default is list")
        if not 0 <= self.specks < 1:
            cure = "0 keeps every component, 0.01 leaves out those below 1 % of the largest"
            raise BadArgument("specks", self.specks, "a share of the largest component, 0 to below 1", cure)


DEFAULT_RULE = BoxRule()


@dataclass(frozen=True, slots=True)
class Shape:
    """The pixels of an annotated structure, upright and cut to their box.

    Attributes:
        structure: Its name in the vocabulary.
        inside: Whether a pixel is of the structure, (height, width); (0, 0) where a mask codes it and has none.
        x: Column of the photograph that is the first of `inside`.
        y: Row of the photograph that is the first of `inside`.
    """

    structure: str
    inside: npt.NDArray[np.bool_]
    x: int = 0
    y: int = 0


def read_boxes(
    sample: Sample,
    orientation: int = 1,
    rule: BoxRule = DEFAULT_RULE,
    shapes: list[Shape] | None = None,
    hashes: dict[Path, str] | None = None,
) -> tuple[Sample, tuple[Dropped, ...]]:
    """Return the sample with a region for every structure in its outlines and masks, after those it had already.

    Boxes are in pixels of the upright photograph, whose width and height are `sample.size`. A structure's box is that
    of all its pixels. A component that is far from the others is listed as ``mask_far_component``, a polygon as
    ``outline_far_part``, also where `rule` leaves it out. A structure without pixels gives no region; a mask without
    any is listed as ``mask_empty`` and costs nothing else.

    A mask or outline that cannot be trusted leaves the sample without any region, as an image on which some structures
    are marked and others not would be asked about wrongly; the second value gives the reason: ``mask_unreadable``,
    ``mask_size_differs``, ``mask_coding_unknown`` with the values present, ``outline_unusable``, or
    ``orientation_unclear``. The image can still serve tasks that need no regions.

    Args:
        sample: Its `size` must be known.
        orientation: EXIF orientation by which the photograph was turned.
        rule: How annotations become boxes.
        shapes: Where the pixels of structures are added, for facts; empty at the end if an annotation is not trusted.
        hashes: Where the SHA-256 of each mask file is added that was read as a whole.
    """
    frame, regions, listed = Frame(sample.size, orientation), list[Region](), list[Dropped]()
    shapes = [] if shapes is None else shapes
    try:
        known = [Outline(r.structure, ((r.box.x0, r.box.y0), (r.box.x1, r.box.y1))) for r in sample.regions]
        if orientation == 1:
            regions += sample.regions
            known = []
        for outline in (*known, *sample.outlines):
            region, far = _region_of(outline, frame, rule)
            regions.append(region)
            shapes += _drawn(outline, region, frame)
            listed += [Dropped.of(sample, "boxes", "outline_far_part", far, "part")] if far else []
        for mask in sample.masks:
            found, notes = _regions_in(mask, frame, rule, shapes, hashes)
            regions += found
            listed += [Dropped(sample.source, sample.key, str(mask.path), "boxes", *note, "part") for note in notes]
    except Untrusted as error:
        file = str(error.file or sample.image or "")
        untrusted = Dropped(sample.source, sample.key, file, "boxes", error.reason, error.detail, "part")
        shapes.clear()
        return replace(sample, regions=()), (untrusted,)
    return replace(sample, regions=tuple(regions)), tuple(listed)


class Untrusted(Exception):
    """A mask or outline that cannot be trusted, with its file; None for the photograph."""

    def __init__(self, reason: str, detail: str, file: Path | None = None) -> None:
        super().__init__(detail)
        self.reason, self.detail, self.file = reason, detail, file


def _region_of(outline: Outline, frame: Frame, rule: BoxRule) -> tuple[Region, str]:
    """Return the region of an outline, in pixels of the upright photograph, and its far polygons in words."""
    try:
        orientation = orientation_between(frame, outline.drawn_on, turned=rule.turned)
    except SizeDiffers as error:
        detail = f"{outline.structure}: annotated at {_sides(outline.drawn_on)} pixels, image {_sides(frame.size)}"
        raise Untrusted("outline_unusable", detail) from error
    if orientation is None:
        raise _unclear(frame, outline.structure)
    size = size_after(frame.size, orientation)  # as stored: swapping is its own inverse
    box, far = _box_of(outline, size), ""
    if len(outline.parts) > 1:
        polygons = polygons_of(outline, size)
        kept, far = extent_of_polygons(polygons, outline.structure, rule.specks)
        box = _box_of(Outline(outline.structure, tuple(point for i in kept for point in polygons[i])), size)
    return Region(outline.structure, turn(box, orientation, size)), far


def _box_of(outline: Outline, size: tuple[int, int]) -> Box:
    box = box_of(outline, size)
    if isinstance(box, str):
        raise Untrusted("outline_unusable", box)
    return box


def polygons_of(outline: Outline, size: tuple[int, int]) -> list[list[tuple[float, float]]]:
    """Return the polygons of an outline in pixels of an image of this size."""
    scale = size if outline.unit == "side" else (1, 1)
    points = iter([(x * scale[0], y * scale[1]) for x, y in outline.points])
    return [list(islice(points, n)) for n in outline.parts or (len(outline.points),)]


def _unclear(frame: Frame, what: str, file: Path | None = None) -> Untrusted:
    detail = (
        f"the photograph has EXIF orientation {frame.orientation}, and {what} may lie on the stored or the upright "
        f"pixels; check some, then set `--turned stored` or `--turned upright`"
    )
    return Untrusted("orientation_unclear", detail, file)


def box_of(outline: Outline, size: tuple[int, int]) -> Box | str:
    """Return the smallest box of whole pixels around an outline, cut at the image's edge, or what is wrong with it.

    Args:
        outline: At least two points; up to 2 % of the image's longer side beyond the edge is rounding and is cut off.
        size: Width and height of the image.

    Example:
        >>> box_of(Outline("pupil", ((0.25, 0.5), (0.5, 1.0)), "side"), (100, 40))
        Box(x0=25, y0=20, x1=50, y1=40)
        >>> box_of(Outline("pupil", ((3.0, 2.0), (900.0, 9.0))), (100, 40))
        'pupil: x 3 to 900, y 2 to 9 is not inside the image of 100x40'
    """
    scale = size if outline.unit == "side" else (1, 1)
    numbers = [value for point in outline.points for value in point]
    if len(outline.points) < 2 or not all(map(math.isfinite, numbers)):
        return f"{outline.structure}: {len(outline.points)} points, expected at least two of finite numbers"
    ends = []
    for axis in (0, 1):
        values = [point[axis] * scale[axis] for point in outline.points]
        ends.append((min(values), max(values)))
    (x0, x1), (y0, y1) = ends
    slack = 0.02 * max(size)
    if min(x0, y0) < -slack or x1 > size[0] + slack or y1 > size[1] + slack:
        detail = f"x {x0:g} to {x1:g}, y {y0:g} to {y1:g}"
        return f"{outline.structure}: {detail} is not inside the image of {size[0]}x{size[1]}"
    near = 1e-6 * max(size)  # fractions of a side come back from text a hair off the pixel they were made of
    left, top = max(0, math.floor(x0 + near)), max(0, math.floor(y0 + near))
    right, bottom = min(size[0], math.ceil(x1 - near)), min(size[1], math.ceil(y1 - near))
    if right <= left or bottom <= top:
        return f"{outline.structure}: no area"
    return Box(left, top, right, bottom)


def _drawn(outline: Outline, region: Region, frame: Frame) -> Iterator[Shape]:
    """Yield the pixels of a polygon on a photograph that is not turned; boxes and turned polygons give none."""
    polygons = polygons_of(outline, frame.size)
    box = region.box
    if frame.orientation != 1 or not all(len(points) > 2 for points in polygons):
        return
    canvas = Image.new("1", (box.width, box.height))
    for points in polygons:
        ImageDraw.Draw(canvas).polygon([(x - box.x0 - 0.5, y - box.y0 - 0.5) for x, y in points], fill=1)
    yield Shape(outline.structure, np.asarray(canvas), box.x0, box.y0)


def _regions_in(
    mask: MaskFile, frame: Frame, rule: BoxRule, shapes: list[Shape], hashes: dict[Path, str] | None
) -> tuple[list[Region], list[tuple[str, str]]]:
    """Return the regions of a mask in pixels of the upright photograph, and (reason, detail) of what is listed."""
    regions, notes = [], []
    for name, inside, orientation in structures_in(mask, frame, rule, hashes):
        cut = cut_to_box(inside)
        if cut is None:
            shapes.append(Shape(name, np.zeros((0, 0), dtype=np.bool_)))
            continue
        (own, whole), size = cut, inside.shape[::-1]
        at = turn(whole, orientation, size)
        upright = own if orientation == 1 else np.asarray(turned_by(Image.fromarray(own), orientation))
        shapes.append(Shape(name, upright.copy(), at.x0, at.y0))
        extent = extent_of(own, whole, name, rule.specks)
        regions.append(Region(name, turn(extent.box, orientation, size)))
        notes += [("mask_far_component", extent.far)] if extent.far else []
    return regions, notes if regions else [("mask_empty", "no structure in it")]


def structures_in(
    mask: MaskFile, frame: Frame, rule: BoxRule = DEFAULT_RULE, hashes: dict[Path, str] | None = None
) -> Iterator[tuple[str, npt.NDArray[np.bool_], int]]:
    """Yield name, pixels as stored, and EXIF orientation that makes them upright, of each structure of a mask.

    The SHA-256 of its file is added to `hashes`, unless only an array of it is read.

    Raises:
        Untrusted: The file cannot be read, or size, coding or orientation do not fit the photograph.
    """
    try:
        data = b"" if mask.cut.arrays else read_bytes(mask.path)
        if data and hashes is not None:
            hashes[mask.path] = hashlib.sha256(data).hexdigest()
        image = cut_out(mask.path, data, mask.cut)
        del data
        own = orientation_of(image) if isinstance(image, Image.Image) else 1
    except UNREADABLE as error:
        raise Untrusted("mask_unreadable", detail_of(error, mask.path), mask.path) from error
    size = image.size if isinstance(image, Image.Image) else tuple(image.shape[1::-1])
    try:
        orientation = orientation_between(frame, size, own, rule.turned)
    except SizeDiffers as error:
        detail = f"mask {_sides(size)}, image {_sides(frame.size)}"
        raise Untrusted("mask_size_differs", detail, mask.path) from error
    if orientation is None:
        raise _unclear(frame, "its mask", mask.path)
    pixels, coding = _coded(image, mask)
    del image
    yield from ((name, _inside(pixels, name, coding), orientation) for name in coding if name != BACKGROUND)


def _coded(image: Image.Image | npt.NDArray[Any], mask: MaskFile) -> tuple[Pixels, Coding]:
    """Return the pixels of a mask as numbers, and the coding that holds for them."""
    seen = []
    readings = _readings(image)
    del image  # of four bytes a pixel; the readings let go of it before they make more of it
    for pixels, coloured in readings:
        fitting = [c for c in mask.codings if _is_coloured(c) == coloured or (coloured and OTHER in c.values())]
        coding = coding_of(pixels, fitting)
        if coding is not None:
            return pixels, coding
        if fitting or not coloured:
            seen.append(_listed(values_in(pixels), "#{:06x}" if coloured else "{}"))
    detail = "values present: " + (" or ".join(seen) or "none that are whole numbers")
    raise Untrusted("mask_coding_unknown", detail, mask.path)


def _sides(size: tuple[int, int] | None) -> str:
    return "x".join(map(str, size or ()))


def _is_coloured(coding: Coding) -> bool:
    """Return whether a coding speaks of colours: greys and indices end at 255, and 0x0000FF is blue, not white."""
    return any(value > 0xFF for values in coding.values() for value in values)


def _readings(image: Image.Image | npt.NDArray[Any]) -> Iterator[tuple[Pixels, bool]]:
    """Yield what the pixels may mean as single numbers, and whether these are colours 0xRRGGBB.

    As stored; for a palette of greys also as shown; last, of any picture, its colours.
    """
    if not isinstance(image, Image.Image):
        rounded = image.dtype.kind == "f" and bool((image == np.round(image)).all())
        if image.ndim == 2 and (image.dtype.kind in "iub" or rounded):
            yield image.astype(np.int64), False
        return
    if image.mode not in ("RGB", "RGBA", "LA", "PA"):
        stored = np.asarray(image)
        yield (stored * np.uint8(255), False) if stored.dtype == np.bool_ else (stored, False)
        if stored.dtype == np.bool_:
            yield stored.astype(np.uint8), False
    mode = image.mode
    if mode not in ("RGB", "RGBA"):
        image = image.convert("RGBA" if "A" in mode else "RGB")
    bands = [np.asarray(image.getchannel(band)) for band in range(3)]  # a byte a pixel each
    del image
    grey = all(bool((band == bands[0]).all()) for band in bands[1:])
    if grey and mode in ("RGB", "RGBA", "LA", "PA", "P"):
        yield bands[0], False
    yield _packed(bands), True


def _packed(bands: Sequence[npt.NDArray[np.uint8]]) -> Pixels:
    """Return colours as numbers 0xRRGGBB, made in place: a photograph's mask has millions of them."""
    colours = bands[0].astype(np.int32)
    for band in bands[1:]:
        colours <<= 8
        colours |= band
    return colours


def _inside(pixels: Pixels, name: str, coding: Coding) -> npt.NDArray[np.bool_]:
    """Return the pixels of one name; those of `OTHER` are the pixels that no other name has."""
    if coding[name] != OTHER:
        return _any_of(pixels, coding[name])
    return ~_any_of(pixels, sorted({value for values in coding.values() for value in values}))


def _any_of(pixels: Pixels, values: Sequence[int]) -> npt.NDArray[np.bool_]:
    """Return the pixels that have one of the values: by comparing, which for a few values beats `numpy.isin`."""
    found: npt.NDArray[np.bool_] = np.zeros(pixels.shape, dtype=np.bool_)
    for value in values:
        found |= pixels == value
    return found


def coding_of(pixels: Pixels, codings: Sequence[Coding]) -> Coding | None:
    """Return the first coding that covers every value present and whose background holds most of the border.

    The border settles what values alone cannot: REFUGE masks circulate with 0 as the cup and with 0 as the background.
    A coding does not hold where a structure has no pixels but those of another that is part of it: a disc (rim and cup)
    without any rim is the sign of a mask of one structure, and its values do not show which one.

    Args:
        pixels: Mask values (height, width).
        codings: Name -> values, ``background`` among the names.

    Returns:
        None where no coding holds; nothing else is ever accepted.

    Example:
        >>> inverted = {"background": (255,), "optic disc": (0, 128), "optic cup": (0,)}
        >>> usual = {"background": (0,), "optic disc": (1, 2), "optic cup": (2,)}
        >>> blank = np.zeros((4, 4), dtype=np.int64)
        >>> coding_of(blank, (inverted, usual)) is usual
        True
        >>> cup_alone = blank.copy(); cup_alone[1:3, 1:3] = 2
        >>> coding_of(cup_alone, (inverted, usual)) is None
        True
    """
    values_present = values_in(pixels)  # in noise, millions
    border = np.concatenate([pixels[0], pixels[-1], pixels[1:-1, 0], pixels[1:-1, -1]])
    values, counts = np.unique(border, return_counts=True)
    outside = int(values[counts.argmax()])
    for coding in codings:
        named = {value for values in coding.values() for value in values}
        background = coding[BACKGROUND]
        behind = outside in background or (background == OTHER and outside not in named)
        present = {value for value in named if value in values_present}
        whole = len(present) == len(values_present) or OTHER in coding.values()
        if behind and whole and _has_own_pixels(coding, present):
            return coding
    return None


def _has_own_pixels(coding: Coding, present: set[int]) -> bool:
    """Return whether every structure that another is part of has pixels beside those of the other."""
    values = [set(own) for own in coding.values()]
    return all(present & (whole - part) for whole in values for part in values if part < whole and present & part)


def values_in(pixels: Pixels) -> npt.NDArray[np.integer[Any]]:
    """Return the different values, sorted; areas of one value are looked at once, which is tens of times faster.

    Example:
        >>> values_in(np.array([[3, 0], [3, 200]], dtype=np.uint8)).tolist()
        [0, 3, 200]
    """
    flat = pixels.reshape(-1)
    blocks = [flat[at : at + BLOCK] for at in range(0, len(flat), BLOCK)]
    begun = (np.concatenate([part[:1], part[1:][part[1:] != part[:-1]]]) for part in blocks)  # where a value begins
    if not 0 <= flat.min() <= flat.max() <= 0xFFFFFF:
        return np.unique(np.concatenate(list(begun)))
    seen = np.zeros(int(flat.max()) + 1, dtype=np.bool_)
    for values in begun:
        seen[values] = True
    return np.flatnonzero(seen).astype(pixels.dtype)


def _listed(values: Pixels, form: str, most: int = 12) -> str:
    shown = ", ".join(form.format(v) for v in values[:most].tolist())
    return shown + (f" and {len(values) - most} more" if len(values) > most else "")


# Parts of a structure: a stray pixel or polygon far from the others moves its bounding box.
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


def extent_of(inside: npt.NDArray[np.bool_], at: Box, structure: str, specks: float = 0.0) -> Extent:
    """Return the bounding box of a structure's pixels, and its small components far from the others.

    Pixels that touch at a corner are connected.

    Args:
        inside: Whether a pixel is of the structure, cut to the box of its pixels (height, width).
        at: The box, see `cut_to_box`.
        structure: Its name in the vocabulary.
        specks: Components with fewer pixels than this share of the largest are left out of the box, those of
            structures in `SEVERAL` excepted; 0 keeps all.

    Example:
        >>> inside = np.zeros((50, 60), dtype=bool); inside[10:30, 10:30] = True; inside[49, 59] = True
        >>> extent_of(*cut_to_box(inside), "optic cup").far
        'optic cup: 1 far component of 1 pixel, the largest has 400; the box is 50 x 40 pixels with it, 20 x 20 without'
        >>> extent_of(*cut_to_box(inside), "optic cup", specks=0.01).box
        Box(x0=10, y0=10, x1=30, y1=30)
    """
    return _extent(*_components(inside, at), structure, specks, "component")


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
    measures = f"the box is {_sides_components(whole)} pixels with it, {_sides_components(body)} without"
    used = f"; {_sides_components(kept)} is used" if out.any() else ""
    return Extent(kept, f"{structure}: {found}, the largest has {largest}; {measures}{used}")


def cut_to_box(inside: npt.NDArray[np.bool_]) -> tuple[npt.NDArray[np.bool_], Box] | None:
    """Return pixels (height, width) cut to the smallest box around all true ones, and the box; None without any.

    Example:
        >>> inside = np.zeros((5, 6), dtype=bool); inside[1:3, 2] = True
        >>> cut_to_box(inside)[1]
        Box(x0=2, y0=1, x1=3, y1=3)
    """
    columns, rows = np.flatnonzero(inside.any(axis=0)), np.flatnonzero(inside.any(axis=1))
    if not len(columns):
        return None
    box = Box(int(columns[0]), int(rows[0]), int(columns[-1]) + 1, int(rows[-1]) + 1)
    return inside[box.y0 : box.y1, box.x0 : box.x1], box


def _components(inside: npt.NDArray[np.bool_], at: Box) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return number of pixels and box (x0, y0, x1, y1) of every component; of a single one its size does not matter.

    Args:
        inside: The pixels of a structure, cut to their box.
        at: The box.
    """
    one = np.ones(1, dtype=np.int64), np.array([[at.x0, at.y0, at.x1, at.y1]])
    if _is_heap(inside):
        return one
    from scipy import ndimage  # a fifth of a second, for which a worker need not wait

    labels, n = ndimage.label(inside, structure=np.ones((3, 3), dtype=np.int8))
    if n == 1:
        return one
    sizes = np.bincount(labels.reshape(-1), minlength=n + 1)[1:]
    found = ndimage.find_objects(labels)
    boxes = [[at.x0 + c.start, at.y0 + r.start, at.x0 + c.stop, at.y0 + r.stop] for r, c in found]
    return sizes, np.array(boxes)


def _is_heap(inside: npt.NDArray[np.bool_]) -> bool:
    """Return whether each row holds one run of pixels that touches that of the next: a component, found without labels.

    Example:
        >>> _is_heap(np.array([[1, 0, 0], [0, 1, 1]], dtype=bool)), _is_heap(np.array([[1, 0, 1]], dtype=bool))
        (True, False)
    """
    first, past = inside.argmax(axis=1), inside.shape[1] - inside[:, ::-1].argmax(axis=1)
    whole = np.count_nonzero(inside, axis=1) == past - first
    return bool(whole.all() and (first[1:] <= past[:-1]).all() and (first[:-1] <= past[1:]).all())


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


def _sides_components(box: Box) -> str:
    return f"{box.width} x {box.height}"
