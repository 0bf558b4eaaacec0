"""Base class of Roboflow exports: photographs in train, valid and test with boxes or polygons, as YOLO or COCO."""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar

from lmod_train.core.errors import SourceNotFound
from lmod_train.core.raw import start_of
from lmod_train.core.types import Dropped, Outline, Patient, Sample, SampleStream
from lmod_train.data.sources.base import UNPLACED, Source
from lmod_train.data.sources.clutter import entries, files_below, folders_below
from lmod_train.data.sources.picture import size_differs
from lmod_train.data.sources.roboflow_labels import (
    Annotation,
    CocoPart,
    LabelProblem,
    read_coco,
    read_data_yaml,
    read_yolo,
)
from lmod_train.data.sources.spelling import composed, plain_name

PARTS = ("train", "valid", "val", "test")
_KINDS = {".jpg", ".jpeg", ".png"}
_YAML = ("data.yaml", "data.yml")
_COCO = "_annotations.coco.json"
_UNLABELLED = "no label"  # reason of a photograph without annotations; one entry if a whole part has none
_DEPTH = 3  # number of levels below the root that are searched for the export


@dataclass(frozen=True, slots=True)
class Meaning:
    """Outlines, labels and patient that the annotations of one photograph give, in words of the vocabulary."""

    outlines: tuple[Outline, ...] = ()
    labels: Mapping[str, str] = field(default_factory=dict)
    patient: Patient = field(default_factory=Patient)


@dataclass(frozen=True, slots=True)
class _Export:
    """One export on disk.

    Attributes:
        folder: Folder that contains the parts.
        names: Class names of the whole export.
        project: Short name of the project, empty if the export does not state it.
        numbers: Class number -> name, of a YOLO export.
        coco: Folder of each part -> its annotations or the problem with their file; None for a YOLO export.
    """

    folder: Path
    names: tuple[str, ...]
    project: str = ""
    numbers: Mapping[int, str] = field(default_factory=dict)
    coco: Mapping[Path, CocoPart | LabelProblem] | None = None


