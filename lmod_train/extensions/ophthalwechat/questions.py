"""The rows of OphthalWeChat's workbooks and their questions: kind, language, words, options, answer, or why none."""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from openpyxl.utils.cell import range_boundaries

from lmod_train.core.option_letters import EDGES, divided
from lmod_train.data.sources.row_ids import BadRow
from lmod_train.data.sources.sheets import MOST_CELLS, Sheet, cell_text, read_workbook
from lmod_train.data.sources.spellings import Words, folded, plain
from lmod_train.extensions.ophthalwechat.words import (
    FALSE,
    IMAGE_COLUMNS,
    NUMBERS,
    QUESTION_COLUMNS,
    TRUE,
    TYPES,
    half_width,
    kind_and_language,
    shown,
)

LETTERS = "ABCD"
"""Letters of the four options."""

CHOICES = {"zh": ("对", "错"), "en": ("True", "False")}
"""Language -> the answers to a statement that is true, and to one that is not."""

_LABEL = re.compile(
    r"^(?:the )?(?:correct )?(?:answer|option|choice|答案|正确答案|选项|选|答)(?: is)?\s?[:=是为]?\s?", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class Asked:
    """A question as it can be asked.

    Attributes:
        task: Task that asks it.
        language: ``zh`` or ``en``.
        stem: What is asked, without the options.
        words: The same with the options.
        choices: The two answers to a statement, or the texts of the four options; none for an open question.
        answer: One of the choices, or the text of an open answer.
    """

    task: str
    language: str
    stem: str
    words: str
    choices: tuple[str, ...]
    answer: str

    @property
    def place(self) -> int:
        """Place of the answer among the choices, the same in both languages; -1 without choices."""
        return self.choices.index(self.answer) if self.choices else -1


def read_question(row: Row, words: Words) -> Asked:
    """Return the question of a row.

    Raises:
        BadRow: It cannot be asked.
    """
    task, language = _kind(row, words)
    text = row.text("question", required=True)
    answer = row.text("answer", required=True)
    if task == "binary_question":
        return Asked(task, language, text, text, CHOICES[language], _judged(answer, CHOICES[language]))
    if task == "open_question":
        return Asked(task, language, text, text, (), answer)
    stem, asked, options = _with_options(text, row, language)
    return Asked(task, language, stem, asked, options, _chosen(answer, options))


def _kind(row: Row, words: Words) -> tuple[str, str]:
    """Return task and language of a row; a language column counts before the language of the kind."""
    stated = row.text("type", required=True)
    task, language = kind_and_language(stated, words)
    if not task:
        raise BadRow("unknown type", f"{shown(stated)}, expected one of {', '.join(TYPES)}; see the option `types`")
    named = row.text("language")
    own = words["languages"].get(plain(named), "") if named else language
    if named and not own:
        raise BadRow("unknown language", f"{shown(named)}, expected zh or en; see the option `languages`")
    if not own:
        raise BadRow("no language", f"neither the language nor the type ({shown(stated)}) names one")
    if language and language != own:
        raise BadRow("two languages", f"the type {shown(stated)} is {language}, the language {shown(named)}")
    return task, own


def _judged(answer: str, choices: tuple[str, str]) -> str:
    """Return the choice that an answer to a statement stands for."""
    word = half_width(answer).casefold().strip(EDGES + ".")
    word = _LABEL.sub("", word)
    if word in TRUE or word in FALSE:
        return choices[word in FALSE]
    raise BadRow("answer is no option", f"{shown(answer)}, expected {choices[0]} or {choices[1]}")


def _with_options(text: str, row: Row, language: str) -> tuple[str, str, tuple[str, ...]]:
    """Return a single-choice question without and with its options, and their texts.

    Raises:
        BadRow: There are not four different options A to D.
    """
    own = [row.text(letter) for letter in LETTERS]
    stem, options = (text, own) if any(own) else divided(text)[:2]
    if any(own):
        mark = {"zh": "：", "en": ": "}[language]
        text = " ".join([text, *(f"{letter}{mark}{option}" for letter, option in zip(LETTERS, own, strict=True))])
    texts = tuple(" ".join(option.split()).strip(EDGES) for option in options)
    if len(texts) != len(LETTERS) or not all(texts):
        found = f"{sum(map(bool, texts))} options in {shown(text[-60:])}"
        raise BadRow("unreadable options", f"{found}, expected four with the letters A to D")
    if len({_compared(option) for option in texts}) < len(texts):
        raise BadRow("two equal options", "; ".join(map(shown, texts)))
    return stem, text, texts


def _chosen(answer: str, options: tuple[str, ...]) -> str:
    """Return the option that an answer names by its letter or its text, or both.

    Raises:
        BadRow: It names none.
    """
    compared = {_compared(option): option for option in options}
    plain_answer = half_width(answer).strip(EDGES)
    for said in (plain_answer, _LABEL.sub("", plain_answer)):
        if _compared(said) in compared:
            return compared[_compared(said)]
        lettered = re.fullmatch(r"[(\[]?\s?([A-Za-z])\s?[)\]]?[.:、)]?(?:\s?(.+))?", said)
        if lettered and (not lettered[2] or _compared(lettered[2]) in compared):
            return _of_letter(lettered[1].upper(), lettered[2], options, answer)
    raise BadRow("answer is no option", f"{shown(answer)}, expected a letter A to D or the text of an option")


def _of_letter(letter: str, text: str | None, options: tuple[str, ...], answer: str) -> str:
    place = LETTERS.find(letter)
    if place < 0:
        raise BadRow("no such option", f"{shown(answer)}, expected a letter A to D")
    if text and _compared(text) != _compared(options[place]):
        raise BadRow("letter and text differ", f"{shown(answer)}, but {letter} is {shown(options[place])}")
    return options[place]


def _compared(text: str) -> str:
    """Return a text as two are compared: folded, without marks at its ends."""
    return folded(text).strip(EDGES + ".")


# The sheets of OphthalWeChat's workbooks: which of them hold questions or images, and their rows by column.
TITLES = 20
"""Rows above which a header may stand."""

LONGEST_CELL = 32_767
"""Characters of a cell, as Excel permits; more are of no question."""

_MOST_WIDE = 200  # columns of which merged cells are followed


@dataclass(frozen=True, slots=True)
class Row:
    """A row of a sheet.

    Attributes:
        number: As Excel counts, from 1.
        values: Column -> value of its cell; columns that the sheet lacks are absent.
        merged: Columns whose cells are part of a merged range, and not its first cell.
    """

    number: int
    values: Mapping[str, Any]
    merged: frozenset[str] = frozenset()

    def text(self, column: str, *, required: bool = False) -> str:
        """Return the text of a cell; empty for an empty or missing one.

        Args:
            column: Its column.
            required: Whether an empty cell is an error.

        Raises:
            BadRow: The cell is a date, or longer than a cell of Excel; or it is empty, and `required` is set.
        """
        value = self.values.get(column)
        if isinstance(value, datetime.date | datetime.time | datetime.timedelta):
            raise BadRow(f"{column} is a date", f"{shown(str(value))}; set the cells to text in the workbook")
        if isinstance(value, str) and len(value) > LONGEST_CELL:
            raise BadRow("cell too long", f"{column} has {len(value):,} characters, expected at most {LONGEST_CELL:,}")
        text = cell_text(value)
        if required and not text:
            why = "a formula without a stored value counts as empty"
            if column in self.merged:
                raise BadRow("merged cells", f"{column} is in a merged range; repeat its value in every row")
            raise BadRow(f"no {column}", f"{column} is empty; {why}")
        return text


@dataclass(frozen=True, slots=True)
class Table:
    """A sheet with a header.

    Attributes:
        file: Workbook.
        title: Name of the sheet.
        kind: Whether its rows are questions or images.
        headers: All headers, as they stand in the sheet.
        columns: Names of the columns that are known.
        rows: Its rows, in order, without empty ones.
    """

    file: Path
    title: str
    kind: Literal["questions", "images"]
    headers: Sequence[str]
    columns: frozenset[str]
    rows: Sequence[Row]


@dataclass(frozen=True, slots=True)
class NoTable:
    """A sheet in which no header was found, with the cells of its first row."""

    file: Path
    title: str
    headers: Sequence[str]


def tables_of(file: Path, words: Words) -> Iterator[Table | NoTable]:
    """Yield every sheet of a workbook that is not empty.

    Raises:
        UnreadableSheet: The workbook cannot be read.
    """
    for sheet in read_workbook(file):
        if any(cell_text(value) for row in sheet.rows for value in row):
            yield _table(file, sheet, words)


def _table(file: Path, sheet: Sheet, words: Words) -> Table | NoTable:
    first = next(row for row in sheet.rows if any(map(cell_text, row)))
    for at, row in enumerate(sheet.rows[:TITLES]):
        headers = [cell_text(value)[:200] for value in row]
        kind = _kind_tables(headers, words)
        if kind:
            places = _places(headers, kind, words)
            rows = tuple(_rows(sheet, at, places))
            return Table(file, sheet.title, kind, [h for h in headers if h], frozenset(places), rows)
    return NoTable(file, sheet.title, [cell_text(value)[:60] for value in first if cell_text(value)][:30])


def _kind_tables(headers: Sequence[str], words: Words) -> Literal["questions", "images"] | None:
    """Return what a header is of: questions have a question and an answer, images two other columns."""
    found = {words["columns"].get(plain(header)) for header in headers} - {None}
    if {"question", "answer"} <= found:
        return "questions"
    of_images = (found & set(IMAGE_COLUMNS)) | ({"image"} if _numbered(headers) is not None else set())
    return "images" if len(of_images) > 1 and not found & {"question", "answer"} else None


def _places(headers: Sequence[str], kind: Literal["questions", "images"], words: Words) -> dict[str, int]:
    """Return column -> its place; of two headers of one column the first."""
    wanted = QUESTION_COLUMNS if kind == "questions" else IMAGE_COLUMNS
    places: dict[str, int] = {}
    for place, header in enumerate(headers):
        name = words["columns"].get(plain(header), "")
        if name in wanted:
            places.setdefault(name, place)
    if kind == "images" and "image" not in places:
        number = _numbered(headers)
        places |= {"image": number} if number is not None else {}
    return places


def _numbered(headers: Sequence[str]) -> int | None:
    return next((place for place, header in enumerate(headers) if plain(header) in NUMBERS), None)


def _rows(sheet: Sheet, header: int, places: Mapping[str, int]) -> Iterator[Row]:
    merged = _merged_cells(sheet)
    for at, row in enumerate(sheet.rows[header + 1 :], header + 1):
        if any(value is not None and value != "" for value in row):
            values = {name: row[place] for name, place in places.items() if place < len(row)}
            inside = frozenset(name for name, place in places.items() if (at, place) in merged)
            yield Row(at + 1, values, inside)


def _merged_cells(sheet: Sheet) -> set[tuple[int, int]]:
    """Return (row, column) from 0 of the cells that are merged into another one, within the sheet's rows."""
    found: set[tuple[int, int]] = set()
    for reference in sheet.merged:
        left, top, right, bottom = (edge or 0 for edge in range_boundaries(reference))
        down, across = range(top - 1, min(bottom, len(sheet.rows))), range(left - 1, min(right, _MOST_WIDE))
        if len(found) + len(down) * len(across) > MOST_CELLS:
            break
        found |= {(row, column) for row in down for column in across} - {(top - 1, left - 1)}
    return found
