"""Cells of a table as words of the vocabulary: sides, sexes, ages, splits, yes and no, and diagnoses.

Every function returns None for a cell that it cannot read without guessing; the table keeps its own word then.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import date
from functools import lru_cache

from lmod_train.core.vocabulary.conditions import CONDITIONS
from lmod_train.extensions.table.vocabulary import (
    DIAGNOSES,
    DOUBTS,
    ICD_10,
    MISSING,
    NEGATIONS,
    NO,
    PASTS,
    SEVERITIES,
    SEX_WORDS,
    SIDES,
    SPLITS,
    YES,
    plain,
)

_AGE = re.compile(
    r"(\d{1,3}(?:[.,]\d+)?)\s*(?:y|yr|yrs|yo|y/o|years?|years? old|jahre?|j|ans?|anos?|años?|a|岁|歳|周岁)?\.?",
    re.IGNORECASE,
)

_MONTHS = re.compile(r"(\d{1,2})\s*(?:mo|mos|months?|monate?|mois|meses|mes|个月|月|か月)\.?", re.IGNORECASE)

_SEPARATORS = re.compile(r"[;,|、，；\n]|(?<=[\w)])\s*[+/&]\s*(?=\w)|\s(?:and|und|et|y|e|mit|with|con|com|avec)\s")

_CODE = re.compile(r"([A-Z]\d{2}(?:\.\d{1,4})?)(?:X\d|G?[RLB]?|[RLB]G)", re.IGNORECASE)
"""With the German letters of a certain diagnosis (G) and of sides; V, A and Z are a suspicion, excluded, and past."""

_SIGNS = re.compile(r"[^\w\s.'’·(),/&;-]|(?<!\w)-|-(?!\w)|\([\W_]*\)")
"""Signs by which a disease is denied, doubted or stated: ``DR -``, ``AMD (-)``, ``DR ±``; a hyphen joins words."""

_LONGEST = 2000
"""Characters of a list of diagnoses; a longer cell is free text."""

OLDEST = 120
"""Years; an age at or above it is an error of typing."""


def is_missing(text: str) -> bool:
    """Return whether a cell has no value: empty, a dash, ``NA``, ``unknown``, 不详."""
    return text.strip() in ("", "-", "--", "?", ".", "/", "—", "–") or (bool(plain(text)) and plain(text) in MISSING)


def side_of(text: str) -> str | None:
    """Return left or right.

    Example:
        >>> [side_of(cell) for cell in ("OD", "links", "右眼", "OU", "1")]
        ['right', 'left', 'right', None, None]
    """
    return _one_of(plain(text), SIDES)


def sex_of(text: str, words: frozenset[str] = frozenset()) -> str | None:
    """Return male or female.

    Args:
        text: The cell.
        words: All words of the column, which tell a Spanish M, for mujer beside H, from the M of male.

    Example:
        >>> sex_of("w"), sex_of("M"), sex_of("M", frozenset({"h", "m"})), sex_of("\u2640"), sex_of("1")
        ('female', 'male', 'female', 'female', None)
    """
    word = plain(text) or text.strip()
    if "h" in words and "m" in words and "f" not in words and word in ("h", "m"):
        return "male" if word == "h" else "female"
    if "v" in words and "m" in words and "f" not in words and word in ("v", "m"):  # mujer and varon
        return "male" if word == "v" else "female"
    return "male" if word == "h" and "f" in words else _one_of(word, SEX_WORDS)


def same_person(cell: str) -> str:
    """Return the number or code of a patient without case, signs and leading zeros, in which one person's may differ.

    Example:
        >>> [same_person(cell) for cell in ("A-1", "a 1", "0012", "12.0", "Nr. 12")]
        ['a1', 'a1', '12', '12', 'nr12']
    """
    code = plain(re.sub(r"\.0$", "", cell.strip()))
    return (code.lstrip("0") or code) if code.isdecimal() else code or cell.strip()


def split_of(text: str) -> str | None:
    """Return train, val or test."""
    return _one_of(plain(text), SPLITS)


def flag_of(text: str) -> str | None:
    """Return yes or no.

    Example:
        >>> flag_of("ja"), flag_of("0"), flag_of("无"), flag_of("2")
        ('yes', 'no', 'no', None)
    """
    word = plain(text) or text.strip()
    return "yes" if word in YES else "no" if word in NO else None


def age_of(text: str) -> float | None:
    """Return an age in years; None for one that is no age, such as a year of birth.

    Example:
        >>> [age_of(cell) for cell in ("67", "67 Jahre", "6 months", "63,5", "1957", "150", "60-69")]
        [67.0, 67.0, 0.5, 63.5, None, None, None]
    """
    found = _AGE.fullmatch(text.strip())
    months = _MONTHS.fullmatch(text.strip())
    if months:
        return int(months[1]) / 12
    years = float(found[1].replace(",", ".")) if found else -1.0
    return years if 0 <= years < OLDEST else None


def number_of(text: str) -> float | None:
    """Return a number with a decimal point or comma; None for anything else, and for one that may group thousands."""
    found = re.fullmatch(r"[-+]?\d+(?:[.,]\d+)?", text.strip())
    return float(text.strip().replace(",", ".")) if found else None


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


_GROUPED = re.compile(r"[-+]?[1-9]\d{0,2}([.,])\d{3}")
"""Thousands, or three decimals: only the other cells of a column say which."""


def numbers_of(cells: Iterable[str]) -> dict[str, float]:
    """Return cell -> number, as the cells together show which of point and comma groups thousands.

    A cell that may be read in two ways has no number; percent signs are passed over if all cells have one.

    Example:
        >>> numbers_of(["2.345", "12,5"]), numbers_of(["2.345", "0.5"]), numbers_of(["2.345", "7"]), numbers_of(["5 %"])
        ({'2.345': 2345.0, '12,5': 12.5}, {'2.345': 2.345, '0.5': 0.5}, {'7': 7.0}, {'5 %': 5.0})
    """
    texts = {cell: cell.strip() for cell in cells}
    if all(text.endswith("%") for text in texts.values()):
        texts = {cell: text[:-1].strip() for cell, text in texts.items()}
    points = {sign for text in texts.values() if not _GROUPED.fullmatch(text) for sign in _decimal_signs(text)}
    if len(points) == 1:
        (point,) = points
        group = "," if point == "." else "."
        grouped = re.compile(rf"[-+]?[1-9]\d{{0,2}}(?:\{group}\d{{3}})+(?:\{point}\d+)?")
        texts = {cell: text.replace(group, "") if grouped.fullmatch(text) else text for cell, text in texts.items()}
    unclear = _GROUPED.fullmatch if len(points) != 1 else lambda _: None
    read = {cell: number_of(text) for cell, text in texts.items() if not unclear(text)}
    return {cell: number for cell, number in read.items() if number is not None}


def _decimal_signs(text: str) -> set[str]:
    """Return the sign that is the decimal point of a number, if it shows that: ``0,5``, ``1.234,5``, ``1.234.567``."""
    grouped = re.fullmatch(r"[-+]?[1-9]\d{0,2}([.,])\d{3}(?:\1\d{3})*(?:(?!\1)[.,]\d+)?", text)
    if grouped:
        return {"," if grouped[1] == "." else "."}
    plain_number = re.fullmatch(r"[-+]?\d+([.,])\d+", text)
    return {plain_number[1]} if plain_number else set()


@dataclass(frozen=True, slots=True)
class Findings:
    """What a cell states of diseases.

    Attributes:
        present: Names of the vocabulary that the cell states to be there.
        absent: Those that it denies.
        others: Its other words, as they stand there: what the vocabulary lacks, suspicions, what is past.
    """

    present: tuple[str, ...] = ()
    absent: tuple[str, ...] = ()
    others: tuple[str, ...] = ()

    @property
    def words(self) -> str:
        """All of it in words, for the column's own question and the screen; empty for an empty cell."""
        return "; ".join((*self.present, *(f"no {name}" for name in self.absent), *self.others))

    @property
    def labels(self) -> dict[str, str]:
        """Labels of the vocabulary: each disease with yes or no, and ``diagnosis`` where there is exactly one."""
        found = dict.fromkeys(self.absent, "no") | dict.fromkeys(self.present, "yes")
        if self.present == ("normal",) and not self.others:
            return {"diagnosis": "normal"}
        found.pop("normal", None)
        single = len(self.present) == 1 and not self.others and self.present != ("normal",)
        return found | ({"diagnosis": self.present[0]} if single else {})


