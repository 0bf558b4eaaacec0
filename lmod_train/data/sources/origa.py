"""ORIGA(-light) (Zhang et al. 2010): fundus photographs with disc and cup masks and a glaucoma label, three layouts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Literal, get_args

from lmod_train.core.errors import SourceNotFound, check_one_of
from lmod_train.core.types import Cut, Dropped, Fact, MaskFile, Patient, Sample
from lmod_train.data.sources.base import UNPLACED
from lmod_train.data.sources.clutter import entries
from lmod_train.data.sources.marked import marked_folder
from lmod_train.data.sources.sheets import UnreadableSheet, misfit, plain_header, read_sheet
from lmod_train.data.sources.spelling import YES_NO, composed, plain_name
from lmod_train.data.sources.walked import DISC_AND_CUP, WalkedSource, files_with_folders

Masks = Literal["any", "png", "mat"]

_KINDS = {".jpg", ".jpeg", ".png"}
_TABLES = ("origalist", "glaucoma", "binary_labels", "origa_info")  # in order of trust; the last only fills gaps
_LISTS = {"origalist.csv", "origa_info.csv"}
_ANNOTATIONS = "semi-automatic-annotations"
_BESIDE = {"origa", "fundus_train_val_data"}  # folders beside glaucoma.csv in Kaggle's glaucoma-detection
_TREE = """\
  Kaggle's glaucoma-datasets:
    <root>/{Images/001.jpg,Masks/001.png,Semi-automatic-annotations/001.mat,OrigaList.csv,origa_info.csv}
  Kaggle's glaucoma-detection:
    <root>/{glaucoma.csv,ORIGA/ORIGA/{Images/001.jpg,Semi-automatic-annotations/001.mat}}
  the original release:
    <root>/{Images/001.jpg,Semi-automatic-annotations-done-by-doctors-eg-ground-truth/001.mat,binary_labels.xlsx}"""


@dataclass(slots=True)
class _Found:
    """Files found in the folders; masks and labels by `number_of` their photograph.

    Attributes:
        listed: Numbers with a row in a table other than origa_info.csv, which only fills gaps.
        unclear: Numbers with a value that could not be used.
        tables: Tables that could be read.
        damaged: Tables that could not be read.
    """

    photographs: list[Path] = field(default_factory=list)
    masks: dict[str, dict[str, Path]] = field(default_factory=dict)
    labels: dict[str, Entry] = field(default_factory=dict)
    listed: set[str] = field(default_factory=set)
    unclear: set[str] = field(default_factory=set)
    tables: list[Path] = field(default_factory=list)
    damaged: list[Path] = field(default_factory=list)
    dropped: list[Dropped] = field(default_factory=list)


class Origa(WalkedSource[_Found]):
    """The 650 photographs of ORIGA(-light), 168 of them with glaucoma; keys and groups are their numbers, ``001``.

    The keys are the same in all three layouts. No patient numbers are published, so each photograph is its own group.
    A photograph without mask or label is yielded without it and listed in dropped.csv, as are masks and rows without
    a photograph, and a missing kind of mask in Kaggle's layout, which has both. The authors' sets A and B are not in
    every layout and are not used. The folders ``*_Cropped`` and ``*_Square``, whose pixels do not match the masks, are
    ignored. Labels of ``origa_info.csv`` are used only if no other table has one.

    The label column of the original release's ``binary_labels.xlsx`` is not known: the usual names are tried, and a
    table with none of them is listed with its columns.

    Args:
        root: The dataset's folder or one above it.
        masks: ``png`` or ``mat`` reads only the masks of this kind; ``any`` reads png, or mat if there is no png. Both
            contain 0 for background, 1 for rim, 2 for cup, or 0, 128 and 255.
        label_column: Column of the glaucoma label in the tables, in any spelling; by default the first of
            `lmod_train.data.sources.origa.LABELS`.

    Raises:
        BadArgument: `masks` has another value.

    References:
        Zhang et al., ORIGA-light: An online retinal fundus image database for glaucoma analysis and research, IEEE
        EMBC 2010.
    """

    name = "origa"
    modality = "CFP"
    licence = "CC BY 4.0 as stated by LMOD; no longer offered by its first host, as stated elsewhere"
    redistributable = False  # the stricter of the two statements
    reference = "https://doi.org/10.1109/IEMBS.2010.5626137"
    states_patients = False

    def __init__(self, root: Path = UNPLACED, masks: Masks = "any", label_column: str = "") -> None:
        super().__init__(root)
        check_one_of("masks", masks, get_args(Masks), "leave it out for any")
        self.masks = masks
        self.label_column = label_column

    @classmethod
    def found_in(cls, folder: Path) -> bool:
        """Return whether this folder contains photographs with masks or lists, also one level down (doubled folder)."""
        if _is_base(folder):
            return True
        inside = {plain_name(p.name): p for p in entries(folder)}
        if inside.keys() & _LISTS or any(name.startswith(_ANNOTATIONS) for name in inside):  # without photographs
            return True
        below = inside.get("origa")
        if below is None or not (_is_base(below) or _is_base(below / below.name)):
            return False
        folders = {name for name, p in inside.items() if p.is_dir()}
        return plain_name(folder.name) == "origa" or ("glaucoma.csv" in inside and folders <= _BESIDE)

    def _photographs(self, found: _Found) -> Iterator[tuple[str, Path]]:
        """Yield number and file of the photographs, in order of numbers."""
        for file in sorted(found.photographs, key=_order):
            yield number_of(file.name), file

    def _gaps(self, taken: Mapping[str, Sample], found: _Found) -> Iterator[Dropped]:
        """Yield missing masks and labels, masks and rows without a photograph, and missing tables."""
        images = {sample.key: sample.own_image for sample in taken.values()}
        for kind in self._kinds_expected(found):
            held = {sample.key for number, sample in taken.items() if kind in found.masks.get(number, {})}
            yield from self._missing(f"{kind} mask", images, held)
        names = {plain_name(file.name) for file in (*found.tables, *found.damaged)}
        lists = sorted(_LISTS - names) if names & _LISTS else [] if names else ["OrigaList.csv"]
        for name in lists:
            detail = "its labels are unknown" if names else f"no table of labels ({', '.join(_TABLES)})"
            yield self._absent("table", name, detail, "part")
        if found.tables and found.listed | set(found.labels):
            known = {number for number, entry in found.labels.items() if entry.glaucoma}
            labelled = ((found.listed & known) if found.listed else known) | found.unclear
            held = {sample.key for number, sample in taken.items() if number in labelled}
            yield from self._missing("label", images, held, f"not in {', '.join(file.name for file in found.tables)}")
        named = {number: next(iter(kinds.values())) for number, kinds in found.masks.items()}
        named |= {number: found.tables[0] for number in found.listed if number not in named}
        yield from self._missing("photograph", named, taken, "it has a mask or a row in a table", "gone")

    def _kinds_expected(self, found: _Found) -> list[str]:
        """Return the kinds of masks that every photograph should have; both kinds in Kaggle's layout."""
        if self.masks != "any":
            return [self.masks]
        kaggle = any(plain_name(file.name) in _LISTS for file in (*found.tables, *found.damaged))
        there = {kind for kinds in found.masks.values() for kind in kinds}
        return [kind for kind in ("png", "mat") if kaggle or kind in there] or ["mat"]

    def _sample(self, key: str, file: Path, found: _Found) -> Sample:
        entry = found.labels.get(key, Entry())
        masks, patient = tuple(self._mask(found.masks.get(key, {}))), Patient(laterality=entry.laterality)
        labels = {"glaucoma": entry.glaucoma} if entry.glaucoma else {}
        facts = () if entry.ratio is None else (Fact("vcdr", entry.ratio, "ratio", origin="ExpCDR"),)
        return self._taken(file.stem, file, labels=labels, masks=masks, patient=patient, facts=facts)

    def _mask(self, kinds: Mapping[str, Path]) -> Iterator[MaskFile]:
        """Yield the mask that is used, if there is one."""
        for kind in ("png", "mat") if self.masks == "any" else (self.masks,):
            if kind in kinds:
                yield MaskFile(kinds[kind], DISC_AND_CUP, Cut(arrays=("mask",)) if kind == "mat" else Cut())
                return

    def _walk(self) -> _Found:
        """Return the files of the dataset's folder, with the labels of the tables there and in the folders above."""
        found = _Found()
        base = marked_folder(self.root, _is_base)
        for file, folders in files_with_folders(base):
            self._sort(file, folders, found)
        if base is None or not found.photographs:
            raise SourceNotFound(self.name, self.root, "every photograph (Images/001.jpg ...)", _TREE)
        around = [base, *(folder for folder in base.parents if folder.is_relative_to(self.root))]
        tables = [file for folder in around for file in entries(folder) if _rank(file) is not None]
        for file in sorted(tables, key=lambda p: (_rank(p) or 0, p)):
            self._label(file, found)
        return found

    def _sort(self, file: Path, folders: list[str], found: _Found) -> None:
        """Add one file of the dataset's folder to `found`."""
        kind, where = file.suffix.lower(), folders[0] if folders else ""
        if where == "images" and kind in _KINDS:
            found.photographs.append(file)
        elif (where == "masks" and kind == ".png") or (where.startswith(_ANNOTATIONS) and kind == ".mat"):
            kinds = found.masks.setdefault(number_of(file.name), {})
            self._keep_first(kinds, kind[1:], file, found.dropped)
        elif where or _rank(file) is None:
            found.dropped.append(self._drop(file, "stray file"))

    def _label(self, file: Path, found: _Found) -> None:
        """Add the labels of one table; if it cannot be read, the photographs are kept without them."""
        try:
            rows, problems = read_entries(file, self.label_column)
        except UnreadableSheet as error:
            found.dropped.append(self._cost(file, "unreadable sheet", str(error)))
            found.damaged.append(file)
            return
        found.tables.append(file)
        fills = _rank(file) == len(_TABLES) - 1
        found.listed |= set() if fills else set(rows)
        for number, entry in rows.items():
            before = found.labels.get(number, Entry())
            label = entry.glaucoma if before.glaucoma is None else before.glaucoma
            if entry.glaucoma not in (None, label) and not fills:
                problems.append(f"{number}: another table has a different label")
                label = ""
            ratio = before.ratio if before.ratio is not None else entry.ratio
            found.labels[number] = Entry(label, before.laterality or entry.laterality, ratio)
        found.unclear |= {number_of(problem.partition(":")[0]) for problem in problems}
        found.dropped += self._problems(file, "unreadable label", problems)


