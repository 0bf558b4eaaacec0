"""Reading of Roboflow exports: class names, and boxes or polygons from YOLO text files or COCO JSON."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lmod_train.core.raw import MOST_TABLE_BYTES, decoded, read_bytes, read_json, read_yaml
from lmod_train.core.types import Outline
from lmod_train.data.sources.spelling import composed


@dataclass(frozen=True, slots=True)
class Annotation:
    """One object of a photograph.

    Attributes:
        name: Class name as spelled in the export.
        points: (x, y) of two opposite corners of a box, or of every corner of a polygon, as fractions (0 to 1) of
            image width and height.
        size: Width and height of the image as stated by a COCO file; None of a YOLO file.
        parts: Number of corners of each polygon if there are several; empty for one.
    """

    name: str
    points: tuple[tuple[float, float], ...]
    size: tuple[int, int] | None = field(default=None, compare=False)
    parts: tuple[int, ...] = field(default=(), compare=False)

    def outline(self, structure: str) -> Outline:
        """Return the same points as the outline of a structure."""
        return Outline(structure, self.points, "side", self.parts, self.size)


class LabelProblem(Exception):
    """Raised for annotations that cannot be used; the source lists reason and detail in dropped.csv."""

    def __init__(self, reason: str, detail: str) -> None:
        super().__init__(detail)
        self.reason, self.detail = reason, detail


@dataclass(frozen=True, slots=True)
class DataYaml:
    """Content of ``data.yaml`` of a YOLO export: class number -> name, and the project's short name (may be empty)."""

    names: Mapping[int, str]
    project: str = ""


@dataclass(frozen=True, slots=True)
class CocoPart:
    """Content of ``_annotations.coco.json`` of one part of a COCO export.

    Attributes:
        names: Class names without the placeholder that Roboflow puts at category 0.
        photographs: File name -> its annotations (empty for a photograph without objects), or the problem with them.
        sizes: File name -> width and height as stated in the JSON file.
    """

    names: tuple[str, ...]
    photographs: Mapping[str, tuple[Annotation, ...] | LabelProblem] = field(default_factory=dict)
    sizes: Mapping[str, tuple[object, object]] = field(default_factory=dict)


def read_data_yaml(path: Path) -> DataYaml:
    """Return class names, written as a list or as number -> name, and the project of a YOLO export.

    Raises:
        LabelProblem: The file is damaged or names no classes.
    """
    try:
        content = read_yaml(path)
    except (OSError, ValueError) as error:
        raise LabelProblem("unreadable class names", f"not a readable yaml file ({_short(error)})") from error
    names = content.get("names") if isinstance(content, dict) else None
    if isinstance(names, list):
        names = dict(enumerate(names))
    if not isinstance(names, dict) or not names or not all(_is_number(key) for key in names):
        raise LabelProblem("unreadable class names", f"'names' is {str(names)[:80]}, expected a list or number -> name")
    origin = content.get("roboflow")
    project = origin.get("project") if isinstance(origin, dict) else None
    return DataYaml({int(key): str(name) for key, name in names.items()}, str(project or ""))


def _is_number(key: object) -> bool:
    return str(key).strip().isdecimal() and len(str(key)) < 10


def read_yolo(path: Path, names: Mapping[int, str]) -> tuple[Annotation, ...]:
    """Return the objects of one label file; () for an empty file.

    A line is ``class cx cy w h`` (a box) or ``class x y x y x y ...`` (a polygon), as fractions of width and height.

    Args:
        path: The label file.
        names: Class number -> name.

    Raises:
        LabelProblem: ``unreadable label`` for a malformed line, as the others may then be incomplete, or ``unknown
            class`` for a number without a name.
    """
    try:
        lines = decoded(read_bytes(path, MOST_TABLE_BYTES)).splitlines()
    except (OSError, ValueError) as error:
        raise LabelProblem("unreadable label", _short(error)) from error
    return tuple(_yolo_line(line, number, names) for number, line in enumerate(lines, 1) if line.strip())


def _yolo_line(line: str, number: int, names: Mapping[int, str]) -> Annotation:
    words = line.split()
    try:
        kind, values = int(words[0]), [float(word) for word in words[1:]]
    except ValueError:
        kind, values = -1, []
    box = len(values) == 4 and min(values[2:]) > 0
    polygon = len(values) >= 6 and len(values) % 2 == 0
    if kind < 0 or not (box or polygon) or not all(map(math.isfinite, values)):
        expected = "expected 'class cx cy w h' or 'class x y x y x y ...'"
        raise LabelProblem("unreadable label", f"line {number}: {line.strip()[:60]!r}, {expected}")
    if kind not in names:
        raise LabelProblem("unknown class", f"line {number}: class {kind}; data.yaml has {_listed(names)}")
    return Annotation(names[kind], _corners(values) if box else tuple(zip(values[::2], values[1::2], strict=True)))


