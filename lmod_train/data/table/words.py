"""Words that the user gives to cells with ``--value``: each is a word of the column's meaning, or is refused."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from difflib import get_close_matches

from lmod_train.core.errors import BadArgument
from lmod_train.core.vocabulary.scales import SCALES
from lmod_train.data.sources.grid import Grid
from lmod_train.data.table.meanings import Answers, Column
from lmod_train.data.table.values import age_of, condition_of, flag_of, is_missing, sex_of, side_of, split_of, values_of

_CLOSED: Mapping[str, tuple[str, ...]] = {
    "sex": ("female", "male"),
    "laterality": ("left", "right"),
    "split": ("train", "val", "test"),
    "age": ("an age in years",),
}
_FREE = frozenset({"diagnosis", "grade", "camera", "quality", "own", "structure"})
"""Meanings whose cells may stand for any word."""


def takes_words(meaning: str) -> bool:
    """Return whether cells of a column of this meaning stand for words."""
    return meaning in _FREE or reader_of(meaning) is not None


def reader_of(meaning: str, cells: frozenset[str] = frozenset()) -> Callable[[str], str | None] | None:
    """Return the function that reads a cell as a word of a meaning; None if the meaning has no words of its own.

    Args:
        meaning: Of the column.
        cells: All cells of the column, by `plain`; see `sex_of`.
    """
    scale = next((scale for scale in SCALES if scale.name == meaning), None)
    if scale is not None:
        return lambda cell: cell if cell in scale.levels else None
    read: dict[str, Callable[[str], str | None]] = {
        "laterality": side_of,
        "sex": lambda cell: sex_of(cell, cells),
        "split": split_of,
        "age": lambda cell: f"{age:g}" if (age := age_of(cell)) is not None else None,
    }
    return read.get(meaning, flag_of if condition_of(meaning) else None)


def with_words(column: Column, cells: Iterable[str], answers: Answers) -> Column:
    """Return a column with the words that the user gave to its cells, which may answer its doubt.

    A cell whose word is ``unknown``, or another word for a missing value, has none.

    Raises:
        BadArgument: The meaning of the column has no such word.
    """
    meaning = column.about or column.meaning
    given = answers.words(column.name, meaning)
    here = {cell for cell in cells if cell in given} if given and takes_words(meaning) else set()
    if not here:
        return column
    read = {cell: _word(column.name, meaning, cell, given[cell]) for cell in here}
    words = {cell: word for cell, word in {**column.words, **read}.items() if word}
    known = dict.fromkeys(values_of([*cells]).count) if column.doubt else column.bad
    bad = {cell: f"no word for {meaning} was given" for cell in known if cell not in words} | {
        cell: why for cell, why in column.bad.items() if cell not in words
    }
    bad |= {cell: "it has no value, as you say" for cell in here if cell not in words and not is_missing(cell)}
    settled = replace(column, meaning=meaning, why="as you say", words=words, bad=bad, stated=True)
    return replace(settled, doubt="", about="", options=())


def _word(name: str, meaning: str, cell: str, word: str) -> str:
    """Return a word as the meaning spells it; empty for one that stands for a missing value."""
    read = reader_of(meaning)
    if is_missing(word):
        return ""
    if read is None:
        return word
    if found := read(word):
        return found
    known = next((scale.levels for scale in SCALES if scale.name == meaning), _CLOSED.get(meaning, ("yes", "no")))
    near = get_close_matches(word.casefold(), known, n=1)
    cure = (
        f"did you mean `--value {name}:{cell}={near[0]}`?"
        if near
        else f"`--value {name}:{cell}=unknown` if it has none"
    )
    raise BadArgument(f"--value {name}:{cell}", word, f"a word for {meaning}: {', '.join(known)}", cure)


def check_typed(grid: Grid, columns: Sequence[Column], typed: Mapping[str, Mapping[str, str]]) -> None:
    """Refuse words for a column or a cell that the table does not have.

    Args:
        grid: The table.
        columns: What its columns mean.
        typed: Name of a column, or meaning -> cell -> word.

    Raises:
        BadArgument: There is one.
    """
    for place, words in typed.items():
        named = [c for c in columns if place in (c.name, c.meaning, c.about)]
        cell, word = next(iter(words.items()))
        rest = f":{cell}={word}"
        if not named:
            places = [c.name for c in columns] + [m for c in columns if takes_words(m := c.about or c.meaning)]
            expected = f"a column of the table, or the meaning of one: {', '.join(dict.fromkeys(places))}"
            cure = _cure(place, places, "", rest, "name one of them")
            raise BadArgument("--value", f"{place}{rest}", expected, cure)
        if not any(takes_words(c.about or c.meaning) for c in named):
            expected = f"a column whose cells stand for words; {place} is: {named[0].meaning}"
            cure = f"`--column MEANING={named[0].name}` says what it is, or leave the option out"
            raise BadArgument("--value", f"{place}{rest}", expected, cure)
        cells = dict.fromkeys(cell for c in named for cell in grid.column(c.name))
        for cell in words:
            if cell not in cells:
                _refuse_cell(place, cell, words[cell], list(cells))


def _refuse_cell(place: str, cell: str, word: str, cells: Sequence[str]) -> None:
    shown = ", ".join(one[:24] or "(empty)" for one in cells[:6]) + (", ..." if len(cells) > 6 else "")
    cure = _cure(cell, cells, f"{place}:", f"={word}", "name a cell as it is written")
    raise BadArgument("--value", f"{place}:{cell}={word}", f"a cell that occurs in {place}: {shown}", cure)


def _cure(name: str, known: Sequence[str], before: str, after: str, otherwise: str) -> str:
    """Return the option with the closest name, in any case; other advice if none is close."""
    by_case = {one.casefold(): one for one in reversed(known)}
    near = get_close_matches(name.casefold(), by_case, n=1)
    return f"did you mean `--value {shlex.quote(before + by_case[near[0]] + after)}`?" if near else otherwise