def _is_base(folder: Path) -> bool:
    """Return whether a folder contains ``Images`` and ORIGA's lists or annotations, or masks and is named ``ORIGA``."""
    inside = {plain_name(p.name) for p in entries(folder)}
    if "images" not in inside:
        return False
    lists = bool(inside & _LISTS) or any(name.startswith(_ANNOTATIONS) for name in inside)
    return lists or (plain_name(folder.name) == "origa" and "masks" in inside)


def _rank(file: Path) -> int | None:
    """Return the index of a table in `_TABLES`, None for any other file."""
    stem = plain_name(file.stem)
    return _TABLES.index(stem) if stem in _TABLES and file.suffix.lower() in (".csv", ".xlsx") else None


def _order(file: Path) -> tuple[int, int, str, Path]:
    """Return the sort key of a photograph: by number, then those without a number by name."""
    number = number_of(file.name)
    return (0, int(number), "", file) if number.isdecimal() else (1, 0, number, file)


NAMES = ("filename", "imagename", "imgname", "image")
LABELS = ("glaucoma", "label", "binarylabels", "binarylabel", "class")

_QUOTES = " \t'\"\u2018\u2019\u201c\u201d"
_SIDES = {"od": "right", "os": "left", "": None}


@dataclass(frozen=True, slots=True)
class Entry:
    """Row of one photograph: glaucoma (``yes``, ``no`` or None), laterality (``left``, ``right`` or None), and ExpCDR.

    The ratio is the vertical cup-to-disc ratio of the experts, 0 to 1; None if not stated.
    """

    glaucoma: str | None = None
    laterality: str | None = None
    ratio: float | None = None