class Roboflow(Source):
    """A Roboflow export; keys are ``<part>/<stem>``, e.g. ``train/1348_png.rf.49cf125b39fa261f33f1ee3839be2f5a``.

    Class names are read from the export (``data.yaml`` or COCO categories), never assumed by number. Augmented copies
    of a photograph have the same name before ``.rf.``, which is the group; the export's split is only part of the key.
    A photograph whose annotations are missing, malformed, of an unknown class or for another image size is yielded
    without any and listed in dropped.csv; an empty label file means a photograph without objects. Missing parts and
    labels without a photograph are listed too.

    A subclass recognises its export by project and class names (`_claims`), translates annotations (`_meaning`), and
    states the expected folders (`tree`).
    """

    states_patients = False
    tree: ClassVar[str]

    @classmethod
    @abstractmethod
    def _claims(cls, names: Sequence[str], project: str) -> bool:
        """Return whether an export with these class names and this project (may be empty) is this dataset."""

    @abstractmethod
    def _meaning(self, drawn: Sequence[Annotation]) -> Meaning:
        """Return outlines, labels and patient from the annotations of one photograph.

        Raises:
            LabelProblem: The annotations cannot be used; the photograph is then yielded without any.
        """

    def _accept(self, names: Sequence[str]) -> None:
        """Raise an error if the class names make the whole export unusable; by default any names are accepted."""

    def __init__(self, root: Path = UNPLACED, published: bool = False) -> None:
        super().__init__(root)
        self.published = published

    def is_published(self) -> bool:
        """Return whether the user says so, or the export's own files name the project; class names are anyone's."""
        if self.published:
            return True
        folder = self._exports()[0].folder
        projects = [export.project for export in self._exports()] + _readme_projects(folder)
        return any(project and self._claims((), project) for project in projects)

    @classmethod
    def found_in(cls, folder: Path) -> bool:
        """Return whether this folder, or a subfolder of the same name, is this dataset's export."""
        return any(cls._owns(place) for place in (folder, folder / folder.name))

    def verify(self) -> None:
        """Check that there is an export with readable class names.

        Raises:
            SourceNotFound: There is none; the message prints the expected trees.
            BadArgument: Its class names are unknown, and the source needs them.
        """
        self._accept(self._exports()[0].names)

    def samples(self) -> SampleStream:
        """Yield the samples part by part in order of stems, and a `Dropped` for every unused file.

        Raises:
            SourceNotFound: As `verify`.
            BadArgument: As `verify`.
        """
        export, *others = self._exports()
        self._accept(export.names)
        read: set[Path] = set()
        for part in _parts(export.folder):
            yield from self._part(part, export, read)
        there = {plain_name(part.name) for part in _parts(export.folder)}
        for names in (("train",), ("valid", "val"), ("test",)):
            if not there & set(names):
                yield self._absent("split", names[0], f"no folder {names[0]} in the export")
        for file in files_below(export.folder):
            if file not in read and not _belongs(file, export):
                yield self._drop(file, "stray file")
        for other in others:
            where = export.folder.relative_to(self.root).as_posix()
            yield self._drop(other.folder, "another copy", f"the export in {where} is used")

    def _part(self, part: Path, export: _Export, read: set[Path]) -> SampleStream:
        """Yield the samples and problems of one part; add its files to `read`."""
        labels = self._coco_labels if export.coco is not None else self._yolo_labels
        annotations, problems = labels(part, export, read)
        yield from problems
        taken: dict[str, Path] = {}
        unlabelled: set[str] = set()
        for file in sorted(_photographs(part), key=lambda f: (f.stem, f)):
            read.add(file)
            if file.stem in taken:
                yield self._twice(file, taken[file.stem])
                continue
            taken[file.stem] = file
            try:
                meaning = self._meaning(annotations(file))
            except LabelProblem as problem:
                key, meaning = f"{plain_name(part.name)}/{file.stem}", Meaning()
                unlabelled |= {key} if problem.reason == _UNLABELLED else set()
                if problem.reason not in (_UNLABELLED, ""):
                    yield self._cost(file, problem.reason, problem.detail, key)
            yield self._sample(part, file, meaning)
        images = {f"{plain_name(part.name)}/{stem}": file for stem, file in taken.items()}
        yield from self._missing("label", images, images.keys() - unlabelled)

    def _yolo_labels(
        self, part: Path, export: _Export, read: set[Path]
    ) -> tuple[Callable[[Path], Sequence[Annotation]], list[Dropped]]:
        """Return a function that reads a photograph's label file, and entries for label files without a photograph."""
        inside = {plain_name(p.name): p for p in entries(part) if p.is_dir()}
        files = [p for p in entries(inside.get("labels", part)) if p.suffix.lower() == ".txt"]
        label_of = {composed(file.stem): file for file in files}
        shown = {f"{plain_name(part.name)}/{composed(file.stem)}" for file in _photographs(part)}
        read.update(files)

        def annotations(file: Path) -> tuple[Annotation, ...]:
            label = label_of.get(composed(file.stem))
            if label is None:
                raise LabelProblem(_UNLABELLED, "")
            try:
                return read_yolo(label, export.numbers)
            except LabelProblem as problem:
                raise LabelProblem(problem.reason, f"{label.name}, {problem.detail}") from problem

        named = {f"{plain_name(part.name)}/{composed(file.stem)}": file for file in files}
        return annotations, [*self._missing("photograph", named, shown, "it has a label file", "gone")]

    def _coco_labels(
        self, part: Path, export: _Export, read: set[Path]
    ) -> tuple[Callable[[Path], Sequence[Annotation]], list[Dropped]]:
        """Return a function that looks a photograph up in the part's JSON file, and entries for missing photographs."""
        assert export.coco is not None  # of a COCO export
        coco, json = export.coco.get(part), part / _COCO
        if not isinstance(coco, CocoPart):
            detail = "no photograph of this part has a label"
            absent = self._absent("table", f"{plain_name(part.name)}/{_COCO}", detail, "part", inside=part)
            listed = LabelProblem("", "listed once for the part")
            return lambda file: _raise(listed), [self._cost(json, coco.reason, coco.detail) if coco else absent]
        photographs = coco.photographs
        shown = {f"{plain_name(part.name)}/{composed(file.stem)}" for file in _photographs(part)}

        def annotations(file: Path) -> tuple[Annotation, ...]:
            found = photographs.get(composed(file.name), LabelProblem(_UNLABELLED, ""))
            if differs := size_differs(file, *coco.sizes.get(composed(file.name), (None, None))):
                raise LabelProblem("size differs", differs)
            return _raise(found) if isinstance(found, LabelProblem) else found

        named = {f"{plain_name(part.name)}/{Path(name).stem}": json for name in sorted(photographs)}
        return annotations, [*self._missing("photograph", named, shown, f"it is listed in {_COCO}", "gone")]

    def _sample(self, part: Path, file: Path, meaning: Meaning) -> Sample:
        found = {"labels": meaning.labels, "outlines": meaning.outlines, "patient": meaning.patient}
        group = file.stem.partition(".rf.")[0] or file.stem
        return self._taken(f"{plain_name(part.name)}/{file.stem}", file, group, **found)

    @classmethod
    def _owns(cls, folder: Path) -> bool:
        try:
            export = _read_export(folder)
        except LabelProblem:
            export = None
        if export is None:  # without class names the export is recognised by its readme
            return bool(_parts(folder)) and any(cls._claims((), project) for project in _readme_projects(folder))
        return cls._claims(export.names, export.project)

    def _exports(self) -> list[_Export]:
        """Return this dataset's exports at the root or up to three levels below; else the first other export.

        An export with other class names is accepted because the user named the root, and the meaning of class names is
        an option.
        """
        found: list[_Export] = []
        problems: list[str] = []
        for folder in folders_below(self.root, _DEPTH):
            try:
                export = _read_export(folder)
            except LabelProblem as problem:
                problems.append(f" ({folder.relative_to(self.root).as_posix()}: {problem.reason}, {problem.detail})")
                continue
            if export is not None and any(_photographs(part) for part in _parts(folder)):
                found.append(export)
        own = [export for export in found if self._claims(export.names, export.project)]
        if not found:
            missing = "an export with readable class names and photographs" + "".join(problems[:1])
            raise SourceNotFound(self.name, self.root, missing, self.tree)
        return own or found[:1]


