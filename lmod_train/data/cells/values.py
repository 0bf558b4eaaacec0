"""Cells of a table as words of the vocabulary: sides, sexes, ages, splits, yes and no, and diagnoses.

Every function returns None for a cell that it cannot read without guessing; the table keeps its own word then.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from lmod_train.data.cells.vocabulary import ERRORS, MISSING, NO, SEX_WORDS, SIDES, SPLITS, YES, plain

_AGE = re.compile(
    r"(\d{1,3}(?:[.,]\d+)?)\s*(?:y|yr|yrs|yo|y/o|years?|years? old|jahre?|j|ans?|anos?|años?|a|岁|歳|周岁)?\.?",
    re.IGNORECASE,
)

_MONTHS = re.compile(r"(\d{1,2})\s*(?:mo|mos|months?|monate?|mois|meses|mes|个月|月|か月)\.?", re.IGNORECASE)

SIGNS = re.compile(r"[^\w\s.'’·(),/&;-]|(?<!\w)-|-(?!\w)|\([\W_]*\)")
"""Signs by which a disease is denied, doubted or stated: ``DR -``, ``AMD (-)``, ``DR ±``; a hyphen joins words."""

OLDEST = 120
"""Years; an age at or above it is an error of typing."""


def is_missing(text: str) -> bool:
    """Return whether a cell has no value: empty, a dash, ``NA``, ``unknown``, 不详, an error of a spreadsheet."""
    if text.strip() in ("", "-", "--", "?", ".", "/", "—", "–"):
        return True
    return (bool(plain(text)) and plain(text) in MISSING) or is_error(text)


_ERROR = re.compile(r"#[¡¿]?[^\W\d_][\w/ ]*[!?]|Err:\d{3}|#{3,}")


def is_error(text: str) -> bool:
    """Return whether a cell is an error of a spreadsheet, in any language.

    Example:
        >>> [is_error(cell) for cell in ("#REF!", "#DIV/0!", "#¿NOMBRE?", "#N/A", "#NV", "# 3", "#1!", "REF!")]
        [True, True, True, True, True, False, False, False]
    """
    text = text.strip()
    return text[:1] in ("#", "E") and (bool(_ERROR.fullmatch(text)) or (text[0] == "#" and plain(text) in ERRORS))


_SHORTENED = re.compile(r"\d(?:[.,]\d+)?E\+\d{2,3}", re.IGNORECASE)


def malformed_ids(cells: Iterable[str]) -> dict[str, str]:
    """Return cell -> what is wrong of the numbers of patients that a spreadsheet has changed.

    Example:
        >>> list(malformed_ids(["1.23457E+17", "1,23E+05", "123456789012345000", "12.5", "#REF!"]))
        ['1.23457E+17', '1,23E+05', '123456789012345000', '12.5', '#REF!']
        >>> malformed_ids(["12.0", "00012", "a81f5e12", "1234567890123456", "2024.015", "P-1"])
        {}
    """
    found = {}
    for cell in dict.fromkeys(cells):
        text = cell.strip()
        if is_error(text):
            found[cell] = "an error of a spreadsheet"
        elif _SHORTENED.fullmatch(text):
            found[cell] = "a number that a spreadsheet has shortened"
        elif re.fullmatch(r"[1-9]\d{14}0{3,}", text):
            found[cell] = "a number whose digits behind the fifteenth a spreadsheet has set to 0"
        elif re.fullmatch(r"\d+[.,]\d{1,2}|\d{1,3}[.,]\d{4,}", text) and not re.fullmatch(r".*[.,]0+", text):
            found[cell] = "a number with decimals"
    return found


def side_of(text: str, words: frozenset[str] = frozenset()) -> str | None:
    """Return left or right.

    Args:
        text: The cell.
        words: All words of the column, which tell a D beside G, E, I or S as the right of Romance languages.

    Example:
        >>> [side_of(cell) for cell in ("OD", "links", "右眼", "OU", "1")]
        ['right', 'left', 'right', None, None]
        >>> side_of("D", frozenset("dg")), side_of("G", frozenset("dg")), side_of("E", frozenset("eg"))
        ('right', 'left', None)
    """
    word = plain(text) if "?" not in text else ""
    if word in words and "d" in words and len(words & {"g", "e", "i", "s"}) == 1:
        return "right" if word == "d" else "left" if word in ("g", "e", "i", "s") else _one_of(word, SIDES)
    return _one_of(word, SIDES)


def sex_of(text: str, words: frozenset[str] = frozenset()) -> str | None:
    """Return male or female.

    Args:
        text: The cell.
        words: All words of the column, which tell a Spanish M, for mujer beside H, from the M of male.

    Example:
        >>> sex_of("w"), sex_of("M"), sex_of("M", frozenset({"h", "m"})), sex_of("\u2640"), sex_of("1")
        ('female', 'male', 'female', 'female', None)
    """
    word = (plain(text) if "?" not in text else "") or text.strip()
    if "h" in words and "m" in words and "f" not in words and word in ("h", "m"):
        return "male" if word == "h" else "female"
    if "v" in words and "m" in words and "f" not in words and word in ("v", "m"):  # mujer and varon
        return "male" if word == "v" else "female"
    return "male" if word == "h" and "f" in words else _one_of(word, SEX_WORDS)


def same_person(cell: str) -> str:
    """Return the number or code of a patient without case, signs and leading zeros, in which one person's may differ.

    Example:
        >>> [same_person(cell) for cell in ("A-1", "a 1", "0012", "12.0", "Nr. 12", "1-23", "000")]
        ['a1', 'a1', '12', '12', 'nr12', '1-23', '0']
    """
    parts = map(plain, re.split(r"(?<=\d)\W+(?=\d)", re.sub(r"\.0$", "", cell.strip())))  # 1-23 is not 12-3
    code = "-".join(parts)
    return (code.lstrip("0") or "0") if code.isdecimal() else code or cell.strip()


_PART = re.compile(
    r"(?:(?<=\w)[\W_]|(?<=\d))(?:O[DSIEG]|[LR]E?)$|(?<=\w)[\W_](?:left|right|(?:V|visit|t)\W?\d{1,2})$", re.IGNORECASE
)
"""End of a number that names an eye or a visit of a patient."""


def people_in(cells: Sequence[str]) -> dict[str, str]:
    """Return cell -> patient of numbers that each end as an eye or a visit does; none for others.

    Example:
        >>> people_in(["P1_OD", "P1_OS", "P2_OD"]), people_in(["7L", "7R"]), people_in(["P1", "P2", "P3"])
        ({'P1_OD': 'P1', 'P1_OS': 'P1', 'P2_OD': 'P2'}, {'7L': '7', '7R': '7'}, {})
    """
    ids = [cell for cell in cells if not is_missing(cell)]
    found = {cell: _PART.sub("", cell) for cell in ids if _PART.search(cell)}
    return found if found and len(found) == len(ids) > len({*found.values()}) else {}


def legend_in(header: str) -> dict[str, str]:
    """Return code -> word of a legend in the name of a column, in brackets; none without two codes.

    Example:
        >>> legend_in("glaucoma (0=yes, 1=no)"), legend_in("BCVA (logMAR)"), legend_in("sex [1: f; 2: m]")
        ({'0': 'yes', '1': 'no'}, {}, {'1': 'f', '2': 'm'})
    """
    pairs = re.findall(r"[\[(,;/|]\s*([\w.+-]{1,4})\s*[=:]\s*([^\W\d_][^,;/|)\]=:]*)", header)
    found = {code: word.strip() for code, word in pairs}
    return found if len(found) > 1 else {}


def ids_in_doubt(cells: Sequence[str]) -> str:
    """Return what is wrong with numbers of patients; empty for good ones.

    Example:
        >>> ids_in_doubt(["1", "0"] * 30), ids_in_doubt(["1.23457E+17"] * 42)[:29], ids_in_doubt(["P1", "P2"] * 30)
        ('60 images would be of 2 patients', '42 numbers end as 1.23457E+17', '')
    """
    wrong = malformed_ids(cells)
    ids = [cell for cell in cells if not is_missing(cell)]
    people = Counter(map(same_person, ids)).most_common()
    if wrong:
        cell, why = next(iter(wrong.items()))
        return (
            f"{sum(c in wrong for c in cells)} numbers end as {shown(cell)}{', ...' if len(wrong) > 1 else ''}, {why}"
        )
    if len(ids) > 2 and {flag_of(cell) for cell in ids} == {"yes", "no"}:
        return f"{len(ids)} images would be of {len(people)} patients"
    others = len(ids) - people[0][1] if people else 0
    if len(ids) >= 10 and people[0][1] > others and people[0][1] * (len(people) - 1) >= 5 * others:
        return f"{people[0][1]} of {len(ids)} images would be of one patient"
    return ""


def is_shared_id(cells: Sequence[str]) -> bool:
    """Return whether cells are like numbers of patients with several rows each: codes, or whole numbers in blocks."""
    different = len(set(cells))
    if different < 5 or different * 10 < len(cells) or different == len(cells):
        return False
    codes = sum(bool(re.fullmatch(r"(?=.*\d)(?=.*[^\W\d_])[\w-]+|\d{5,}", cell)) for cell in cells)
    blocks = 1 + sum(one != other for one, other in pairwise(cells))
    shared = len(cells) - sum(n == 1 for n in Counter(cells).values())
    numbered = all(map(str.isdecimal, cells)) and blocks == different and shared * 2 > len(cells)
    return codes >= 0.9 * len(cells) or numbered


def split_of(text: str) -> str | None:
    """Return train, val or test."""
    return _one_of(plain(text), SPLITS)


def flag_of(text: str) -> str | None:
    """Return yes or no.

    Example:
        >>> [flag_of(cell) for cell in ("ja", "0", "1,0", "无", "2", "-1", "yes?")]
        ['yes', 'no', 'yes', 'no', None, None, None]
    """
    word = re.sub(r"(?<=^[01])[.,]0+$", "", text.strip())
    if plain(word) and SIGNS.search(word):
        return None
    word = plain(word) or word
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
        missing: Other missing cell -> number of rows, without errors of a spreadsheet.
        errors: Those errors.
    """

    count: Mapping[str, int] = field(default_factory=dict)
    rows: int = 0
    empty: int = 0
    blank: tuple[str, ...] = ()
    missing: Mapping[str, int] = field(default_factory=dict)
    errors: tuple[str, ...] = ()

    def share(self, known: Mapping[str, object]) -> float:
        """Return the share of rows whose cell is a key of a mapping; 0 for an empty column."""
        return sum(n for cell, n in self.count.items() if cell in known) / self.rows if self.rows else 0.0

    def read(self, as_word: Callable[[str], str | None], wrong: str) -> tuple[dict[str, str], dict[str, str]]:
        """Return cell -> word of the cells that a function reads, and cell -> what is wrong of the others."""
        words = {cell: word for cell in self.count if (word := as_word(cell))}
        return words, {cell: wrong for cell in self.count if cell not in words}


