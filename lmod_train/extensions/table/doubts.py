"""What is asked of values and ids: words that may be missing or a class, and words of a disease that is known."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace

from lmod_train.core.vocabulary.scales import SCALES
from lmod_train.extensions.table.looks import kind_of, listed, shown
from lmod_train.extensions.table.meanings import Column, option_of, typed, value_of
from lmod_train.extensions.table.ordered import in_order, is_none, spaced
from lmod_train.extensions.table.values import (
    Values,
    code_of,
    condition_of,
    findings_of,
    flag_of,
    is_error,
    is_missing,
    is_qualified,
    malformed_ids,
    same_person,
    words_of,
)
from lmod_train.extensions.table.vocabulary import ICD_10
from lmod_train.tasks.parsing.own_choice import SEPARATOR

_ENOUGH = 0.1
"""Share of the rows from which a word is asked about that may be missing."""

_LONG = 6
"""Letters of a name that is one also inside another word: ``Pigmentglaukom``."""

Doubt = tuple[str, list[str]]
"""What is asked, and the options of one answer."""


def with_doubts(column: Column, values: Values, given: Collection[str], asked: Collection[str]) -> Column:
    """Return a column with errors of a spreadsheet as bad cells, and with a doubt about values that may be two things.

    Args:
        column: What it means.
        values: Its cells.
        given: Cells of which the user has said what they are.
        asked: Names and meanings of columns that the user asks about.
    """
    errors = {cell: "an error of a spreadsheet, no value" for cell in values.errors if cell not in given}
    column = replace(column, bad={**column.bad, **errors})
    none = [cell for cell in values.missing if is_none(cell) and cell not in given]
    if none and column.meaning in ("own", "grade") and in_order("", [*values.count, *none]):
        return replace(column, words={**{cell: cell for cell in (*values.count, *none)}, **column.words})
    if column.doubt or (column.meaning == "own" and not {column.name, "own"} & {*asked}):
        return column
    doubts = [*_missing(column, values, given), *_same(column, given)]
    if not doubts:
        return column
    options = tuple(option for _, own in doubts for option in own)
    text = "; ".join(text for text, _ in doubts)
    return replace(column, meaning="ignore", why="", doubt=text, options=options, about=column.meaning)


def _missing(column: Column, values: Values, given: Collection[str]) -> Iterator[Doubt]:
    """Yield a doubt about words that stand in a tenth of the rows and may be missing values, or a class."""
    scale = next((scale for scale in SCALES if scale.name == column.meaning), None)
    closed = scale is not None or condition_of(column.meaning) is not None
    if not closed and not (column.meaning in ("diagnosis", "grade", "own") and kind_of(values) in ("choice", "open")):
        return
    cells = {c: n for c, n in values.missing.items() if c not in {*given, *column.words} and (is_none(c) or not closed)}
    rows = sum(cells.values())
    if not cells or rows < _ENOUGH * (values.rows + values.empty):
        return
    least = "none" if not closed else "no" if scale is None else scale.levels[0]
    options = [value_of(column.name, cell, least if is_none(cell) else "unknown") for cell in cells]
    cell = next(iter(cells))
    other = typed(value_of(column.name, cell, "unknown" if is_none(cell) else "none"))
    yield f"whether {listed(cells)} ({rows} rows) is a missing value or one of its own (`{other}`)", options


def _same(column: Column, given: Collection[str]) -> Iterator[Doubt]:
    """Yield a doubt about words of the table's own that name a disease which other cells state."""
    if column.meaning != "diagnosis":
        return
    stated = {cell: findings_of(word) for cell, word in column.words.items()}
    known = {name for one in stated.values() for name in one.present} - {"normal"}
    own = {cell: one.others[0] for cell, one in stated.items() if one.others and not (one.present or one.absent)}
    found = {cell: name for cell, word in own.items() if cell not in given and (name := _named_in(word, known))}
    if found:
        cell, name = next(iter(found.items()))
        kept = typed(value_of(column.name, cell, cell))
        doubt = (
            f"whether {listed(found)} {'is' if len(found) == 1 else 'are'} {name}, as other cells are; `{kept}` if not"
        )
        yield doubt, [value_of(column.name, *one) for one in found.items()]


def _named_in(word: str, known: Iterable[str]) -> str:
    """Return the diseases whose names, abbreviations or chapter a word contains; none that is denied or uncertain."""
    if code := code_of(word):
        return next((name for begin, name in ICD_10.items() if name in known and begin.startswith(code)), "")
    low = f" {spaced(word)} "
    names = ((disease, name) for disease in known for name in map(spaced, words_of(disease)))
    inside = {d for d, name in names if (name if len(name) >= _LONG or not name.isascii() else f" {name} ") in low}
    return "" if is_qualified(word) else SEPARATOR.join(sorted(inside))


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


def with_ids(column: Column, cells: Sequence[str]) -> Column:
    """Return a column of patients with the doubt about its numbers."""
    if column.meaning != "patient" or column.stated or not (wrong := ids_in_doubt(cells)):
        return column
    few = 0 < sum(map(is_error, cells)) * 10 < len(cells) and all(map(is_error, malformed_ids(cells)))
    doubt = f"whether it is the patient: {wrong}; `{typed(option_of('patient', column.name))}` if it is"
    options = (option_of("patient" if few else "ignore", column.name),)
    return replace(column, meaning="ignore", why="", doubt=doubt, options=options, about="patient")
