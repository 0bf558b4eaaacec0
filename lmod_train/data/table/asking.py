"""Rows that are questions about an image, as tables of VLMEvalKit hold them: answers, hints, categories, copies."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence

from lmod_train.core.types import Question
from lmod_train.core.vocabulary.table_words import plain
from lmod_train.data.sources.grid import Grid, Row
from lmod_train.data.table.meanings import Column
from lmod_train.data.table.values import is_missing
from lmod_train.tasks.prompt import prompt

COPIES = 1_000_000
"""Numbers of a row and of its copies with the options in another order differ by multiples of it, as in MMBench."""

_LETTERED = re.compile(r"[(\[]?\s*([A-Ja-j])\s*[)\]]?\s*[.:,、]?(?:\s+(.*)|)", re.DOTALL)


def question_in(row: Mapping[str, str], columns: Sequence[Column], language: str) -> Question | str:
    """Return the question of a row, or why it has none.

    Args:
        row: Name of a column -> cell.
        columns: What the columns mean.
        language: Of the questions.
    """
    named = {c.meaning: row[c.name] for c in columns if c.meaning in ("question", "answer")}
    options = {c.name: row[c.name] for c in columns if c.meaning == "option" and row[c.name]}
    answer, problem = answer_in(named.get("answer", ""), options)
    if not named.get("question"):
        problem = "the question is empty"
    if problem:
        return problem
    hints = [row[c.name] for c in columns if c.meaning == "hint" and not is_missing(row[c.name])]
    words = "\n".join([*hints, named["question"]])
    tags = {_tag(c.name): row[c.name] for c in columns if c.meaning == "category" and not is_missing(row[c.name])}
    task = "question" if options else "open_question"
    return Question(task, prompt(words), tuple(options.values()), answer, language, tags=tags)


def answer_in(cell: str, options: Mapping[str, str]) -> tuple[str, str]:
    """Return the option that a cell names by its letter or its text, and what is wrong; one of them is empty.

    A number may be counted from 0 or from 1, and is no answer unless it can only be the text of an option.

    Args:
        cell: Of the column of answers.
        options: Letter -> text; without any, the cell is the answer itself.

    Example:
        >>> [answer_in(cell, {"A": "disc", "B": "cup"})[0] for cell in ("B", "(b)", "B. cup", "Cup", "B. disc")]
        ['cup', 'cup', 'cup', 'cup', '']
        >>> answer_in("1", {"A": "disc", "B": "cup"})[1]
        "the answer '1' may be counted from 0 or from 1"
    """
    text = unicodedata.normalize("NFKC", cell).strip()
    if not text:
        return "", "the answer is empty"
    if not options:
        return cell, ""
    if len({_same(option) for option in options.values()}) < len(options):
        return "", "two options are the same"
    if text.isdecimal() and int(text) <= len(options):
        return "", f"the answer {cell[:60]!r} may be counted from 0 or from 1"
    found = {letter for letter, option in options.items() if _same(option) == _same(text)}
    lettered = _LETTERED.fullmatch(text)
    letter = lettered[1].upper() if lettered else ""
    if lettered and letter in options and (not lettered[2] or _same(lettered[2]) == _same(options[letter])):
        found.add(letter)
    if len(found) == 1:
        return options[found.pop()], ""
    if found:
        return "", f"the answer {cell[:60]!r} may be the letter of one option or the text of another"
    return "", f"the answer {cell[:60]!r} is none of the options {', '.join(options)}"


def _same(text: str) -> str:
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


def _tag(name: str) -> str:
    return re.sub(r"\W+", "_", name.casefold()).strip("_")


def copies_in(grid: Grid, columns: Sequence[Column]) -> dict[int, str]:
    """Return line -> reason of the rows that repeat another with its options in another order."""
    index = next((name for name in grid.header if plain(name) == "index"), None)
    if index is None:
        return {}
    at = grid.header.index(index)
    asked = [grid.header.index(c.name) for c in columns if c.meaning == "question"]
    listed = [grid.header.index(c.name) for c in columns if c.meaning == "option"]
    first: dict[tuple[int, str, tuple[str, ...]], Row] = {}
    copies: dict[int, str] = {}
    for row in sorted(grid.rows, key=lambda row: _number(row.cells[at])):
        number = _number(row.cells[at])
        words = "\n".join(row.cells[place] for place in asked)
        key = (number % COPIES, words, tuple(sorted(row.cells[place] for place in listed)))
        known = first.setdefault(key, row)
        if known is not row and number >= COPIES:
            copies[row.line] = f"line {known.line} asks the same with its options in another order"
    return copies


def _number(cell: str) -> int:
    return int(cell) if re.fullmatch(r"[0-9]{1,18}", cell) else -1
