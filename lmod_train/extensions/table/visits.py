"""Dates and numbers of visits as times in order, where their order is certain."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from contextlib import suppress
from datetime import date

_YEAR_FIRST = re.compile(r"(\d{4})(?:[-/.年](?=\d{1,2}\D)|(?=\d{4}$))(\d{1,2})[-/.月]?(\d{1,2})日?(?:[T ].*)?")

_YEAR_LAST = re.compile(r"(\d{1,2})[-/.](\d{1,2})[-/.](\d{4})(?: .*)?")

_NUMBERED = re.compile(r"([^\W\d_]*)[ #.:]*([-+]?\d+)(?:[.,]0)?次?")  # 12.19 may be a month


def visits_of(cells: Iterable[str]) -> dict[str, float]:
    """Return cell -> time of a visit: a date in days, or a number if no cell is a date; others are absent.

    Args:
        cells: One for each row. A number may follow one word (``V2``, ``week 4``), the same in all cells.

    Raises:
        ValueError: The order of day and month is not certain, or more than a tenth of the cells are neither.

    Example:
        >>> visits_of(["2024-03-31", "2024/4/1"]), visits_of(["V1", "v 2"]), visits_of(["-2", "0"])
        ({'2024-03-31': 738976.0, '2024/4/1': 738977.0}, {'V1': 1.0, 'v 2': 2.0}, {'-2': -2.0, '0': 0.0})
    """
    rows = Counter(cells)
    found: dict[str, float] = {}
    for cell in rows:
        if named := _YEAR_FIRST.fullmatch(cell.strip()):
            found |= _day(cell, *map(int, named.groups()))
    late = {cell: list(map(int, named.groups())) for cell in rows if (named := _YEAR_LAST.fullmatch(cell.strip()))}
    day_first = {k: v for cell, (day, month, year) in late.items() for k, v in _day(cell, year, month, day).items()}
    month_first = {k: v for cell, (month, day, year) in late.items() for k, v in _day(cell, year, month, day).items()}
    if late and len(day_first) == len(month_first) and day_first != month_first:
        raise ValueError(f"{next(iter(late))!r} may have the day or the month first")
    found |= day_first if len(day_first) >= len(month_first) else month_first
    found = found or _numbered(rows)
    unread = [cell for cell in rows if cell not in found]
    if 10 * sum(rows[cell] for cell in unread) > rows.total():
        shown = ", ".join(f"{cell[:40]!r} ({rows[cell]})" for cell in unread[:5])
        raise ValueError(f"more than a tenth of the rows have neither a date nor a number there: {shown}")
    return found


def _numbered(cells: Iterable[str]) -> dict[str, float]:
    """Return cell -> number, where all have the same word before it, or none; a sign behind a word is not one."""
    read = {cell: named for cell in cells if (named := _NUMBERED.fullmatch(cell.strip()))}
    words = {named[1].casefold() for named in read.values()}
    if len(words) > 1 or (words != {""} and any(named[2][0] in "-+" for named in read.values())):
        return {}
    return {cell: float(named[2]) for cell, named in read.items()}


def _day(cell: str, year: int, month: int, day: int) -> dict[str, float]:
    with suppress(ValueError):
        return {cell: float(date(year, month, day).toordinal())}
    return {}
