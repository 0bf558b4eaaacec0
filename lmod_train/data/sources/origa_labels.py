"""Reading of glaucoma labels and laterality from ORIGA's tables, which differ between copies of the dataset."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from lmod_train.data.sources.sheets import UnreadableSheet, misfit, plain_header, read_sheet
from lmod_train.data.sources.spelling import YES_NO, composed

NAMES = ("filename", "imagename", "imgname", "image")
LABELS = ("glaucoma", "label", "binarylabels", "binarylabel", "class")

_QUOTES = " \t'\"\u2018\u2019\u201c\u201d"
_SIDES = {"od": "right", "os": "left", "": None}


@dataclass(frozen=True, slots=True)
class Entry:
    """Row of one photograph: glaucoma (``yes``, ``no`` or None) and laterality (``left``, ``right`` or None)."""

    glaucoma: str | None = None
    laterality: str | None = None


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
        number, entry = number_of(name), Entry(*_read(name, row.get(label, ""), row.get("eye", ""), problems))
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


def _read(name: str, label: str, eye: str, problems: list[str]) -> tuple[str | None, str | None]:
    """Return label and laterality of one row; add unknown values to `problems`."""
    if label and label.casefold() not in YES_NO:
        problems.append(f"{name}: label {label!r} is neither 0 nor 1")
    if eye.casefold() not in _SIDES:
        problems.append(f"{name}: eye {eye!r} is neither OD nor OS")
    return YES_NO.get(label.casefold()), _SIDES.get(eye.casefold())
