"""Curated images in which the evidence for an answer, or a like place elsewhere, is filled from its surroundings.

The evidence is where masks, outlines and boxes of a source show it, not a guess. Where an image cannot be asked about,
it is listed: without its evidence, with evidence off the field or as large as it, or without a place elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw

from lmod_train.core.pixels import turned_by
from lmod_train.core.removal import (
    LARGEST,
    Mask,
    Removal,
    elsewhere,
    field_mask,
    filled,
    fovea_zone,
    grown,
    parse_removal,
)
from lmod_train.core.types import Box, Dropped, Outline, Region, Sample
from lmod_train.data.curation.boxes import DEFAULT_RULE, BoxRule, Untrusted, polygons_of, read_boxes, structures_in
from lmod_train.data.curation.orientation import Frame, SizeDiffers, orientation_between, size_after

TELLING = ("macular hole",)
"""Structures whose outline tells the answer: one shape a source is filled over each."""
SHAPE_SHARE = 1.4
"""Sides of that shape, as a share of the largest such structure of the source: the rim is filled too."""
_LAYER = 0.9  # share of the image's width from which on a structure is a layer, in which the evidence lies
_DISC, _FOVEA = "optic disc", "fovea"

Shapes = Mapping[tuple[str, str], tuple[float, float]]
"""Source and structure -> width and height of its shape, as shares of the image's."""


def removed(
    sample: Sample, image: Image.Image, frame: Frame, names: Iterable[str], rule: BoxRule, shapes: Shapes
) -> tuple[dict[str, Image.Image], list[Dropped]]:
    """Return the image with each removal, by its name, and a line for each kind of evidence that it cannot be done of.

    Args:
        sample: With its annotations.
        image: Curated, without markers.
        frame: Of the raw photograph.
        names: Names of removals (`lmod_train.core.removal.Removal`); others are left out.
        rule: How annotations become boxes.
        shapes: Of the structures of `TELLING`.
    """
    by_evidence: dict[tuple[str, ...], list[Removal]] = {}
    for removal in filter(None, map(parse_removal, names)):
        by_evidence.setdefault(removal.structures, []).append(removal)
    done: dict[str, Image.Image] = {}
    listed: list[Dropped] = []
    for structures, own in by_evidence.items():
        found = _removals(sample, image, frame, structures, own, rule, shapes)
        if isinstance(found, Dropped):
            listed.append(found)
        else:
            done |= found
    return done, listed


def _removals(
    sample: Sample,
    image: Image.Image,
    frame: Frame,
    structures: tuple[str, ...],
    wanted: Sequence[Removal],
    rule: BoxRule,
    shapes: Shapes,
) -> dict[str, Image.Image] | Dropped:
    """Return the image with each removal of the same evidence; all or none, so that they are of the same images."""
    words = ", ".join(structures) or "any structure"
    mask = evidence_of(sample, image.size, frame, structures, rule)
    if mask is None or not mask.any():
        return Dropped.of(sample, "grounding", "evidence_not_annotated", f"no mask or box of {words}", "part")
    region = _region(sample, image, mask, structures, shapes)
    if region is None:
        return Dropped.of(sample, "grounding", "evidence_too_large", f"{words}: wider than the source's shape", "part")
    field = field_mask(image)
    if (region & field).sum() < 0.5 * region.sum():  # what is off the field stays as it is
        return Dropped.of(
            sample, "grounding", "evidence_off_the_field", f"{words}: mostly in the dark surround", "part"
        )
    if region.sum() > LARGEST * field.sum():
        return Dropped.of(sample, "grounding", "evidence_too_large", f"{words}: as large as the field", "part")
    taken = _taken(sample, image.size, frame, structures, mask, rule)
    done: dict[str, Image.Image] = {}
    places: dict[str, Mask | None] = {}
    for removal in wanted:
        if removal.where == "elsewhere" and removal.fill not in places:
            places[removal.fill] = elsewhere(image, region, taken, removal.fill)
        where = region if removal.where == "evidence" else places[removal.fill]
        if where is None:
            detail = f"{words}: no like place off the annotated structures and the fovea"
            return Dropped.of(sample, "grounding", "no_place_elsewhere", detail, "part")
        done[removal.name] = filled(image, where, removal.fill)
    return done


