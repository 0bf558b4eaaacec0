"""Reading of outlines from JSON files of the annotation program LabelMe."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from lmod_train.core.raw import read_json
from lmod_train.core.types import Outline

Points = tuple[tuple[float, float], ...]
_TYPES = ("polygon", "rectangle", "circle")


class UnreadableShapes(Exception):
    """Raised for a file that cannot be used; the message is the detail of its entry in dropped.csv."""


def read_labelme(path: Path) -> Mapping[str, Any]:
    """Return the content of a LabelMe file, with ``imageWidth`` and ``imageHeight``.

    Raises:
        UnreadableShapes: The file is damaged.
    """
    try:
        content = read_json(path)
    except (OSError, ValueError) as error:
        raise UnreadableShapes(f"not a readable json file ({type(error).__name__}: {error})") from error
    if not isinstance(content, Mapping):
        raise UnreadableShapes("no list of shapes in it")
    return content


def shapes_of(content: Mapping[str, Any]) -> list[tuple[str, Points]]:
    """Return the label (stripped, lower case) and the (x, y) corners in pixels of each shape, in the file's order.

    A circle, which LabelMe stores as its centre and a point on its edge, is returned as two corners of its box.

    Args:
        content: Of a file, with ``shapes``, each with ``label``, ``points`` and ``shape_type``: polygon (the default),
            rectangle or circle.

    Raises:
        UnreadableShapes: A shape has no label or fewer than two numeric corners, is a circle without radius, or is of a
            type whose points are no outline, such as a line or a brush mask.

    Example:
        >>> shapes_of({"shapes": [{"label": "Cup ", "points": [[1, 2], [3.5, 4]]}]})
        [('cup', ((1.0, 2.0), (3.5, 4.0)))]
    """
    shapes = content.get("shapes")
    if not isinstance(shapes, list):
        raise UnreadableShapes("no list of shapes in it")
    return [_shape(shape, place) for place, shape in enumerate(shapes, start=1)]


def outlines_of(
    shapes: list[tuple[str, Points]], names: Mapping[str, str], size: tuple[int, int] | None = None
) -> tuple[Outline, ...]:
    """Return one outline per structure, in order of `names`, from the corners of all shapes with its label.

    Args:
        shapes: Label and corners of each shape, as returned by `shapes_of`.
        names: Label -> structure; an empty string for a known label that is not used.
        size: Width and height of the image as stated in the file; None if not stated.

    Raises:
        UnreadableShapes: A label is not among the names (questions about an image with an unmarked structure would be
            wrong), or no structure is outlined.

    Example:
        >>> shapes = [("disc", ((1.0, 1.0), (5.0, 5.0))), ("discloc", ((0.0, 0.0), (9.0, 9.0)))]
        >>> outlines_of(shapes, {"disc": "optic disc", "discloc": ""})
        (Outline(structure='optic disc', points=((1.0, 1.0), (5.0, 5.0)), unit='pixel', parts=(), drawn_on=None),)
    """
    unknown = sorted({label for label, _ in shapes} - set(names))
    if unknown:
        raise UnreadableShapes(f"unknown label {', '.join(map(repr, unknown))}, expected {', '.join(names)}")
    found = []
    for name, structure in names.items():
        own = [corners for label, corners in shapes if label == name]
        if structure and own:
            points = tuple(point for corners in own for point in corners)
            found.append(Outline(structure, points, parts=_parts(own), drawn_on=size))
    if not found:
        raise UnreadableShapes(f"no outline of {', '.join(name for name, structure in names.items() if structure)}")
    return tuple(found)


def _parts(shapes: list[Points]) -> tuple[int, ...]:
    return tuple(map(len, shapes)) if len(shapes) > 1 else ()


def _shape(shape: Any, place: int) -> tuple[str, Points]:
    """Return label and corners of one shape; `place` is its number in error messages."""
    try:
        label, corners = str(shape["label"]).strip().casefold(), [(float(x), float(y)) for x, y in shape["points"]]
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise UnreadableShapes(f"shape {place} has no label or no corners ({type(error).__name__}: {error})") from error
    kind = str(shape.get("shape_type") or "polygon").strip().casefold()
    if kind not in _TYPES:
        raise UnreadableShapes(f"shape {place} ({label}) is of type {kind!r}, expected {', '.join(_TYPES)}")
    if kind == "circle":
        return label, _around_circle(corners, f"shape {place} ({label})")
    if len(corners) < 2:
        raise UnreadableShapes(f"shape {place} ({label}) has {len(corners)} corners, expected two or more")
    return label, tuple(corners)


def _around_circle(points: list[tuple[float, float]], shape: str) -> Points:
    """Return two opposite corners of the box around a circle given by its centre and a point on its edge."""
    if len(points) != 2 or points[0] == points[1]:
        raise UnreadableShapes(f"{shape} is a circle of {len(points)} points, expected centre and a point on its edge")
    x, y = points[0]
    radius = math.dist(*points)
    return (x - radius, y - radius), (x + radius, y + radius)
