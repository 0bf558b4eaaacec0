"""Options and answers of tables of questions, in the layouts that the field publishes, as letters and texts.

Options stand in columns of their own (``A``, ``option_A``, ``choice1``), or in one cell as a list, an object by letters
or lines. An answer names one by its letter, its text, or its number.
"""

from __future__ import annotations

import ast
import json
import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import replace

from lmod_train.core.option_letters import divided
from lmod_train.data.cells.values import is_missing
from lmod_train.data.cells.vocabulary import HEADERS, WEAK, bare, plain
from lmod_train.data.sources.grid import Grid, Listed
from lmod_train.data.sources.workbooks import cell_text

OPTIONS = tuple("ABCDEFGHIJ")
"""Letters of the options of a question, and names of their columns in tables of VLMEvalKit."""

Options = Mapping[str, str]
"""Letter -> text of the options of a row."""

_LETTERED = re.compile(r"[(\[]?\s*([A-Ja-j])\s*[)\]]?\s*[.:,、]?(?:\s+(.*)|)", re.DOTALL)

_MARKED = re.compile(r"[(\[]?\s?([A-Ja-j])\s?[)\].:、]+\s*(\S.*)", re.DOTALL)
"""An option with its letter and a sign: ``A. disc``, ``(A) disc``, ``A: disc``."""

_LONGEST = 20_000
"""Characters of a cell that is read as a list."""


def letters_in(header: Sequence[str]) -> dict[str, str]:
    """Return column -> letter of the columns that hold one option each.

    Example:
        >>> letters_in(["question", "option_A", "Option B"]), letters_in(["choice0", "choice1"]), letters_in(["A", "b"])
        ({'option_A': 'A', 'Option B': 'B'}, {'choice0': 'A', 'choice1': 'B'}, {'A': 'A', 'b': 'B'})
    """
    single = {name: name.upper() for name in header if name.upper() in OPTIONS}
    ends = {name: plain(name)[-1:] for name in header if plain(name)[:-1] in WEAK["option"]}
    first = 0 if "0" in ends.values() else 1
    letters = {name: OPTIONS[int(end) - first] if end in "0123456789" else end.upper() for name, end in ends.items()}
    return single or {name: letter for name, letter in letters.items() if letter in OPTIONS}


def listed_options(value: str | Listed) -> dict[str, str] | str:
    r"""Return letter -> text of the options that a cell lists; none of an empty cell; why it lists none, as a text.

    Example:
        >>> listed_options("['disc', 'None']"), listed_options("(B) cup\n(A) disc"), listed_options("disc\ncup")
        ({'A': 'disc', 'B': 'None'}, {'B': 'cup', 'A': 'disc'}, {'A': 'disc', 'B': 'cup'})
        >>> listed_options(""), listed_options("disc")
        ({}, "'disc' is no list of 2 to 10 options")
    """
    shown = str(value)[:60]
    if isinstance(value, str) and len(value) <= _LONGEST:
        if not value.strip() or value.strip() in ("[]", "{}") or is_missing(value):
            return {}
        value = _parsed(value)
    if isinstance(value, str):
        return f"{shown!r}... is too long for a list of options"
    if isinstance(value, Mapping):
        stated = {key: one for key, one in value.items() if one is not None}
        letters = {key: key.upper() if key.upper() in OPTIONS else letters_in([key]).get(key, "") for key in stated}
        pairs = [(letters[key], cell_text(one)) for key, one in stated.items()]
    else:
        texts = list(map(cell_text, value))
        pairs = _marked(texts) or list(zip((*OPTIONS, *[""] * len(texts)), texts, strict=False))
    found = {letter: " ".join(text.split()) for letter, text in pairs if text}
    nested = any(isinstance(one, list | dict) for one in (value.values() if isinstance(value, Mapping) else value))
    if nested or len(found) < 2 or "" in found:
        return f"{shown!r} is no list of 2 to {len(OPTIONS)} options"
    return found


def _marked(texts: Sequence[str]) -> list[tuple[str, str]]:
    """Return letter and text of options that all begin with their letters, A and those behind it in any order."""
    found = [(one[1].upper(), one[2]) for text in texts if text and (one := _MARKED.fullmatch(text))]
    whole = len(found) == len(list(filter(None, texts))) > 1
    return found if whole and sorted(letter for letter, _ in found) == [*OPTIONS[: len(found)]] else []


def _parsed(cell: str) -> Listed:
    """Return the list or object that a text states: JSON, Python, or options with letters, in lines or between bars."""
    text = cell.strip()
    if text[0] in "[{":
        for read in (json.loads, ast.literal_eval):
            try:
                value = read(text)
            except (ValueError, SyntaxError, RecursionError, MemoryError):
                continue
            if isinstance(value, list | dict):
                return value if not isinstance(value, dict) else {str(key): one for key, one in value.items()}
    lines = [line.strip() for line in re.split(r"[\n\r|]", text) if line.strip()]
    front, options, behind = divided(text) if not _marked(lines) else (text, (), "")
    return options if options and not front and not behind else lines


