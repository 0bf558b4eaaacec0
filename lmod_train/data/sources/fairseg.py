"""Harvard FairSeg (Tian et al. 2024): laser scans of the fundus with disc and cup, one npz file per eye."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Literal

from lmod_train.core.arrays import ArrayProblem, array_names, pickled_names, read_array
from lmod_train.core.errors import SourceNotFound, check_one_of
from lmod_train.core.types import Cut, Dropped, Extent, MaskFile, Patient, Sample, SampleStream
from lmod_train.data.sources.base import UNPLACED, Source
from lmod_train.data.sources.clutter import entries, files_below, is_folder
from lmod_train.data.sources.spelling import plain_name

_IMAGE, _MASK = ("slo_fundus", "fundus_slo"), ("disc_cup_mask", "disc_cup")
_AGE, _SEX, _PATIENT = ("age",), ("gender",), ("pid",)
_PARTS = {"all", "training", "train", "validation", "val", "test"}
_SPLITS = {"train": {"training", "train"}, "val": {"validation", "val"}, "test": {"test"}}
_README = {"readme", "data_summary.csv", "data_description.txt", "filter_file.txt"}  # ignored
_SEXES = {"0": "female", "1": "male"}
_UNKNOWN = {"-1", "", "nan", "none"}
_MOST_GAPS = 20  # that are listed one by one
_NUMBERED = re.compile(r"(.*?)(\d+)")
_DAYS_A_YEAR, _OLDEST = 365, 150  # larger ages are in days; the publisher's code divides by 365
_SIGNED: Mapping[str, tuple[int, ...]] = {"background": (0,), "optic disc": (-1, -2), "optic cup": (-2,)}
_RISING: Mapping[str, tuple[int, ...]] = {"background": (0,), "optic disc": (1, 2), "optic cup": (2,)}
_TREE = """\
  <root>/All/data_00001.npz ... data_10000.npz
  <root>/data_00001.npz ...
  <root>/{Training,Validation,Test}/data_00001.npz ...
  the same one folder down"""


@dataclass(slots=True)
class _Demographics:
    """Demographics in one file, and messages about values that cannot be used."""

    age: float | None = None
    sex: str | None = None
    pid: str = ""
    problems: list[str] = field(default_factory=list)


class FairSeg(Source):
    """The 10,000 laser scans of as many patients; keys ``data_00001``, the files' names in any folder.

    Both spellings of the arrays' names are read. An age above 150 is in days. The group is the patient's number
    (``pid``, in files with the older spelling), else the key. A scan without mask is yielded without it and listed in
    dropped.csv, as are gaps in the numbers of the files and missing parts. Images may have any size. Only the small
    arrays of each file are read here.

    Age and sex are used; race, ethnicity, language and marital status, which the files contain too, are not: no task
    asks for them, and records have no fields for them.

    Args:
        root: Folder of the dataset.
        cup: ``own`` gives disc and cup one box each; ``merged`` gives one box around the disc including the cup. LMOD
            reports 1.0 box per image and draws both in its figure, so its choice is not known.
        allow_pickle: Allow these files to be unpickled, by a reader that builds numbers, texts and arrays and runs no
            code. Public readers all allow pickles; whether the files need it is not known. Without it, files with
            pickles are listed.

    Raises:
        BadArgument: `cup` has another value.

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
        check_one_of("cup", cup, ("own", "merged"), "leave it out for one box each of disc and cup")
        self.cup = cup
        self.allow_pickle = allow_pickle

    @classmethod
    def found_in(cls, folder: Path) -> bool:
        """Return whether this folder, its parts or a subfolder of the same name contain scans with masks.

        Other datasets of the publisher use the same file names, so the names of the first files' arrays are compared.
        """
        return any(_is_set(place) for place in (folder, folder / folder.name))

    def verify(self) -> None:
        """Check that there is at least one npz file with a scan.

        Raises:
            SourceNotFound: There is none; the message prints the expected trees.
        """
        self._places()

    def samples(self) -> SampleStream:
        """Yield the scans in order of their keys, then a `Dropped` for each gap, unused file and unused value.

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
        yield from self._gaps(taken)

    def _gaps(self, taken: Mapping[str, Path]) -> Iterator[Dropped]:
        """Yield gaps in the numbers of the files, one entry for each run of missing numbers, and missing parts."""
        numbered = sorted((int(found[2]), key) for key in taken if (found := _NUMBERED.fullmatch(key)))
        if len({len(key) for key in taken}) == 1:
            runs = [(one, other) for one, other in pairwise(numbered) if other[0] - one[0] > 1]
            yield from (self._gap(before, after) for before, after in runs[:_MOST_GAPS])
            if rest := runs[_MOST_GAPS:]:
                missing = sum(other[0] - one[0] - 1 for one, other in rest)
                detail = f"{missing:,} further scans are missing in {len(rest):,} gaps in the numbers of the files"
                yield self._absent("scan", f"{len(rest):,} further gaps", detail)
        folders = {plain_name(name) for file in taken.values() for name in file.relative_to(self.root).parts[:-1]}
        splits = {split for split, names in _SPLITS.items() if names & folders}
        for split in (s for s in _SPLITS if splits and s not in splits):
            yield self._absent("split", split, f"only the folders of {' and '.join(sorted(splits))} exist")

    def _gap(self, before: tuple[int, str], after: tuple[int, str]) -> Dropped:
        """Return the entry for the missing numbers between two files."""
        missing = after[0] - before[0] - 1
        stem = _NUMBERED.fullmatch(before[1])
        prefix = stem[1] if stem else ""
        first, last = (f"{prefix}{n:0{len(before[1]) - len(prefix)}}" for n in (before[0] + 1, after[0] - 1))
        counted = f"{missing:,} scans missing, " if missing > 1 else ""
        name = f"{first} to {last}" if missing > 1 else first
        return self._absent("scan", name, f"{counted}a gap in the numbers of the files")

    def _read(self, file: Path) -> tuple[Sample | None, list[Dropped]]:
        """Return the sample of one file, None if it has no scan, and entries for what cannot be used."""
        try:
            names = array_names(file)
            pickled = [] if self.allow_pickle else pickled_names(file, (*_IMAGE, *_MASK, *_AGE, *_SEX, *_PATIENT))
        except ArrayProblem as error:
            return None, [self._drop(file, "unreadable file", str(error))]
        dropped = []
        if pickled:
            detail = (
                f"{', '.join(pickled)}: if you trust these files, set `allow_pickle: true` in the options of the source"
            )
            extent: Extent = "gone" if _first(_IMAGE, names) in pickled else "part"
            dropped.append(self._drop(file, "pickled arrays", detail, extent=extent))
        if _first(_IMAGE, names) is None:
            detail = f"no array {' or '.join(_IMAGE)}; it contains {', '.join(names) or 'none'}"
            return None, [*dropped, self._drop(file, "no scan in it", detail)]
        if _first(_IMAGE, names) in pickled:
            return None, dropped
        mask = _first(_MASK, names)
        patient = _demographics(file, [name for name in names if name not in pickled], self.allow_pickle)
        dropped += self._problems(file, "unreadable label", patient.problems)
        return self._sample(file, patient, masked=mask is not None and mask not in pickled), dropped

    def _sample(self, file: Path, patient: _Demographics, *, masked: bool) -> Sample:
        codings: tuple[Mapping[str, tuple[int, ...]], ...] = (_SIGNED, _RISING)
        if self.cup == "merged":
            codings = tuple({k: v for k, v in coding.items() if k != "optic cup"} for coding in codings)
        mask = MaskFile(file, codings, Cut(arrays=_MASK, pickled=self.allow_pickle))
        cut, who = Cut(arrays=_IMAGE, pickled=self.allow_pickle), Patient(age=patient.age, sex=patient.sex)
        return self._taken(file.stem, file, patient.pid, masks=(mask,) if masked else (), cut=cut, patient=who)

    def _places(self) -> list[Iterator[Path]]:
        """Return the files of every part, from the root or the first folder below it with npz files."""
        for folder in (self.root, *(p for p in entries(self.root) if p.is_dir() and plain_name(p.name) not in _README)):
            if _npz_in(folder):
                return [(p for p in entries(folder) if not is_folder(p) and plain_name(p.name) not in _README)] + [
                    files_below(p) for p in entries(folder) if p.is_dir() and plain_name(p.name) in _PARTS
                ]
        raise SourceNotFound(self.name, self.root, "every npz file (data_00001.npz ...)", _TREE)


def _demographics(file: Path, names: list[str], pickled: bool) -> _Demographics:
    """Return age, sex and patient number of one file, as far as it has them."""
    found = _Demographics()

    def value(wanted: tuple[str, ...]) -> str:
        """Return the single value of an array as text, empty if there is no such array."""
        if _first(wanted, names) is None:
            return ""
        try:
            array = read_array(file, wanted, pickled=pickled)
        except ArrayProblem as error:
            found.problems.append(str(error))
            return ""
        if array.size != 1:
            found.problems.append(f"array {wanted[0]}: {array.size} values, expected one")
            return ""
        return _plain_number(str(array.reshape(-1)[0]))

    found.pid = pid if (pid := value(_PATIENT)).casefold() not in _UNKNOWN else ""
    sex = value(_SEX)
    found.sex = _SEXES.get(sex)
    if found.sex is None and sex.casefold() not in _UNKNOWN:
        found.problems.append(f"gender {sex!r}, expected 0 (female), 1 (male) or -1")
    age = value(_AGE)
    if age.casefold() not in _UNKNOWN:
        found.age = _years(age)
        if found.age is None:
            found.problems.append(f"age {age!r}, expected years below 120, or days")
    return found


def _years(text: str) -> float | None:
    """Return an age in years, given in years or days; None if it is no age.

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
    """Return text without surrounding blanks and without the ``.0`` of an integer."""
    bare = text.strip()
    return bare.removesuffix(".0") if bare.removesuffix(".0").lstrip("-").isdigit() else bare


def _first(wanted: tuple[str, ...], names: list[str]) -> str | None:
    return next((name for name in wanted if name in names), None)


def _npz_in(folder: Path) -> list[Path]:
    """Return the npz files of a folder, of the parts of the dataset in it, and of the folders in these parts."""
    inside = entries(folder)
    parts = [p for p in inside if p.is_dir() and plain_name(p.name) in _PARTS]
    deeper = [q for p in parts for q in entries(p) if q.is_dir()]
    files = [*inside, *(q for p in (*parts, *deeper) for q in entries(p))]
    return [p for p in files if p.suffix.lower() == ".npz"]


def _is_set(folder: Path, first: int = 5) -> bool:
    """Return whether one of the first npz files has both a scan and a mask."""
    for file in _npz_in(folder)[:first]:
        try:
            names = array_names(file)
        except ArrayProblem:
            continue
        if _first(_IMAGE, names) and _first(_MASK, names):
            return True
    return False
