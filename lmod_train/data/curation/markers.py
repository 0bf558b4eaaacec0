"""Draw numbered boxes so that a person and a model at 224 pixels can read which is which.

Stroke and digits are scaled to the image they are drawn on: a model that shrinks it to its own input size shrinks both
alike. The number names a box; its colour, fixed by the number, helps the eye.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import lru_cache

from PIL import Image, ImageDraw, ImageFont

from lmod_train.core.shuffling import shuffle_key
from lmod_train.core.types import Box, Region, Sample

COLOURS = (
    (255, 225, 25),
    (0, 90, 255),
    (255, 40, 215),
    (0, 200, 80),
    (255, 255, 255),
    (225, 15, 15),
    (0, 235, 255),
    (125, 0, 190),
    (255, 145, 0),
    (0, 95, 85),
    (255, 175, 200),
    (120, 70, 10),
)
"""Colour of number n is entry (n - 1) modulo 12. Neighbours differ in lightness as well as in hue, so that they stay
apart for colour-blind eyes; a dark and a light line round each frame keep it visible on any tissue."""

DIGIT, STROKE = (0.075, 0.045, 10), (0.012, 0.007, 2)
"""Digit height and stroke: share of the shorter side, share of the longer side, pixels; the largest holds. The longer
side keeps digits at 10 of 224 pixels where a model pads an elongated image."""


def mark(image: Image.Image, regions: Sequence[Region], scale: float) -> Image.Image:
    """Return a copy of the image with every region's frame and number.

    Frames lie outside their boxes where the image leaves room, so that they hide nothing of the structure. Labels lie
    outside, too, where they cover least of any box and of each other, and always inside the image.

    Args:
        image: The curated image, RGB.
        regions: Boxes in pixels of the original image, with ids from 1.
        scale: Curated pixels per original pixel.
    """
    drawn = image.copy()
    pen = ImageDraw.Draw(drawn)
    digit, stroke = _sizes(image.size)
    boxes = [_scaled(r.box, scale, image.size) for r in regions]
    for i in _large_first(boxes, regions):
        _frame(pen, boxes[i], COLOURS[(regions[i].id - 1) % len(COLOURS)], stroke, image.size)
    for number, spot in label_boxes(image.size, regions, scale).items():
        _label(pen, spot, number, digit)
    return drawn


def label_boxes(size: tuple[int, int], regions: Sequence[Region], scale: float) -> dict[int, Box]:
    """Return where `mark` writes each number, in pixels of the curated image; nothing without regions.

    Args:
        size: Width and height of the curated image.
        regions: Boxes in pixels of the original image, with ids from 1.
        scale: Curated pixels per original pixel.

    Example:
        >>> label_boxes((200, 200), [Region("optic disc", Box(50, 60, 90, 100), 1)], 1.0)
        {1: Box(x0=46, y0=35, x1=64, y1=56)}
    """
    digit, stroke = _sizes(size)
    boxes = [_scaled(r.box, scale, size) for r in regions]
    labels: dict[int, Box] = {}
    for i in reversed(_large_first(boxes, regions)):  # small boxes have the fewest good places: they choose first
        others = [b for j, b in enumerate(boxes) if j != i]
        wanted = label_size(regions[i].id, digit)
        border = stroke + 2 * _edge(stroke)
        labels[regions[i].id] = place_label(boxes[i], others, list(labels.values()), wanted, border, size)
    return labels


def place_label(
    box: Box, others: Sequence[Box], labels: Sequence[Box], size: tuple[int, int], stroke: int, within: tuple[int, int]
) -> Box:
    """Return where a label goes: of the places round the box, the one that covers least.

    Covering a label counts most, then the share of a box that would be hidden (so a small box inside a large one is
    spared before the large one); among equals the first place wins: above left, above right, below, beside, inside.

    Args:
        box: The box to label.
        others: The other boxes.
        labels: Labels already placed.
        size: Width and height of the label.
        stroke: Thickness of the frame with its contrasting lines, kept free.
        within: Width and height of the image; the label is moved inside it.
    """

    def cost(spot: Box) -> int:
        hidden = sum(_overlap(spot, b) / max(b.area, 1) for b in (box, *others))
        covered = sum(_overlap(spot, b) / spot.area for b in labels)
        return round(20 * (hidden + 10 * covered))  # steps of 5 %: less is no reason to go further from the box

    spots = [_inside(x, y, size, within) for x, y in _corners(box, size, stroke)]
    return min(spots, key=cost)


def label_size(number: int, digit: int) -> tuple[int, int]:
    """Return width and height in pixels of the label of `number` with digits `digit` pixels high."""
    left, top, right, bottom = _font(digit).getbbox(str(number))
    pad = 2 * max(2, round(digit * 0.18))
    return math.ceil(right - left) + pad, math.ceil(bottom - top) + pad


@lru_cache(maxsize=32)
def _font(digit: int) -> ImageFont.FreeTypeFont | ImageFont.ImageFont:
    """Return Pillow's own font at the size at which a digit is `digit` pixels high."""
    size = digit
    while True:  # digits are about 0.7 of the nominal size
        font = ImageFont.load_default(size=size)
        _, top, _, bottom = font.getbbox("0")
        if bottom - top >= digit or size > 3 * digit:
            return font
        size += 1


