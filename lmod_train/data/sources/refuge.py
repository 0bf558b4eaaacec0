"""REFUGE (Orlando et al. 2020): fundus photographs with disc and cup masks and a glaucoma label, three layouts."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lmod_train.core.errors import SourceNotFound
from lmod_train.core.package_data import package_data
from lmod_train.core.raw import read_json
from lmod_train.core.types import Dropped, Fact, MaskFile, Sample
from lmod_train.data.sources.clutter import entries
from lmod_train.data.sources.sheets import UnreadableSheet, misfit, read_sheet
from lmod_train.data.sources.spelling import YES_NO, composed, plain_name, plain_stem
from lmod_train.data.sources.walked import DISC_AND_CUP, WalkedSource, files_with_folders

_ARCHIVES: dict[str, str] = package_data(__file__, "names.yaml")["refuge_archives"]
_PARTS = ("train", "val", "test")
_MASKS = {"disc_cup_masks", "masks"}
_KINDS = {".jpg", ".jpeg", ".png", ".bmp"}
_CLASSES = {"glaucoma": "yes", "non-glaucoma": "no"}
_FOLDERS = {"yes": "Glaucoma", "no": "Non-Glaucoma"}
_TABLES: dict[str, str] = package_data(__file__, "names.yaml")["refuge_tables"]
_CODINGS: tuple[Mapping[str, tuple[int, ...]], ...] = (
    {"background": (255,), "optic disc": (0, 128), "optic cup": (0,)},  # the challenge's bitmaps are inverted
    DISC_AND_CUP[0],
)
_TREE = """\
  the challenge's archives, inner folders doubled or not:
    <root>/REFUGE-Training400/Training400/{Glaucoma,Non-Glaucoma}/g0001.jpg
    <root>/Annotation-Training400/Disc_Cup_Masks/{Glaucoma,Non-Glaucoma}/g0001.bmp
    <root>/REFUGE-Validation400/V0001.jpg
    <root>/REFUGE-Validation400-GT/{Disc_Cup_Masks/V0001.bmp,Fovea_locations.xlsx}
    <root>/REFUGE-Test400/Test400/T0001.jpg
    <root>/REFUGE-Test-GT/{Disc_Cup_Masks/{G,N}/T0001.bmp,Glaucoma_label_and_Fovea_location.xlsx}
  the REFUGE2 bundle:
    <root>/Train/REFUGE1-train/{Training400/...,Disc_Cup_Masks/...,Fovea_location.xlsx}
    <root>/Train/REFUGE1-val/{REFUGE-Validation400/...,Disc_Cup_Masks/...,Fovea_locations.xlsx}
    <root>/Train/REFUGE1-test/{Test400/...,Disc_Cup_Masks/...,Glaucoma_label_and_Fovea_location.xlsx}
  Kaggle's glaucoma-datasets:
    <root>/{train,val,test}/{Images/*.jpg,Masks/*.png,index.json}"""


@dataclass(slots=True)
class _Found:
    """Files found in the folders; keys of masks and labels are (part, stem in lower case).

    Attributes:
        sheets: Part -> its table, if it could be read.
        damaged: Parts with a table that could not be read.
    """

    photographs: list[tuple[str, Path]] = field(default_factory=list)
    masks: dict[tuple[str, str], Path] = field(default_factory=dict)
    labels: dict[tuple[str, str], str] = field(default_factory=dict)
    foveae: dict[tuple[str, str], tuple[Fact, ...]] = field(default_factory=dict)
    sheets: dict[str, Path] = field(default_factory=dict)
    damaged: set[str] = field(default_factory=set)
    dropped: list[Dropped] = field(default_factory=list)


class Refuge(WalkedSource[_Found]):
    """The 1,200 photographs of the REFUGE challenge, 400 per part; keys ``train/g0001``, ``val/V0001``, ``test/T0001``.

    The keys are the same in all three layouts. A photograph without mask or label is yielded without it and listed in
    dropped.csv, as are missing parts, class folders and tables. As far as published there is one photograph per
    patient, so each is its own group. Photographs that the REFUGE2 bundle adds, and those of other challenges in the
    same folders, are dropped and listed; the cropped and squared copies of Kaggle are ignored.

    References:
        Orlando et al., REFUGE Challenge, Medical Image Analysis 59 (2020) 101570.
    """

    name = "refuge"
    modality = "CFP"
    licence = "CC BY 4.0 as stated by LMOD; registration, research only as stated elsewhere"
    redistributable = False  # the stricter of the two statements
    reference = "https://refuge.grand-challenge.org"
    states_patients = False

    @classmethod
    def found_in(cls, folder: Path) -> bool:
        """Return whether this folder contains the archives' folders, ``Train/REFUGE1-*`` or Kaggle's parts."""
        inside = {plain_name(p.name): p for p in entries(folder) if p.is_dir()}
        if any(("refuge" in name or name.startswith("annotation-")) and name in _ARCHIVES for name in inside):
            return True
        if "training400" in inside:  # other challenges of the same publisher use the name
            return "non-glaucoma" in {plain_name(p.name) for p in entries(inside["training400"])}
        below = {plain_name(p.name) for p in entries(inside["train"])} if "train" in inside else set()
        if any(name.startswith("refuge1-") for name in below):
            return True
        kaggle = {plain_name(p.name) for part in _PARTS if part in inside for p in entries(inside[part])}
        named = "refuge" in plain_name(folder.name) and len(inside.keys() & set(_PARTS)) > 1
        return {"images", "masks", "index.json"} <= kaggle or (named and bool({"images", "masks"} & kaggle))

    def _photographs(self, found: _Found) -> Iterator[tuple[str, Path]]:
        """Yield key and file of the photographs: train, val, test, each in order of stems."""
        for part, file in sorted(found.photographs, key=lambda f: (_PARTS.index(f[0]), f[1].stem, f[1])):
            yield f"{part}/{file.stem}", file

    def _gaps(self, taken: Mapping[str, Sample], found: _Found) -> Iterator[Dropped]:
        """Yield missing masks and labels, masks and rows without a photograph, and missing parts and tables."""
        labels = {composed(key.casefold()): sample.labels.get("glaucoma", "") for key, sample in taken.items()}

        def group(key: str) -> str:
            """Return part and class folder, as in the training part."""
            part, _, stem = composed(key.casefold()).partition("/")
            folder = _FOLDERS.get(labels.get(composed(key.casefold())) or found.labels.get((part, stem), ""))
            mask = found.masks.get((part, stem))
            folder = folder or (mask.parent.name if mask and plain_name(mask.parent.name) in _CLASSES else None)
            return f"{part}/{folder}" if folder else part

        images = {key: sample.own_image for key, sample in taken.items()}
        yield from self._missing("mask", images, {key for key, s in taken.items() if s.masks}, group=group)
        for part in _PARTS:
            yield from self._part_gaps(part, {key: s for key, s in taken.items() if key.startswith(part)}, found)
        naming = {place: found.sheets[place[0]] for place in found.labels} | found.masks
        parts = {key.partition("/")[0] for key in taken}  # a part without photographs is listed as a missing split
        named = {"/".join(place): file for place, file in naming.items() if place[0] in parts}
        yield from self._missing("photograph", named, labels, "it has a mask or a row in the table", "gone", group)

    def _part_gaps(self, part: str, own: Mapping[str, Sample], found: _Found) -> Iterator[Dropped]:
        """Yield the missing table, classes and labels of a part, or that it has no photographs."""
        if not own:
            yield self._absent("split", part, f"no photograph of the {part} part")
            return
        classes = {plain_name(sample.own_image.parent.name) for sample in own.values()} & set(_CLASSES)
        for name in _FOLDERS.values():
            if classes and name.casefold() not in classes:
                yield self._absent("class", f"{part}/{name}", f"no photograph in a folder {name}")
        labelled = {key for key, sample in own.items() if sample.labels}
        if part not in found.sheets and part not in found.damaged:
            costs = "" if labelled == set(own) else ": labels are unknown"
            yield self._absent("table", f"{part}/{_TABLES[part]}", f"neither it nor index.json is there{costs}", "part")
        elif part not in found.damaged:
            images = {key: sample.own_image for key, sample in own.items()}
            yield from self._missing("label", images, labelled, "no label in the table")
            if placed := {key for key, sample in own.items() if sample.facts}:
                known = {key: image for key, image in images.items() if key in labelled}  # one line a row
                yield from self._missing("fovea", known, placed, "no position in the table")

    def _sample(self, key: str, file: Path, found: _Found) -> Sample:
        place = (key.split("/")[0], plain_stem(file))
        label = _CLASSES.get(plain_name(file.parent.name)) or found.labels.get(place)
        mask = found.masks.get(place)
        masks = (MaskFile(mask, _CODINGS),) if mask else ()
        labels = {"glaucoma": label} if label else {}
        return self._taken(key, file, file.stem, labels=labels, masks=masks, facts=found.foveae.get(place, ()))

    def _walk(self) -> _Found:
        """Return every file below the root, sorted into photographs, masks, labels and dropped files."""
        found = _Found()
        inside = {plain_name(p.name): p for p in entries(self.root)}
        # The REFUGE2 bundle has its own folder "Test", so Kaggle's names of parts do not apply to it.
        bundle = any(plain_name(p.name).startswith("refuge1-") for p in entries(inside.get("train", self.root)))
        for file, folders in files_with_folders(self.root):
            self._sort(file, folders, _part(folders, kaggle=not bundle), found)
        if not found.photographs:
            raise SourceNotFound(self.name, self.root, "every photograph (train, val and test)", _TREE)
        return found

    def _sort(self, file: Path, folders: list[str], part: str | None, found: _Found) -> None:
        """Add one file to `found`; files outside of every part other than images are ignored."""
        kind = file.suffix.lower()
        if part is None:
            if kind in _KINDS:
                found.dropped.append(self._drop(file, "not of the REFUGE challenge"))
        elif _MASKS & set(folders) and kind in _KINDS:
            self._keep_first(found.masks, (part, plain_stem(file)), file, found.dropped)
        elif kind in SHEETS:
            self._label(file, part, found)
        elif kind in _KINDS - {".bmp"} and not _MASKS & set(folders):
            found.photographs.append((part, file))
        else:
            found.dropped.append(self._drop(file, "stray file"))

    def _label(self, file: Path, part: str, found: _Found) -> None:
        """Add the labels of one table; if it cannot be read, the photographs are kept without labels."""
        try:
            labels, problems = read_labels(file)
            foveae = read_foveae(file)
        except UnreadableSheet as error:
            found.dropped.append(self._cost(file, "unreadable sheet", str(error)))
            found.damaged.add(part)
            return
        found.sheets.setdefault(part, file)
        found.foveae |= {(part, stem): facts for stem, facts in foveae.items()}
        for stem, label in labels.items():
            if found.labels.setdefault((part, stem), label) != label:
                problems.append(f"{stem}: another table has a different label")
                found.labels[part, stem] = ""
        found.dropped += self._problems(file, "unreadable label", problems)


def _part(folders: list[str], *, kaggle: bool) -> str | None:
    """Return train, val or test by the innermost folder with such a name; None for files not of REFUGE."""
    if "amd" in folders:  # Training400/AMD belongs to ADAM
        return None
    named = [_ARCHIVES[name] for name in folders if name in _ARCHIVES]
    if named:
        return named[-1]
    return next((name for name in folders if name in _PARTS), None) if kaggle else None


SHEETS = {".xlsx", ".xls", ".csv", ".json"}


def read_labels(path: Path) -> tuple[dict[str, str], list[str]]:
    """Return file stem (lower case) -> ``yes`` or ``no``, and a message for every label that cannot be used.

    A table without a label column (that of the training part has only fovea positions) gives no labels, and an empty
    cell gives none.

    Args:
        path: A workbook or text table with a column `ImgName` and optionally one whose name contains glaucoma, or
            Kaggle's ``index.json``.

    Raises:
        UnreadableSheet: The file is damaged, of another format, or has no image names.
    """
    labels: dict[str, str] = {}
    problems: list[str] = []
    is_json = path.suffix.lower() == ".json"
    for name, value in _json_rows(path) if is_json else _sheet_rows(path, problems):
        stem = plain_stem(str(name).strip())
        word = YES_NO.get(str(value).strip().casefold())
        if word is None:
            problems.append(f"{name}: label {value!r} is neither 0 nor 1")
        elif labels.setdefault(stem, word) != word:
            problems.append(f"{name}: labelled both 0 and 1")
            labels[stem] = ""
    return {stem: word for stem, word in labels.items() if word}, problems


def read_foveae(path: Path) -> dict[str, tuple[Fact, ...]]:
    """Return file stem (lower case) -> x and y of the fovea in pixels from the left and upper edge, where stated.

    Args:
        path: As of `read_labels`; columns are ``Fovea_X`` and ``Fovea_Y``, whose pixels count from 1.

    Raises:
        UnreadableSheet: As `read_labels`.
    """
    is_json = path.suffix.lower() == ".json"
    names = ("fovea_x", "fovea_y") if is_json else ("foveax", "foveay")
    found = {}
    for row in _json_records(path) if is_json else read_sheet(path, "ImgName"):
        with suppress(ValueError, TypeError):
            at = [float(row[name]) - 0.5 for name in names if row.get(name)]
            if len(at) == 2 and all(map(math.isfinite, at)):
                facts = (
                    Fact(f"fovea.{axis}", value, "px", origin=path.name) for axis, value in zip("xy", at, strict=True)
                )
                found[plain_stem(str(row.get("imgname", "")).strip())] = tuple(facts)
    return found


def _sheet_rows(path: Path, problems: list[str]) -> list[tuple[Any, Any]]:
    """Return image name and label of every row that has both; [] if no column name contains glaucoma."""
    rows = read_sheet(path, "ImgName")
    problems += [f"{row['imgname'] or 'a row without a name'}: {misfit(row)}" for row in rows if misfit(row)]
    fitting = [row for row in rows if not misfit(row)]
    label = next((column for row in fitting for column in row if "glaucoma" in column), "")
    return [(row["imgname"], row[label]) for row in fitting if label and row["imgname"] and row[label]]


def _json_rows(path: Path) -> list[tuple[Any, Any]]:
    """Return image name and label of every record that has both."""
    pairs = [(record.get("imgname"), record.get("label")) for record in _json_records(path)]
    return [(name, label) for name, label in pairs if name is not None and label is not None]


def _json_records(path: Path) -> list[dict[str, Any]]:
    """Return the records with their fields in lower case."""
    try:
        index = read_json(path)
    except (ValueError, OSError) as error:
        raise UnreadableSheet(f"not a readable json file ({type(error).__name__}: {error})") from error
    records = list(index.values()) if isinstance(index, dict) else index
    if not isinstance(records, list) or not all(isinstance(record, Mapping) for record in records):
        raise UnreadableSheet("not a list of records")
    lowered = [{str(k).casefold(): v for k, v in record.items()} for record in records]
    if lowered and not any("imgname" in record for record in lowered):
        raise UnreadableSheet("no field ImgName")
    return lowered
