"""G1020 (Bajwa et al. 2020): fundus photographs, outlines in labelme's JSON, and a glaucoma label."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, get_args

from lmod_train.core.errors import SourceNotFound, check_one_of
from lmod_train.core.raw import read_json
from lmod_train.core.types import Dropped, MaskFile, Outline, Sample
from lmod_train.data.sources.base import UNPLACED
from lmod_train.data.sources.clutter import entries
from lmod_train.data.sources.marked import marked_folder
from lmod_train.data.sources.picture import size_differs, stated_size
from lmod_train.data.sources.sheets import UnreadableSheet, misfit, read_sheet
from lmod_train.data.sources.spelling import YES_NO, plain_name, plain_stem
from lmod_train.data.sources.walked import DISC_AND_CUP, WalkedSource, files_with_folders

Annotations = Literal["json", "masks"]

DiscFrom = Literal["disc", "discLoc"]

_LISTS = {"g1020.csv", "g1020.xlsx"}

_KINDS = {".jpg", ".jpeg", ".png"}

_TREE = """\
  <root>/{G1020.csv,Images/image_0.jpg,Images/image_0.json,Masks/image_0.png}
  <root>/G1020/{G1020.csv,Images/...,Masks/...}"""


@dataclass(slots=True)
class _Found:
    """Files found in the folders; outlines, masks and labels by stem in lower case.

    Attributes:
        table: The list of labels, None if it is missing.
        unclear: Stems whose label in the list cannot be used; all stems if the list cannot be read.
    """

    photographs: list[Path] = field(default_factory=list)
    outlines: dict[str, Path] = field(default_factory=dict)
    masks: dict[str, Path] = field(default_factory=dict)
    labels: dict[str, str] = field(default_factory=dict)
    table: Path | None = None
    unclear: set[str] = field(default_factory=set)
    dropped: list[Dropped] = field(default_factory=list)


class G1020(WalkedSource[_Found]):
    """The 1,020 photographs of G1020, 296 of them with glaucoma; keys are the stems, ``image_0``, with gaps.

    The photographs are of 432 patients, but no patient numbers are published: each photograph is its own group, and a
    patient may be in several splits. The cup is outlined in 790 photographs; in the others only the disc is.

    If a photograph's JSON file is missing or cannot be used, its mask is used, and this is listed in dropped.csv. A
    photograph without either, or without label, is yielded without it and listed. The JSON files may be beside the
    photographs or in their own folder. ``*_Cropped``, ``*_Square`` and ``NerveRemoved_Images`` are ignored.

    Args:
        root: The dataset's folder or one above it.
        annotations: ``json`` as above, or ``masks`` for the masks only. The coding of a mask is recognised by its
            values: 0, 1, 2 or 0, 128, 255 for background, rim and cup; the authors state neither. Curation lists a mask
            of 0 and one other value that would be a cup without rim, as its meaning is not known.
        disc_from: Shape of the JSON file that is the disc: the outline ``disc`` or the box ``discLoc``, which
            is known from one reader's text only.

    Raises:
        BadArgument: `annotations` or `disc_from` has another value.

    References:
        Bajwa et al., G1020: A benchmark retinal fundus image dataset for computer-aided glaucoma detection, IJCNN 2020.
    """

    name = "g1020"
    modality = "CFP"
    licence = "CC BY-NC 4.0 as stated by LMOD; CC BY 4.0 as stated elsewhere"
    redistributable = False  # the stricter of the two statements: not for every purpose
    reference = "https://arxiv.org/abs/2006.09158"
    states_patients = False

    def __init__(self, root: Path = UNPLACED, annotations: Annotations = "json", disc_from: DiscFrom = "disc") -> None:
        super().__init__(root)
        check_one_of("annotations", annotations, get_args(Annotations), "leave it out for json")
        check_one_of("disc_from", disc_from, get_args(DiscFrom), "leave it out for disc")
        self.annotations = annotations
        self.disc_from = disc_from

    @classmethod
    def found_in(cls, folder: Path) -> bool:
        """Return whether this folder, or a subfolder of the same name, contains the photographs or their list."""
        here = _is_base(folder) or any(plain_name(p.name) in _LISTS for p in entries(folder))
        return here or (plain_name(folder.name) == "g1020" and any(map(_is_base, _same(folder))))

    def _photographs(self, found: _Found) -> Iterator[tuple[str, Path]]:
        """Yield stem (lower case) and file of the photographs, in order of numbers."""
        for file in sorted(found.photographs, key=_order):
            yield plain_stem(file), file

    def _gaps(self, taken: Mapping[str, Sample], found: _Found) -> Iterator[Dropped]:
        """Yield missing outlines, masks and labels, and those without a photograph."""
        images = {stem: sample.own_image for stem, sample in taken.items()}
        if self.annotations == "json":
            yield from self._missing("outline", images, found.outlines, "the mask is used, if there is one")
        yield from self._missing("mask", images, found.masks)
        if found.table is None:
            yield self._absent("table", "G1020.csv", "labels are unknown", "part")
        else:
            labelled = {stem for stem, label in found.labels.items() if label} | found.unclear
            yield from self._missing("label", images, labelled, f"no label in {found.table.name}")
        listed = dict.fromkeys(found.labels, found.table) if found.table else {}
        named = listed | found.masks | found.outlines
        yield from self._missing("photograph", named, taken, "it has an outline, a mask or a row in the table", "gone")

    def _sample(self, key: str, file: Path, found: _Found) -> Sample:
        label, mask = found.labels.get(key), found.masks.get(key)
        outlines = self._outlines(key, file, found) if self.annotations == "json" else ()
        masks = (MaskFile(mask, DISC_AND_CUP),) if mask and not outlines else ()
        labels = {"glaucoma": label} if label else {}
        return self._taken(file.stem, file, labels=labels, masks=masks, outlines=outlines)

    def _outlines(self, stem: str, image: Path, found: _Found) -> tuple[Outline, ...]:
        """Return disc and cup from a photograph's JSON file; () if it is missing or cannot be used."""
        path = found.outlines.get(stem)
        names = {"disc": "optic disc", "cup": "optic cup", "discloc": ""}
        if self.disc_from == "discLoc":
            names |= {"disc": "", "discloc": "optic disc"}
        if path is None:
            return ()
        try:
            content = read_labelme(path)
            stated = content.get("imageWidth"), content.get("imageHeight")
            if differs := size_differs(image, *stated):
                found.dropped.append(self._cost(path, "size differs", differs, key=path.stem))
                return ()
            return outlines_of(shapes_of(content), names, stated_size(*stated))
        except UnreadableShapes as error:
            found.dropped.append(self._cost(path, "unreadable outline", str(error), key=path.stem))
            return ()

    def _walk(self) -> _Found:
        """Return the files of the dataset's folder, with the labels of the list."""
        found = _Found()
        base = marked_folder(self.root, _is_base)
        for file, folders in files_with_folders(base):
            if "nerveremoved_images" not in folders:
                self._sort(file, folders, found)
        if base is None or not found.photographs:
            raise SourceNotFound(self.name, self.root, "every photograph (Images/image_0.jpg ...)", _TREE)
        for file in (file for file in entries(base) if plain_name(file.name) in _LISTS):
            self._label(file, found)
        return found

    def _sort(self, file: Path, folders: list[str], found: _Found) -> None:
        """Add one file to `found`."""
        kind, where = file.suffix.lower(), folders[0] if folders else ""
        if where == "images" and kind in _KINDS:
            found.photographs.append(file)
        elif where == "masks" and kind == ".png":
            self._keep_first(found.masks, plain_stem(file), file, found.dropped)
        elif where and kind == ".json":
            self._keep_first(found.outlines, plain_stem(file), file, found.dropped)
        elif where or plain_name(file.name) not in _LISTS:
            found.dropped.append(self._drop(file, "stray file"))

    def _label(self, path: Path, found: _Found) -> None:
        """Add the labels of the list; if it cannot be read, the photographs are kept without labels."""
        found.table = path
        try:
            rows = read_sheet(path)
            missing = {"imageid", "binarylabels"} - {column for row in rows for column in row}
            if missing:
                raise UnreadableSheet(f"no column {' and '.join(sorted(missing))}")
        except UnreadableSheet as error:
            found.dropped.append(self._cost(path, "unreadable sheet", str(error)))
            found.unclear |= {plain_stem(file) for file in found.photographs}
            return
        problems = [problem for row in rows if (problem := _enter(row, found.labels))]
        found.unclear |= {plain_stem(problem.partition(":")[0]) for problem in problems}
        found.dropped += self._problems(path, "unreadable label", problems)


