"""Which file a cell names: as written, else in another case, else without its ending; and which picture of it."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path, PurePosixPath
from typing import Any, Literal
from urllib.parse import urlsplit

import numpy.typing as npt

from lmod_train.core.cells import image_bytes
from lmod_train.core.package_data import package_data
from lmod_train.core.pixels import UNREADABLE, pictures_in
from lmod_train.core.types import Cut, Dropped, ImageFile, Page, Sample
from lmod_train.data.sources.clutter import files_below
from lmod_train.data.sources.objects import begins_as_image, from_base64
from lmod_train.data.sources.spelling import composed

DEVICES: Mapping[str, Sequence[str]] = package_data(__file__, "devices.yaml")
"""Ending of a file that a device writes -> what the file is, and the module that reads it."""

ENDINGS = frozenset({".jpg", ".jpeg", ".png", ".tif", ".tiff", ".bmp", ".gif", ".webp", ".jp2", ".ppm", *DEVICES})
"""Endings of image files, in lower case."""

How = Literal["as written", "another case", "without its ending", "as a number"]

_LONGEST = 4096
"""Characters of a path; a longer cell names no file."""

_SHORT = 64
"""Characters below which a cell is the number of another row with the same image, as in tables of VLMEvalKit."""


@dataclass(frozen=True)
class Scan:
    """A picture of a device file.

    Attributes:
        pixels: Grey or RGB.
        side: ``left`` or ``right``; empty if it is not stated.
        scale: Micrometres of a pixel, along x and y; empty if they are not stated.
        position: x and y of the first and the last column on the eye, in millimetres; empty if it is not stated.
    """

    pixels: npt.NDArray[Any]
    side: str = ""
    scale: tuple[float, ...] = ()
    position: tuple[float, ...] = ()


@dataclass(frozen=True)
class Held:
    """The pictures of a device file that are asked about, in a Parquet file.

    Attributes:
        file: The Parquet file.
        n: Pictures of the device file.
        scans: Number of a picture, from 1, in the order of the rows -> what is known of it, without pixels.
    """

    file: Path
    n: int
    scans: Mapping[int, Scan] = field(default_factory=dict)


@dataclass(frozen=True)
class Folder:
    """The images below a folder.

    Attributes:
        root: The folder.
        files: Every image file below it, in order, without clutter.
        held: Device file that the table names -> its pictures, or why there are none.
    """

    root: Path
    files: tuple[Path, ...]
    held: Mapping[Path, Held | str] = field(default_factory=dict, repr=False)
    _whole: Mapping[How, Mapping[str, tuple[Path, ...]]] = field(default_factory=dict, repr=False)
    _ends: Mapping[How, Mapping[str, tuple[Path, ...]]] = field(default_factory=dict, repr=False)

    def find(self, cell: str, numbers: bool = False) -> tuple[tuple[Path, ...], How]:
        """Return the files that a cell may name, none or one or several, by the first way that finds any, and the way.

        Folders may be left out at the beginning of the cell or of the file's path, but none may differ.

        Args:
            cell: Path or name, with or without folder and ending.
            numbers: Whether ``1`` names ``01.jpg``, which only the user can know.
        """
        if len(cell) > _LONGEST:
            return (), "as written"
        cell = cell.strip("[]'\", ") if listed_in(cell) == 1 else cell
        path = urlsplit(cell).path if "://" in cell[:12] else cell  # of an address, whose query names no file
        name = composed(re.sub(r"[\\/]+", "/", path.strip())).removeprefix("./").lstrip("/")
        for how, key in _ways(name):
            whole, ends = self._whole.get(how, {}), self._ends.get(how, {})
            found = whole.get(key) or ends.get(key) or next(filter(None, map(whole.get, _shorter(key))), ())
            if found:
                return found, how
        number = _number(name) if numbers else ""
        return (self._ends.get("as a number", {}).get(number, ()) if number else ()), "as a number"


def folder_of(root: Path, files: Iterable[Path] | None = None) -> Folder:
    """Return the images below a folder, at any depth, or those of some files below it."""
    files = tuple(file for file in (files_below(root) if files is None else files) if file.suffix.casefold() in ENDINGS)
    whole: dict[How, defaultdict[str, list[Path]]] = defaultdict(lambda: defaultdict(list))
    ends: dict[How, defaultdict[str, list[Path]]] = defaultdict(lambda: defaultdict(list))
    for file in files:
        name = composed(file.relative_to(root).as_posix())
        for how, key in _ways(name):
            whole[how][key].append(file)
            for shorter in _shorter(key):
                ends[how][shorter].append(file)
        if number := _number(name):
            ends["as a number"][number].append(file)
    return Folder(root, files, {}, _frozen(whole), _frozen(ends))


def _frozen(ways: Mapping[How, Mapping[str, Sequence[Path]]]) -> dict[How, dict[str, tuple[Path, ...]]]:
    return {how: {key: tuple(files) for key, files in named.items()} for how, named in ways.items()}


def _ways(name: str) -> tuple[tuple[How, str], ...]:
    """Return the spellings of a path by which it is found, the exact one first."""
    low = name.casefold()
    return ("as written", name), ("another case", low), ("without its ending", _stem(low))


def _shorter(path: str) -> Iterator[str]:
    """Yield a path without its first folder, without its first two, ...: ``b/1.jpg`` and ``1.jpg`` of ``a/b/1.jpg``."""
    while "/" in path:
        path = path.partition("/")[2]
        yield path


def _stem(name: str) -> str:
    """Return a path without the ending of an image; ``20051020.4321`` keeps its last part."""
    stem, dot, ending = name.rpartition(".")
    return stem if dot + ending in ENDINGS and stem.rpartition("/")[2] else name


def _number(name: str) -> str:
    """Return the number that is the whole stem of a name, without leading zeros; empty for another name."""
    stem = _stem(PurePosixPath(name.casefold()).name)
    return stem.lstrip("0") or "0" if re.fullmatch(r"\d+", stem) else ""


def paged(sample: Sample | Dropped, page: str, held: Mapping[Path, Held | str]) -> Iterator[Sample | Dropped]:
    """Yield a sample with the picture of its file that is asked about, or one of each; all are of one group.

    Args:
        sample: Of an image file as a whole; a line for a loss stays as it is.
        page: Number of the picture, ``middle`` or ``all``; empty for the only one.
        held: Device file -> its pictures, or why there are none.
    """
    if isinstance(sample, Dropped):
        yield sample
        return
    files = sample.shared_images if sample.image is None else (ImageFile(sample.image, sample.key, cut=sample.cut),)
    if any(file.path in held for file in files):
        yield from _of_device(sample, files, held, page)
        return
    if page != "all" or len(files) > 1:
        one: Page = "middle" if page == "middle" else int(page) if page.isdecimal() else ""
        yield _showing(sample, [replace(f, cut=replace(f.cut, page=one)) for f in files])
        return
    try:
        n = pictures_in(image_bytes(files[0].path, files[0].cut))
    except UNREADABLE:  # which curation lists
        n = 1
    yield from _on_one(sample, n)
    for number in range(1, n + 1):
        shown = replace(files[0], cut=replace(files[0].cut, page=number))
        yield _showing(sample, [shown], f"#p{number}" if n > 1 else "", boxed=n == 1)


def _of_device(
    sample: Sample, files: Sequence[ImageFile], held: Mapping[Path, Held | str], page: str
) -> Iterator[Sample | Dropped]:
    """Yield the samples of a device file, or why there are none."""
    own = held.get(files[0].path, "")
    if isinstance(own, str) or len(files) > 1:
        yield Dropped.of(sample, "read", "device file", own if isinstance(own, str) else "beside other images")
        return
    if not own.scans:
        detail = (
            f"no page {page} in a file of {own.n} pictures" if page else f"{own.n} pictures in one file, expected one"
        )
        yield Dropped.of(sample, "read", "several_pictures", detail)
    yield from _on_one(sample, len(own.scans))
    for row, (number, scan) in enumerate(own.scans.items()):
        stated = sample.patient.laterality
        if apart := bool(stated and scan.side and stated != scan.side):
            detail = f"the table says {stated}, the file {scan.side}, so neither is used"
            yield Dropped.of(sample, "read", "contradictory values", detail, "part")
        side = None if apart else stated or scan.side or None
        shown = replace(files[0], path=own.file, cut=Cut(column="image", row=row))
        part = f"#p{number}" if page == "all" and own.n > 1 else ""
        one = _showing(sample, [shown], part, boxed=len(own.scans) == 1)
        yield replace(one, patient=replace(one.patient, laterality=side))


def _on_one(sample: Sample, n: int) -> Iterator[Dropped]:
    """Yield the line for boxes of which it is not stated on which of several pictures they are."""
    if n > 1 and sample.outlines:
        detail = f"on which of the {n} pictures of the file the boxes are is not stated"
        yield Dropped.of(sample, "read", "unreadable box", detail, "part")


def _showing(sample: Sample, files: Sequence[ImageFile], part: str = "", *, boxed: bool = True) -> Sample:
    """Return a sample that shows other files in the place of its own, with a longer key."""
    sample = replace(sample, key=f"{sample.key}{part}", outlines=sample.outlines if boxed else ())
    if sample.image is not None:
        return replace(sample, image=files[0].path, cut=files[0].cut)
    return replace(sample, shared_images=tuple(replace(f, key=f"{f.key}{part}") for f in files))


def listed_in(cell: str) -> int:
    """Return how many images a cell lists, as Python and JSON or people write a list; 0 for a cell that is no list.

    Example:
        >>> listed_in("['a.jpg', 'b.jpg']"), listed_in('["a.jpg"]'), listed_in("a.jpg; b.jpg"), listed_in("a.jpg")
        (2, 1, 2, 0)
    """
    quoted = re.fullmatch(r"""\s*\[\s*(['"]).*\1\s*,?\s*\]\s*""", cell, re.DOTALL)
    if quoted:
        return 1 + len(re.findall(rf"{quoted[1]}\s*,\s*{quoted[1]}", cell))
    names = re.split(r"[;,|\n]\s*|\s+(?:and|\+|&)\s+", cell) if len(cell) <= _LONGEST else []
    return len(names) if len(names) > 1 and all(PurePosixPath(n).suffix.casefold() in ENDINGS for n in names) else 0


def is_embedded(cells: Iterable[str]) -> bool:
    """Return whether cells are images in base64, by how the first long ones begin; a long path can be base64 too."""
    long = list(islice((cell for cell in cells if len(cell) > _SHORT and not listed_in(cell)), 20))
    return sum(map(begins_as_image, long)) * 2 > len(long)


def embedded(cells: Sequence[str], index: Sequence[str]) -> list[bytes | str] | None:
    """Return the images in a column in base64, and where a cell is empty or damaged why; None for another column.

    Args:
        cells: The column.
        index: The column ``index`` of the table, or numbers from 0: a short cell names the row whose image it shows, as
            in tables of VLMEvalKit.
    """
    if not is_embedded(cells):
        return None
    read: list[bytes | str] = []
    for cell in cells:
        if several := listed_in(cell):
            read.append(f"a list of {several} images, expected one")
        elif len(cell) > _SHORT:
            read.append(from_base64(cell))
        else:
            read.append("no image" if not cell else f"of row {cell}")
    rows = dict(zip(index, read, strict=True))
    return [_pointed(rows, one) for one in read]


def _pointed(rows: Mapping[str, bytes | str], one: bytes | str) -> bytes | str:
    if isinstance(one, str) and one.startswith("of row "):
        row = one.removeprefix("of row ")
        target = rows.get(row, "")
        return target if isinstance(target, bytes) else f"row {row} has no image"
    return one
