"""Reading of glaucoma labels from REFUGE's tables, whose headers differ from part to part."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from lmod_train.core.raw import read_json
from lmod_train.data.sources.sheets import UnreadableSheet, misfit, read_sheet
from lmod_train.data.sources.spelling import YES_NO, plain_stem

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


def _sheet_rows(path: Path, problems: list[str]) -> list[tuple[Any, Any]]:
    """Return image name and label of every row that has both; [] if no column name contains glaucoma."""
    rows = read_sheet(path, "ImgName")
    problems += [f"{row['imgname'] or 'a row without a name'}: {misfit(row)}" for row in rows if misfit(row)]
    fitting = [row for row in rows if not misfit(row)]
    label = next((column for row in fitting for column in row if "glaucoma" in column), "")
    return [(row["imgname"], row[label]) for row in fitting if label and row["imgname"] and row[label]]


def _json_rows(path: Path) -> list[tuple[Any, Any]]:
    """Return image name and label of every record that has both."""
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
    pairs = [(record.get("imgname"), record.get("label")) for record in lowered]
    return [(name, label) for name, label in pairs if name is not None and label is not None]
