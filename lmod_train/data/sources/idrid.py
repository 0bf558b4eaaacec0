"""IDRiD (Porwal et al. 2018): photographs with disc and lesion masks (A), grades (B) and centre points (C)."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import unquote

from lmod_train.core.errors import BadArgument, SourceNotFound
from lmod_train.core.package_data import package_data
from lmod_train.core.raw import open_file
from lmod_train.core.types import OTHER, Dropped, MaskFile, Outline, Sample, SampleStream
from lmod_train.data.sources.base import UNPLACED, Source
from lmod_train.data.sources.clutter import entries, files_below
from lmod_train.data.sources.gaps import gaps, group_of
from lmod_train.data.sources.picture import size_of
from lmod_train.data.sources.sheets import UnreadableSheet, misfit, plain_header, read_sheet
from lmod_train.data.sources.spelling import plain_stem

WIDTH = 4288
"""Width of the published photographs in pixels, to which the lengths of the options refer."""

_PARTS = {"asegmentation": "A", "bdiseasegrading": "B", "clocalization": "C", "clocalisation": "C"}
_SPLITS = {
    **dict.fromkeys(("atrainingset", "trainingset", "training", "train"), "train"),
    **dict.fromkeys(("btestingset", "testingset", "testing", "test"), "test"),
}
_KINDS = {".jpg", ".jpeg", ".png"}
_MASKS = {".tif", ".tiff", ".png"}
_STRUCTURES: dict[str, str] = package_data(__file__, "names.yaml")["idrid_masks"]
_TREE = """\
  <root>/A. Segmentation/1. Original Images/{a. Training Set,b. Testing Set}/IDRiD_01.jpg
  <root>/A. Segmentation/2. All Segmentation Groundtruths/{a. Training Set,b. Testing Set}/5. Optic Disc/IDRiD_01_OD.tif
  <root>/B. Disease Grading/1. Original Images/{a. Training Set,b. Testing Set}/IDRiD_001.jpg
  <root>/B. Disease Grading/2. Groundtruths/a. IDRiD_Disease Grading_Training Labels.csv
  <root>/C. Localization/1. Original Images/{a. Training Set,b. Testing Set}/IDRiD_001.jpg
  <root>/C. Localization/2. Groundtruths/2. Fovea Center Location/IDRiD_Fovea_Center_Training Set_Markups.csv
  one part is enough; folders may be doubled"""

_COMPARED = 64 * 1024  # bytes
_TABLES = ("grades", "optic disc centres", "fovea centres")
_ALWAYS = ("ma", "he", "ex")  # lesions that some photograph of each half has; soft exudates are in half of them

_Place = tuple[str, str]  # split, and stem in lower case


@dataclass(slots=True)
class _Found:
    """Files found in the folders.

    Attributes:
        parts: Parts (A, B, C) with at least one file.
        rows: (kind of table, split) -> stem of each row -> the table; no stems for a table that cannot be read.
    """

    photographs: dict[str, dict[_Place, Path]] = field(default_factory=lambda: {"A": {}, "B": {}, "C": {}})
    masks: dict[_Place, dict[str, Path]] = field(default_factory=dict)
    grades: dict[_Place, dict[str, str]] = field(default_factory=dict)
    points: dict[str, dict[_Place, tuple[float, float] | None]] = field(
        default_factory=lambda: {"fovea": {}, "optic disc": {}}
    )
    parts: set[str] = field(default_factory=set)
    rows: dict[tuple[str, str], dict[str, Path]] = field(default_factory=dict)
    dropped: list[Dropped] = field(default_factory=list)


class Idrid(Source):
    """81 photographs with masks, keys ``A/train/IDRiD_01``, and 516 others, keys ``BC/train/IDRiD_001``.

    Parts B and C contain the same photographs under the same numbers: they give one sample with B's grades (``icdr``,
    ``macular_edema_risk``) and C's centre points. If both parts have the file, the two are compared by length and first
    64 kB; files that differ are listed in dropped.csv and become two samples of one group, ``B/train/IDRiD_001`` with
    the grades and ``C/train/IDRiD_001`` with the points. Part A has its own numbers; some of its photographs are also
    in B and C, which the leakage check of curation reports. No patient numbers are published: each photograph is its
    own group. The test sets of B and C start again at number 1.

    The disc of A is outlined by a mask; A has no fovea. Disc and fovea of B and C are published as points; their boxes
    have the sizes given below, measured on a figure of LMOD to within 20 pixels, and are cut at the image border. How
    LMOD sized the discs without mask is not known. A sample without mask, grade or point is yielded without it and
    listed, as are missing parts, splits, tables and folders of lesions, and rows of a table without a photograph.

    Args:
        root: The folder that contains the parts, or one above it.
        fovea_side: Side of the fovea's box in pixels of a photograph of width `WIDTH`. For photographs of another
            width (from the file's header) lengths are scaled; points are always in the photograph's own pixels.
        disc_size: Width and height of the disc's box in B and C, in the same pixels; None for no disc there.
        lesions: Whether A's masks of microaneurysms, haemorrhages, hard and soft exudates are structures too; one box
            then encloses all lesions of a kind, and a label states whether it has a mask. The task anatomy has their
            words by default; if its `options` are set, they must contain ``lesions: [microaneurysms, haemorrhages, hard
            exudates, soft exudates]`` too.
        part_a: Whether the 81 photographs of part A are used. LMOD counts 516, those of B and C.

    Raises:
        BadArgument: A length is not above 0.

    References:
        Porwal et al., Indian Diabetic Retinopathy Image Dataset (IDRiD), Data 3 (2018) 25.
    """

    name = "idrid"
    modality = "CFP"
    licence = "CC BY 4.0"
    redistributable = True
    reference = "https://doi.org/10.3390/data3030025"
    states_patients = False

    def __init__(
        self,
        root: Path = UNPLACED,
        fovea_side: int = 200,
        disc_size: tuple[int, int] | None = (600, 500),
        lesions: bool = False,
        part_a: bool = True,
    ) -> None:
        super().__init__(root)
        if fovea_side <= 0:
            raise BadArgument("fovea_side", fovea_side, "pixels above 0", "leave it out for 200")
        if disc_size is not None and min(disc_size) <= 0:
            raise BadArgument("disc_size", disc_size, "two lengths above 0, or null", "leave it out for (600, 500)")
        self.fovea_side = fovea_side
        self.disc_size = disc_size
        self.lesions = lesions
        self.part_a = part_a

    @classmethod
    def found_in(cls, folder: Path) -> bool:
        """Return whether this folder, or a subfolder of the same name, contains one of the three parts."""
        doubled = [p for p in entries(folder) if p.is_dir() and p.name == folder.name]
        return any(_plain(p.name) in _PARTS for place in (folder, *doubled) for p in entries(place) if p.is_dir())

    def verify(self) -> None:
        """Check that there is at least one photograph.

        Raises:
            SourceNotFound: There is none; the message prints the expected tree.
        """
        self._walk()

    def samples(self) -> SampleStream:
        """Yield A, then B with C, train before test in order of numbers, then a `Dropped` for each gap and unused file.

        Raises:
            SourceNotFound: As `verify`.
        """
        found = self._walk()
        for place, file in _ordered(found.photographs["A"]):
            kinds = found.masks.get(place, {})
            labels = _lesion_labels(place, found) if self.lesions else {}
            key = f"A/{place[0]}/{file.stem}"
            yield self._taken(key, file, masks=tuple(self._masks(kinds)), labels=labels)
        for place, _ in _ordered(found.photographs["C"] | found.photographs["B"]):
            yield from self._graded(place, found)
        yield from found.dropped
        for part in "ABC" if self.part_a else "BC":
            yield from self._split_gaps(part, found)
        yield from self._mask_gaps(found)
        yield from self._table_gaps(found)

    def _split_gaps(self, part: str, found: _Found) -> Iterator[Dropped]:
        """Yield an entry for a part without files or photographs, and for a split of it without photographs."""
        splits = {split for split, _ in found.photographs[part]}
        if part not in found.parts:
            yield self._absent("folder", part, f"no file of part {part}")
        elif not splits:
            yield self._absent("folder", f"{part}/1. Original Images", f"no photograph in part {part}")
        else:
            for split in (s for s in ("train", "test") if s not in splits):
                yield self._absent("split", f"{part}/{split}", "no photograph of it")
            other = {"B": "C", "C": "B"}.get(part, part)
            twins = {place: file for place, file in found.photographs[other].items() if place[0] in splits}
            named = {f"{part}/{split}/{stem}": file for (split, stem), file in _ordered(twins)}
            held = {f"{part}/{split}/{stem}" for split, stem in found.photographs[part]}
            yield from self._missing("photograph", named, held, f"the file of part {other} is used instead")

    def _mask_gaps(self, found: _Found) -> Iterator[Dropped]:
        """Yield part A's photographs without a disc mask, kinds of lesions without any mask, and masks without one."""
        named = _keys("A", found.photographs["A"], found.masks)
        images = {named[place]: file for place, file in _ordered(found.photographs["A"])}
        having = {kind: {named[place] for place, kinds in found.masks.items() if kind in kinds} for kind in _STRUCTURES}
        yield from self._missing("optic disc mask", images, having["od"])
        for kind in ("ma", "he", "ex", "se"):
            for name, keys in gaps({key: group_of(key) for key in images}, having[kind]).items():
                if name == "all" or (len(keys) > 1 and name != "A" and kind in _ALWAYS):
                    yield self._absent("folder", f"{name}/{_STRUCTURES[kind]}", "no mask of this lesion", "part")
        splits = {split for split, _ in found.photographs["A"]}
        masks = {named[at]: next(iter(kinds.values())) for at, kinds in found.masks.items() if at[0] in splits}
        yield from self._missing("photograph", masks, images, "there is a mask of it", "gone")

    def _table_gaps(self, found: _Found) -> Iterator[Dropped]:
        """Yield missing tables of parts B and C, photographs without a row, and rows without a photograph."""
        known = {place: file for part in "CB" for place, file in found.photographs[part].items()}
        listed = {(split, stem) for (_, split), stems in found.rows.items() for stem in stems}
        keys = _keys("BC", known, listed)
        images = {keys[place]: file for place, file in _ordered(known)}
        named: dict[str, Path] = {}
        for split, kind in ((s, k) for s in ("train", "test") for k in _TABLES):
            own = {key: file for key, file in images.items() if key.split("/")[1] == split}
            stems = found.rows.get((kind, split))
            if stems is None:
                if own and ("B" if kind == "grades" else "C") in found.parts:
                    yield self._absent("table", f"BC/{split}/{kind}", f"{kind} of {len(own)} photographs", "part")
                continue
            rows = {keys[split, stem]: table for stem, table in stems.items()}
            named |= rows if own else {}
            yield from self._missing(f"row of {kind}", own if rows else {}, rows)
        yield from self._missing("photograph", named, images, "a table has a row for it", "gone")

    def _graded(self, place: _Place, found: _Found) -> Iterator[Sample]:
        """Yield the sample of one number in B and C, or one sample each if their photographs differ."""
        files = {part: found.photographs[part][place] for part in "BC" if place in found.photographs[part]}
        file = files["B"] if "B" in files else files["C"]
        key, labels = f"{place[0]}/{file.stem}", found.grades.get(place, {})
        if len(files) == 1 or _same_file(files["B"], files["C"]):
            yield self._taken(f"BC/{key}", file, labels=labels, outlines=self._outlines(place, file, found))
            return
        detail = f"{files['B'].relative_to(self.root).as_posix()} is another image; used as B/{key} and C/{key}"
        found.dropped.append(self._cost(files["C"], "B and C differ", detail))
        outlines = self._outlines(place, files["C"], found)
        yield self._taken(f"B/{key}", file, group=f"BC/{key}", labels=labels)
        yield self._taken(f"C/{key}", files["C"], group=f"BC/{key}", outlines=outlines)

    def _masks(self, kinds: dict[str, Path]) -> Iterator[MaskFile]:
        """Yield the masks that are used; each contains one structure in one colour on black."""
        for kind in _STRUCTURES if self.lesions else ("od",):
            if kind in kinds:
                yield MaskFile(kinds[kind], ({"background": (0,), _STRUCTURES[kind]: OTHER},))

    def _outlines(self, place: _Place, file: Path, found: _Found) -> tuple[Outline, ...]:
        """Return the boxes around a photograph's points; () if its size cannot be read, which curation reports."""
        sides = {"fovea": (self.fovea_side, self.fovea_side)} | (
            {"optic disc": self.disc_size} if self.disc_size else {}
        )
        points = {structure: point for structure in sides if (point := found.points[structure].get(place)) is not None}
        size = size_of(file) if points else None
        if size is None:
            return ()
        outlines = []
        for structure, (x, y) in points.items():
            if not (0 <= x <= size[0] and 0 <= y <= size[1]):
                detail = f"{structure} at ({x:g}, {y:g}) is outside the photograph of {size[0]}x{size[1]} pixels"
                found.dropped.append(self._cost(file, "point outside", f"{detail}; was the photograph resized?"))
                return ()  # the other point then refers to another image size too
            half = [side * size[0] / WIDTH / 2 for side in sides[structure]]
            corner = max(0.0, x - half[0]), max(0.0, y - half[1])
            opposite = min(float(size[0]), x + half[0]), min(float(size[1]), y + half[1])
            outlines.append(Outline(structure, (corner, opposite)))
        return tuple(outlines)

    def _walk(self) -> _Found:
        """Return every file below the root, sorted into photographs, masks, tables and dropped files."""
        found = _Found()
        tables = []
        for file in files_below(self.root):
            folders = [_plain(name) for name in file.relative_to(self.root).parts[:-1]]
            part = next((_PARTS[name] for name in reversed(folders) if name in _PARTS), None)
            split = next((_SPLITS[name] for name in reversed(folders) if name in _SPLITS), None)
            if part == "A" and not self.part_a:
                continue
            found.parts |= {part} if part else set()
            if part is not None and file.suffix.lower() in (".csv", ".xlsx"):
                tables.append(file)
            elif part is not None:
                self._sort(file, part, split, found)
            elif file.suffix.lower() in _KINDS | _MASKS:
                found.dropped.append(self._drop(file, "not of IDRiD"))
        if not any(found.photographs.values()):
            raise SourceNotFound(self.name, self.root, "every photograph (parts A, B and C)", _TREE)
        for file in tables:
            self._table(file, found)
        return found

    def _sort(self, file: Path, part: str, split: str | None, found: _Found) -> None:
        """Add one photograph or mask of a part to `found`."""
        stem, kind = plain_stem(file).strip(), file.suffix.lower()
        mask = re.fullmatch(r"(idrid_\d+)_(ma|he|ex|se|od)", stem)
        if split and part == "A" and mask and kind in _MASKS:
            self._keep_first(found.masks.setdefault((split, mask[1]), {}), mask[2], file, found.dropped)
        elif split and not mask and kind in _KINDS:
            self._keep_first(found.photographs[part], (split, stem), file, found.dropped)
        else:
            found.dropped.append(self._drop(file, "stray file"))

    def _table(self, file: Path, found: _Found) -> None:
        """Read one table, whose kind is recognised by its name."""
        name = plain_header(unquote(file.stem))
        split = "train" if "training" in name else "test" if "testing" in name else None
        if split and "grading" in name:
            self._read(file, ("grades", split), read_grades, found.grades, found)
        elif split and "foveacenter" in name:
            self._read(file, ("fovea centres", split), read_points, found.points["fovea"], found)
        elif split and ("odcenter" in name or "opticdisccenter" in name):
            self._read(file, ("optic disc centres", split), read_points, found.points["optic disc"], found)
        else:
            found.dropped.append(self._drop(file, "stray file"))

    def _read(
        self,
        file: Path,
        place: tuple[str, str],
        read: Callable[[Path], tuple[dict[str, Any], Sequence[str]]],
        into: dict[_Place, Any],
        found: _Found,
    ) -> None:
        """Add the values of one table to `into`, and entries for what cannot be read to `found.dropped`."""
        rows = found.rows.setdefault(place, {})
        try:
            values, problems = read(file)
        except UnreadableSheet as error:
            found.dropped.append(self._cost(file, "unreadable sheet", str(error)))
            return
        found.dropped += self._problems(file, "unreadable row", problems)
        for stem, value in values.items():
            into.setdefault((place[1], stem), value)
            rows.setdefault(stem, file)


def _lesion_labels(place: _Place, found: _Found) -> dict[str, str]:
    """Return lesion -> ``yes`` or ``no`` by its masks; a kind without any mask in the split is unknown."""
    drawn = {kind for (split, _), kinds in found.masks.items() if split == place[0] for kind in kinds}
    own = found.masks.get(place, {})
    return {_STRUCTURES[kind]: "yes" if kind in own else "no" for kind in _STRUCTURES if kind in drawn - {"od"}}


def _keys(part: str, photographs: Mapping[_Place, Path], others: Iterable[_Place]) -> dict[_Place, str]:
    """Return the key of each photograph in a part, spelled as its file, and of places that have none."""
    return {(split, stem): f"{part}/{split}/{stem}" for split, stem in others} | {
        (split, stem): f"{part}/{split}/{file.stem}" for (split, stem), file in photographs.items()
    }


def _ordered(photographs: dict[_Place, Path]) -> list[tuple[_Place, Path]]:
    """Return photographs, train before test, ordered by the number in their name."""

    def order(item: tuple[_Place, Path]) -> tuple[bool, int, str]:
        (split, stem), _ = item
        number = re.search(r"\d+", stem)
        return split == "test", int(number[0]) if number else -1, stem

    return sorted(photographs.items(), key=order)


def _same_file(one: Path, other: Path) -> bool:
    """Return whether two files have the same length and first 64 kB; False if one cannot be read."""
    try:
        if one.stat().st_size != other.stat().st_size:
            return False
        with open_file(one) as first, open_file(other) as second:
            return first.read(_COMPARED) == second.read(_COMPARED)
    except (OSError, ValueError):
        return False


def _plain(name: str) -> str:
    """Return the letters and digits of a folder's name in lower case: ``asegmentation`` for ``A.%20Segmentation``."""
    return plain_header(unquote(name))


_NAMES = ("imagename", "imageno")
_GRADES = {"retinopathygrade": ("icdr", "01234"), "riskofmacularedema": ("macular_edema_risk", "012")}
_AXES = ("xcoordinate", "ycoordinate")

_Value = TypeVar("_Value")


def read_grades(path: Path) -> tuple[dict[str, dict[str, str]], list[str]]:
    """Return stem (lower case) -> ``icdr`` 0 to 4 and ``macular_edema_risk`` 0 to 2, and a message for every problem.

    An empty cell is no grade. A photograph with two rows of different grades gets none.

    Raises:
        UnreadableSheet: The file is damaged, or the column of names or of a grade is missing; the message lists the
            columns.
    """
    found: dict[str, dict[str, str]] = {}
    problems: list[str] = []
    for name, row in _rows(path, tuple(_GRADES), problems):
        grades = {}
        for column, (scale, levels) in _GRADES.items() if row else ():
            value = row[column].removesuffix(".0")
            if value and value not in tuple(levels):
                problems.append(f"{name}: {scale} {row[column]!r} is none of {', '.join(levels)}")
            elif value:
                grades[scale] = value
            else:
                problems.append(f"{name}: no {scale}")
        _keep(found, name, grades, {}, problems)
    return found, problems


def read_points(path: Path) -> tuple[dict[str, tuple[float, float] | None], list[str]]:
    """Return stem (lower case) -> (x, y) in pixels, None if it cannot be read, and a message for every problem.

    Raises:
        UnreadableSheet: The file is damaged, or the column of names or of a coordinate is missing; the message lists
            the columns.
    """
    found: dict[str, tuple[float, float] | None] = {}
    problems: list[str] = []
    for name, row in _rows(path, _AXES, problems):
        point: tuple[float, float] | None = None
        if not row:
            _keep(found, name, None, None, problems)
            continue
        try:
            x, y = (float(row[axis]) for axis in _AXES)
            point = (x, y) if math.isfinite(x) and math.isfinite(y) else None
        except ValueError:
            pass  # reported below, as are infinite numbers
        if point is None:
            problems.append(f"{name}: {row[_AXES[0]]!r}, {row[_AXES[1]]!r} are not two numbers")
        _keep(found, name, point, None, problems)
    return found, problems


def _rows(path: Path, wanted: tuple[str, ...], problems: list[str]) -> list[tuple[str, dict[str, str]]]:
    """Return name and cells of every row with a name; the published tables end with blank rows.

    A row whose values do not fit the columns is added to `problems`, and its cells are {}.
    """
    rows = read_sheet(path)
    columns = list(dict.fromkeys(column for row in rows for column in row if column))
    named = next((name for name in _NAMES if name in columns), "imagename")
    missing = [column for column in (named, *wanted) if column not in columns]
    if missing:
        raise UnreadableSheet(f"no column {', '.join(missing)}; it has {', '.join(columns) or 'none'}")
    problems += [f"{row[named] or 'a row without a name'}: {misfit(row)}" for row in rows if misfit(row)]
    return [(row[named], {} if misfit(row) else row) for row in rows if row[named]]


def _keep(found: dict[str, _Value], name: str, value: _Value, nothing: _Value, problems: list[str]) -> None:
    """Add a value under its stem; two different values of one stem become `nothing`."""
    stem = plain_stem(name)
    if found.setdefault(stem, value) != value:
        problems.append(f"{name}: two rows with different values")
        found[stem] = nothing