def _enter(row: Mapping[str, str], labels: dict[str, str]) -> str:
    """Add the label of one row of the list to `labels`, and return what is wrong with the row; empty for nothing."""
    name, value = row["imageid"], row["binarylabels"]
    stem, word = plain_stem(name), YES_NO.get(value.casefold(), "")
    if not stem:
        return f"a row without imageID: label {value!r}"
    if labels.setdefault(stem, "" if misfit(row) else word) != word and not misfit(row):
        labels[stem] = ""
        return f"{name}: labelled both 0 and 1"
    if misfit(row):
        return f"{name}: {misfit(row)}"
    return f"{name}: label {value!r} is neither 0 nor 1" if value and not word else ""


def _is_base(folder: Path) -> bool:
    """Return whether a folder contains ``Images`` and another file or folder that only G1020 has."""
    inside = {plain_name(p.name) for p in entries(folder)}
    named = plain_name(folder.name) == "g1020" and "masks" in inside
    return "images" in inside and (named or bool(_LISTS & inside) or "nerveremoved_images" in inside)


def _same(folder: Path) -> list[Path]:
    """Return the folders of the same name one level below."""
    return [p for p in entries(folder) if p.is_dir() and plain_name(p.name) == plain_name(folder.name)]


def _order(file: Path) -> tuple[int, str, Path]:
    """Return the sort key of a photograph: the number in its name, then the name."""
    number = re.search(r"\d+", file.stem)
    return int(number[0]) if number else -1, file.stem, file


# Reading of outlines from JSON files of the annotation program LabelMe.
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