def _corners(box: Box, size: tuple[int, int], stroke: int) -> Iterator[tuple[int, int]]:
    width, height = size
    left, right = box.x0 - stroke, box.x1 + stroke - width
    top, bottom = box.y0 - stroke, box.y1 + stroke - height
    above, below = top - height, bottom + height
    before, after = left - width, right + width
    yield from ((left, above), (right, above), (left, below), (right, below))
    yield from ((before, top), (after, top), (before, bottom), (after, bottom))
    yield from ((before, above), (after, above), (before, below), (after, below))
    yield from ((box.x0, box.y0), (box.x1 - width, box.y0), (box.x0, box.y1 - height))
    yield (box.x1 - width, box.y1 - height)
    middle, half = (box.x0 + box.x1 - width) // 2, (box.y0 + box.y1 - height) // 2
    yield from ((middle, box.y0), (middle, box.y1 - height), (box.x0, half), (box.x1 - width, half))


def _sizes(size: tuple[int, int]) -> tuple[int, int]:
    """Return the height of a digit and the thickness of a frame for an image of this size."""
    digit, stroke = (
        max(least, round(min(size) * short), round(max(size) * long)) for short, long, least in (DIGIT, STROKE)
    )
    return digit, stroke


def _large_first(boxes: Sequence[Box], regions: Sequence[Region]) -> list[int]:
    return sorted(range(len(boxes)), key=lambda i: (-boxes[i].area, regions[i].id))


def _inside(x: int, y: int, size: tuple[int, int], within: tuple[int, int]) -> Box:
    x, y = max(0, min(x, within[0] - size[0])), max(0, min(y, within[1] - size[1]))
    return Box(x, y, x + size[0], y + size[1])


def _overlap(a: Box, b: Box) -> int:
    return max(0, min(a.x1, b.x1) - max(a.x0, b.x0)) * max(0, min(a.y1, b.y1) - max(a.y0, b.y0))


def _scaled(box: Box, scale: float, within: tuple[int, int]) -> Box:
    x0, y0 = math.floor(box.x0 * scale), math.floor(box.y0 * scale)
    return Box(
        x0,
        y0,
        max(x0 + 1, min(within[0], math.ceil(box.x1 * scale))),
        max(y0 + 1, min(within[1], math.ceil(box.y1 * scale))),
    )


def _edge(stroke: int) -> int:
    """Return the thickness of the contrasting lines on both sides of a frame."""
    return max(1, stroke // 4)


def _frame(
    pen: ImageDraw.ImageDraw, box: Box, colour: tuple[int, int, int], stroke: int, within: tuple[int, int]
) -> None:
    edge = _edge(stroke)
    border = stroke + 2 * edge
    for reach, line, thick in ((border, _contrast(colour), border), (stroke + edge, colour, stroke)):
        x0, y0 = max(0, box.x0 - reach), max(0, box.y0 - reach)
        x1, y1 = min(within[0], box.x1 + reach), min(within[1], box.y1 + reach)
        pen.rectangle((x0, y0, x1 - 1, y1 - 1), outline=line, width=thick)


def _label(pen: ImageDraw.ImageDraw, spot: Box, number: int, digit: int) -> None:
    colour = COLOURS[(number - 1) % len(COLOURS)]
    font = _font(digit)
    left, top, right, bottom = font.getbbox(str(number))
    pen.rectangle((spot.x0, spot.y0, spot.x1 - 1, spot.y1 - 1), fill=colour, outline=_contrast(colour))
    x = spot.x0 + (spot.width - (right - left)) / 2 - left
    y = spot.y0 + (spot.height - (bottom - top)) / 2 - top
    pen.text((round(x), round(y)), str(number), fill=_contrast(colour), font=font)


def _contrast(colour: tuple[int, int, int]) -> tuple[int, int, int]:
    """Return black on light colours, white on dark ones (luma of Rec. 601)."""
    luma = 0.299 * colour[0] + 0.587 * colour[1] + 0.114 * colour[2]
    return (0, 0, 0) if luma > 110 else (255, 255, 255)


def number(sample: Sample, seed: int) -> Sample:
    """Return the sample with its regions shuffled by seed and key, and numbered from 1 in that order.

    The order in which a source or a mask names its structures has no influence.
    """

    def place(index: int) -> str:
        return shuffle_key(seed, "numbering", sample.source, sample.key, index)

    sorted_regions = sorted(sample.regions, key=lambda r: (r.structure, r.box.x0, r.box.y0, r.box.x1, r.box.y1))
    order = sorted(range(len(sorted_regions)), key=place)
    return replace(sample, regions=tuple(replace(sorted_regions[i], id=n) for n, i in enumerate(order, 1)))