@lru_cache(maxsize=10_000)
def findings_of(text: str) -> Findings:
    """Return the diseases in a cell.

    A suspicion, a disease of the past and a denied one are none: ``suspect glaucoma`` stays a word of the table, and
    ``no DR`` denies retinopathy, which is not ``normal``.

    Example:
        >>> findings_of("DR; AMD").present, findings_of("no DR").absent, findings_of("Glaukomverdacht").others
        (('diabetic retinopathy', 'age-related macular degeneration'), ('diabetic retinopathy',), ('Glaukomverdacht',))
    """
    if is_missing(text):
        return Findings()
    if len(text) > _LONGEST:
        return Findings(others=(text.strip(),))
    parts = [part.strip() for part in _SEPARATORS.split(text) if part and part.strip()]
    spans = any(word in text.casefold() for word in (*DOUBTS, *PASTS) if "/" in word)  # ``s/p DR`` is one phrase
    whole = _finding(text) if len(parts) < 2 or spans or _disease(text) else None
    if spans and whole is None:
        whole = Findings(others=(text.strip(),))
    if whole is not None:
        return whole
    read = [_finding(part) or Findings(others=(part,)) for part in parts] if len(parts) > 1 else []
    if not any(one.present or one.absent for one in read) or any(_qualifies(part) for part in parts):
        return Findings(others=(text.strip(),))
    together = Findings(*(tuple(dict.fromkeys(w for one in read for w in getattr(one, f))) for f in _FIELDS))
    return Findings(others=(text.strip(),)) if set(together.present) & set(together.absent) else together


