"""Outlines in the json files of the annotation program LabelMe."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from lmod_train.raw import read_json
from lmod_train.types import Outline

Points = tuple[tuple[float, float], ...]
_TYPES = ("polygon", "rectangle", "circle")


class UnreadableShapes(Exception):
    """A file of outlines that cannot be used; the message is the detail a source lists it with."""


def read_shapes(path: Path) -> list[tuple[str, Points]]:
    """Return label (stripped, small letters) and (x, y) of every corner, in pixels, of each shape in its order.

    A circle, which LabelMe writes as its centre and a point of its edge, has the corners of its box.

    Args:
        path: A json file with ``shapes``, each with ``label``, ``points`` and ``shape_type``: polygon (where it is left
            out), rectangle or circle.

    Raises:
        UnreadableShapes: The file is damaged, or a shape lacks its label or two corners of numbers, is a circle without
            radius, or is of another type, such as a line or a brushed mask, whose points do not outline it.

    Example:
        >>> import tempfile
        >>> file = Path(tempfile.mkdtemp()) / "image_0.json"
        >>> _ = file.write_text('{"shapes": [{"label": "Cup ", "points": [[1, 2], [3.5, 4]]}]}')
        >>> read_shapes(file)
        [('cup', ((1.0, 2.0), (3.5, 4.0)))]
    """
    return shapes_of(read_labelme(path))


def read_labelme(path: Path) -> Mapping[str, Any]:
    """Return what a file of LabelMe holds, ``imageWidth`` and ``imageHeight`` among it.

    Raises:
        UnreadableShapes: The file is damaged.
    """
    try:
        told = read_json(path)
    except (OSError, ValueError) as error:
        raise UnreadableShapes(f"not a readable json file ({type(error).__name__}: {error})") from error
    if not isinstance(told, Mapping):
        raise UnreadableShapes("no list of shapes in it")
    return told


def shapes_of(told: Mapping[str, Any]) -> list[tuple[str, Points]]:
    """Return the shapes of a file of LabelMe, see `read_shapes`."""
    shapes = told.get("shapes")
    if not isinstance(shapes, list):
        raise UnreadableShapes("no list of shapes in it")
    return [_shape(shape, place) for place, shape in enumerate(shapes, start=1)]


def outlines_of(shapes: list[tuple[str, Points]], names: Mapping[str, str]) -> tuple[Outline, ...]:
    """Return one outline a structure, in order of `names`, around all shapes that bear its label.

    Args:
        shapes: Label and corners, as `read_shapes` gives them.
        names: Label -> structure; an empty word for a label that is known and left out.

    Raises:
        UnreadableShapes: A label is not among the names, as an image on which a structure is drawn but not marked would
            be asked about wrongly; or no structure is outlined at all.

    Example:
        >>> shapes = [("disc", ((1.0, 1.0), (5.0, 5.0))), ("discloc", ((0.0, 0.0), (9.0, 9.0)))]
        >>> outlines_of(shapes, {"disc": "optic disc", "discloc": ""})
        (Outline(structure='optic disc', points=((1.0, 1.0), (5.0, 5.0)), unit='pixel'),)
    """
    unknown = sorted({label for label, _ in shapes} - set(names))
    if unknown:
        raise UnreadableShapes(f"unknown label {', '.join(map(repr, unknown))}, expected {', '.join(names)}")
    found = []
    for name, structure in names.items():
        points = tuple(point for label, corners in shapes if label == name for point in corners)
        if structure and points:
            found.append(Outline(structure, points))
    if not found:
        raise UnreadableShapes(f"no outline of {', '.join(name for name, structure in names.items() if structure)}")
    return tuple(found)


def _shape(shape: Any, place: int) -> tuple[str, Points]:
    """Return one shape, `place` naming it in the error."""
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
    """Return two opposite corners of the box around a circle given by its centre and a point of its edge."""
    if len(points) != 2 or points[0] == points[1]:
        raise UnreadableShapes(f"{shape} is a circle of {len(points)} points, expected centre and a point of its edge")
    x, y = points[0]
    radius = math.dist(*points)
    return (x - radius, y - radius), (x + radius, y + radius)
