"""Roboflow's exports: photographs in train, valid and test with boxes or polygons, in YOLO or in COCO flavour."""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar

from lmod_train.errors import SourceNotFound
from lmod_train.sources.base import Source
from lmod_train.sources.clutter import entries, files_below
from lmod_train.sources.picture import size_differs
from lmod_train.sources.roboflow_labels import (
    Annotation,
    CocoPart,
    LabelProblem,
    read_coco,
    read_data_yaml,
    read_yolo,
)
from lmod_train.sources.spelling import plain_name
from lmod_train.types import Dropped, Outline, Patient, Sample, SampleStream

PARTS = ("train", "valid", "val", "test")
_KINDS = {".jpg", ".jpeg", ".png"}
_YAML = ("data.yaml", "data.yml")
_COCO = "_annotations.coco.json"
_LACKING = "no label"  # reason of a photograph without annotations; listed together where a whole part has none
_DEPTH = 3  # levels below a root given by hand at which the export itself may lie


@dataclass(frozen=True, slots=True)
class Meaning:
    """What the annotations of one photograph say in words of the vocabulary."""

    outlines: tuple[Outline, ...] = ()
    labels: Mapping[str, str] = field(default_factory=dict)
    patient: Patient = field(default_factory=Patient)


@dataclass(frozen=True, slots=True)
class _Export:
    """One export on disk.

    Attributes:
        folder: Holds the parts.
        names: Class names of the whole export.
        project: Short name of the project, empty where the export does not state it.
        numbers: Class number -> name, of a YOLO export.
        coco: Part's folder -> its annotations or what is wrong with their file; None for a YOLO export.
    """

    folder: Path
    names: tuple[str, ...]
    project: str = ""
    numbers: Mapping[int, str] = field(default_factory=dict)
    coco: Mapping[Path, CocoPart | LabelProblem] | None = None


