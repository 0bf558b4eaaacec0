"""Cells of a table as words of the vocabulary: sides, sexes, ages, splits, yes and no, and diagnoses.

Every function returns None for a cell that it cannot read without guessing; the table keeps its own word then.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from lmod_train.core.vocabulary.conditions import CONDITIONS
from lmod_train.data.cells.vocabulary import (
    DIAGNOSES,
    DOUBTS,
    ERRORS,
    ICD_10,
    KINDS,
    MISSING,
    NEGATIONS,
    NO,
    PASTS,
    SEVERITIES,
    SEX_WORDS,
    SIDES,
    SPLITS,
    WORDS,
    YES,
    plain,
)

_AGE = re.compile(
    r"(\d{1,3}(?:[.,]\d+)?)\s*(?:y|yr|yrs|yo|y/o|years?|years? old|jahre?|j|ans?|anos?|años?|a|岁|歳|周岁)?\.?",
    re.IGNORECASE,
)

_MONTHS = re.compile(r"(\d{1,2})\s*(?:mo|mos|months?|monate?|mois|meses|mes|个月|月|か月)\.?", re.IGNORECASE)

_SEPARATORS = re.compile(
    r"[;,|、，；•·\\\n]|(?<=[\w)])\s*[+/&]\s*(?=\w)|(?<=\w)(?:和|合并|伴有|伴|及|以及|与|並びに)(?=\w)"
    r"|\s(?:and|und|sowie|et|y|e|mit|with|plus|w/|con|com|avec|mais)\s"
)

_CODE = re.compile(r"([A-Z]\d{2})(?:\.?(\d{1,4}))?(?:X\d|X\d{3}|[*†]|G?[RLB]?|[RLB]G)", re.IGNORECASE)
"""With the German letters of a certain diagnosis (G) and of sides; V, A and Z are a suspicion, excluded, and past.
Further signs are the seventh of ICD-10-CM, a Chinese extension, and those of a disease and its cause."""

_SIGNS = re.compile(r"[^\w\s.'’·(),/&;-]|(?<!\w)-|-(?!\w)|\([\W_]*\)")
"""Signs by which a disease is denied, doubted or stated: ``DR -``, ``AMD (-)``, ``DR ±``; a hyphen joins words."""

_LONGEST = 2000
"""Characters of a list of diagnoses; a longer cell is free text."""

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
    apart = len(parts) > 1 and all(map(_disease, parts))  # ``DR y AMD`` is not dry AMD
    whole = _finding(text) if len(parts) < 2 or spans or (_disease(text) and not apart) else None
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
    if (_SIGNS.search(low) and not code_of(text)) or any(
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


def code_of(text: str) -> str:
    """Return a cell that is a code of ICD-10, as it is published; empty for any other.

    Example:
        >>> [code_of(cell) for cell in ("E11.3291", "H401131", "h36.0*", "H40.1 G", "glaucoma")]
        ['E11.3291', 'H40.1131', 'H36.0', '', '']
    """
    code = _CODE.fullmatch(text.strip())
    return "" if code is None else code[1].upper() + (f".{code[2]}" if code[2] else "")


def _disease(text: str) -> str | None:
    """Return the disease that a phrase names as a whole, in words or as a code of ICD-10."""
    if stated := code_of(text):
        known = [begin for begin in ICD_10 if stated.startswith(begin)]
        return ICD_10[max(known, key=len)] or None if known else None
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


def words_of(disease: str) -> list[str]:
    """Return the names of a disease and its kinds, as they are written."""
    terms = (
        word for term in CONDITIONS if term.name == disease for word in (*term.english, *term.chinese, *term.kinds)
    )
    return [disease, *terms, *WORDS["diagnoses"].get(disease, ())]


def is_qualified(text: str) -> bool:
    """Return whether a text denies a disease, doubts it, or says that it is of the past.

    Example:
        >>> [is_qualified(text) for text in ("glaucoma - ruled out", "non-glaucoma", "RD proliferativa", "PDR, no DME")]
        [True, True, False, True]
    """
    low = f" {text.casefold()}"
    for word in (*WORDS["icdr"]["non_proliferative"], *WORDS["undenied"]):  # which deny no disease
        low = low.replace(word.casefold(), "")
    denied = re.search(rf"[\W_](?:{'|'.join(map(re.escape, (*NEGATIONS, *WORDS['denials'])))})", low)
    return bool(denied or _SIGNS.search(low[1:])) or any(word in low for word in (*DOUBTS, *PASTS))


@lru_cache(maxsize=10_000)
def condition_of(header: str) -> str | None:
    """Return the disease whose flag a column is, by its name alone.

    Example:
        >>> condition_of("Glaucoma"), condition_of("ARMD"), condition_of("age")
        ('glaucoma', 'age-related macular degeneration', None)
    """
    name = _disease(header.replace("_", " "))
    return name if name != "normal" else None


@lru_cache(maxsize=1)
def _kinds() -> Mapping[str, str]:
    found = {plain(word): plain(word) for term in CONDITIONS for word in term.kinds}
    return found | {word: kind for kind, words in KINDS.items() for word in words}


def kind_named(header: str) -> str:
    """Return the kind of a disease that the name of a column states; empty for the disease itself.

    Example:
        >>> kind_named("CRVO"), kind_named("Zentralvenenverschluss"), kind_named("DR")
        ('central retinal vein occlusion', 'central retinal vein occlusion', '')
    """
    pieces = re.split(r"[\W_]+", header)
    graded = plain(header) if any(plain(piece) in SEVERITIES for piece in pieces) else ""
    return _kinds().get(plain(header), graded)


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
        return words, dict.fromkeys(self.count.keys() - words.keys(), wrong)


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


def listed(cells: Iterable[str]) -> str:
    """Return the first cells, and how many more there are."""
    named = [shown(cell) for cell in cells]
    return ", ".join(named[:6]) + (f" and {len(named) - 6} more" if len(named) > 6 else "")


def shown(text: str, most: int = 24) -> str:
    """Return the beginning of a cell in one line."""
    line = " ".join(text[: 4 * most].split())
    return line if len(text) <= most else f"{line[: most - 3]}..."
