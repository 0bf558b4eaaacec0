"""The coordinate system of an annotation whose photograph, or mask file, has an EXIF orientation.

Curated photographs are upright. Some programs annotate the pixels as they are stored (OpenCV, MATLAB), others the
upright picture (browsers, LabelMe). Width and height show which, unless they are equal or the orientation keeps them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from lmod_train.core.types import Box

Turned = Literal["list", "stored", "upright"]
"""Where annotations lie whose size does not show it: not known, on the stored pixels, on the upright picture."""

Size = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Frame:
    """The pixels of a photograph.

    Attributes:
        size: Width and height of the upright picture.
        orientation: EXIF orientation by which the stored pixels were turned, 1 for none.
    """

    size: Size
    orientation: int = 1


class SizeDiffers(ValueError):
    """An annotation has neither the size of the stored nor that of the upright photograph."""


def orientation_between(frame: Frame, size: Size | None, own: int = 1, turned: Turned = "list") -> int | None:
    """Return the EXIF orientation by which an annotation is turned to lie on the upright photograph.

    A mask file with the orientation of its photograph is turned as the photograph is.

    Args:
        frame: The photograph.
        size: Width and height of the annotation as stored; None if it states none.
        own: EXIF orientation of a mask file.
        turned: What holds if the size does not show it.

    Returns:
        1 for an annotation that is not turned; None if it is not known.

    Raises:
        SizeDiffers: No orientation gives the size of the photograph.

    Example:
        >>> on_side = Frame((20, 30), 6)  # stored as 30 x 20
        >>> orientation_between(on_side, (30, 20)), orientation_between(on_side, (20, 30))
        (6, 1)
        >>> upside_down = Frame((30, 20), 3)
        >>> orientation_between(upside_down, (30, 20)), orientation_between(upside_down, (30, 20), turned="stored")
        (None, 3)
    """
    possible = [own] if own == frame.orientation else list(dict.fromkeys((own, frame.orientation, 1)))
    fitting = [o for o in possible if size is None or size_after(size, o) == frame.size]
    if not fitting:
        raise SizeDiffers(f"{size} and {frame.size}")
    if len(fitting) == 1:
        return fitting[0]
    if turned == "stored" and frame.orientation in fitting:
        return frame.orientation
    return next(o for o in (own, 1) if o in fitting) if turned == "upright" else None


def size_after(size: Size, orientation: int) -> Size:
    """Return width and height after turning by an EXIF orientation; 5 to 8 swap them."""
    return size[::-1] if orientation > 4 else size


def turn(box: Box, orientation: int, size: Size) -> Box:
    """Return a box turned as `lmod_train.core.pixels.upright` turns the pixels.

    Args:
        box: In pixels as stored.
        orientation: EXIF orientation, 1 to 8.
        size: Width and height as stored.

    Example:
        >>> turn(Box(1, 2, 5, 4), 6, (30, 20)), turn(Box(1, 2, 5, 4), 3, (30, 20))
        (Box(x0=16, y0=1, x1=18, y1=5), Box(x0=25, y0=16, x1=29, y1=18))
    """
    width, height = size
    columns, rows = (box.x0, box.x1), (box.y0, box.y1)
    if orientation in (2, 3, 7, 8):
        columns = (width - box.x1, width - box.x0)
    if orientation in (3, 4, 6, 7):
        rows = (height - box.y1, height - box.y0)
    if orientation > 4:
        columns, rows = rows, columns
    return Box(columns[0], rows[0], columns[1], rows[1])
