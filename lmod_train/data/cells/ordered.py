"""Cells in an order: words of degree, levels of retinopathy in words, acuities in any notation, and visits."""

from __future__ import annotations

import math
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping
from contextlib import suppress
from datetime import date
from functools import lru_cache

from lmod_train.data.cells.values import Values, is_missing, number_of
from lmod_train.data.cells.vocabulary import WORDS, plain

_ICDR, _ACUITY = WORDS["icdr"], WORDS["acuity"]

_RANKS: Mapping[str, int] = {plain(word): rank for rank, words in enumerate(WORDS["degrees"]) for word in words}
"""Word of degree -> its place; 0 is none."""

_LEVELS = ("0", "", "1", "2", "3", "3")
"""Level of `icdr` of each degree of a retinopathy that is not proliferative; a minimal one has none."""


def is_none(cell: str) -> bool:
    """Return whether a cell says none, which beside words of degree is the least of them."""
    return _RANKS.get(plain(cell)) == 0


def in_order(name: str, words: Iterable[str]) -> list[str]:
    """Return words of degree, or acuities, from the least to the most severe; empty for others.

    Args:
        name: Of their column, which says whether numbers are acuities.
        words: Each once.

    Example:
        >>> in_order("DME", ["severe", "None", "mild"]), in_order("BCVA", ["CF", "6/18", "6/6", "below 6/18"])
        (['None', 'mild', 'severe'], ['6/6', '6/18', 'below 6/18', 'CF'])
    """
    words = list(words)
    ranks = {word: _RANKS.get(plain(word), -1) for word in words}
    if -1 not in ranks.values() and len(set(ranks.values()) - {0}) > 1:
        return sorted(words, key=lambda word: (ranks[word], word))
    read = _acuities(name, words)
    return sorted(words, key=lambda word: (-read[word], word)) if read and len(read) == len(words) else []


def icdr_of(cell: str) -> tuple[str, bool]:
    """Return the level of retinopathy that a cell names, empty for any doubt, and whether it names retinopathy.

    Example:
        >>> [icdr_of(cell)[0] for cell in ("RDNP leve", "NPDR moderate", "sin retinopatia", "增殖期", "NPDR")]
        ['1', '2', '0', '4', '']
    """
    found: list[str] = []
    rest = _phrases().sub(lambda phrase: found.append(_classes()[phrase[0]]) or " ", spaced(cell))  # type: ignore[func-returns-value]
    kinds = set(found) - {"filler"}
    degrees = kinds & set(_LEVELS)
    explicit = bool(kinds & {"non_proliferative", "proliferative", "retinopathy"})
    if rest.strip() or "" in kinds or len(degrees) > 1 or ({"non_proliferative", "proliferative"} <= kinds):
        return "", explicit
    if "proliferative" in kinds:
        return "" if "0" in degrees else "4", explicit
    return "" if "0" in degrees and "non_proliferative" in kinds else "".join(degrees), explicit


def icdr_in(cells: Iterable[str]) -> dict[str, str]:
    """Return cell -> level of retinopathy; none unless three levels are different and a cell names retinopathy."""
    read = {cell: icdr_of(cell) for cell in cells}
    words = {cell: level for cell, (level, _) in read.items() if level}
    named = any(explicit for level, explicit in read.values() if level)
    return words if named and len(set(words.values())) > 2 else {}


def spaced(text: str) -> str:
    """Return the words of a text in lower case, without accents, one blank between them."""
    parts = unicodedata.normalize("NFKD", text.casefold())
    return " ".join(re.findall(r"\w+", "".join(c for c in parts if not unicodedata.combining(c))))


@lru_cache(maxsize=1)
def _classes() -> Mapping[str, str]:
    degrees = [(word, level) for words, level in zip(WORDS["degrees"], _LEVELS, strict=True) for word in words]
    return {spaced(word): kind for word, kind in (*degrees, *((w, kind) for kind in _ICDR for w in _ICDR[kind]))}


@lru_cache(maxsize=1)
def _phrases() -> re.Pattern[str]:
    phrases = sorted(_classes(), key=len, reverse=True)
    return re.compile("|".join(rf"(?<![a-z]){re.escape(p)}(?![a-z])" if p.isascii() else re.escape(p) for p in phrases))


