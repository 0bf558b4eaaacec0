"""Cataract-1K, segmentation subset (Ghamsarian et al. 2024): frames of cataract surgery with outlined structures."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from lmod_train.errors import BadArgument, SourceNotFound
from lmod_train.sources.base import UNPLACED, Source
from lmod_train.sources.cataract_1k_annotations import (
    Sheet,
    UnreadableAnnotations,
    plain_class,
    read_coco,
    read_supervisely,
)
from lmod_train.sources.clutter import entries, files_below, is_folder
from lmod_train.sources.picture import size_differs
from lmod_train.sources.spelling import plain_name
from lmod_train.types import Dropped, Sample, SampleStream
from lmod_train.vocabulary.structures import STRUCTURES

Annotations = Literal["coco", "supervisely"]

_KINDS = {".png", ".jpg", ".jpeg", ".bmp"}
_IMAGES, _COCO = "images-and-supervisely-annotations", "coco-annotations"
_INSIDE = {"img", "ann"}
_DEPTH = 4
_STRUCTURES: Mapping[str, str] = {
    "cornea": "cornea",
    "cornea1": "cornea1",
    "pupil": "pupil",
    "pupil1": "pupil",
    "lens": "lens",
    "slit knife": "slit knife",
    "incision knife": "incision knife",
    "gauge": "gauge",
    "spatula": "spatula",
    "capsulorhexis cystotome": "capsulorhexis cystotome",
    "capsulorhexis forceps": "capsulorhexis forceps",
    "katena forceps": "katena forceps",
    "phacoemulsification tip": "phacoemulsification tip",
    "irrigation aspiration": "irrigation-aspiration",
    "lens injector": "lens injector",
}
_TREE = """\
  dashes or underscores, with or without the folder Annotations:
    <root>/Annotations/Images-and-Supervisely-Annotations/case_5013/img/case5013_01.png
    <root>/Annotations/Images-and-Supervisely-Annotations/case_5013/ann/case5013_01.png.json
    <root>/Annotations/Coco-Annotations/case_5013/annotations/instances.json"""


@dataclass(slots=True)
class _Read:
    """Frames read so far by key, the keys each annotation has, and the keys annotations name with the file they do."""

    frames: dict[str, Path] = field(default_factory=dict)
    in_coco: set[str] = field(default_factory=set)
    in_supervisely: set[str] = field(default_factory=set)
    named: dict[str, Path] = field(default_factory=dict)

    def add(self, key: str, image: Path, *, coco: bool, note: Path | None) -> None:
        """Note a frame, whether COCO has it and its Supervisely file."""
        self.frames[key] = image
        self.in_coco |= {key} if coco else set()
        self.in_supervisely |= {key} if note else set()


class Cataract1K(Source):
    """The 2,256 annotated frames of 30 operations; keys ``case_5013/case5013_01``, the case is the group.

    Every annotation, COCO or Supervisely, is one outline and so one box, also where a frame has several of a class.
    A frame without annotation, with a class that is not known, with an annotation that cannot be read or that states
    another size than the image has, is yielded without any outline and listed: an image of which some structures are
    not marked, or marked elsewhere, would be asked about wrongly. Frames that one of the two annotations leaves out are
    listed, and so are annotated frames that are not there.
    One case's folder holds files named after another number (``case_5315/img/case_53153_04.png``): names are taken as
    they are.

    Args:
        root: Folder that holds the dataset.
        annotations: Which of the two annotations count where a frame has both; the other serves frames that the first
            does not list. Both are published; public readers use either.
        aliases: Class name -> structure, added to the 15 published names; "" leaves a class's annotations out. Case,
            dashes and underscores do not matter. By default ``pupil1`` is read as pupil and ``cornea1`` stays
            cornea1: the options that LMOD+ prints have cornea1 and not pupil1. ``{"pupil1": "pupil1"}`` keeps it
            apart, ``{"cornea1": "cornea"}`` merges that one, too.

    Raises:
        BadArgument: `annotations` is another word, or an alias is no structure of the vocabulary.

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
        if annotations not in ("coco", "supervisely"):
            raise BadArgument("annotations", annotations, "coco or supervisely", "leave it out for coco")
        known = {term.name for term in STRUCTURES} | {""}
        for given, structure in (aliases or {}).items():
            if structure not in known:
                cure = "`lmod_train/vocabulary/structures.py` lists them; '' leaves the class out"
                raise BadArgument(f"aliases[{given!r}]", structure, "a structure of the vocabulary", cure)
        self.annotations = annotations
        self.structures = {**_STRUCTURES, **{plain_class(k): v for k, v in (aliases or {}).items()}}

    @classmethod
    def found_in(cls, folder: Path) -> bool:
        """Return whether the folder of the frames lies here, in ``Annotations`` or in a doubled folder."""
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
        """Yield case by case its frames in order of file names, then what its annotations name in vain.

        Raises:
            SourceNotFound: As `verify`.
        """
        base, *copies = self._frames_root()
        sheets = {_plain(p.name): p for p in self._coco_folders()}
        read = _Read()
        for entry in entries(base):
            folder = _case_folder(entry)
            if folder is not None:
                yield from self._case(entry.name.strip(), folder, sheets.pop(_plain(entry.name), None), read)
            elif entry.name.casefold() != "meta.json":  # the export's own list of classes
                for file in files_below(entry) if is_folder(entry) else [entry]:
                    yield self._drop(file, "stray file")
        for folder in sheets.values():
            yield self._absent("folder", folder.name, "its frames, of which there are annotations")
        yield from self._left(read)
        for copy in copies:
            yield self._drop(copy, "another copy", f"the frames are read from {base.name}")

    def _left(self, read: _Read) -> Iterator[Dropped]:
        """Yield what the frames lack, and the frames that annotations name in vain."""
        yield from self._missing("COCO annotation", read.frames, read.in_coco)
        yield from self._missing("Supervisely annotation", read.frames, read.in_supervisely)
        there = {key.casefold() for key in read.frames}
        vain = {key: file for key, file in read.named.items() if key.casefold() not in there}
        yield from self._missing("frame", read.named, read.named.keys() - vain.keys(), "it is annotated", "gone")

    def _frames_root(self) -> list[Path]:
        """Return the folders of frames, the one that is read first."""
        found = [p for p in _below(self.root, _IMAGES) if _holds_cases(p)]
        if not found:
            raise SourceNotFound(self.name, self.root, "the folder of the frames, sorted into cases", _TREE)
        return found

    def _coco_folders(self) -> list[Path]:
        """Return the COCO folders of the cases, none where there is no COCO."""
        for root in _below(self.root, _COCO):
            cases = [p for p in entries(root) if p.is_dir() and _plain(p.name) != _COCO]  # not where it is doubled
            if cases:
                return cases
        return []

    def _case(self, case: str, folder: Path, coco: Path | None, read: _Read) -> SampleStream:
        """Yield the frames of one case, and what its annotations name in vain."""
        sheet, file, problems = self._coco(coco)
        below = {plain_name(p.name): p for p in entries(folder) if p.is_dir()}
        img, ann = (below.get(name, folder / name) for name in ("img", "ann"))
        notes = {p.name.casefold(): p for p in entries(ann) if p.suffix.lower() == ".json"}
        taken: dict[str, Path] = {}
        inside = entries(img)
        # the set's own kind first, where a copy of another kind lies beside it
        for image in sorted(inside, key=lambda p: (p.stem, p.suffix.lower() != ".png", p.name)):
            if image.suffix.lower() not in _KINDS or not image.is_file():
                for stray in files_below(image) if is_folder(image) else [image]:
                    yield self._drop(stray, "stray file")
            elif image.stem in taken:
                yield self._drop(image, "same key twice", f"the key is taken by {taken[image.stem].name}")
            else:
                taken[image.stem] = image
                note = _note_of(image, notes)
                read.add(f"{case}/{image.stem}", image, coco=not sheet.whole or _tells(sheet, image), note=note)
                yield from self._frame(case, image, sheet, file, note)
        yield from problems
        named = {f"{case}/{name.rpartition('.')[0]}": file or folder for name in sheet.names.values()}
        read.named |= {f"{case}/{Path(p.stem).stem}": p for p in notes.values()} | named
        for beside in entries(folder):
            if beside not in (img, ann):
                for stray in files_below(beside) if is_folder(beside) else [beside]:
                    yield self._drop(stray, "stray file")
        yield from (self._drop(p, "stray file") for p in files_below(ann) if p not in notes.values())

    def _coco(self, folder: Path | None) -> tuple[Sheet, Path | None, list[Dropped]]:
        """Return a case's COCO file read, its place, and what is wrong with it; a damaged one lists no frame."""
        if folder is None:
            return Sheet(), None, []
        files = [p for p in files_below(folder) if p.suffix.lower() == ".json"]
        if not files:
            return Sheet(), None, []
        file = next((p for p in files if p.name.casefold() == "instances.json"), files[0])
        problems = [self._drop(p, "stray file", f"{file.name} is read") for p in files if p != file]
        try:
            sheet = read_coco(file, self.structures)
        except UnreadableAnnotations as error:
            return Sheet(whole=False), file, [*problems, self._cost(file, "unreadable annotation", str(error))]
        return sheet, file, problems + [self._cost(file, "annotation without image", p) for p in sheet.problems]

    def _frame(self, case: str, image: Path, sheet: Sheet, coco: Path | None, note: Path | None) -> SampleStream:
        """Yield one frame with its outlines, and why it has none."""
        key, frame, told = f"{case}/{image.stem}", None, image
        for kind in ("coco", "supervisely") if self.annotations == "coco" else ("supervisely", "coco"):
            if frame is not None:
                break
            if kind == "coco":
                frame, told = sheet.frames.get(image.name.casefold()), coco or image
            elif note is not None:
                try:
                    frame, told = read_supervisely(note, self.structures), note
                except UnreadableAnnotations as error:
                    yield self._cost(note, "unreadable annotation", str(error), key)
        differs = size_differs(image, *frame.size) if frame else ""
        if frame and frame.reason:
            yield self._cost(told, frame.reason, f"{image.name}: {frame.detail}", key)
        elif frame and not frame.outlines:
            yield self._cost(told, "no annotation", f"{image.name} is listed without any", key)
        elif differs:
            yield self._cost(told, "size differs", differs, key)
        yield Sample(
            source=self.name,
            key=key,
            modality=self.modality,
            image=image,
            group=case,
            licence=self.licence,
            outlines=frame.outlines if frame and not differs else (),
        )


