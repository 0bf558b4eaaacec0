"""Image size from the file header, and its comparison with the size that annotations state."""

from __future__ import annotations

import math
from pathlib import Path

from lmod_train.pixels import UNREADABLE, picture_size

_TURNABLE = {".jpg", ".jpeg", ".tif", ".tiff"}  # formats with an EXIF orientation, which may swap width and height


def size_of(file: Path) -> tuple[int, int] | None:
    """Return width and height of an image in pixels as stored, from its header; None if it cannot be read.

    Example:
        >>> size_of(Path("nowhere.png")) is None
        True
    """
    try:
        return picture_size(file)
    except UNREADABLE:
        return None


def size_differs(file: Path, width: object, height: object) -> str:
    """Return how the size stated by annotations differs from the file's; empty if equal or not stated.

    Coordinates for another image size would give boxes at wrong positions.

    Example:
        >>> size_differs(Path("nowhere.png"), 6, 4), size_differs(Path("nowhere.png"), None, "wide")
        ('', '')
    """
    stated = _pixels(width), _pixels(height)
    real = size_of(file) if all(stated) else None
    if real is None or stated == real or (stated == real[::-1] and file.suffix.lower() in _TURNABLE):
        return ""
    return f"annotated at {stated[0]}x{stated[1]} pixels, but {file.name} is {real[0]}x{real[1]}"


def _pixels(value: object) -> int:
    """Return a positive number as an integer, 0 for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return 0
    return max(0, round(value))