_LINE = re.compile(
    rf"(?P<below>(?:{'|'.join(map(re.escape, _ACUITY['below']))})\s*)?"
    r"(?:(?P<far>\d{1,2}(?:[.,]\d)?)\s*/\s*(?P<size>\d{1,4}(?:[.,]\d+)?)|(?P<number>-?\d(?:[.,]\d{1,3})?))"
    r"\s*(?:\(?(?P<letters>[-+]\s?\d)\)?|p|partial|partiell)?",
    re.IGNORECASE,
)

_SEEN = re.compile(r"(?P<word>[^\W\d]\D*?[+-]?)(?:\s*@?\s*(?P<far>\d+(?:[.,]\d+)?)\s*(?P<unit>cm|m|ft|feet|')?)?")

_LOW = {
    plain(word): low for low, words in zip((0.0, 1e-4, 1e-3, 2e-3), _ACUITY["words"], strict=True) for word in words
}
"""What is seen without a line, from no light to fingers."""


def acuities_in(name: str, values: Values) -> tuple[dict[str, str], dict[str, str]]:
    """Return cell -> acuity in words of one notation, and what is wrong of the others; none for another column.

    Example:
        >>> acuities_in("BCVA", Values({"6/18": 2, "0,5": 1, "<6/60": 1}, 4))[0]
        {'6/18': '0.33', '0,5': '0.5', '<6/60': 'below 0.1'}
    """
    read = _acuities(name, values.count)
    if values.share(read) < 0.9 or len(read) < 2:
        return {}, {}
    notations = {line["size"] == "10" or line["far"] for cell in read if (line := _LINE.fullmatch(cell.strip()))}
    spelled: dict[float, str] = {}
    for cell, value in read.items():  # the most frequent first
        found = _LINE.fullmatch(cell.strip())
        below = "below " if found and found["below"] else ""
        bare = cell.strip()[len(found["below"] or "") :] if found else cell.strip()
        exact = value / _BELOW if below else value
        number = -math.log10(exact) if found and _is_log(name) else exact
        spelled.setdefault(round(value, 6), below + (f"{number:.2g}" if found and len(notations) > 1 else bare))
    words = {cell: spelled[round(value, 6)] for cell, value in read.items()}
    return words, {cell: "expected an acuity" for cell in values.count if cell not in read}


_BELOW = 0.95


def _is_log(name: str) -> bool:
    return "logmar" in plain(name)


def _acuities(name: str, cells: Iterable[str]) -> dict[str, float]:
    """Return cell -> acuity as a decimal number; none if the name states none, or numbers may be of two notations."""
    bare, pieces = plain(name), set(map(plain, re.split(r"[\W_]+|(?<=[a-z])(?=[A-Z])", name)))
    if not (pieces & set(_ACUITY["short"]) or any(word in bare for word in _ACUITY["long"])):
        return {}
    cells = [cell for cell in cells if not is_missing(cell)]
    numbers = [number for cell in cells if (number := number_of(cell)) is not None]
    fifths = bool(numbers) and min(numbers) >= 3
    if not _is_log(name) and not fifths and numbers and (min(numbers) <= 0 or max(numbers) > 3):
        return {}
    read = {cell: _acuity(cell.strip(), _is_log(name), fifths) for cell in cells}
    return {cell: value for cell, value in read.items() if value is not None}


def _acuity(cell: str, is_log: bool, fifths: bool) -> float | None:
    found = _LINE.fullmatch(cell)
    if found is None:
        seen = _SEEN.fullmatch(cell)
        low = _LOW.get(plain(seen["word"])) if seen else None
        far = float((seen["far"] or "0").replace(",", ".")) if seen else 0.0
        unit = {"cm": 0.01, "ft": 0.3, "feet": 0.3, "'": 0.3}.get(seen["unit"] or "", 1.0) if seen else 1.0
        return None if low is None else low + far * unit * 1e-5
    far, size, number = (float((found[part] or "0").replace(",", ".")) for part in ("far", "size", "number"))
    value = number if not is_log and not fifths else 10.0**-number if is_log else 10.0 ** (number - 5)
    if found["far"]:
        value = far / size if size else 0.0
    letters = found["letters"] or ("-1" if cell[-1].isalpha() else "0")
    value *= (1 + 0.01 * int(letters.replace(" ", ""))) * (_BELOW if found["below"] else 1)
    return value if 0 < value <= 3 else None


# Dates and numbers of visits as times, where their order is certain.
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