class Roboflow(Source):
    """An export of Roboflow; keys are ``<part>/<stem>``, e.g. ``train/1348_png.rf.49cf125b39fa261f33f1ee3839be2f5a``.

    Class names are read from the export (``data.yaml`` or COCO categories), never assumed by number. Augmented copies
    of a photograph share the part of the name before ``.rf.``, which is the group; the export's own split is part of
    the key and nothing more. A photograph whose annotations are missing, malformed, of an unknown class or of another
    image size is yielded without any, and the reason is listed; one whose label file is empty shows nothing, which is
    no fault. Parts that are not there are listed, and labels without a photograph.

    A subclass says by which names an export is its own (`_claims`) and what class names mean (`_meaning`), and states
    the folders it expects (`tree`).
    """

    tree: ClassVar[str]

    @classmethod
    @abstractmethod
    def _claims(cls, names: Sequence[str], project: str) -> bool:
        """Return whether an export with these class names and this project (may be empty) is this source."""

    @abstractmethod
    def _meaning(self, drawn: Sequence[Annotation]) -> Meaning:
        """Return what the annotations of one photograph mean.

        Raises:
            LabelProblem: They cannot be understood; the photograph is then yielded without any.
        """

    def _accept(self, names: Sequence[str]) -> None:
        """Refuse an export whose class names make it useless as a whole, by an error; by default none is."""

    @classmethod
    def found_in(cls, folder: Path) -> bool:
        """Return whether the export here or in a doubled folder is this source's, by its class names or its readme."""
        return any(cls._owns(place) for place in (folder, folder / folder.name))

    def verify(self) -> None:
        """Check that there is an export with readable class names.

        Raises:
            SourceNotFound: There is none; the message prints the expected trees.
            BadArgument: Its class names are unknown and the source cannot do without them.
        """
        self._accept(self._exports()[0].names)

    def samples(self) -> SampleStream:
        """Yield part by part in order of stems, then a `Dropped` for every file left out.

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
            yield self._drop(other.folder, "another copy", f"the export in {where} is the one that is read")

    def _part(self, part: Path, export: _Export, read: set[Path]) -> SampleStream:
        """Yield what one part holds; files that were accounted for are added to `read`."""
        labels = self._coco_labels if export.coco is not None else self._yolo_labels
        annotations, problems = labels(part, export, read)
        yield from problems
        taken: dict[str, Path] = {}
        lacking: set[str] = set()
        for file in sorted(_photographs(part), key=lambda f: (f.stem, f)):
            read.add(file)
            if file.stem in taken:
                yield self._drop(file, "same key twice", f"the key is taken by {taken[file.stem].name}")
                continue
            taken[file.stem] = file
            try:
                meaning = self._meaning(annotations(file))
            except LabelProblem as problem:
                key, meaning = f"{plain_name(part.name)}/{file.stem}", Meaning()
                lacking |= {key} if problem.reason == _LACKING else set()
                if problem.reason not in (_LACKING, ""):
                    yield self._cost(file, problem.reason, problem.detail, key)
            yield self._sample(part, file, meaning)
        images = {f"{plain_name(part.name)}/{stem}": file for stem, file in taken.items()}
        yield from self._missing("label", images, images.keys() - lacking)

    def _yolo_labels(
        self, part: Path, export: _Export, read: set[Path]
    ) -> tuple[Callable[[Path], Sequence[Annotation]], list[Dropped]]:
        """Return a reader of a photograph's label file, and the label files without a photograph."""
        inside = {plain_name(p.name): p for p in entries(part) if p.is_dir()}
        files = [p for p in entries(inside.get("labels", part)) if p.suffix.lower() == ".txt"]
        label_of = {file.stem: file for file in files}
        shown = {f"{plain_name(part.name)}/{file.stem}" for file in _photographs(part)}
        read.update(files)

        def annotations(file: Path) -> tuple[Annotation, ...]:
            if file.stem not in label_of:
                raise LabelProblem(_LACKING, "")
            try:
                return read_yolo(label_of[file.stem], export.numbers)
            except LabelProblem as problem:
                raise LabelProblem(problem.reason, f"{label_of[file.stem].name}, {problem.detail}") from problem

        told = {f"{plain_name(part.name)}/{file.stem}": file for file in files}
        return annotations, [*self._missing("photograph", told, shown, "there is a label of it", "gone")]

    def _coco_labels(
        self, part: Path, export: _Export, read: set[Path]
    ) -> tuple[Callable[[Path], Sequence[Annotation]], list[Dropped]]:
        """Return a reader of a photograph's place in the part's json, and what the json names in vain."""
        assert export.coco is not None  # told by the flavour
        said, json = export.coco.get(part), part / _COCO
        if not isinstance(said, CocoPart):
            detail = "no photograph of this part has a label"
            listed = self._absent("table", f"{plain_name(part.name)}/{_COCO}", detail, "part", inside=part)
            told = LabelProblem("", "in one line for the part")
            return lambda file: _raise(told), [self._cost(json, said.reason, said.detail) if said else listed]
        photographs = said.photographs
        shown = {f"{plain_name(part.name)}/{file.stem}" for file in _photographs(part)}

        def annotations(file: Path) -> tuple[Annotation, ...]:
            found = photographs.get(file.name, LabelProblem(_LACKING, ""))
            if differs := size_differs(file, *said.sizes.get(file.name, (None, None))):
                raise LabelProblem("size differs", differs)
            return _raise(found) if isinstance(found, LabelProblem) else found

        named = {f"{plain_name(part.name)}/{Path(name).stem}": json for name in sorted(photographs)}
        return annotations, [*self._missing("photograph", named, shown, f"{_COCO} names it", "gone")]

    def _sample(self, part: Path, file: Path, meaning: Meaning) -> Sample:
        return Sample(
            source=self.name,
            key=f"{plain_name(part.name)}/{file.stem}",
            modality=self.modality,
            image=file,
            group=file.stem.partition(".rf.")[0] or file.stem,
            licence=self.licence,
            labels=meaning.labels,
            outlines=meaning.outlines,
            patient=meaning.patient,
        )

    @classmethod
    def _owns(cls, folder: Path) -> bool:
        try:
            export = _read_export(folder)
        except LabelProblem:
            export = None
        if export is None:  # its class names are missing; who wrote its readme still says what it is
            return bool(_parts(folder)) and any(cls._claims((), project) for project in _readme_projects(folder))
        return cls._claims(export.names, export.project)

    def _exports(self) -> list[_Export]:
        """Return the exports at the root or a few levels below, this source's own before all others.

        An export of other class names is taken where there is no better one: the root was given by hand, and what the
        names mean is an option.
        """
        found: list[_Export] = []
        problems: list[str] = []
        for folder in _folders(self.root, _DEPTH):
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
    """Return what an export in this very folder says about itself, None where there is none.

    Raises:
        LabelProblem: There is one and its class names cannot be read.
    """
    said = next((p for p in entries(folder) if p.name.casefold() in _YAML and p.is_file()), None)
    if said is not None:
        data = read_data_yaml(said)
        names = tuple(data.names[number] for number in sorted(data.names))
        return _Export(folder, names, data.project, data.names)
    coco = {part: _coco_of(part) for part in _parts(folder) if (part / _COCO).is_file()}
    if not coco:
        return None
    readable = [part for part in coco.values() if isinstance(part, CocoPart)]
    if not readable:
        raise next(problem for problem in coco.values() if isinstance(problem, LabelProblem))
    named = dict.fromkeys(name for part in readable for name in part.names)  # each once, in order
    return _Export(folder, tuple(named), coco=coco)


def _readme_projects(folder: Path) -> list[str]:
    """Return the names that the export's readme files begin with, as in ``# cau001`` and ``cau001 - v1 2023-03-31``."""
    first = []
    for file in (p for p in entries(folder) if p.name.casefold().startswith("readme") and p.is_file()):
        with file.open("rb") as opened:
            lines = [line.strip(" #") for line in opened.read(1000).decode("latin-1").splitlines()]
        first += [re.split(" [->] |,", line)[0] for line in lines if line][:1]
    return first


def _coco_of(part: Path) -> CocoPart | LabelProblem:
    try:
        return read_coco(part / _COCO)
    except LabelProblem as problem:
        return problem


def _folders(folder: Path, depth: int) -> Iterator[Path]:
    """Yield a folder and those below it, level by level, in order of names."""
    level = [folder]
    for _ in range(depth + 1):
        yield from level
        level = [p for f in level for p in entries(f) if p.is_dir() and not p.is_symlink()]


def _parts(folder: Path) -> list[Path]:
    """Return the folders of the parts, training first."""
    inside = {plain_name(p.name): p for p in entries(folder) if p.is_dir()}
    return [inside[name] for name in PARTS if name in inside]


def _photographs(part: Path) -> list[Path]:
    """Return the photographs of a part: in ``images``, or in the part itself as COCO exports have them."""
    inside = {plain_name(p.name): p for p in entries(part) if p.is_dir()}
    return [p for p in entries(inside.get("images", part)) if p.suffix.lower() in _KINDS]


def _belongs(file: Path, export: _Export) -> bool:
    """Return whether a file is the export's own word about itself."""
    if file.parent == export.folder:
        return file.name.casefold() in _YAML or file.name.casefold().startswith("readme")
    return export.coco is not None and file.name == _COCO and file.parent in export.coco