def with_listed(grid: Grid, stated: Mapping[str, str]) -> Grid:
    """Return a table with a column ``A``, ``B``, ... for each option that the cells of a column list.

    Rows whose cell lists no options are lost, with the reason; those in which it is empty have none.

    Args:
        grid: A table; one without questions, or with columns of options, is returned as it is.
        stated: Column -> meaning, as the user says.
    """
    name = next((n for n in grid.header if meant(n, "options", stated)), None)
    asks = any(meant(n, "question", stated) for n in grid.header)
    if name is None or not asks or letters_in(grid.header):
        return grid
    read = {row.line: listed_options(cell) for row, cell in zip(grid.rows, cells_of(grid, name), strict=True)}
    found = {line: one for line, one in read.items() if isinstance(one, dict)}
    lost = tuple((line, f"{name}: {one}") for line, one in read.items() if isinstance(one, str))
    letters = [letter for letter in OPTIONS if any(letter in one for one in found.values())]
    rows = tuple(
        replace(row, cells=(*row.cells, *(found[row.line].get(letter, "") for letter in letters)))
        for row in grid.rows
        if row.line in found
    )
    notes = tuple(note for note in grid.notes if not note.startswith(f"{name}: "))
    return replace(grid, header=(*grid.header, *letters), rows=rows, lost=(*grid.lost, *lost), notes=notes)


def options_of(grid: Grid, letters: Mapping[str, str]) -> list[Options]:
    """Return the options of each row; column -> letter, none where the cell is empty."""
    cells = [[(letter, cell) for cell in grid.column(name)] for name, letter in letters.items()]
    return [{letter: cell for letter, cell in row if cell} for row in zip(*cells, strict=True)] or [{}] * len(grid.rows)


def meant(name: str, meaning: str, stated: Mapping[str, str]) -> bool:
    """Return whether a column has a meaning, as the user says, or else by its name."""
    return stated[name] == meaning if name in stated else bare(name) in HEADERS[meaning]


def cells_of(grid: Grid, name: str) -> list[str | Listed]:
    """Return the cells of a column, lists and objects as such."""
    return [grid.lists.get((name, row.line), cell) for row, cell in zip(grid.rows, grid.column(name), strict=True)]


def answer_in(cell: str, options: Options) -> tuple[str, str]:
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
    if len(options) < 2:
        return "", "it has one option, expected at least two"
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


def naming(cells: Sequence[str], options: Sequence[Options]) -> float:
    """Return the share of the filled cells, of rows with options, that name one of them by letter or text."""
    pairs = [(cell, one) for cell, one in zip(cells, options, strict=True) if cell and one][:_SAMPLED]
    named = (len(cell) <= _SHORT + max(map(len, one.values())) and answer_in(cell, one)[0] for cell, one in pairs)
    return sum(map(bool, named)) / max(len(pairs), 1)


_SAMPLED, _SHORT = 1000, 10
"""Rows by which a column of answers is recognised, and characters of a letter with its signs."""


def counted(cells: Sequence[str], options: Sequence[Options]) -> tuple[dict[str, str], bool]:
    """Return number -> letter of answers that all are numbers of options, and whether it is certain where 1 stands.

    They count from 0 if one is 0 and none the number of options in its row, from 1 in the opposite case. Without either
    they may do both, and the letters are those from 0. There are none where a number can be the text of an option.

    Example:
        >>> pair = {"A": "disc", "B": "cup"}
        >>> [counted(cells, [pair] * len(cells)) for cells in (["0", "1"], ["1", "2"], ["1"], ["A"])]
        [({'0': 'A', '1': 'B'}, True), ({'1': 'A', '2': 'B'}, True), ({'1': 'B'}, False), ({}, True)]
    """
    pairs = [(cell, one) for cell, one in zip(cells, options, strict=True) if cell and one]
    numbers = {cell: int(cell.partition(".")[0]) for cell, _ in pairs if re.fullmatch(r"\d{1,2}(?:\.0)?", cell)}
    texts = any(str(numbers.get(cell, "")) in one.values() for cell, one in pairs)
    if not numbers or texts or any(cell not in numbers for cell, _ in pairs):
        return {}, True
    zero, last = 0 in numbers.values(), any(numbers[cell] == len(one) for cell, one in pairs)
    first = int(last and not zero)
    letters = {cell: OPTIONS[n - first] for cell, n in numbers.items() if 0 <= n - first < len(OPTIONS)}
    return letters, zero != last