def _corners(centred: list[float]) -> tuple[tuple[float, float], tuple[float, float]]:
    """Return the upper left and the lower right corner of a box given by its centre, width and height."""
    x, y, width, height = centred
    return (x - width / 2, y - height / 2), (x + width / 2, y + height / 2)


def read_coco(path: Path) -> CocoPart:
    """Return class names and annotations of one part of a COCO export.

    Roboflow's first category is a placeholder for the group of the others: it has the lowest id, no supercategory, and
    its name is the supercategory of the others. It is no class; another category of the same name is one.

    Raises:
        LabelProblem: The whole file is damaged. A problem with one photograph is returned with this photograph.
    """
    try:
        content = read_json(path)
        categories = {int(c["id"]): str(c["name"]) for c in content["categories"]}
        above = {int(c["id"]): str(c.get("supercategory") or "none") for c in content["categories"]}
        images = {int(i["id"]): i for i in content["images"]}
        files = {number: composed(str(image["file_name"])) for number, image in images.items()}
        found: dict[int, list[Mapping[str, Any]]] = {number: [] for number in images}
        for annotation in content["annotations"]:
            found[int(annotation["image_id"])].append(annotation)
    except KeyError as error:
        raise LabelProblem("unreadable label", f"not a COCO file: {error} is missing or unknown") from error
    except (ValueError, TypeError, AttributeError, OverflowError, OSError) as error:
        raise LabelProblem("unreadable label", f"not a readable COCO json file ({_short(error)})") from error
    first = min(categories, default=0)
    grouped = {group for number, group in above.items() if number != first}
    placeholder = above.get(first) == "none" and categories[first] in grouped
    names = {number: name for number, name in categories.items() if not (placeholder and number == first)}
    return CocoPart(
        tuple(names[number] for number in sorted(names)),
        {files[number]: _coco_photograph(image, found[number], names) for number, image in images.items()},
        {files[number]: (image.get("width"), image.get("height")) for number, image in images.items()},
    )


def _coco_photograph(
    image: Mapping[str, Any], annotations: list[Mapping[str, Any]], names: Mapping[int, str]
) -> tuple[Annotation, ...] | LabelProblem:
    """Return the objects of one photograph, or the problem with one of them."""
    try:
        size = float(image["width"]), float(image["height"])
        if not min(size) > 0:
            raise ValueError(f"width and height are {size[0]:g} and {size[1]:g}")
        return tuple(_coco_annotation(annotation, size, names) for annotation in annotations)
    except LabelProblem as problem:
        return problem
    except (ValueError, TypeError, KeyError, OverflowError) as error:
        return LabelProblem("unreadable label", _short(error))


def _coco_annotation(annotation: Mapping[str, Any], size: tuple[float, float], names: Mapping[int, str]) -> Annotation:
    kind = int(annotation["category_id"])
    if kind not in names:
        raise LabelProblem("unknown class", f"category {kind}; the categories are {_listed(names)}")
    points = tuple((x / size[0], y / size[1]) for x, y in _coco_points(annotation))
    if not all(math.isfinite(value) for point in points for value in point):
        raise ValueError(f"bbox {annotation.get('bbox')!r} has values that are not finite")
    polygons = annotation.get("segmentation")
    parts = tuple(len(polygon) // 2 for polygon in polygons) if isinstance(polygons, list) else ()
    return Annotation(names[kind], points, (round(size[0]), round(size[1])), parts if len(parts) > 1 else ())


def _coco_points(annotation: Mapping[str, Any]) -> Iterator[tuple[float, float]]:
    """Yield the corners in pixels: of all polygons if there are any, else of the box."""
    polygons = annotation.get("segmentation")
    if isinstance(polygons, list) and polygons:
        for polygon in polygons:
            values = [float(value) for value in polygon]
            if len(values) < 6 or len(values) % 2:
                raise ValueError(f"a polygon of {len(values)} numbers, expected x y x y x y ...")
            yield from zip(values[::2], values[1::2], strict=True)
        return
    x, y, width, height = (float(value) for value in annotation["bbox"])
    if not (width > 0 and height > 0):
        raise ValueError(f"bbox {annotation['bbox']!r} has no area")
    yield from ((x, y), (x + width, y + height))


def _short(error: Exception) -> str:
    return f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else 'no detail'}"


def _listed(names: Mapping[int, str]) -> str:
    return ", ".join(f"{number} {name}" for number, name in sorted(names.items()))
