"""Harvard FairSeg (Tian et al. 2024): laser scans of the fundus with disc and cup, one npz file an eye."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from lmod_train.arrays import ArrayProblem, array_names, pickled_names, read_array
from lmod_train.errors import BadArgument, SourceNotFound
from lmod_train.sources.base import UNPLACED, Source
from lmod_train.sources.clutter import entries, files_below, is_folder
from lmod_train.sources.spelling import plain_name
from lmod_train.types import Cut, Dropped, Extent, MaskFile, Patient, Sample, SampleStream

_IMAGE, _MASK = ("slo_fundus", "fundus_slo"), ("disc_cup_mask", "disc_cup")
_AGE, _SEX, _PATIENT = ("age",), ("gender",), ("pid",)
_PARTS = {"all", "training", "train", "validation", "val", "test"}
_SPLITS = {"train": {"training", "train"}, "val": {"validation", "val"}, "test": {"test"}}
_README = {"readme", "data_summary.csv", "data_description.txt", "filter_file.txt"}  # nothing that is read here
_SEXES = {"0": "female", "1": "male"}
_UNKNOWN = {"-1", "", "nan", "none"}
_NUMBERED = re.compile(r"(.*?)(\d+)")
_DAYS_A_YEAR, _OLDEST = 365, 150  # an age above is in days; the publisher's own reader divides by 365
_SIGNED: Mapping[str, tuple[int, ...]] = {"background": (0,), "optic disc": (-1, -2), "optic cup": (-2,)}
_RISING: Mapping[str, tuple[int, ...]] = {"background": (0,), "optic disc": (1, 2), "optic cup": (2,)}
_TREE = """\
  <root>/All/data_00001.npz ... data_10000.npz
  <root>/data_00001.npz ...
  <root>/{Training,Validation,Test}/data_00001.npz ...
  the same one folder down"""


@dataclass(slots=True)
class _Told:
    """What one file says beside its image, and what in it cannot be used."""

    age: float | None = None
    sex: str | None = None
    pid: str = ""
    problems: list[str] = field(default_factory=list)


class FairSeg(Source):
    """The 10,000 laser scans of as many patients; keys ``data_00001``, the files' names in whatever folder.

    Both spellings of the arrays' names are read. An age above 150 is in days. The group is the patient's number
    (``pid``, in files of the older spelling), else the key. A scan without mask is yielded without it and listed;
    so are gaps in the numbers of the files, and one of the three parts that is not there. The image may be of any
    height and width. Of each file only the small arrays are read here.

    Age and sex are carried; race, ethnicity, language and marital status, which the files tell as well, are not: no
    task asks for them, and a record has no place for them.

    Args:
        root: Folder of the dataset.
        cup: ``own`` gives disc and cup a box each; ``merged`` gives one box, the disc's, cup included. LMOD reports
            1.0 box an image and draws both in its figure, so what it did is not known.
        allow_pickle: Your word that these files may be unpickled, by a reader that builds numbers, texts and arrays
            and runs nothing. Public readers all allow pickles; whether the files need it is not known, and one that
            does is listed.

    Raises:
        BadArgument: `cup` is another word.

    References:
        Tian et al., FairSeg: A Large-Scale Medical Image Segmentation Dataset for Fairness Learning Using Segment
        Anything Model with Fair Error-Bound Scaling, ICLR 2024.
    """

    name = "fairseg"
    modality = "SLO"
    licence = "CC BY-NC-ND 4.0"
    redistributable = False  # no derivatives
    reference = "https://github.com/Harvard-Ophthalmology-AI-Lab/FairSeg"

    def __init__(
        self, root: Path = UNPLACED, cup: Literal["own", "merged"] = "own", allow_pickle: bool = False
    ) -> None:
        super().__init__(root)
        if cup not in ("own", "merged"):
            raise BadArgument("cup", cup, "own or merged", "leave it out for a box each of disc and cup")
        self.cup = cup
        self.allow_pickle = allow_pickle

    @classmethod
    def found_in(cls, folder: Path) -> bool:
        """Return whether files with a scan and its mask lie here, in a part of the set below, or in a doubled folder.

        Other sets of the publisher use the same file names, so the names of the first files' arrays are looked at.
        """
        return any(_is_set(place) for place in (folder, folder / folder.name))

    def verify(self) -> None:
        """Check that there is at least one npz file with a scan.

        Raises:
            SourceNotFound: There is none; the message prints the expected trees.
        """
        self._places()

    def samples(self) -> SampleStream:
        """Yield the scans in order of their keys, then a `Dropped` for each file left out and each value not used.

        Raises:
            SourceNotFound: As `verify`.
        """
        taken: dict[str, Path] = {}
        dropped: list[Dropped] = []
        for file in (file for place in self._places() for file in place):
            if file.suffix.lower() != ".npz":
                dropped.append(self._drop(file, "stray file"))
            else:
                self._keep_first(taken, file.stem, file, dropped)
        masked: dict[str, bool] = {}
        for key, file in sorted(taken.items()):
            sample, left = self._read(file)
            if sample:
                masked[key] = bool(sample.masks) or bool(left)
                yield sample
            dropped += left
        yield from dropped
        images = {key: taken[key] for key in masked}
        detail = f"no array {' or '.join(_MASK)}"
        yield from self._missing("mask", images, {key for key in masked if masked[key]}, detail)
        yield from self._files_left(taken)

    def _files_left(self, taken: Mapping[str, Path]) -> Iterator[Dropped]:
        """Yield the files that the numbers of the others leave out, and the parts that are not there."""
        numbered = {int(found[2]): found[1] for key in taken if (found := _NUMBERED.fullmatch(key))}
        width = {len(key) for key in taken}
        if numbered and len(width) == 1:
            stem = next(iter(numbered.values()))
            between = range(min(numbered), max(numbered) + 1)
            named = {f"{stem}{n:0{width.copy().pop() - len(stem)}}": self.root for n in between}
            yield from self._missing("scan", named, taken, "its number lies between those of others", "gone")
        folders = {plain_name(name) for file in taken.values() for name in file.relative_to(self.root).parts[:-1]}
        there = {split for split, names in _SPLITS.items() if names & folders}
        for split in (s for s in _SPLITS if there and s not in there):
            yield self._absent("split", split, f"there is a folder of {' and '.join(sorted(there))}")

    def _read(self, file: Path) -> tuple[Sample | None, list[Dropped]]:
        """Return the sample of one file, None where it has no scan, and what is left out of it."""
        try:
            names = array_names(file)
            pickled = [] if self.allow_pickle else pickled_names(file, (*_IMAGE, *_MASK, *_AGE, *_SEX, *_PATIENT))
        except ArrayProblem as error:
            return None, [self._drop(file, "unreadable file", str(error))]
        left = []
        if pickled:
            detail = (
                f"{', '.join(pickled)}: read only with `allow_pickle: true` of this source, your word for the files"
            )
            extent: Extent = "gone" if _first(_IMAGE, names) in pickled else "part"
            left.append(self._drop(file, "pickled arrays", detail, extent=extent))
        if _first(_IMAGE, names) is None:
            detail = f"no array {' or '.join(_IMAGE)}; it holds {', '.join(names) or 'none'}"
            return None, [*left, self._drop(file, "no scan in it", detail)]
        if _first(_IMAGE, names) in pickled:
            return None, left
        mask = _first(_MASK, names)
        told = _demographics(file, [name for name in names if name not in pickled], self.allow_pickle)
        left += self._problems(file, "unreadable label", told.problems)
        return self._sample(file, told, masked=mask is not None and mask not in pickled), left

    def _sample(self, file: Path, told: _Told, *, masked: bool) -> Sample:
        codings: tuple[Mapping[str, tuple[int, ...]], ...] = (_SIGNED, _RISING)
        if self.cup == "merged":
            codings = tuple({k: v for k, v in coding.items() if k != "optic cup"} for coding in codings)
        cut = Cut(arrays=_MASK, pickled=self.allow_pickle)
        return Sample(
            source=self.name,
            key=file.stem,
            modality=self.modality,
            image=file,
            group=told.pid or file.stem,
            licence=self.licence,
            masks=(MaskFile(file, codings, cut),) if masked else (),
            cut=Cut(arrays=_IMAGE, pickled=self.allow_pickle),
            patient=Patient(age=told.age, sex=told.sex),
        )

    def _places(self) -> list[Iterator[Path]]:
        """Return the files of every part, of the root itself or of the first folder below that holds a part."""
        for folder in (self.root, *(p for p in entries(self.root) if p.is_dir() and plain_name(p.name) not in _README)):
            if _npz_in(folder):
                return [(p for p in entries(folder) if not is_folder(p) and plain_name(p.name) not in _README)] + [
                    files_below(p) for p in entries(folder) if p.is_dir() and plain_name(p.name) in _PARTS
                ]
        raise SourceNotFound(self.name, self.root, "every npz file (data_00001.npz ...)", _TREE)


def _demographics(file: Path, names: list[str], pickled: bool) -> _Told:
    """Read age, sex and patient number of one file, as far as it has them."""
    told = _Told()

    def value(wanted: tuple[str, ...]) -> str:
        """Return the one value of an array as text, empty where there is none."""
        if _first(wanted, names) is None:
            return ""
        try:
            array = read_array(file, wanted, pickled=pickled)
        except ArrayProblem as error:
            told.problems.append(str(error))
            return ""
        if array.size != 1:
            told.problems.append(f"array {wanted[0]}: {array.size} values, expected one")
            return ""
        return _plain_number(str(array.reshape(-1)[0]))

    told.pid = pid if (pid := value(_PATIENT)).casefold() not in _UNKNOWN else ""
    sex = value(_SEX)
    told.sex = _SEXES.get(sex)
    if told.sex is None and sex.casefold() not in _UNKNOWN:
        told.problems.append(f"gender {sex!r}, expected 0 (female), 1 (male) or -1")
    age = value(_AGE)
    if age.casefold() not in _UNKNOWN:
        told.age = _years(age)
        if told.age is None:
            told.problems.append(f"age {age!r}, expected years below 120, or days")
    return told


def _years(text: str) -> float | None:
    """Return an age in years, given in years or days; None for what is no age.

    Example:
        >>> _years("61.5"), _years("22265"), _years("-7"), _years("about 60"), _years("999999")
        (61.5, 61.0, None, None, None)
    """
    try:
        number = float(text)
    except ValueError:
        return None
    years = number / _DAYS_A_YEAR if number > _OLDEST else number
    return years if 0 <= years < 120 else None


def _plain_number(text: str) -> str:
    """Return text without blanks around and without the ``.0`` of a whole number."""
    bare = text.strip()
    return bare.removesuffix(".0") if bare.removesuffix(".0").lstrip("-").isdigit() else bare


def _first(wanted: tuple[str, ...], names: list[str]) -> str | None:
    return next((name for name in wanted if name in names), None)


def _npz_in(folder: Path) -> list[Path]:
    """Return the npz files of a folder and of the parts of the set below it, one level further down too."""
    inside = entries(folder)
    parts = [p for p in inside if p.is_dir() and plain_name(p.name) in _PARTS]
    deeper = [q for p in parts for q in entries(p) if q.is_dir()]
    files = [*inside, *(q for p in (*parts, *deeper) for q in entries(p))]
    return [p for p in files if p.suffix.lower() == ".npz"]


def _is_set(folder: Path, first: int = 5) -> bool:
    """Return whether one of the first npz files has a scan and a mask."""
    for file in _npz_in(folder)[:first]:
        try:
            names = array_names(file)
        except ArrayProblem:
            continue
        if _first(_IMAGE, names) and _first(_MASK, names):
            return True
    return False