def _tells(sheet: Sheet, image: Path) -> bool:
    """Return whether a COCO file lists an image."""
    return image.name.casefold() in sheet.frames


def _note_of(image: Path, notes: Mapping[str, Path]) -> Path | None:
    """Return the Supervisely file of a frame: ``x.png.json``, or ``x.json`` as older exports name it."""
    return notes.get(f"{image.name}.json".casefold()) or notes.get(f"{image.stem}.json".casefold())


def _below(root: Path, name: str) -> list[Path]:
    """Return the folders of a plain name, at most `_DEPTH` levels below `root`, the nearest first."""
    found, level = [], [root]
    for _ in range(_DEPTH):
        level = [p for folder in level for p in entries(folder) if p.is_dir() and _case_folder(p) is None]
        found += [p for p in level if _plain(p.name) == name]
    return found


def _holds_cases(folder: Path) -> bool:
    return any(_case_folder(p) is not None for p in entries(folder))


def _case_folder(folder: Path) -> Path | None:
    """Return the folder that holds a case's ``img`` or ``ann``: this one or its double below; None where none does."""
    return next((p for p in (folder, folder / folder.name) if {plain_name(q.name) for q in entries(p)} & _INSIDE), None)


def _plain(name: str) -> str:
    """Return a name in small letters with dashes, without ``%20``.

    Example:
        >>> _plain("Images_and_Supervisely%20Annotations")
        'images-and-supervisely-annotations'
    """
    return plain_name(name).replace("_", "-").replace(" ", "-")
