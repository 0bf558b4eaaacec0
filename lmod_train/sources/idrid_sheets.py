"""IDRiD's tables: grades of retinopathy and of the risk of macular edema, and centres of disc and fovea."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TypeVar

from lmod_train.sources.sheets import UnreadableSheet, misfit, read_sheet

_NAMES = ("imagename", "imageno")
_GRADES = {"retinopathygrade": ("icdr", "01234"), "riskofmacularedema": ("macular_edema_risk", "012")}
_AXES = ("xcoordinate", "ycoordinate")

_Told = TypeVar("_Told")


def read_grades(path: Path) -> tuple[dict[str, dict[str, str]], list[str]]:
    """Return stem (small letters) -> ``icdr`` 0 to 4 and ``macular_edema_risk`` 0 to 2, and a line for every problem.

    An empty cell is no grade. A photograph graded twice and differently keeps no grade.

    Raises:
        UnreadableSheet: The file is damaged or lacks the names or a grade; the message names the columns it has.
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
    """Return stem (small letters) -> (x, y) in pixels, None where none can be read, and a line for every problem.

    Raises:
        UnreadableSheet: The file is damaged or lacks the names or a coordinate; the message names the columns it has.
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
            pass  # told below, with infinite numbers
        if point is None:
            problems.append(f"{name}: {row[_AXES[0]]!r}, {row[_AXES[1]]!r} are not two numbers")
        _keep(found, name, point, None, problems)
    return found, problems


def _rows(path: Path, wanted: tuple[str, ...], problems: list[str]) -> list[tuple[str, dict[str, str]]]:
    """Return the name and the cells of every row with a name; blank rows at the end are the publisher's.

    A row whose values do not fit the columns has a line among the problems, and no cells.
    """
    rows = read_sheet(path)
    columns = list(dict.fromkeys(column for row in rows for column in row if column))
    named = next((name for name in _NAMES if name in columns), "imagename")
    missing = [column for column in (named, *wanted) if column not in columns]
    if missing:
        raise UnreadableSheet(f"no column {', '.join(missing)}; it has {', '.join(columns) or 'none'}")
    problems += [f"{row[named] or 'a row without a name'}: {misfit(row)}" for row in rows if misfit(row)]
    return [(row[named], {} if misfit(row) else row) for row in rows if row[named]]


def _keep(found: dict[str, _Told], name: str, value: _Told, nothing: _Told, problems: list[str]) -> None:
    """Enter a value under its stem; one that is told twice and differently becomes `nothing`."""
    stem = Path(name).stem.casefold()
    if found.setdefault(stem, value) != value:
        problems.append(f"{name}: told twice and differently")
        found[stem] = nothing
