"""Annotation files of Cataract-1K, COCO or Supervisely: class names and coordinates in, outlines out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from lmod_train import raw
from lmod_train.types import Outline

Point = tuple[float, float]


class UnreadableAnnotations(ValueError):
    """An annotation file cannot be read as a whole; the message says what was found and what was expected."""


@dataclass(frozen=True, slots=True)
class Frame:
    """What an annotation file says about one image.

    Attributes:
        outlines: One an annotation, in pixels; empty where nothing is annotated, and where there is a problem, as an
            image of which only some structures are marked would be asked about wrongly.
        reason: Why there are none although there should be: ``unknown class`` or ``unreadable annotation``.
        detail: What was found.
        size: Width and height of the image as the file states them; None where it states none.
    """

    outlines: tuple[Outline, ...] = ()
    reason: str = ""
    detail: str = ""
    size: tuple[object, object] = (None, None)


@dataclass(slots=True)
class Sheet:
    """What a COCO file says: image file name (small letters) -> frame, and what belongs to no image of the file.

    `whole` is False where the file could not be read, so that what it lists is not known.
    """

    frames: dict[str, Frame] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)
    whole: bool = True


class _Unusable(ValueError):
    """One annotation cannot be used."""

    def __init__(self, reason: str, detail: str) -> None:
        super().__init__(detail)
        self.reason = reason


def plain_class(name: str) -> str:
    """Return a class name in small letters, dashes and underscores as single blanks.

    Example:
        >>> plain_class(" Irrigation-Aspiration"), plain_class("cornea1")
        ('irrigation aspiration', 'cornea1')
    """
    return " ".join(name.casefold().replace("-", " ").replace("_", " ").split())


def read_coco(path: Path, structures: Mapping[str, str]) -> Sheet:
    """Return the frames of one case's COCO file.

    Categories go by name: their ids differ from case to case. An annotation is its polygons, several of them together,
    or its ``bbox`` where ``segmentation`` is a run-length mask (a dict) or empty.

    Args:
        path: The json file.
        structures: Class name as `plain_class` gives it -> structure, or "" to leave that class out.

    Raises:
        UnreadableAnnotations: It is not json, or not COCO.
    """
    whole = read_json(path)
    lists = [whole.get(name) if isinstance(whole, dict) else None for name in ("images", "annotations", "categories")]
    if not all(isinstance(rows, list) and all(isinstance(row, dict) for row in rows) for rows in lists):
        raise UnreadableAnnotations(
            f"expected a COCO file with lists of images, annotations and categories, found {_shape(whole)}"
        )
    images, annotations, categories = (rows for rows in lists if rows is not None)
    classes = {_id(row): row.get("name") for row in categories}
    marked: dict[str, list[dict[str, Any]]] = {}
    for row in annotations:
        marked.setdefault(_id(row, "image_id"), []).append(row)
    sheet = Sheet()
    ids = [_id(row) for row in images]
    for number, row in zip(ids, images, strict=True):
        name = row.get("file_name")
        if not isinstance(name, str) or not name.strip():
            sheet.problems.append(f"image {number} has no file_name")
            continue
        name = name.replace("\\", "/").rpartition("/")[2]
        frame = _frame([_coco_part(a, classes) for a in marked.get(number, [])], structures)
        if ids.count(number) > 1:
            frame = Frame((), "unreadable annotation", f"{ids.count(number)} images have the id {number}")
        elif name.casefold() in sheet.frames:
            frame = Frame((), "unreadable annotation", f"{name} is listed more than once")
        frame = replace(frame, size=(row.get("width"), row.get("height")))
        sheet.frames[name.casefold()], sheet.names[name.casefold()] = frame, name
    lost = sorted(set(marked) - set(ids))
    sheet.problems += [f"{len(marked[number])} annotations of image {number}, which is not listed" for number in lost]
    return sheet


def read_supervisely(path: Path, structures: Mapping[str, str]) -> Frame:
    """Return what a Supervisely file, one an image, says: an outline an object, by its ``points.exterior``.

    Args:
        path: The json file.
        structures: As for `read_coco`.

    Raises:
        UnreadableAnnotations: It is not json, or has no list of objects.
    """
    whole = read_json(path)
    objects = whole.get("objects") if isinstance(whole, dict) else None
    if not isinstance(objects, list) or not all(isinstance(row, dict) for row in objects):
        raise UnreadableAnnotations(f"expected a Supervisely file with a list of objects, found {_shape(whole)}")
    size = whole.get("size")
    stated = (size.get("width"), size.get("height")) if isinstance(size, dict) else (None, None)
    return replace(_frame([_supervisely_part(row) for row in objects], structures), size=stated)


def read_json(path: Path) -> Any:
    """Return what a json file holds, whichever of UTF-8 (with a mark or without) and cp1252 it is written in.

    Raises:
        UnreadableAnnotations: It is damaged or cannot be opened.
    """
    try:
        return raw.read_json(path)
    except (OSError, ValueError) as error:
        said = str(error).replace(str(path), path.name)
        raise UnreadableAnnotations(f"not a readable json file ({type(error).__name__}: {said})") from error


_Part = tuple[object, Sequence[Point] | None, str]
"""Class name, points (None where unusable), and what was found instead of points."""


def _frame(parts: Sequence[_Part], structures: Mapping[str, str]) -> Frame:
    """Return all outlines of an image, or the first reason why it has none."""
    outlines = []
    try:
        for name, points, found in parts:
            structure = _structure(name, structures)
            if structure and points is None:
                raise _Unusable("unreadable annotation", f"{name}: {found}")
            if structure and points is not None:
                outlines.append(Outline(structure, tuple(points)))
    except _Unusable as error:
        return Frame((), error.reason, str(error))
    return Frame(tuple(outlines))


def _structure(name: object, structures: Mapping[str, str]) -> str:
    if not isinstance(name, str):
        raise _Unusable("unreadable annotation", f"its class is {name!r}, expected a name that the file lists")
    structure = structures.get(plain_class(name))
    if structure is None:
        detail = f"{name!r}; name what it is by the option aliases, e.g. aliases={{{name!r}: 'spatula'}}"
        raise _Unusable("unknown class", f"{detail}, or '' to leave such annotations out")
    return structure


def _coco_part(row: dict[str, Any], classes: Mapping[str, object]) -> _Part:
    name = classes.get(_id(row, "category_id"))
    polygons, box = row.get("segmentation"), row.get("bbox")
    if isinstance(polygons, list) and polygons:
        flat = polygons if all(_is_number(v) for v in polygons) else [v for p in polygons for v in _listed(p)]
        if len(flat) >= 4 and len(flat) % 2 == 0 and all(_is_number(v) for v in flat):
            return name, list(zip(map(float, flat[::2]), map(float, flat[1::2]), strict=True)), ""
        return name, None, f"segmentation of {len(flat)} values, expected pairs of numbers x, y"
    if isinstance(box, list) and len(box) == 4 and all(_is_number(v) for v in box):
        x, y, width, height = map(float, box)
        return name, [(x, y), (x + width, y + height)], ""
    return name, None, f"no polygon, and bbox is {box!r}, expected four numbers x, y, width, height"


def _supervisely_part(row: dict[str, Any]) -> _Part:
    points = row.get("points")
    exterior = points.get("exterior") if isinstance(points, dict) else None
    if isinstance(exterior, list) and len(exterior) >= 2:
        pairs = [p for p in exterior if isinstance(p, list) and len(p) == 2 and all(_is_number(v) for v in p)]
        if len(pairs) == len(exterior):
            return row.get("classTitle"), [(float(x), float(y)) for x, y in pairs], ""
    kind = row.get("geometryType", "unnamed geometry")
    return row.get("classTitle"), None, f"{kind} without points.exterior, expected [[x, y], ...], two corners or more"


def _id(row: Mapping[str, Any], name: str = "id") -> str:
    """Return an id as text, so that 7 and "7" are one and any other json value is a key as well."""
    return str(row.get(name))


def _listed(value: object) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _shape(whole: object) -> str:
    if isinstance(whole, dict):
        return "keys " + (", ".join(sorted(map(str, whole))[:8]) or "none")
    return f"a {type(whole).__name__}"
