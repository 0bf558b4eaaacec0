"""The four-class eye-diseases set: photographs sorted into one folder a diagnosis."""

from __future__ import annotations

import re
from pathlib import Path

from lmod_train.errors import SourceNotFound
from lmod_train.sources.base import Source
from lmod_train.sources.clutter import entries, files_below
from lmod_train.types import Patient, Sample, SampleStream

_CLASSES = ("cataract", "diabetic_retinopathy", "glaucoma", "normal")
_KINDS = {".jpg", ".jpeg", ".png"}
_SIDED = re.compile(r"(\d+)_(left|right)")
_AUGMENTED = re.compile(r"(_\d+)_\d+")
_TREE = """\
  <root>/dataset/{cataract,diabetic_retinopathy,glaucoma,normal}/*.jpg|*.jpeg|*.png
  <root>/{cataract,diabetic_retinopathy,glaucoma,normal}/*.jpg|*.jpeg|*.png"""


class EyeDiseases(Source):
    """Cataract, diabetic retinopathy, glaucoma and normal eyes; the diagnosis is the folder's name.

    Keys are ``<class folder>/<stem>``. `103_left` and `103_right` are one patient and one group, in whatever class they
    lie. `_85_2405112` and `_85_5757077` of one class are one group as well: names that an augmenting generator gives,
    the same photograph turned twice (seen in the real set). The set gathers others (ODIR, EyePACS), whose patient
    numbers overlap: two patients may share a group, which costs nothing. Any other name is a group of its own.

    The classes differ by origin (file type, crop), so a high score is partly a source effect.
    """

    name = "eye_diseases"
    modality = "CFP"
    licence = "ODbL-1.0 (as stated by a README)"
    redistributable = True
    reference = "https://www.kaggle.com/datasets/gunavenkatdoddi/eye-diseases-classification"

    @classmethod
    def found_in(cls, folder: Path) -> bool:
        """Return whether all four class folders lie here, or one level below in ``dataset`` or a doubled folder."""
        return _class_root(folder) is not None

    def verify(self) -> None:
        """Check that all four class folders are there.

        Raises:
            SourceNotFound: One is missing; the message prints the expected tree.
        """
        if _class_root(self.root) is None:
            places = [p for p in _places(self.root) if any((p / c).is_dir() for c in _CLASSES)] or [self.root]
            missing = [c for c in _CLASSES if not (places[0] / c).is_dir()]
            raise SourceNotFound(self.name, self.root, f"class folder {', '.join(missing)}", _TREE)

    def samples(self) -> SampleStream:
        """Yield one sample a photograph, class by class in order of names, and a `Dropped` for any other file.

        Raises:
            SourceNotFound: As `verify`.
        """
        self.verify()
        base = _class_root(self.root)
        assert base is not None  # verified
        for entry in entries(base):
            if entry.name in _CLASSES and entry.is_dir():
                yield from self._class(entry)
            else:
                for file in files_below(entry) if entry.is_dir() else [entry]:
                    yield self._drop(file, "unknown class folder" if entry.is_dir() else "stray file")

    def _class(self, folder: Path) -> SampleStream:
        """Yield what one class folder holds, once more below itself if the folder is doubled."""
        seen: dict[str, Path] = {}
        for file in files_below(folder):
            if file.parent not in (folder, folder / folder.name) or file.suffix.lower() not in _KINDS:
                yield self._drop(file, "stray file")
            elif file.stem in seen:
                yield self._drop(file, "same key twice", f"the key is taken by {seen[file.stem].name}")
            else:
                seen[file.stem] = file
                yield self._sample(file, folder.name)

    def _sample(self, file: Path, folder: str) -> Sample:
        sided = _SIDED.fullmatch(file.stem)
        augmented = _AUGMENTED.fullmatch(file.stem)
        family = augmented[1] if augmented else file.stem
        return Sample(
            source=self.name,
            key=f"{folder}/{file.stem}",
            modality=self.modality,
            image=file,
            group=sided[1] if sided else f"{folder}/{family}",
            licence=self.licence,
            labels={"diagnosis": folder.replace("_", " ")},
            patient=Patient(laterality=sided[2]) if sided else Patient(),
        )


def _places(folder: Path) -> tuple[Path, ...]:
    """Return where class folders may lie: here, in ``dataset``, in a doubled folder, or in both."""
    return folder, folder / "dataset", folder / folder.name, folder / folder.name / "dataset"


def _class_root(folder: Path) -> Path | None:
    """Return the folder that holds all four class folders, None where none does."""
    return next((p for p in _places(folder) if all((p / c).is_dir() for c in _CLASSES)), None)
