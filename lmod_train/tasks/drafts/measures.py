"""Measurements of boxes in words: number, place in the image, extent, distance from the optic disc."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from lmod_train.core.types import Box, Region

MIDDLE = 0.1
"""Share of the image's side around its centre within which a box is neither left nor right, neither upper nor lower."""

DISC, CUP = "optic disc", "optic cup"


def described(regions: Sequence[Region], size: tuple[int, int]) -> dict[str, str]:
    """Return structure -> measurements of its boxes, in the order of the names.

    Args:
        regions: Boxes in pixels of the original image.
        size: Width and height of that image in pixels.

    Example:
        >>> boxes = [Region("optic disc", Box(60, 10, 80, 30)), Region("optic cup", Box(65, 14, 75, 26))]
        >>> found = described(boxes, (100, 100))
        >>> found["optic disc"]
        '1 box; upper right of the image; 20 % of the width, 20 % of the height'
        >>> found["optic cup"].rpartition("; ")[2]
        'vertical cup-to-disc ratio 0.60'
    """
    by_name: dict[str, list[Box]] = {}
    for region in regions:
        by_name.setdefault(region.structure, []).append(region.box)
    disc = by_name[DISC][0] if len(by_name.get(DISC, [])) == 1 else None
    return {name: "; ".join(_parts(name, by_name[name], size, disc)) for name in sorted(by_name)}


def _parts(name: str, boxes: Sequence[Box], size: tuple[int, int], disc: Box | None) -> list[str]:
    places = dict.fromkeys(place_of(box, size) for box in boxes)
    parts = ["1 box" if len(boxes) == 1 else f"{len(boxes)} boxes", ", ".join(places)]
    if len(boxes) == 1:
        width, height = (100 * side / whole for side, whole in zip(_sides(boxes[0]), size, strict=True))
        parts.append(f"{width:.0f} % of the width, {height:.0f} % of the height")
    if disc is not None and name not in (DISC, CUP):
        parts.append(_from_disc(boxes, disc))
    if disc is not None and name == CUP and len(boxes) == 1:
        parts.append(f"vertical cup-to-disc ratio {boxes[0].height / disc.height:.2f}")
    return parts


def _sides(box: Box) -> tuple[int, int]:
    return box.width, box.height


def centre(box: Box) -> tuple[float, float]:
    """Return x and y of a box's centre."""
    return (box.x0 + box.x1) / 2, (box.y0 + box.y1) / 2


def place_of(box: Box, size: tuple[int, int]) -> str:
    """Return where the centre of a box is in the image.

    Example:
        >>> place_of(Box(0, 45, 10, 55), (100, 100)), place_of(Box(45, 45, 55, 55), (100, 100))
        ('left of the image', 'centre of the image')
    """
    across, down = (at / whole - 0.5 for at, whole in zip(centre(box), size, strict=True))
    vertical = "" if abs(down) <= MIDDLE else "lower" if down > 0 else "upper"
    side = "" if abs(across) <= MIDDLE else "right" if across > 0 else "left"
    return f"{' '.join(word for word in (vertical, side) if word) or 'centre'} of the image"


def _from_disc(boxes: Sequence[Box], disc: Box) -> str:
    """Return distance and clock hour of the nearest box, from the disc's centre; 12 o'clock is up in the image."""
    (x, y), diameter = centre(disc), (disc.width + disc.height) / 2
    offsets = [(at[0] - x, at[1] - y) for at in map(centre, boxes)]
    across, down = min(offsets, key=lambda offset: math.hypot(*offset))
    hour = round(math.degrees(math.atan2(across, -down)) / 30) % 12 or 12
    nearest = "" if len(boxes) == 1 else "nearest "
    far = math.hypot(across, down) / diameter
    return f"{nearest}centre {far:.1f} disc diameters from the centre of the optic disc, at {hour} o'clock"


def single(described_structures: Mapping[str, str]) -> list[str]:
    """Return the structures with one box, in order: those whose place is one place."""
    return [name for name, words in described_structures.items() if words.startswith("1 box;")]
