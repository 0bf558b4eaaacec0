"""Glaucoma labels of REFUGE's sheets, whose headers are spelled differently in every part."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import ParseError  # the class only; openpyxl does the parsing
from zipfile import BadZipFile

from openpyxl import load_workbook
from openpyxl.utils.exceptions import InvalidFileException

from lmod_train.sources.sheets import UnreadableSheet
from lmod_train.sources.spelling import YES_NO

SHEETS = {".xlsx", ".xls", ".json"}


def read_labels(path: Path) -> tuple[dict[str, str], list[str]]:
    """Return stem (casefolded) -> ``yes`` or ``no``, and a line for every label that is neither.

    A sheet without a label column (the fovea of the training part) has no labels, and so has a row without a value.

    Args:
        path: ``.xlsx`` with a header of which one word is `ImgName` and one may speak of glaucoma, or Kaggle's
            ``index.json``.

    Raises:
        UnreadableSheet: The file is damaged, of another format, or names no images.
    """
    labels: dict[str, str] = {}
    problems: list[str] = []
    for name, value in _json_rows(path) if path.suffix.lower() == ".json" else _sheet_rows(path):
        stem = Path(str(name).strip()).stem.casefold()
        word = YES_NO.get(str(value).strip().casefold())
        if word is None:
            problems.append(f"{name}: label {value!r} is neither 0 nor 1")
        elif labels.setdefault(stem, word) != word:
            problems.append(f"{name}: labelled both 0 and 1")
            labels[stem] = ""
    return {stem: word for stem, word in labels.items() if word}, problems


def _sheet_rows(path: Path) -> list[tuple[Any, Any]]:
    """Return image name and label of every row that has both."""
    try:
        book = load_workbook(path, read_only=True, data_only=True)
        rows = [list(row) for row in book.worksheets[0].iter_rows(values_only=True)]
        book.close()
    except (InvalidFileException, BadZipFile, ParseError, KeyError, ValueError, IndexError, OSError) as error:
        raise UnreadableSheet(f"not a readable xlsx file ({type(error).__name__}: {error})") from error
    for at, row in enumerate(rows):
        header = ["".join(str(cell or "").split()).casefold() for cell in row]
        if "imgname" in header:
            return _columns(header, rows[at + 1 :])
    raise UnreadableSheet("no column ImgName")


def _columns(header: Sequence[str], rows: Sequence[Sequence[Any]]) -> list[tuple[Any, Any]]:
    """Return image name and label of the rows below a header; none where no column speaks of glaucoma."""
    named, label = header.index("imgname"), next((i for i, word in enumerate(header) if "glaucoma" in word), None)
    if label is None:
        return []
    full = [row for row in rows if len(row) > max(named, label)]
    return [(row[named], row[label]) for row in full if row[named] is not None and row[label] is not None]


def _json_rows(path: Path) -> list[tuple[Any, Any]]:
    """Return image name and label of every record that has both."""
    try:
        index = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, OSError) as error:
        raise UnreadableSheet(f"not a readable json file ({type(error).__name__}: {error})") from error
    records = list(index.values()) if isinstance(index, dict) else index
    if not isinstance(records, list) or not all(isinstance(record, Mapping) for record in records):
        raise UnreadableSheet("not a table of records")
    lowered = [{str(k).casefold(): v for k, v in record.items()} for record in records]
    if lowered and not any("imgname" in record for record in lowered):
        raise UnreadableSheet("no field ImgName")
    pairs = [(record.get("imgname"), record.get("label")) for record in lowered]
    return [(name, label) for name, label in pairs if name is not None and label is not None]
