"""Reading of IDRiD's tables: grades of retinopathy and risk of macular edema, and centres of disc and fovea."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TypeVar

from lmod_train.data.sources.sheets import UnreadableSheet, misfit, read_sheet
from lmod_train.data.sources.spelling import plain_stem

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