_FIELDS = ("present", "absent", "others")


def _qualifies(part: str) -> bool:
    """Return whether a part makes the disease beside it a suspicion, or one of the past: ``glaucoma, suspected``."""
    low = part.casefold()
    if not any(word in low for word in (*DOUBTS, *PASTS)):
        return False
    return not any(len(name) > 3 and name in plain(part) for name in _names())


def _finding(text: str) -> Findings | None:
    """Return what a phrase of one disease states; None for one that is not understood as a whole."""
    text = unicodedata.normalize("NFKC", text)
    low = text.strip().casefold()
    if _SIGNS.search(low) or any(
        word in low for word in (*DOUBTS, *PASTS)
    ):  # first, as the names are compared without signs: ``cataract?``
        return Findings(others=(text.strip(),))
    name = _disease(text)
    if name is not None:
        return Findings(present=(name,))
    for negation in NEGATIONS:
        denied = _disease(low.removeprefix(negation)) if low.startswith(negation) else None
        if denied is not None:
            return Findings(absent=(denied,)) if denied != "normal" else Findings(others=(text.strip(),))
    return None


def _disease(text: str) -> str | None:
    """Return the disease that a phrase names as a whole, in words or as a code of ICD-10."""
    code = _CODE.fullmatch(text.strip())
    if code:
        stated = code[1].upper()
        return next((name for begin, name in ICD_10.items() if stated == begin or stated.startswith(begin)), None)
    names = _names()
    rest = [piece for piece in re.split(r"[\s,]+", text) if plain(piece) not in SEVERITIES]
    return names.get(plain(text)) or names.get(plain(" ".join(rest)))


@lru_cache(maxsize=1)
def _names() -> Mapping[str, str]:
    found: dict[str, str] = {}
    for term in CONDITIONS:
        for word in (term.name, *term.english, *term.chinese, *term.kinds):
            found.setdefault(plain(word), term.name)
    for name, words in DIAGNOSES.items():
        for word in words:
            found.setdefault(word, name)
    return found


def condition_of(header: str) -> str | None:
    """Return the disease whose flag a column is, by its name alone.

    Example:
        >>> condition_of("Glaucoma"), condition_of("ARMD"), condition_of("age")
        ('glaucoma', 'age-related macular degeneration', None)
    """
    name = _disease(header.replace("_", " "))
    return name if name != "normal" else None


def _one_of(word: str, words: Mapping[str, frozenset[str]]) -> str | None:
    return next((name for name, own in words.items() if word in own), None)


@dataclass(frozen=True, slots=True)
class Values:
    """The distinct cells of a column.

    Attributes:
        count: Cell -> number of rows, without missing ones, the most frequent first.
        rows: Number of rows with a value.
        empty: Number of rows without.
        blank: Missing cells that are empty or signs; unlike ``unknown``, they may mean no.
    """

    count: Mapping[str, int] = field(default_factory=dict)
    rows: int = 0
    empty: int = 0
    blank: tuple[str, ...] = ()

    def share(self, known: Mapping[str, object]) -> float:
        """Return the share of rows whose cell is a key of a mapping; 0 for an empty column."""
        return sum(n for cell, n in self.count.items() if cell in known) / self.rows if self.rows else 0.0

    def read(self, as_word: Callable[[str], str | None], wrong: str) -> tuple[dict[str, str], dict[str, str]]:
        """Return cell -> word of the cells that a function reads, and cell -> what is wrong of the others."""
        words = {cell: word for cell in self.count if (word := as_word(cell))}
        return words, dict.fromkeys(self.count.keys() - words.keys(), wrong)


def values_of(cells: list[str]) -> Values:
    """Return the distinct cells of a column."""
    count: dict[str, int] = {}
    signs = {"-", "–"} if "+" in cells else set()
    for cell in cells:
        if cell in signs or not is_missing(cell):
            count[cell] = count.get(cell, 0) + 1
    rows = sum(count.values())
    blank = tuple(sorted(cell for cell in set(cells) - count.keys() if not plain(cell)))
    return Values(dict(sorted(count.items(), key=lambda item: (-item[1], item[0]))), rows, len(cells) - rows, blank)


def in_one_spelling(words: Mapping[str, str], values: Values) -> dict[str, str]:
    """Return cell -> word with one spelling of words that differ in case, accents, blanks and signs only.

    Example:
        >>> in_one_spelling({"Gut": "Gut", "gut": "gut", "k.A": "k.A"}, Values({"gut": 9, "Gut": 1, "k.A": 1}, 11))
        {'Gut': 'gut', 'gut': 'gut', 'k.A': 'k.A'}
    """
    spelled: dict[str, str] = {}
    for cell in values.count:  # the most frequent first
        if cell in words:
            spelled.setdefault(plain(words[cell]) or words[cell], words[cell])
    return {cell: spelled.get(plain(word) or word, word) for cell, word in words.items()}
