"""The four-class eye-diseases dataset: photographs in one folder per diagnosis."""

from __future__ import annotations

import re
from pathlib import Path

from lmod_train.core.errors import SourceNotFound
from lmod_train.core.types import Dropped, Patient, Sample, SampleStream
from lmod_train.data.sources.base import UNPLACED, Source
from lmod_train.data.sources.clutter import entries, files_below
from lmod_train.data.sources.spelling import plain_name

_CLASSES = ("cataract", "diabetic_retinopathy", "glaucoma", "normal")
_PUBLISHED = {"cataract": 1038, "diabetic_retinopathy": 1098, "glaucoma": 1007, "normal": 1074}
_COPIES = {"cataract": 640, "diabetic_retinopathy": 0, "glaucoma": 600, "normal": 0}
"""Photographs of each class in the published set, and the numbered copies among them (``_85_2405112``)."""

_RECOGNISED = 3  # number of class folders by which the dataset is recognised; fewer are enough for a given root
_KINDS = {".jpg", ".jpeg", ".png"}
_SIDED = re.compile(r"(\d+)_(left|right)")
_AUGMENTED = re.compile(r"(_\d+)_\d+")
_TREE = """\
  <root>/dataset/{cataract,diabetic_retinopathy,glaucoma,normal}/*.jpg|*.jpeg|*.png
  <root>/{cataract,diabetic_retinopathy,glaucoma,normal}/*.jpg|*.jpeg|*.png"""


class EyeDiseases(Source):
    """Cataract, diabetic retinopathy, glaucoma and normal eyes; the diagnosis is the folder's name.

    Keys are ``<class folder>/<stem>``, with the folder's name in lower case. Classes without photographs and unknown
    folders are listed in dropped.csv; the dataset has no list of its photographs.

    `103_left` and `103_right` are one patient and one group, also in different classes. `_85_2405112` and `_85_5757077`
    of one class are one group too: such names come from an augmenting generator, and are rotated copies of one
    photograph (seen in the published dataset). The photographs come from other datasets (ODIR, EyePACS) with
    overlapping patient numbers: two patients may share a group, which is harmless. Any other name is its own group.

    The classes differ by origin (file type, crop), so a high score is partly a source effect.

    Four class folders are anyone's layout: the licence holds if there are as many photographs of each class as in the
    published set, with its numbered copies among them, or if the user states it.

    Args:
        root: See `Source`.
        published: Whether the files are those of the published dataset, or a part of it.
    """

    name = "eye_diseases"
    modality = "CFP"
    licence = "ODbL-1.0 (as stated by a README)"
    redistributable = True
    reference = "https://www.kaggle.com/datasets/gunavenkatdoddi/eye-diseases-classification"

    def __init__(self, root: Path = UNPLACED, published: bool = False) -> None:
        super().__init__(root)
        self.published = published

    def is_published(self) -> bool:
        """Return whether the user says so, or the photographs of each class are as many as in the published set."""
        base = _class_root(self.root)
        if self.published or base is None:
            return self.published
        stems = {name: [f.stem for f in files_below(folder)] for name, folder in _classes_in(base).items()}
        copies = {name: sum(_AUGMENTED.fullmatch(stem) is not None for stem in of) for name, of in stems.items()}
        return {name: len(of) for name, of in stems.items()} == _PUBLISHED and copies == _COPIES

    @classmethod
    def found_in(cls, folder: Path) -> bool:
        """Return whether this folder, its ``dataset`` or a subfolder of the same name has at least 3 class folders."""
        return _class_root(folder, _RECOGNISED) is not None

    def verify(self) -> None:
        """Check that there is a class folder.

        Raises:
            SourceNotFound: There is none; the message prints the expected tree.
        """
        if _class_root(self.root) is None:
            raise SourceNotFound(self.name, self.root, f"every class folder ({', '.join(_CLASSES)})", _TREE)

    def samples(self) -> SampleStream:
        """Yield one sample per photograph, class by class in order of names, and a `Dropped` for any other file.

        Raises:
            SourceNotFound: As `verify`.
        """
        self.verify()
        base = _class_root(self.root)
        assert base is not None  # verified
        folders = _classes_in(base)
        for name, folder in folders.items():
            yield from self._class(name, folder)
        for name in _CLASSES:
            if not any(file.suffix.lower() in _KINDS for file in files_below(folders.get(name, base / name))):
                yield self._absent("class", name, f"no photograph in a folder {name}", inside=base)
        around = [p for p in base.parents if p.is_relative_to(self.root)]
        beside = [p for folder in around for p in entries(folder) if not base.is_relative_to(p)]
        for entry in [*entries(base), *beside]:
            if entry not in folders.values():
                yield self._unknown(entry)

    def _unknown(self, entry: Path) -> Dropped:
        """Return the entry for a file or folder beside the class folders."""
        if not entry.is_dir():
            return self._drop(entry, "stray file")
        files = sum(1 for _ in files_below(entry))
        return self._drop(entry, "unknown class folder", f"{files} files; the classes are {', '.join(_CLASSES)}")

    def _class(self, name: str, folder: Path) -> SampleStream:
        """Yield the samples of one class folder, also from a subfolder of the same name."""
        seen: dict[str, Path] = {}
        for file in files_below(folder):
            doubled = plain_name(file.parent.name) == plain_name(folder.name) and file.parent.parent == folder
            if not (file.parent == folder or doubled) or file.suffix.lower() not in _KINDS:
                yield self._drop(file, "stray file")
            elif file.stem in seen:
                yield self._twice(file, seen[file.stem])
            else:
                seen[file.stem] = file
                yield self._sample(file, name)

    def _sample(self, file: Path, folder: str) -> Sample:
        sided = _SIDED.fullmatch(file.stem)
        augmented = _AUGMENTED.fullmatch(file.stem)
        family = augmented[1] if augmented else file.stem
        labels, group = {"diagnosis": folder.replace("_", " ")}, sided[1] if sided else f"{folder}/{family}"
        patient = Patient(laterality=sided[2]) if sided else Patient()
        return self._taken(f"{folder}/{file.stem}", file, group, labels=labels, patient=patient)


def _places(folder: Path) -> tuple[Path, ...]:
    """Return the folders that may contain class folders: this one, ``dataset``, a doubled folder, or both."""
    return folder, folder / "dataset", folder / folder.name, folder / folder.name / "dataset"


def _class_root(folder: Path, least: int = 1) -> Path | None:
    """Return the folder with the most class folders, the outermost of several; None if all have fewer than `least`."""
    held = {place: len(_classes_in(place)) for place in _places(folder)}
    best = max(held, key=lambda place: held[place])
    return best if held[best] >= least else None


def _classes_in(folder: Path) -> dict[str, Path]:
    """Return class -> its folder; case is ignored, and blanks and dashes count as underscores."""
    named = {plain_name(p.name).replace(" ", "_").replace("-", "_"): p for p in entries(folder) if p.is_dir()}
    return {name: named[name] for name in _CLASSES if name in named}
