"""OIMHS (Ye et al. 2023): B-scans of eyes with a macular hole, each side by side with its coloured mask."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal
from urllib.parse import unquote

from lmod_train.core.errors import SourceNotFound, check_one_of
from lmod_train.core.package_data import package_data
from lmod_train.core.types import OTHER, Cut, Dropped, MaskFile, Patient, Sample, SampleStream
from lmod_train.data.sources.base import UNPLACED, Source
from lmod_train.data.sources.clutter import entries, files_below
from lmod_train.data.sources.marked import marked_folder
from lmod_train.data.sources.sheets import UnreadableSheet, misfit, plain_header, read_sheet
from lmod_train.data.sources.spelling import plain_name, years_of

_NAMES = package_data(__file__, "names.yaml")
_COLOURS: Mapping[str, tuple[int, ...]] = {name: (colour,) for name, colour in _NAMES["oimhs_colours"].items()}
_BLACK, _ANY_OTHER = (0,), OTHER
_EYES, _QUALITY = "Demographics of the participants", "Quality Assessment"
_SHEETS = {".xlsx", ".csv"}
_TREE = """\
  <root>/Images/{1 .. 125}/{0.png, 1.png, ...}   (B-scan left, mask right)
  <root>/Demographics of the participants.xlsx   (or .csv)
  <root>/Quality Assessment.xlsx                 (or .csv)
  the same one folder down, e.g. <root>/OIMHS_dataset/Images"""


@dataclass(slots=True)
class _Tables:
    """Content of the two tables, and entries for what could not be used."""

    eyes: dict[str, EyeRow] = field(default_factory=dict)
    quality: dict[tuple[str, str], str] = field(default_factory=dict)
    dropped: list[Dropped] = field(default_factory=list)


class Oimhs(Source):
    """The 3,859 B-scans of 125 eyes with a macular hole; keys ``<eye>/<scan>`` without leading zeros.

    Every scan has the stage of its eye, also a scan beside the hole. Both eyes of a patient are one group; an eye
    without a known patient is its own group. If a table is missing or damaged, this is listed in dropped.csv and the
    images are kept without its labels. The published dataset has 1, 16, 34 and 74 eyes of stage 1 to 4: all scans of
    stage 1 are of one patient.

    Args:
        root: Folder of the dataset.
        other_colours: Treatment of mask colours other than the five published ones: ``refuse`` drops the regions of
            this scan and lists it; ``background`` treats them as background. The few copies examined have none.

    Raises:
        BadArgument: `other_colours` has another value.

    References:
        Ye et al., OIMHS: An Optical Coherence Tomography Image Dataset Based on Macular Hole Manual Segmentation,
        Scientific Data 10 (2023) 769.
    """

    name = "oimhs"
    modality = "OCT"
    licence = "CC BY 4.0 as stated by LMOD; CC0 1.0 as stated of its Figshare page elsewhere"
    redistributable = True
    reference = "https://doi.org/10.6084/m9.figshare.23508453"

    def __init__(self, root: Path = UNPLACED, other_colours: Literal["refuse", "background"] = "refuse") -> None:
        super().__init__(root)
        cure = "leave it out, or set it to background if dropped.csv lists masks with other colours"
        check_one_of("other_colours", other_colours, ("refuse", "background"), cure)
        self.other_colours = other_colours

    @classmethod
    def found_in(cls, folder: Path) -> bool:
        """Return whether this folder or one directly below has ``Images`` with numbered eyes, or has both tables."""
        below = [folder / folder.name]
        if all(any(_is_table(p, title) for p in entries(folder)) for title in (_EYES, _QUALITY)):
            return True  # even without scans, which `verify` then reports
        if any(_is_table(p, _EYES) for p in entries(folder)):
            below = [p for p in entries(folder) if p.is_dir()]
        return any(_images_in(p) for p in (folder, *below))

    def verify(self) -> None:
        """Check that there is at least one numbered scan of a numbered eye.

        Raises:
            SourceNotFound: There is none; the message prints the expected tree.
        """
        self._images()

    def samples(self) -> SampleStream:
        """Yield the scans by number of eye and scan, then a `Dropped` for each unused file and row.

        Raises:
            SourceNotFound: As `verify`.
        """
        images = self._images()
        tables = self._tables(images)
        files: dict[tuple[str, str], Path] = {}
        for place, file in _scans_below(images):
            if isinstance(place, str):
                tables.dropped.append(self._drop(file, "stray file", place))
            else:
                self._keep_first(files, place, file, tables.dropped)
        for place in sorted(files, key=_number):
            yield self._sample(place, files[place], tables)
        yield from tables.dropped
        yield from self._gaps(images, tables, set(files))

    def _sample(self, place: tuple[str, str], file: Path, tables: _Tables) -> Sample:
        row = tables.eyes.get(place[0], EyeRow())
        background = _ANY_OTHER if self.other_colours == "background" else _BLACK
        mask = MaskFile(file, ({"background": background, **_COLOURS},), Cut(half="right"))
        labels = {"macular_hole_stage": row.stage} if row.stage else {}
        patient = Patient(age=row.age, sex=row.sex, laterality=row.laterality, quality=tables.quality.get(place))
        found: dict[str, Any] = {"labels": labels, "masks": (mask,), "cut": Cut(half="left"), "patient": patient}
        return self._taken("/".join(place), file, row.patient or f"eye {place[0]}", **found)

    def _images(self) -> Path:
        folder = marked_folder(self.root, lambda place: _images_in(place) is not None, levels=2)
        if folder is not None and (images := _images_in(folder)) is not None:
            return images
        raise SourceNotFound(self.name, self.root, "every scan (Images/<eye number>/<scan number>.png)", _TREE)

    def _tables(self, images: Path) -> _Tables:
        """Return the content of both tables, from the folders between the root and the images."""
        tables = _Tables()
        beside = [p for p in (images, *images.parents) if p.is_relative_to(self.root)]
        files = [file for folder in beside for file in entries(folder) if not file.is_dir()]
        tables.eyes = self._table(_EYES, read_eyes, files, images, tables)
        tables.quality = self._table(_QUALITY, read_quality, files, images, tables)
        known = [p for p in files if _is_table(p, _EYES) or _is_table(p, _QUALITY) or p.parent == images]
        tables.dropped += [self._drop(p, "stray file") for p in files if p not in known]
        return tables

    def _table(
        self,
        title: str,
        read: Callable[[Path], tuple[dict[Any, Any], list[str]]],
        files: list[Path],
        images: Path,
        tables: _Tables,
    ) -> dict[Any, Any]:
        """Return the content of the first readable table of this title; list the others in `tables.dropped`."""
        taken: Path | None = None
        content: dict[Any, Any] = {}
        named = [p for p in files if _is_table(p, title)]
        for file in sorted(named, key=lambda p: p.suffix.lower() != ".xlsx"):  # the original before a text copy
            if taken is not None:
                detail = f"{taken.relative_to(self.root).as_posix()} is used"
                tables.dropped.append(self._drop(file, "table read already", detail))
                continue
            try:
                content, problems = read(file)
            except UnreadableSheet as error:
                tables.dropped.append(self._cost(file, "unreadable sheet", str(error)))
                continue
            taken = file
            tables.dropped += self._problems(file, "unreadable label", problems)
        if not named:
            detail = f"no {title}.xlsx or .csv beside {images.name}: its labels are unknown"
            tables.dropped.append(self._absent("table", title, detail, "part", images))
        return content

    def _gaps(self, images: Path, tables: _Tables, places: set[tuple[str, str]]) -> Iterator[Dropped]:
        """Yield scans with a row but no file, and eyes and scans without a row."""
        eyes = {eye: images for eye, _ in sorted(places, key=_number)}
        scans = {"/".join(place): images for place in sorted(places, key=_number)}
        rows = {"/".join(place): images for place in sorted(tables.quality, key=_number)}
        rows |= {eye: images for eye in sorted(tables.eyes, key=int) if eye not in {e for e, _ in tables.quality}}
        yield from self._missing("scan", rows, {*scans, *eyes}, "a table has a row for it", "gone")
        if tables.eyes:
            held = {key for key in scans if key.partition("/")[0] in tables.eyes}
            yield from self._missing("demographics", scans, held, f"no row of its eye in {_EYES}", group=_alone)
        if tables.quality:
            yield from self._missing("quality", scans, rows, f"no row in {_QUALITY}", group=_alone)


def _alone(key: str) -> str:
    """Return the group of a scan among gaps: each is named, also where all of its eye lack a row."""
    return ""


def _number(place: tuple[str, str]) -> tuple[int, int]:
    """Return the sort key of a scan: the numbers of eye and scan."""
    return int(place[0]), int(place[1])


def _scans_below(images: Path) -> Iterator[tuple[tuple[str, str] | str, Path]]:
    """Yield every file below ``Images`` but the tables, with its eye and scan number or why it is no scan."""
    for file in files_below(images):
        depth = len(file.relative_to(images).parts)
        if depth == 1 and (_is_table(file, _EYES) or _is_table(file, _QUALITY)):
            continue
        place = integer(file.parent.name), integer(file.stem)
        if "crop" in file.name.casefold():
            yield "a crop ('crop' in its name), made from another image", file
        elif depth in (2, 3) and file.suffix.lower() == ".png" and all(place):
            yield place, file
        else:
            yield "expected Images/<eye number>/<scan number>.png", file


def _is_table(file: Path, title: str) -> bool:
    """Return whether a file is the table of this title, as xlsx or csv."""
    return file.suffix.lower() in _SHEETS and plain_header(unquote(file.stem)) == plain_header(title)


def _images_in(folder: Path) -> Path | None:
    """Return the subfolder ``Images`` if it contains numbered eyes, directly or one level further down; else None."""
    for images in entries(folder):
        if images.is_dir() and plain_name(images.name) == "images":
            inside = [p for p in entries(images) if p.is_dir()]
            if _holds_eyes(inside) or any(_holds_eyes(p for p in entries(sub) if p.is_dir()) for sub in inside):
                return images
    return None


def _holds_eyes(folders: Iterator[Path] | list[Path]) -> bool:
    """Return whether one of the folders is numbered and contains a numbered PNG."""
    return any(
        integer(file.stem) and file.suffix.lower() == ".png"
        for folder in folders
        if integer(folder.name)
        for file in entries(folder)
    )


STAGES = ("1", "2", "3", "4")
_SEXES = {"female": "female", "f": "female", "male": "male", "m": "male"}
_SIDES = {"od": "right", "os": "left"}
_COLUMNS = ("Patient ID", "Eye category", "Age(years)", "Sex", "Stage")
_FLAGS: dict[str, str] = _NAMES["oimhs_flags"]
NO_DEFECT = "no defect noted"
"""Quality of a scan whose three flags are all 0."""

_INTEGER = re.compile(r"0*(\d+)(?:\.0*)?")


@dataclass(frozen=True, slots=True)
class EyeRow:
    """Demographics and stage of one eye; empty or None where there is no readable value."""

    patient: str = ""
    laterality: str | None = None
    age: float | None = None
    sex: str | None = None
    stage: str = ""


def integer(text: str) -> str:
    """Return an integer without leading zeros and ``.0``, an empty string for anything else.

    Example:
        >>> integer("007"), integer("12.0"), integer("0"), integer("1a"), integer("1.5")
        ('7', '12', '0', '', '')
    """
    found = _INTEGER.fullmatch(text.strip())
    return found[1] if found else ""


def read_eyes(path: Path) -> tuple[dict[str, EyeRow], list[str]]:
    """Return eye number -> its demographics, and a message for each value that cannot be used.

    An eye with two different rows is dropped, as it is not known which of them is right.

    Args:
        path: Table with the columns `Patient ID`, `Eye ID`, `Eye category` (OD, OS), `Age(years)`, `Sex` and `Stage`
            (1 to 4); if a column is missing, only its values are.

    Raises:
        UnreadableSheet: The file is damaged or has no column `Eye ID`.
    """
    rows = read_sheet(path, "Eye ID")
    problems = _missing(rows, _COLUMNS)
    eyes: dict[str, EyeRow] = {}
    twice: set[str] = set()
    for at, row in enumerate(rows, start=1):
        eye = "" if misfit(row) else integer(row["eyeid"])
        if not eye:
            problems.append(f"row {at}: {_why_no_number(row, 'Eye ID', row['eyeid'])}")
            continue
        read, unreadable = _eye_row(row)
        problems += [f"eye {eye}: {problem}" for problem in unreadable]
        if eyes.setdefault(eye, read) != read:
            twice.add(eye)
    problems += [f"eye {eye}: rows that differ" for eye in sorted(twice, key=int)]
    return {eye: read for eye, read in eyes.items() if eye not in twice}, problems


def read_quality(path: Path) -> tuple[dict[tuple[str, str], str], list[str]]:
    r"""Return (eye, scan) -> its quality in words, and a message for each row that cannot be used.

    Args:
        path: Table with the columns `Eye ID`, `Image ID`, `Low signal strength`, `Signal shield` and `Image blur`, the
            last three 0 or 1.

    Raises:
        UnreadableSheet: The file is damaged, or one of these columns is missing.

    Example:
        >>> import tempfile
        >>> file = Path(tempfile.mkdtemp()) / "Quality Assessment.csv"
        >>> header = "Eye ID,Image ID,Low signal strength,Signal shield,Image blur"
        >>> _ = file.write_text(header + "\n1,0,1,0,1\n1,1,0,0,0\n")
        >>> read_quality(file)
        ({('1', '0'): 'signal strength low; blurred', ('1', '1'): 'no defect noted'}, [])
    """
    rows = read_sheet(path, "Eye ID")
    missing = _missing(rows, ("Image ID", *_FLAGS))
    if missing:
        raise UnreadableSheet("; ".join(missing))
    found: dict[tuple[str, str], str] = {}
    problems: list[str] = []
    twice: set[tuple[str, str]] = set()
    for at, row in enumerate(rows, start=1):
        scan = integer(row["eyeid"]), integer(row["imageid"].casefold().removesuffix(".png"))
        flags = {words: integer(row[plain_header(column)]) for column, words in _FLAGS.items()}
        if misfit(row) or not all(scan):
            problems.append(f"row {at}: {_why_no_number(row, 'Eye ID, Image ID', (row['eyeid'], row['imageid']))}")
        elif not set(flags.values()) <= {"0", "1"}:
            shown = ", ".join(f"{column} {row[plain_header(column)]!r}" for column in _FLAGS)
            problems.append(f"eye {scan[0]}, scan {scan[1]}: {shown}, expected 0 or 1")
        else:
            quality = "; ".join(words for words, flag in flags.items() if flag == "1") or NO_DEFECT
            if found.setdefault(scan, quality) != quality:
                twice.add(scan)
    problems += [f"eye {eye}, scan {scan}: rows that differ" for eye, scan in sorted(twice)]
    return {scan: quality for scan, quality in found.items() if scan not in twice}, problems


def _missing(rows: list[dict[str, str]], columns: tuple[str, ...]) -> list[str]:
    """Return a message for each missing column; [] for a table without rows."""
    there = rows[0].keys() if rows else {plain_header(column) for column in columns}
    return [f"no column {column!r}" for column in columns if plain_header(column) not in there]


def _why_no_number(row: Mapping[str, str], column: str, value: object) -> str:
    return misfit(row) or f"{column} {value!r} is not an integer"


def _eye_row(row: Mapping[str, str]) -> tuple[EyeRow, list[str]]:
    """Return one row of the demographics, and a message for each value that cannot be used."""
    problems = []
    side, sex = row.get("eyecategory", ""), row.get("sex", "")
    stage, age, patient = row.get("stage", "1"), row.get("ageyears", ""), row.get("patientid", "?")
    years = years_of(age)
    if not patient:
        problems.append("no Patient ID; the eye is a group of its own")
    if integer(stage) not in STAGES:
        problems.append(f"Stage {stage!r}, expected 1, 2, 3 or 4")
    if age and years is None:
        problems.append(f"Age(years) {age!r}, expected a number of years from 0 to below 120")
    if sex and sex.casefold() not in _SEXES:
        problems.append(f"Sex {sex!r}, expected Female or Male")
    if side and side.casefold() not in _SIDES:
        problems.append(f"Eye category {side!r}, expected OD or OS")
    return EyeRow(
        patient=integer(row.get("patientid", "")) or row.get("patientid", ""),
        laterality=_SIDES.get(side.casefold()),
        age=years,
        sex=_SEXES.get(sex.casefold()),
        stage=integer(row.get("stage", "")) if integer(stage) in STAGES else "",
    ), problems
