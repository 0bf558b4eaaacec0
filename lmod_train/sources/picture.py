"""Width and height of a picture by its header, to hold what annotations say of it against."""

from __future__ import annotations

import math
from pathlib import Path

from lmod_train.pixels import UNREADABLE, picture_size

_TURNABLE = {".jpg", ".jpeg", ".tif", ".tiff"}  # kinds that may say to be looked at on their side


def size_of(file: Path) -> tuple[int, int] | None:
    """Return width and height of a picture as stored, no pixel decoded; None where its header cannot be read.

    Example:
        >>> size_of(Path("nowhere.png")) is None
        True
    """
    try:
        return picture_size(file)
    except UNREADABLE:
        return None


def size_differs(file: Path, width: object, height: object) -> str:
    """Return how the size that annotations state differs from the file's, empty where it does not or none is stated.

    Coordinates of another size would give boxes in other places.

    Example:
        >>> size_differs(Path("nowhere.png"), 6, 4), size_differs(Path("nowhere.png"), None, "wide")
        ('', '')
    """
    stated = _whole(width), _whole(height)
    real = size_of(file) if all(stated) else None
    if real is None or stated == real or (stated == real[::-1] and file.suffix.lower() in _TURNABLE):
        return ""
    return f"annotated at {stated[0]}x{stated[1]}, and {file.name} is {real[0]}x{real[1]}"


def _whole(value: object) -> int:
    """Return a positive number as a whole one, 0 for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return 0
    return max(0, round(value))
