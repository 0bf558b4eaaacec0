"""Image size from the file header, and its comparison with the size that annotations state."""

from __future__ import annotations

import math
from pathlib import Path

from lmod_train.core.pixels import UNREADABLE, picture_frame


def size_of(file: Path) -> tuple[int, int] | None:
    """Return width and height of an image in pixels as stored, from its header; None if it cannot be read.

    Example:
        >>> size_of(Path("nowhere.png")) is None
        True
    """
    frame = _frame_of(file)
    return frame[0] if frame else None


def _frame_of(file: Path) -> tuple[tuple[int, int], int] | None:
    try:
        return picture_frame(file)
    except UNREADABLE:
        return None


def size_differs(file: Path, width: object, height: object) -> str:
    """Return how the size stated by annotations differs from the file's; empty if equal or not stated.

    Coordinates for another image size would give boxes at wrong positions. If the file has an EXIF orientation that
    swaps its sides, annotations may be for the stored or the upright picture.

    Example:
        >>> size_differs(Path("nowhere.png"), 6, 4), size_differs(Path("nowhere.png"), None, "wide")
        ('', '')
    """
    stated = stated_size(width, height)
    frame = _frame_of(file) if stated else None
    if stated is None or frame is None:
        return ""
    real, orientation = frame
    if stated == real or (orientation > 4 and stated == real[::-1]):
        return ""
    return f"annotated at {stated[0]}x{stated[1]} pixels, but {file.name} is {real[0]}x{real[1]}"


def stated_size(width: object, height: object) -> tuple[int, int] | None:
    """Return the size of the image that annotations state, for `Outline.drawn_on`; None if they state none.

    Example:
        >>> stated_size(60.0, 40), stated_size(None, 40)
        ((60, 40), None)
    """
    stated = _pixels(width), _pixels(height)
    return stated if all(stated) else None


def _pixels(value: object) -> int:
    """Return a positive number as an integer, 0 for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return 0
    return max(0, round(value))
