"""ORIGA(-light) (Zhang et al. 2010): fundus photographs with disc and cup masks and a glaucoma label, three layouts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, get_args

from lmod_train.errors import BadArgument, SourceNotFound
from lmod_train.sources.base import UNPLACED, Source
from lmod_train.sources.clutter import entries, files_below
from lmod_train.sources.marked import marked_folder
from lmod_train.sources.origa_labels import Entry, number_of, read_entries
from lmod_train.sources.sheets import UnreadableSheet
from lmod_train.sources.spelling import plain_name
from lmod_train.types import Cut, Dropped, MaskFile, Patient, Sample, SampleStream

Masks = Literal["any", "png", "mat"]

_KINDS = {".jpg", ".jpeg", ".png"}
_TABLES = ("origalist", "glaucoma", "binary_labels", "origa_info")  # in order of trust; the last only fills gaps
_LISTS = {"origalist.csv", "origa_info.csv"}
_DRAWN = "semi-automatic-annotations"
_BESIDE = {"origa", "fundus_train_val_data"}  # what a layout with a loose glaucoma.csv holds besides
_CODINGS: tuple[Mapping[str, tuple[int, ...]], ...] = (
    {"background": (0,), "optic disc": (1, 2), "optic cup": (2,)},  # 1 is the rim: the disc is rim and cup
)
_TREE = """\
  Kaggle's glaucoma-datasets:
    <root>/{Images/001.jpg,Masks/001.png,Semi-automatic-annotations/001.mat,OrigaList.csv,origa_info.csv}
  Kaggle's glaucoma-detection:
    <root>/{glaucoma.csv,ORIGA/ORIGA/{Images/001.jpg,Semi-automatic-annotations/001.mat}}
  the original release:
    <root>/{Images/001.jpg,Semi-automatic-annotations-done-by-doctors-eg-ground-truth/001.mat,binary_labels.xlsx}"""


@dataclass(slots=True)
class _Found:
    """What one walk has found; masks and labels by `number_of` their photograph.

    `told` are the numbers that a table other than the fallback, origa_info.csv, speaks of; `unclear` those of which a
    value could not be used. `tables` are those that could be read, `damaged` the others.
    """

    photographs: list[Path] = field(default_factory=list)
    masks: dict[str, dict[str, Path]] = field(default_factory=dict)
    labels: dict[str, Entry] = field(default_factory=dict)
    told: set[str] = field(default_factory=set)
    unclear: set[str] = field(default_factory=set)
    tables: list[Path] = field(default_factory=list)
    damaged: list[Path] = field(default_factory=list)
    dropped: list[Dropped] = field(default_factory=list)


class Origa(Source):
    """The 650 photographs of ORIGA(-light), 168 of them with glaucoma; keys and groups are their numbers, ``001``.

    The keys are the same in all three layouts. No patient numbers are published, so each photograph is its own group.
    A photograph without mask or label is yielded without it and listed; so is a mask or a table's row without
    photograph, and one kind of mask where Kaggle's layout, which has both, lacks it. The sets A and B of the authors
    are not in every layout and take no part. ``*_Cropped`` and ``*_Square``, whose pixels do not fit the masks, are
    passed over. Labels of ``origa_info.csv`` count only where no other table has one.

    Of the original release's ``binary_labels.xlsx`` no public reader names the column of labels: the usual names are
    tried, and a table with none of them is listed with the columns it has.

    Args:
        root: The dataset's folder or one of those around it.
        masks: ``png`` or ``mat`` reads the masks of that kind alone; ``any`` the png and, where there is none, the mat.
            Both hold 0 background, 1 rim, 2 cup.
        label_column: Column of the glaucoma label in the tables, in any spelling; by default the first of
            `lmod_train.sources.origa_labels.LABELS`.

    Raises:
        BadArgument: `masks` is another word.

    References:
        Zhang et al., ORIGA-light: An online retinal fundus image database for glaucoma analysis and research, IEEE
        EMBC 2010.
    """

    name = "origa"
    modality = "CFP"
    licence = "CC BY 4.0 as stated by LMOD; no longer offered by its first host, as stated elsewhere"
    redistributable = False  # the stricter of the two statements
    reference = "https://doi.org/10.1109/IEMBS.2010.5626137"

    def __init__(self, root: Path = UNPLACED, masks: Masks = "any", label_column: str = "") -> None:
        super().__init__(root)
        if masks not in get_args(Masks):
            raise BadArgument("masks", masks, f"one of {', '.join(get_args(Masks))}", "leave it out for any")
        self.masks = masks
        self.label_column = label_column

    @classmethod
    def found_in(cls, folder: Path) -> bool:
        """Return whether photographs and masks or lists lie here, or in a doubled folder, or below a glaucoma.csv."""
        if _is_base(folder):
            return True
        inside = {plain_name(p.name): p for p in entries(folder)}
        if inside.keys() & _LISTS or any(name.startswith(_DRAWN) for name in inside):  # the photographs are missing
            return True
        below = inside.get("origa")
        if below is None or not (_is_base(below) or _is_base(below / below.name)):
            return False
        folders = {name for name, p in inside.items() if p.is_dir()}
        return plain_name(folder.name) == "origa" or ("glaucoma.csv" in inside and folders <= _BESIDE)

    def verify(self) -> None:
        """Check that there is at least one photograph.

        Raises:
            SourceNotFound: There is none; the message prints the expected trees.
        """
        self._walk()

    def samples(self) -> SampleStream:
        """Yield the photographs in order of their numbers, then a `Dropped` for each file and row left out.

        Raises:
            SourceNotFound: As `verify`.
        """
        found = self._walk()
        taken: dict[str, Path] = {}
        for file in sorted(found.photographs, key=_order):
            if self._keep_first(taken, number_of(file.name), file, found.dropped):
                yield self._sample(file, found)
        yield from found.dropped
        yield from self._left(taken, found)

    def _left(self, taken: Mapping[str, Path], found: _Found) -> Iterator[Dropped]:
        """Yield what the photographs lack, what has no photograph, and which tables are not there."""
        images = {file.stem: file for file in taken.values()}
        for kind in self._kinds_expected(found):
            held = {file.stem for number, file in taken.items() if kind in found.masks.get(number, {})}
            yield from self._missing(f"{kind} mask", images, held)
        names = {plain_name(file.name) for file in (*found.tables, *found.damaged)}
        lists = sorted(_LISTS - names) if names & _LISTS else [] if names else ["OrigaList.csv"]
        for name in lists:
            detail = "its labels are unknown" if names else f"no table of labels ({', '.join(_TABLES)})"
            yield self._absent("table", name, detail, "part")
        if found.tables and found.told | set(found.labels):
            known = {number for number, entry in found.labels.items() if entry.glaucoma}
            told = ((found.told & known) if found.told else known) | found.unclear
            held = {file.stem for number, file in taken.items() if number in told}
            yield from self._missing("label", images, held, f"not in {', '.join(file.name for file in found.tables)}")
        vain = {number: next(iter(kinds.values())) for number, kinds in found.masks.items()}
        vain |= {number: found.tables[0] for number in found.told if number not in vain}
        yield from self._missing("photograph", vain, taken, "a mask or a table names it", "gone")

    def _kinds_expected(self, found: _Found) -> list[str]:
        """Return the kinds of masks that should be there: those read that any photograph has, both in Kaggle's set."""
        if self.masks != "any":
            return [self.masks]
        kaggle = any(plain_name(file.name) in _LISTS for file in (*found.tables, *found.damaged))
        there = {kind for kinds in found.masks.values() for kind in kinds}
        return [kind for kind in ("png", "mat") if kaggle or kind in there] or ["mat"]

    def _sample(self, file: Path, found: _Found) -> Sample:
        number = number_of(file.name)
        entry = found.labels.get(number, Entry())
        return Sample(
            source=self.name,
            key=file.stem,
            modality=self.modality,
            image=file,
            group=file.stem,
            licence=self.licence,
            labels={"glaucoma": entry.glaucoma} if entry.glaucoma else {},
            masks=tuple(self._mask(found.masks.get(number, {}))),
            patient=Patient(laterality=entry.laterality),
        )

    def _mask(self, kinds: Mapping[str, Path]) -> Iterator[MaskFile]:
        """Yield the one mask that counts, if there is one."""
        for kind in ("png", "mat") if self.masks == "any" else (self.masks,):
            if kind in kinds:
                yield MaskFile(kinds[kind], _CODINGS, Cut(arrays=("mask",)) if kind == "mat" else Cut())
                return

    def _walk(self) -> _Found:
        """Sort what lies in the dataset's own folder; read the tables there and in the folders around it."""
        found = _Found()
        base = marked_folder(self.root, _is_base)
        if base is not None:
            for file in files_below(base):
                folders = [plain_name(name) for name in file.relative_to(base).parts[:-1]]
                if not any(name.endswith(("_cropped", "_square")) for name in folders):
                    self._sort(file, folders, found)
        if base is None or not found.photographs:
            raise SourceNotFound(self.name, self.root, "every photograph (Images/001.jpg ...)", _TREE)
        around = [base, *(folder for folder in base.parents if folder.is_relative_to(self.root))]
        tables = [file for folder in around for file in entries(folder) if _rank(file) is not None]
        for file in sorted(tables, key=lambda p: (_rank(p) or 0, p)):
            self._label(file, found)
        return found

    def _sort(self, file: Path, folders: list[str], found: _Found) -> None:
        """Put one file of the dataset's own folder where it belongs."""
        kind, where = file.suffix.lower(), folders[0] if folders else ""
        if where == "images" and kind in _KINDS:
            found.photographs.append(file)
        elif (where == "masks" and kind == ".png") or (where.startswith(_DRAWN) and kind == ".mat"):
            kinds = found.masks.setdefault(number_of(file.name), {})
            if kind[1:] in kinds:
                detail = f"the mask is taken by {kinds[kind[1:]].relative_to(self.root).as_posix()}"
                found.dropped.append(self._drop(file, "same key twice", detail))
            kinds.setdefault(kind[1:], file)
        elif where or _rank(file) is None:
            found.dropped.append(self._drop(file, "stray file"))

    def _label(self, file: Path, found: _Found) -> None:
        """Add what one table tells; one that cannot be read costs its labels, not the photographs."""
        try:
            told, problems = read_entries(file, self.label_column)
        except UnreadableSheet as error:
            found.dropped.append(self._cost(file, "unreadable sheet", str(error)))
            found.damaged.append(file)
            return
        found.tables.append(file)
        fills = _rank(file) == len(_TABLES) - 1
        found.told |= set() if fills else set(told)
        for number, entry in told.items():
            before = found.labels.get(number, Entry())
            label = entry.glaucoma if before.glaucoma is None else before.glaucoma
            if entry.glaucoma not in (None, label) and not fills:
                problems.append(f"{number}: labelled otherwise in another table")
                label = ""
            found.labels[number] = Entry(label, before.laterality or entry.laterality)
        found.unclear |= {number_of(problem.partition(":")[0]) for problem in problems}
        found.dropped += self._problems(file, "unreadable label", problems)


def _is_base(folder: Path) -> bool:
    """Return whether a folder holds ``Images`` and one of ORIGA's own lists or annotations, or is named for it."""
    inside = {plain_name(p.name) for p in entries(folder)}
    if "images" not in inside:
        return False
    lists = bool(inside & _LISTS) or any(name.startswith(_DRAWN) for name in inside)
    return lists or (plain_name(folder.name) == "origa" and "masks" in inside)


def _rank(file: Path) -> int | None:
    """Return the place of a table among `_TABLES`, None for any other file."""
    stem = plain_name(file.stem)
    return _TABLES.index(stem) if stem in _TABLES and file.suffix.lower() in (".csv", ".xlsx") else None


def _order(file: Path) -> tuple[int, int, str, Path]:
    """Return what sorts photographs by number, and those without one after them by name."""
    number = number_of(file.name)
    return (0, int(number), "", file) if number.isdecimal() else (1, 0, number, file)
