"""Cataract-1K, segmentation subset (Ghamsarian et al. 2024): frames of cataract surgery with outlined structures."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, get_args

from lmod_train.core import raw
from lmod_train.core.errors import BadArgument, SourceNotFound, check_one_of
from lmod_train.core.package_data import package_data
from lmod_train.core.types import Dropped, Outline, SampleStream
from lmod_train.core.vocabulary.structures import STRUCTURES
from lmod_train.data.sources.base import UNPLACED, Source
from lmod_train.data.sources.clutter import entries, files_below, is_folder
from lmod_train.data.sources.picture import size_differs, stated_size
from lmod_train.data.sources.spelling import composed, plain_class, plain_name

Annotations = Literal["coco", "supervisely"]

_KINDS = {".png", ".jpg", ".jpeg", ".bmp"}
_IMAGES, _COCO = "images-and-supervisely-annotations", "coco-annotations"
_INSIDE = {"img", "ann"}
_DEPTH = 4
_STRUCTURES: Mapping[str, str] = package_data(__file__, "names.yaml")["cataract_1k_classes"]
_TREE = """\
  dashes or underscores, with or without the folder Annotations:
    <root>/Annotations/Images-and-Supervisely-Annotations/case_5013/img/case5013_01.png
    <root>/Annotations/Images-and-Supervisely-Annotations/case_5013/ann/case5013_01.png.json
    <root>/Annotations/Coco-Annotations/case_5013/annotations/instances.json"""


@dataclass(slots=True)
class _Read:
    """Frames read so far.

    Attributes:
        frames: Key -> image file.
        in_coco: Keys of frames that COCO lists.
        in_supervisely: Keys of frames with a Supervisely file.
        named: Key of each frame that annotations name -> the file that names it.
    """

    frames: dict[str, Path] = field(default_factory=dict)
    in_coco: set[str] = field(default_factory=set)
    in_supervisely: set[str] = field(default_factory=set)
    named: dict[str, Path] = field(default_factory=dict)

    def add(self, key: str, image: Path, *, coco: bool, note: Path | None) -> None:
        """Add a frame; `coco` if COCO lists it, `note` its Supervisely file."""
        self.frames[key] = image
        self.in_coco |= {key} if coco else set()
        self.in_supervisely |= {key} if note else set()


class Cataract1K(Source):
    """The 2,256 annotated frames of 30 operations; keys ``case_5013/case5013_01``, the case is the group.

    Every annotation, COCO or Supervisely, gives one outline and so one box, also if a frame has several of a class. A
    frame is yielded without any outline and listed in dropped.csv if it has no annotation, an unknown class, an
    annotation that cannot be read, or another size than the annotations state: questions about an image with unmarked
    or misplaced structures would be wrong. Frames that one of the two annotations lacks are listed, as are annotated
    frames without an image. In one case the files have another number than the folder
    (``case_5315/img/case_53153_04.png``); names are used unchanged.

    Args:
        root: Folder that contains the dataset.
        annotations: Which of the two annotations to use if a frame has both; the other one is used for frames that the
            first does not list. Both are published, and public readers use either.
        aliases: Class name -> structure, added to the 15 published names; "" ignores a class's annotations. Case,
            dashes and underscores are ignored. By default ``pupil1`` is read as pupil and ``cornea1`` stays cornea1, as
            LMOD+ prints cornea1 and not pupil1 among its options. ``{"pupil1": "pupil1"}`` keeps pupil1,
            ``{"cornea1": "cornea"}`` merges cornea1. If the task anatomy has `options` under SS, a structure that they
            lack ends curation in an error.

    Raises:
        BadArgument: `annotations` has another value, or an alias is not a structure of the vocabulary.

    References:
        Ghamsarian et al., Cataract-1K Dataset for Deep-Learning-Assisted Analysis of Cataract Surgery Videos,
        Scientific Data 11 (2024) 373.
    """

    name = "cataract_1k"
    modality = "SS"
    licence = "CC BY 4.0 by its README; research only by the terms of Synapse as stated elsewhere"
    redistributable = False  # the stricter of the two statements
    reference = "https://www.synapse.org/Synapse:syn53395479"

    def __init__(
        self, root: Path = UNPLACED, annotations: Annotations = "coco", aliases: dict[str, str] | None = None
    ) -> None:
        super().__init__(root)
        check_one_of("annotations", annotations, get_args(Annotations), "leave it out for coco")
        known = {term.name for term in STRUCTURES} | {""}
        for given, structure in (aliases or {}).items():
            if structure not in known:
                cure = "`lmod_train/core/vocabulary/structures.toml` lists them; '' ignores the class"
                raise BadArgument(f"aliases[{given!r}]", structure, "a structure of the vocabulary", cure)
        self.annotations = annotations
        self.structures = {**_STRUCTURES, **{plain_class(k): v for k, v in (aliases or {}).items()}}

    @classmethod
    def found_in(cls, folder: Path) -> bool:
        """Return whether this folder, its ``Annotations`` or a subfolder of the same name contains the frames."""
        places = (folder, folder / folder.name)
        inside = [p for place in places for p in entries(place) if p.is_dir()]
        below = [p for sub in inside if _plain(sub.name) == "annotations" for p in entries(sub) if p.is_dir()]
        return any(
            _plain(p.name) == _COCO or (_plain(p.name) == _IMAGES and _holds_cases(p)) for p in (*inside, *below)
        )

    def verify(self) -> None:
        """Check that there is a folder of frames, sorted into cases.

        Raises:
            SourceNotFound: There is none; the message prints the expected tree.
        """
        self._frames_root()

    def samples(self) -> SampleStream:
        """Yield the frames case by case in order of file names, and a `Dropped` for each gap and unused file.

        Raises:
            SourceNotFound: As `verify`.
        """
        base, *copies = self._frames_root()
        coco_of = {_plain(p.name): p for p in self._coco_folders()}
        read = _Read()
        for entry in entries(base):
            folder = _case_folder(entry)
            if folder is not None:
                yield from self._case(entry.name.strip(), folder, coco_of.pop(_plain(entry.name), None), read)
            elif entry.name.casefold() != "meta.json":  # the export's list of classes
                for file in files_below(entry) if is_folder(entry) else [entry]:
                    yield self._drop(file, "stray file")
        for folder in coco_of.values():
            yield self._absent("folder", folder.name, "there are annotations, but no folder of frames")
        yield from self._gaps(read)
        for copy in copies:
            yield self._drop(copy, "another copy", f"the frames of {base.name} are used")

    def _gaps(self, read: _Read) -> Iterator[Dropped]:
        """Yield frames without an annotation, and annotated frames without an image."""
        yield from self._missing("COCO annotation", read.frames, read.in_coco)
        yield from self._missing("Supervisely annotation", read.frames, read.in_supervisely)
        keys = {composed(key.casefold()) for key in read.frames}
        held = {key for key in read.named if composed(key.casefold()) in keys}
        yield from self._missing("frame", read.named, held, "it is annotated", "gone")

    def _frames_root(self) -> list[Path]:
        """Return the folders of frames; the first is used."""
        found = [p for p in _below(self.root, _IMAGES) if _holds_cases(p)]
        if not found:
            raise SourceNotFound(self.name, self.root, "the folder of the frames, sorted into cases", _TREE)
        return found

    def _coco_folders(self) -> list[Path]:
        """Return the COCO folders of the cases; [] without COCO annotations."""
        for root in _below(self.root, _COCO):
            cases = [p for p in entries(root) if p.is_dir() and _plain(p.name) != _COCO]  # not a doubled folder
            if cases:
                return cases
        return []

    def _case(self, case: str, folder: Path, coco: Path | None, read: _Read) -> SampleStream:
        """Yield the frames of one case, and an entry for every unused file."""
        content, file, problems = self._coco(coco)
        below = {plain_name(p.name): p for p in entries(folder) if p.is_dir()}
        img, ann = (below.get(name, folder / name) for name in ("img", "ann"))
        notes = {composed(p.name.casefold()): p for p in entries(ann) if p.suffix.lower() == ".json"}
        taken: dict[str, Path] = {}
        inside = entries(img)
        # PNG, the dataset's own format, before copies in other formats
        for image in sorted(inside, key=lambda p: (p.stem, p.suffix.lower() != ".png", p.name)):
            if image.suffix.lower() not in _KINDS or not image.is_file():
                for stray in files_below(image) if is_folder(image) else [image]:
                    yield self._drop(stray, "stray file")
            elif image.stem in taken:
                yield self._twice(image, taken[image.stem])
            else:
                taken[image.stem] = image
                note = _note_of(image, notes)
                in_coco = not content.readable or composed(image.name.casefold()) in content.frames
                read.add(f"{case}/{image.stem}", image, coco=in_coco, note=note)
                yield from self._frame(case, image, content, file, note)
        yield from problems
        named = {f"{case}/{name.rpartition('.')[0]}": file or folder for name in content.names.values()}
        read.named |= {f"{case}/{Path(p.stem).stem}": p for p in notes.values()} | named
        for beside in entries(folder):
            if beside not in (img, ann):
                for stray in files_below(beside) if is_folder(beside) else [beside]:
                    yield self._drop(stray, "stray file")
        yield from (self._drop(p, "stray file") for p in files_below(ann) if p not in notes.values())

    def _coco(self, folder: Path | None) -> tuple[CocoFile, Path | None, list[Dropped]]:
        """Return content and path of a case's COCO file, and its problems; a damaged file has no frames."""
        if folder is None:
            return CocoFile(), None, []
        files = [p for p in files_below(folder) if p.suffix.lower() == ".json"]
        if not files:
            return CocoFile(), None, []
        file = next((p for p in files if p.name.casefold() == "instances.json"), files[0])
        problems = [self._drop(p, "stray file", f"{file.name} is used") for p in files if p != file]
        try:
            content = read_coco(file, self.structures)
        except UnreadableAnnotations as error:
            return CocoFile(readable=False), file, [*problems, self._cost(file, "unreadable annotation", str(error))]
        return content, file, problems + [self._cost(file, "annotation without image", p) for p in content.problems]

    def _frame(self, case: str, image: Path, content: CocoFile, coco: Path | None, note: Path | None) -> SampleStream:
        """Yield the reason if a frame has no outlines, and the sample of the frame."""
        key, frame, read_from = f"{case}/{image.stem}", None, image
        for kind in ("coco", "supervisely") if self.annotations == "coco" else ("supervisely", "coco"):
            if frame is not None:
                break
            if kind == "coco":
                frame, read_from = content.frames.get(composed(image.name.casefold())), coco or image
            elif note is not None:
                try:
                    frame, read_from = read_supervisely(note, self.structures), note
                except UnreadableAnnotations as error:
                    yield self._cost(note, "unreadable annotation", str(error), key)
        differs = size_differs(image, *frame.size) if frame else ""
        size = stated_size(*frame.size) if frame else None
        if frame and frame.reason:
            yield self._cost(read_from, frame.reason, f"{image.name}: {frame.detail}", key)
        elif frame and not frame.outlines:
            yield self._cost(read_from, "no annotation", f"{image.name} is listed without any", key)
        elif differs:
            yield self._cost(read_from, "size differs", differs, key)
        outlines = frame.outlines if frame and not differs else ()
        yield self._taken(key, image, case, outlines=tuple(replace(o, drawn_on=size) for o in outlines))