def _raise(problem: LabelProblem) -> tuple[Annotation, ...]:
    raise problem


def _read_export(folder: Path) -> _Export | None:
    """Return the export in this folder itself, None if there is none.

    Raises:
        LabelProblem: There is an export, and its class names cannot be read.
    """
    described = next((p for p in entries(folder) if p.name.casefold() in _YAML and p.is_file()), None)
    if described is not None:
        data = read_data_yaml(described)
        names = tuple(data.names[number] for number in sorted(data.names))
        return _Export(folder, names, data.project, data.names)
    coco = {part: _coco_of(part) for part in _parts(folder) if (part / _COCO).is_file()}
    if not coco:
        return None
    readable = [part for part in coco.values() if isinstance(part, CocoPart)]
    if not readable:
        raise next(problem for problem in coco.values() if isinstance(problem, LabelProblem))
    named = dict.fromkeys(name for part in readable for name in part.names)  # unique, in order
    return _Export(folder, tuple(named), coco=coco)


def _readme_projects(folder: Path) -> list[str]:
    """Return the first name in each readme file of the export, as in ``# cau001`` and ``cau001 - v1 2023-03-31``."""
    first = []
    for file in (p for p in entries(folder) if p.name.casefold().startswith("readme") and p.is_file()):
        with file.open("rb") as opened:
            lines = [line.strip(" #") for line in start_of(opened.read(1000)).splitlines()]
        first += [re.split(" [->] |,", line)[0] for line in lines if line][:1]
    return first


def _coco_of(part: Path) -> CocoPart | LabelProblem:
    try:
        return read_coco(part / _COCO)
    except LabelProblem as problem:
        return problem


def _parts(folder: Path) -> list[Path]:
    """Return the folders of the parts in the order train, valid, test."""
    inside = {plain_name(p.name): p for p in entries(folder) if p.is_dir()}
    return [inside[name] for name in PARTS if name in inside]


def _photographs(part: Path) -> list[Path]:
    """Return the photographs of a part: in ``images`` (YOLO), or in the part itself (COCO)."""
    inside = {plain_name(p.name): p for p in entries(part) if p.is_dir()}
    return [p for p in entries(inside.get("images", part)) if p.suffix.lower() in _KINDS]


def _belongs(file: Path, export: _Export) -> bool:
    """Return whether a file is one of the export's readme or annotation files."""
    if file.parent == export.folder:
        return file.name.casefold() in _YAML or file.name.casefold().startswith("readme")
    return export.coco is not None and file.name == _COCO and file.parent in export.coco