def values_of(cells: list[str]) -> Values:
    """Return the distinct cells of a column."""
    every = Counter(cells)
    signs = {"-", "–"} if "+" in every else set()
    count = {cell: n for cell, n in every.items() if cell in signs or not is_missing(cell)}
    rows = sum(count.values())
    errors = tuple(sorted(filter(is_error, every.keys() - count.keys())))
    lost = sorted(every.keys() - count.keys() - {*errors})
    blank, missing = [cell for cell in lost if not plain(cell)], {cell: every[cell] for cell in lost if plain(cell)}
    ordered = dict(sorted(count.items(), key=lambda item: (-item[1], item[0])))
    return Values(ordered, rows, len(cells) - rows, tuple(blank), missing, errors)


def in_one_spelling(words: Mapping[str, str], values: Values) -> dict[str, str]:
    """Return cell -> word with one spelling of words that differ in case, accents, blanks and hyphens only.

    Example:
        >>> in_one_spelling({"DR?": "DR?", "DR": "DR"}, Values({"DR?": 9, "DR": 1}, 10))
        {'DR?': 'DR?', 'DR': 'DR'}
        >>> in_one_spelling({"Gut": "Gut", "gut": "gut", "k.A": "k.A"}, Values({"gut": 9, "Gut": 1, "k.A": 1}, 11))
        {'Gut': 'gut', 'gut': 'gut', 'k.A': 'k.A'}
    """
    spelled: dict[tuple[str, ...], str] = {}
    for cell in values.count:  # the most frequent first
        if cell in words:
            spelled.setdefault(_spelling(words[cell]), words[cell])
    return {cell: spelled.get(_spelling(word), word) for cell, word in words.items()}


def _spelling(word: str) -> tuple[str, ...]:
    """Return what two spellings of a word share: letters, digits, what parts numbers, and signs such as ``?``."""
    return plain(word) or word, *SIGNS.findall(word), *re.findall(r"(?<=\d)[^\w\s]+(?=\d)", word)


def listed(cells: Iterable[str]) -> str:
    """Return the first cells, and how many more there are."""
    named = [shown(cell) for cell in cells]
    return ", ".join(named[:6]) + (f" and {len(named) - 6} more" if len(named) > 6 else "")


def shown(text: str, most: int = 24) -> str:
    """Return the beginning of a cell in one line."""
    line = " ".join(text[: 4 * most].split())
    return line if len(text) <= most else f"{line[: most - 3]}..."