def _note_of(image: Path, notes: Mapping[str, Path]) -> Path | None:
    """Return the Supervisely file of a frame: ``x.png.json``, or ``x.json`` as in older exports."""
    return notes.get(composed(f"{image.name}.json".casefold())) or notes.get(composed(f"{image.stem}.json".casefold()))


def _below(root: Path, name: str) -> list[Path]:
    """Return the folders with a given plain name, at most `_DEPTH` levels below `root`, the nearest first."""
    found, level = [], [root]
    for _ in range(_DEPTH):
        level = [p for folder in level for p in entries(folder) if p.is_dir() and _case_folder(p) is None]
        found += [p for p in level if _plain(p.name) == name]
    return found


def _holds_cases(folder: Path) -> bool:
    return any(_case_folder(p) is not None for p in entries(folder))


def _case_folder(folder: Path) -> Path | None:
    """Return the folder with a case's ``img`` or ``ann``: this one or its subfolder of the same name; else None."""
    return next((p for p in (folder, folder / folder.name) if {plain_name(q.name) for q in entries(p)} & _INSIDE), None)


def _plain(name: str) -> str:
    """Return a name in lower case, percent-decoded, with dashes for underscores and blanks.

    Example:
        >>> _plain("Images_and_Supervisely%20Annotations")
        'images-and-supervisely-annotations'
    """
    return plain_name(name).replace("_", "-").replace(" ", "-")


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
