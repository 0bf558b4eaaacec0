"""Reading of outlines from the annotation files of Cataract-1K, COCO or Supervisely."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from lmod_train.core import raw
from lmod_train.core.types import Outline
from lmod_train.data.sources.spelling import composed

Point = tuple[float, float]


class UnreadableAnnotations(ValueError):
    """Raised for an annotation file that cannot be read; the message states what was found and what was expected."""


@dataclass(frozen=True, slots=True)
class Frame:
    """Annotations of one image.

    Attributes:
        outlines: One outline per annotation, in pixels; empty if nothing is annotated, and if one annotation cannot be
            used, as questions about an image with unmarked structures would be wrong.
        reason: Reason why annotations cannot be used: ``unknown class`` or ``unreadable annotation``; else empty.
        detail: The value that cannot be used.
        size: Width and height of the image as stated in the file; None if not stated.
    """

    outlines: tuple[Outline, ...] = ()
    reason: str = ""
    detail: str = ""
    size: tuple[object, object] = (None, None)


@dataclass(slots=True)
class CocoFile:
    """Content of a COCO file.

    Attributes:
        frames: Image file name in lower case -> its annotations.
        names: Image file name in lower case -> as spelled in the file.
        problems: Messages about images without a name and annotations without an image.
        readable: False if the file could not be read, so that it is not known which images it lists.
    """

    frames: dict[str, Frame] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)
    readable: bool = True


class _Unusable(ValueError):
    """Raised for an annotation that cannot be used."""

    def __init__(self, reason: str, detail: str) -> None:
        super().__init__(detail)
        self.reason = reason


def plain_class(name: str) -> str:
    """Return a class name in lower case with single blanks, also for dashes and underscores.

    Example:
        >>> plain_class(" Irrigation-Aspiration"), plain_class("cornea1")
        ('irrigation aspiration', 'cornea1')
    """
    return " ".join(name.casefold().replace("-", " ").replace("_", " ").split())


def read_coco(path: Path, structures: Mapping[str, str]) -> CocoFile:
    """Return the annotations in the COCO file of one case.

    Categories are identified by name, as their ids differ from case to case. The outline of an annotation is made of
    all its polygons, or is its ``bbox`` if ``segmentation`` is a run-length mask (a dict) or empty.

    Args:
        path: The JSON file.
        structures: Class name as returned by `plain_class` -> structure, or "" to ignore this class.

    Raises:
        UnreadableAnnotations: The file is not JSON, or not COCO.
    """
    content = read_json(path)
    names = ("images", "annotations", "categories")
    lists = [content.get(name) if isinstance(content, dict) else None for name in names]
    if not all(isinstance(rows, list) and all(isinstance(row, dict) for row in rows) for rows in lists):
        raise UnreadableAnnotations(
            f"expected a COCO file with lists of images, annotations and categories, found {_shape(content)}"
        )
    images, annotations, categories = (rows for rows in lists if rows is not None)
    classes = {_id(row): row.get("name") for row in categories}
    marked: dict[str, list[dict[str, Any]]] = {}
    for row in annotations:
        marked.setdefault(_id(row, "image_id"), []).append(row)
    coco = CocoFile()
    ids = [_id(row) for row in images]
    for number, row in zip(ids, images, strict=True):
        name = row.get("file_name")
        if not isinstance(name, str) or not name.strip():
            coco.problems.append(f"image {number} has no file_name")
            continue
        name = name.replace("\\", "/").rpartition("/")[2]
        frame = _frame([_from_coco(a, classes) for a in marked.get(number, [])], structures)
        if ids.count(number) > 1:
            frame = Frame((), "unreadable annotation", f"{ids.count(number)} images have the id {number}")
        elif composed(name.casefold()) in coco.frames:
            frame = Frame((), "unreadable annotation", f"{name} is listed more than once")
        frame = replace(frame, size=(row.get("width"), row.get("height")))
        coco.frames[composed(name.casefold())], coco.names[composed(name.casefold())] = frame, name
    lost = sorted(set(marked) - set(ids))
    coco.problems += [f"{len(marked[number])} annotations of image {number}, which is not listed" for number in lost]
    return coco


def read_supervisely(path: Path, structures: Mapping[str, str]) -> Frame:
    """Return the annotations in a Supervisely file, one outline per object, from its ``points.exterior``.

    Args:
        path: The JSON file; there is one per image.
        structures: As for `read_coco`.

    Raises:
        UnreadableAnnotations: The file is not JSON, or has no list of objects.
    """
    content = read_json(path)
    objects = content.get("objects") if isinstance(content, dict) else None
    if not isinstance(objects, list) or not all(isinstance(row, dict) for row in objects):
        raise UnreadableAnnotations(f"expected a Supervisely file with a list of objects, found {_shape(content)}")
    size = content.get("size")
    stated = (size.get("width"), size.get("height")) if isinstance(size, dict) else (None, None)
    return replace(_frame([_from_supervisely(row) for row in objects], structures), size=stated)


def read_json(path: Path) -> Any:
    """Return the content of a JSON file in UTF-8 (with or without BOM) or cp1252.

    Raises:
        UnreadableAnnotations: The file is damaged or cannot be opened.
    """
    try:
        return raw.read_json(path)
    except (OSError, ValueError) as error:
        problem = str(error).replace(str(path), path.name)
        raise UnreadableAnnotations(f"not a readable json file ({type(error).__name__}: {problem})") from error


_Annotation = tuple[object, Sequence[Point] | None, str, tuple[int, ...]]
"""Class name, points (None if unusable), what was found instead of points, and number of points of each polygon."""


def _frame(annotations: Sequence[_Annotation], structures: Mapping[str, str]) -> Frame:
    """Return all outlines of an image, or the first problem with one of them."""
    outlines = []
    try:
        for name, points, found, parts in annotations:
            structure = _structure(name, structures)
            if structure and points is None:
                raise _Unusable("unreadable annotation", f"{name}: {found}")
            if structure and points is not None:
                outlines.append(Outline(structure, tuple(points), parts=parts if len(parts) > 1 else ()))
    except _Unusable as error:
        return Frame((), error.reason, str(error))
    return Frame(tuple(outlines))


def _structure(name: object, structures: Mapping[str, str]) -> str:
    if not isinstance(name, str):
        raise _Unusable("unreadable annotation", f"class {name!r}, expected a class name that the file lists")
    structure = structures.get(plain_class(name))
    if structure is None:
        detail = f"{name!r}; name its structure by the option aliases, e.g. aliases={{{name!r}: 'spatula'}}"
        raise _Unusable("unknown class", f"{detail}, or '' to ignore such annotations")
    return structure


def _from_coco(row: dict[str, Any], classes: Mapping[str, object]) -> _Annotation:
    name = classes.get(_id(row, "category_id"))
    polygons, box = row.get("segmentation"), row.get("bbox")
    if isinstance(polygons, list) and polygons:
        listed = [polygons] if all(_is_number(v) for v in polygons) else [_listed(p) for p in polygons]
        flat = [v for polygon in listed for v in polygon]
        if len(flat) >= 4 and not any(len(p) % 2 for p in listed) and all(_is_number(v) for v in flat):
            points = list(zip(map(float, flat[::2]), map(float, flat[1::2]), strict=True))
            return name, points, "", tuple(len(p) // 2 for p in listed if p)
        return name, None, f"segmentation of {len(flat)} values, expected pairs of numbers x, y", ()
    if isinstance(box, list) and len(box) == 4 and all(_is_number(v) for v in box):
        x, y, width, height = map(float, box)
        return name, [(x, y), (x + width, y + height)], "", ()
    return name, None, f"no polygon, and bbox is {box!r}, expected four numbers x, y, width, height", ()


def _from_supervisely(row: dict[str, Any]) -> _Annotation:
    points = row.get("points")
    exterior = points.get("exterior") if isinstance(points, dict) else None
    if isinstance(exterior, list) and len(exterior) >= 2:
        pairs = [p for p in exterior if isinstance(p, list) and len(p) == 2 and all(_is_number(v) for v in p)]
        if len(pairs) == len(exterior):
            return row.get("classTitle"), [(float(x), float(y)) for x, y in pairs], "", ()
    kind = row.get("geometryType", "unnamed geometry")
    found = f"{kind} without points.exterior, expected [[x, y], ...], two corners or more"
    return row.get("classTitle"), None, found, ()


def _id(row: Mapping[str, Any], name: str = "id") -> str:
    """Return an id as text, so that 7 and "7" are equal and any JSON value can be a key."""
    return str(row.get(name))


def _listed(value: object) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _shape(content: object) -> str:
    if isinstance(content, dict):
        return "keys " + (", ".join(sorted(map(str, content))[:8]) or "none")
    return f"a {type(content).__name__}"
