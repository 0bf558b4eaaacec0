"""G1020 (Bajwa et al. 2020): fundus photographs with outlines of disc and cup and a glaucoma label."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, get_args

from lmod_train.errors import BadArgument, SourceNotFound
from lmod_train.sources.base import UNPLACED, Source
from lmod_train.sources.clutter import entries, files_below
from lmod_train.sources.labelme import UnreadableShapes, outlines_of, read_shapes
from lmod_train.sources.marked import marked_folder
from lmod_train.sources.sheets import UnreadableSheet, misfit, read_sheet
from lmod_train.sources.spelling import YES_NO, plain_name
from lmod_train.types import Dropped, MaskFile, Outline, Sample, SampleStream

Annotations = Literal["json", "masks"]
DiscFrom = Literal["disc", "discLoc"]

_LIST = "g1020.csv"
_KINDS = {".jpg", ".jpeg", ".png"}
_DERIVED = ("_cropped", "_square")
_CODINGS: tuple[Mapping[str, tuple[int, ...]], ...] = (
    {"background": (0,), "optic disc": (1, 2), "optic cup": (2,)},
    {"background": (0,), "optic disc": (128, 255), "optic cup": (255,)},
)
_TREE = """\
  <root>/{G1020.csv,Images/image_0.jpg,Images/image_0.json,Masks/image_0.png}
  <root>/G1020/{G1020.csv,Images/...,Masks/...}"""


@dataclass(slots=True)
class _Found:
    """What one walk has found; outlines, masks and labels by stem in small letters."""

    photographs: list[Path] = field(default_factory=list)
    outlines: dict[str, Path] = field(default_factory=dict)
    masks: dict[str, Path] = field(default_factory=dict)
    labels: dict[str, str] = field(default_factory=dict)
    dropped: list[Dropped] = field(default_factory=list)


class G1020(Source):
    """The 1,020 photographs of G1020, 296 of them with glaucoma; keys are the stems, ``image_0``, with gaps.

    The photographs are of 432 patients, but no patient numbers are published: each photograph is its own group, and a
    split may tear a patient apart. The cup is outlined in 790 of them; where it is not, only the disc is marked.

    A photograph whose json is missing is read from its mask; so is one whose json cannot be used, which is listed. One
    without either, or without label, is yielded without it. The json may lie beside the photographs or in a folder of
    its own. ``*_Cropped``, ``*_Square`` and ``NerveRemoved_Images`` are passed over.

    Args:
        root: The dataset's folder or one of those around it.
        annotations: ``json`` as above, or ``masks`` alone. The masks' coding is read from the values present: 0, 1, 2
            or 0, 128, 255 for background, rim and cup; neither is stated by the authors. A mask of 0 and one other
            value that would be a cup without rim is listed by curation: what it outlines is not known.
        disc_from: Which shape of the json is the disc: its outline ``disc``, or the box ``discLoc``.

    Raises:
        BadArgument: `annotations` or `disc_from` is another word.

    References:
        Bajwa et al., G1020: A benchmark retinal fundus image dataset for computer-aided glaucoma detection, IJCNN 2020.
    """

    name = "g1020"
    modality = "CFP"
    licence = "CC BY-NC 4.0 as stated by LMOD; CC BY 4.0 as stated elsewhere"
    redistributable = False  # the stricter of the two statements: not for every purpose
    reference = "https://arxiv.org/abs/2006.09158"

    def __init__(self, root: Path = UNPLACED, annotations: Annotations = "json", disc_from: DiscFrom = "disc") -> None:
        super().__init__(root)
        if annotations not in get_args(Annotations):
            raise BadArgument("annotations", annotations, "json or masks", "leave it out for json")
        if disc_from not in get_args(DiscFrom):
            raise BadArgument("disc_from", disc_from, "disc or discLoc", "leave it out for disc")
        self.annotations = annotations
        self.disc_from = disc_from

    @classmethod
    def found_in(cls, folder: Path) -> bool:
        """Return whether the photographs lie here beside their list, or in a folder doubled by its archive."""
        return _is_base(folder) or (plain_name(folder.name) == "g1020" and any(map(_is_base, _same(folder))))

    def verify(self) -> None:
        """Check that there is at least one photograph.

        Raises:
            SourceNotFound: There is none; the message prints the expected tree.
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
            stem = file.stem.casefold()
            if stem in taken:
                found.dropped.append(self._twice(file, taken[stem]))
                continue
            taken[stem] = file
            yield self._sample(file, found)
        yield from found.dropped
        for what, places in (("outline", found.outlines), ("mask", found.masks)):
            lone = [file for stem, file in places.items() if stem not in taken]
            yield from (self._drop(file, f"{what} without photograph") for file in lone)

    def _sample(self, file: Path, found: _Found) -> Sample:
        stem = file.stem.casefold()
        label, mask = found.labels.get(stem), found.masks.get(stem)
        outlines = self._outlines(stem, found) if self.annotations == "json" else ()
        return Sample(
            source=self.name,
            key=file.stem,
            modality=self.modality,
            image=file,
            group=file.stem,
            licence=self.licence,
            labels={"glaucoma": label} if label else {},
            masks=(MaskFile(mask, _CODINGS),) if mask and not outlines else (),
            outlines=outlines,
        )

    def _outlines(self, stem: str, found: _Found) -> tuple[Outline, ...]:
        """Return disc and cup of a photograph's json; none where it is missing or cannot be used."""
        path = found.outlines.get(stem)
        names = {"disc": "optic disc", "cup": "optic cup", "discloc": ""}
        if self.disc_from == "discLoc":
            names |= {"disc": "", "discloc": "optic disc"}
        try:
            return outlines_of(read_shapes(path), names) if path else ()
        except UnreadableShapes as error:
            assert path is not None  # it was read
            found.dropped.append(self._drop(path, "unreadable outline", str(error)))
            return ()

    def _walk(self) -> _Found:
        """Sort what lies in the dataset's own folder."""
        found = _Found()
        base = marked_folder(self.root, _is_base)
        if base is not None:
            for file in files_below(base):
                folders = [plain_name(name) for name in file.relative_to(base).parts[:-1]]
                if not any(name.endswith(_DERIVED) or name == "nerveremoved_images" for name in folders):
                    self._sort(file, folders, found)
        if base is None or not found.photographs:
            raise SourceNotFound(self.name, self.root, "every photograph (Images/image_0.jpg ...)", _TREE)
        known = {file.stem.casefold() for file in found.photographs}
        for file in (file for file in entries(base) if plain_name(file.name) == _LIST):
            self._label(file, known, found)
        return found

    def _sort(self, file: Path, folders: list[str], found: _Found) -> None:
        """Put one file where it belongs."""
        kind, where = file.suffix.lower(), folders[0] if folders else ""
        if where == "images" and kind in _KINDS:
            found.photographs.append(file)
        elif where == "masks" and kind == ".png":
            self._note(file, found.masks, found)
        elif where and kind == ".json":
            self._note(file, found.outlines, found)
        elif where or plain_name(file.name) != _LIST:
            found.dropped.append(self._drop(file, "stray file"))

    def _note(self, file: Path, places: dict[str, Path], found: _Found) -> None:
        """Keep the first annotation of a photograph."""
        kept = places.setdefault(file.stem.casefold(), file)
        if kept != file:
            found.dropped.append(self._twice(file, kept))

    def _label(self, path: Path, known: set[str], found: _Found) -> None:
        """Read the list; one that cannot be read costs the labels, not the photographs."""
        try:
            rows = read_sheet(path)
            missing = {"imageid", "binarylabels"} - {column for row in rows for column in row}
            if missing:
                raise UnreadableSheet(f"no column {' and '.join(sorted(missing))}")
        except UnreadableSheet as error:
            found.dropped.append(self._drop(path, "unreadable sheet", str(error)))
            return
        for row in rows:
            name, value = row["imageid"], row["binarylabels"]
            stem, word = Path(name).stem.casefold(), YES_NO.get(value.casefold(), "")
            if misfit(row):
                found.dropped.append(self._drop(path, "unreadable label", f"{name}: {misfit(row)}"))
            elif value and not word:
                problem = f"{name}: label {value!r} is neither 0 nor 1"
                found.dropped.append(self._drop(path, "unreadable label", problem))
            elif found.labels.setdefault(stem, word) != word:
                found.dropped.append(self._drop(path, "unreadable label", f"{name}: labelled both 0 and 1"))
                found.labels[stem] = ""
            if stem not in known:
                found.dropped.append(self._drop(path, "label without photograph", name))
        told = {Path(row["imageid"]).stem.casefold() for row in rows}
        found.dropped += [self._drop(path, "photograph without row", stem) for stem in sorted(known - told)]


def _is_base(folder: Path) -> bool:
    """Return whether a folder holds ``Images`` and something else that only G1020 has."""
    inside = {plain_name(p.name) for p in entries(folder)}
    named = plain_name(folder.name) == "g1020" and "masks" in inside
    return "images" in inside and (named or _LIST in inside or "nerveremoved_images" in inside)


def _same(folder: Path) -> list[Path]:
    """Return the folders of the same name one level below."""
    return [p for p in entries(folder) if p.is_dir() and plain_name(p.name) == plain_name(folder.name)]


def _order(file: Path) -> tuple[int, str, Path]:
    """Return what sorts photographs by the number in their name."""
    number = re.search(r"\d+", file.stem)
    return int(number[0]) if number else -1, file.stem, file