def read_entries(path: Path, label_column: str = "") -> tuple[dict[str, Entry], list[str]]:
    """Return `number_of` each photograph -> its entry, and a message for every value that cannot be used.

    A photograph labelled both 0 and 1 gets no label. An empty cell is no label and no problem.

    Args:
        path: A text table or an xlsx workbook with a column of file names and one of labels.
        label_column: Column of the labels, in any spelling; by default the first of `LABELS` that exists.

    Raises:
        UnreadableSheet: The file is damaged or lacks one of the two columns; the message lists the columns.
    """
    rows = read_sheet(path)
    columns = list(dict.fromkeys(column for row in rows for column in row if column))
    named = _column(columns, NAMES, "file names", "")
    label = _column(columns, (plain_header(label_column),) if label_column else LABELS, "labels", "label_column")
    entries: dict[str, Entry] = {}
    problems: list[str] = []
    twice: set[str] = set()
    for row in rows:
        name = row.get(named, "")
        if not name or misfit(row):
            problems.append(f"{name or 'a row without a file name'}: {misfit(row) or 'cannot be used'}")
            continue
        number, cells = number_of(name), (row.get(label, ""), row.get("eye", ""), row.get("expcdr", ""))
        entry = Entry(*_read(name, *cells, problems))
        before = entries.setdefault(number, entry)
        if before != entry and number not in twice:
            problems.append(f"{name}: two rows with different values")
            twice.add(number)
    return entries | {number: Entry() for number in twice}, problems