def evidence_of(
    sample: Sample, size: tuple[int, int], frame: Frame, structures: Sequence[str], rule: BoxRule = DEFAULT_RULE
) -> Mask | None:
    """Return where structures are in a curated image: their masks, outlines and boxes; None where none can be trusted.

    Args:
        sample: With its annotations.
        size: Width and height of the curated image.
        frame: Of the raw photograph.
        structures: Their names; empty for all that are annotated.
        rule: How annotations become boxes.
    """
    inside = np.zeros(size[::-1], dtype=np.bool_)
    try:
        for name, pixels, orientation in (s for mask in sample.masks for s in structures_in(mask, frame, rule)):
            if not structures or name in structures:
                inside |= _curated(Image.fromarray(pixels.astype(np.uint8) * 255), orientation, size)
        boxes = [Outline(r.structure, ((r.box.x0, r.box.y0), (r.box.x1, r.box.y1))) for r in sample.regions]
        for outline in (*boxes, *sample.outlines):
            if not structures or outline.structure in structures:
                inside |= _drawn(outline, frame, size, rule)
    except (Untrusted, SizeDiffers):  # listed with its reason where boxes are read
        return None
    return inside


def _curated(stored: Image.Image, orientation: int, size: tuple[int, int]) -> Mask:
    """Return a mask as stored, of grey 0 and 255, in the pixels of the curated image; small parts are kept."""
    return np.asarray(turned_by(stored, orientation).resize(size, Image.Resampling.BOX)) > 127


def _drawn(outline: Outline, frame: Frame, size: tuple[int, int], rule: BoxRule) -> Mask:
    orientation = orientation_between(frame, outline.drawn_on, turned=rule.turned) or 1
    stored = Image.new("L", size_after(frame.size, orientation))
    draw = ImageDraw.Draw(stored)
    for points in polygons_of(outline, stored.size):
        if len(points) == 2:
            (x0, y0), (x1, y1) = points
            draw.rectangle((min(x0, x1), min(y0, y1), max(x0, x1) - 1, max(y0, y1) - 1), fill=255)
        else:
            draw.polygon(points, fill=255)
    return _curated(stored, orientation, size)


def _region(sample: Sample, image: Image.Image, mask: Mask, structures: Sequence[str], shapes: Shapes) -> Mask | None:
    """Return what is filled: the evidence without a coloured rim, or the source's shape; None if that is too small."""
    telling = [name for name in structures if name in TELLING]
    if not telling:
        return grown(image, mask)
    shape = shapes.get((sample.source, telling[0]))
    rows, columns = np.nonzero(mask)
    middle = (rows.min() + rows.max() + 1) / 2, (columns.min() + columns.max() + 1) / 2
    if shape is None:
        return None
    high, wide = shape[1] * image.height / 2, shape[0] * image.width / 2
    y, x = np.ogrid[: image.height, : image.width]
    region = ((y + 0.5 - middle[0]) / high) ** 2 + ((x + 0.5 - middle[1]) / wide) ** 2 <= 1
    return region if (mask & ~region).sum() <= 0.02 * mask.sum() else None


def _taken(
    sample: Sample, size: tuple[int, int], frame: Frame, structures: Sequence[str], mask: Mask, rule: BoxRule
) -> Mask:
    """Return where other annotated structures are, and the fovea; not the layers in which the evidence lies."""
    taken = np.zeros(mask.shape, dtype=np.bool_)
    regions = read_boxes(sample, frame.orientation, rule)[0].regions
    for region in regions:
        if region.structure not in structures and region.box.width < _LAYER * frame.size[0]:
            taken |= _boxed(region.box, size, frame.size)
    if _DISC in structures and not any(region.structure == _FOVEA for region in regions):
        taken |= fovea_zone(mask)
    return taken


def _boxed(box: Box, size: tuple[int, int], raw: tuple[int, int]) -> Mask:
    inside = np.zeros(size[::-1], dtype=np.bool_)
    across, down = size[0] / raw[0], size[1] / raw[1]
    inside[int(box.y0 * down) : int(np.ceil(box.y1 * down)), int(box.x0 * across) : int(np.ceil(box.x1 * across))] = (
        True
    )
    return inside


def shapes_of(boxes: Iterable[tuple[str, tuple[int, int], Region]]) -> Shapes:
    """Return the shape of each source and structure of `TELLING`.

    Boxes wider or higher than half of the image are left out: their images are listed, and must not make the shape.

    Args:
        boxes: Source, width and height of the image, and region of every box.
    """
    largest: dict[tuple[str, str], tuple[float, float]] = {}
    for source, size, region in boxes:
        sides = region.box.width / size[0], region.box.height / size[1]
        if region.structure in TELLING and max(sides) <= LARGEST:
            wide, high = largest.get((source, region.structure), (0.0, 0.0))
            largest[source, region.structure] = max(wide, SHAPE_SHARE * sides[0]), max(high, SHAPE_SHARE * sides[1])
    return largest


def redrawn(image: Path) -> Path:
    """Return where the same phantom lies that was drawn with only the asked fact changed."""
    from lmod_train.core.vocabulary.phantoms import REDRAWN

    return image.parent / f".{REDRAWN}" / image.name
