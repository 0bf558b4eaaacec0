"""Labels and sides of ORIGA's tables, of which every circulating copy brings another one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from lmod_train.sources.sheets import UnreadableSheet, misfit, plain_header, read_sheet
from lmod_train.sources.spelling import YES_NO

NAMES = ("filename", "imagename", "imgname", "image")
LABELS = ("glaucoma", "label", "binarylabels", "binarylabel", "class")

_QUOTES = " \t'\"\u2018\u2019\u201c\u201d"
_SIDES = {"od": "right", "os": "left", "": None}


@dataclass(frozen=True, slots=True)
class Entry:
    """What a table tells about one photograph: ``yes``, ``no`` or nothing about glaucoma, and the side of the eye."""

    glaucoma: str | None = None
    laterality: str | None = None


def read_entries(path: Path, label_column: str = "") -> tuple[dict[str, Entry], list[str]]:
    """Return `number_of` each photograph -> its entry, and a line for every value that cannot be used.

    A photograph labelled both 0 and 1 keeps neither label. An empty cell is no label and not worth a line.

    Args:
        path: A table in text or an xlsx workbook with a column of file names and one of labels.
        label_column: Column of the labels, in any spelling; by default the first of `LABELS` that is there.

    Raises:
        UnreadableSheet: The file is damaged or lacks one of the two columns; the message names those it has.
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
            problems.append(f"{name or 'a row without a file name'}: {misfit(row) or 'it cannot be used'}")
            continue
        number, entry = number_of(name), Entry(*_read(name, row.get(label, ""), row.get("eye", ""), problems))
        before = entries.setdefault(number, entry)
        if before != entry and number not in twice:
            problems.append(f"{name}: told twice and differently")
            twice.add(number)
    return entries | {number: Entry() for number in twice}, problems


def number_of(name: str) -> str:
    r"""Return what tells a photograph apart: its number, however the table or the file spells it.

    Example:
        >>> [number_of(name) for name in ("001.jpg", "'001.jpg'", "1", r"C:\Images\001.JPG", "x/Scan_A.jpg")]
        ['1', '1', '1', '1', 'scan_a']
    """
    plain = name.strip(_QUOTES).replace("\\", "/")
    stem = PurePosixPath(plain).stem.strip().casefold()
    return str(int(stem)) if stem.isdecimal() and len(stem) < 20 else stem


def _column(columns: Sequence[str], wanted: Sequence[str], what: str, option: str) -> str:
    """Return the first wanted column that is there."""
    found = next((name for name in wanted if name in columns), None)
    if found is None:
        told = f", or name it by {option}" if option else ""
        held = ", ".join(columns) or "none"
        raise UnreadableSheet(f"no column of {what}; it has {held}, expected one of {', '.join(wanted)}{told}")
    return found


def _read(name: str, label: str, eye: str, problems: list[str]) -> tuple[str | None, str | None]:
    """Return label and side of one row, noting what is neither."""
    if label and label.casefold() not in YES_NO:
        problems.append(f"{name}: label {label!r} is neither 0 nor 1")
    if eye.casefold() not in _SIDES:
        problems.append(f"{name}: eye {eye!r} is neither OD nor OS")
    return YES_NO.get(label.casefold()), _SIDES.get(eye.casefold())