def number_of(name: str) -> str:
    r"""Return the number of a photograph without leading zeros, from any spelling of its name; else the name's stem.

    Example:
        >>> [number_of(name) for name in ("001.jpg", "'001.jpg'", "1", r"C:\Images\001.JPG", "x/Scan_A.jpg")]
        ['1', '1', '1', '1', 'scan_a']
    """
    plain = name.strip(_QUOTES).replace("\\", "/")
    stem = composed(PurePosixPath(plain).stem.strip().casefold())
    return str(int(stem)) if stem.isdecimal() and len(stem) < 20 else stem


def _column(columns: Sequence[str], wanted: Sequence[str], what: str, option: str) -> str:
    """Return the first wanted column that exists."""
    found = next((name for name in wanted if name in columns), None)
    if found is None:
        hint = f"; set the option {option} to its name" if option else ""
        held = ", ".join(columns) or "none"
        raise UnreadableSheet(f"no column of {what}; found {held}, expected one of {', '.join(wanted)}{hint}")
    return found


def _read(
    name: str, label: str, eye: str, expert: str, problems: list[str]
) -> tuple[str | None, str | None, float | None]:
    """Return label, laterality and ratio of one row; add values that cannot be used to `problems`."""
    if label and label.casefold() not in YES_NO:
        problems.append(f"{name}: label {label!r} is neither 0 nor 1")
    if eye.casefold() not in _SIDES:
        problems.append(f"{name}: eye {eye!r} is neither OD nor OS")
    ratio = None
    with suppress(ValueError):
        ratio = float(expert) if expert else None
    if expert and (ratio is None or not 0 <= ratio <= 1):
        problems.append(f"{name}: ExpCDR {expert!r} is no ratio from 0 to 1")
        ratio = None
    return YES_NO.get(label.casefold()), _SIDES.get(eye.casefold()), ratio
