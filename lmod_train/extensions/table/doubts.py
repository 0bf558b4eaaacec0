"""What is asked of values, ids and rows: words that may be missing, those of a known disease, long tables."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache

from lmod_train.core.errors import BadArgument
from lmod_train.core.vocabulary.scales import SCALES
from lmod_train.data.sources.grid import Grid, Row
from lmod_train.extensions.table.looks import kind_of, listed, shown
from lmod_train.extensions.table.meanings import FACTS, UNUSED, Column, option_of, typed, value_of
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
from lmod_train.extensions.table.vocabulary import HEADERS, ICD_10, plain
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
    inside = sorted(disease for disease in known if any(name in low for name in _names_of(disease)))
    return "" if not inside or is_qualified(word) else SEPARATOR.join(inside)


@lru_cache(maxsize=64)
def _names_of(disease: str) -> tuple[str, ...]:
    """Return the names of a disease, the short ones between blanks."""
    names = map(spaced, words_of(disease))
    return tuple(name if len(name) >= _LONG or not name.isascii() else f" {name} " for name in names)


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


# A long table has a row for each finding: it is recognised by images in several rows, and turned.
_NEVER = FACTS | {"image", "patient", "date", "birth", "index", "region", "structure", "box", "question", "answer"}
"""Meanings of columns that name no findings."""

_MOST = 40
"""Names of findings above which a column has no names of findings."""


def asked_long(grid: Grid, columns: Sequence[Column]) -> list[Column]:
    """Return the columns with the doubt whether each row is a finding of an image that has several rows."""
    found = _finding_and_value(grid, columns)
    if found is None:
        return list(columns)
    finding, value = found
    doubt = f"whether each row is a finding of an image, named there, with its value in {value.name}"
    doubt += f"; `{typed(option_of('own', finding.name))}` if not"
    option = (f"--long {finding.name}={value.name}",)
    changed = {
        finding.name: replace(finding, meaning="ignore", doubt=doubt, options=option, about=""),
        value.name: replace(value, meaning="ignore", doubt="", why="the value of a finding"),
    }
    return [changed.get(c.name, c) for c in columns]


def _finding_and_value(grid: Grid, columns: Sequence[Column]) -> tuple[Column, Column] | None:
    images = [c for c in columns if c.meaning == "image"]
    if len(images) != 1 or grid.images or any(c.meaning in ("question", "region") for c in columns):
        return None
    names = grid.column(images[0].name)
    several = [n for n in Counter(filter(None, names)).values() if n > 1]
    if len(several) * 2 <= len(set(names)):
        return None
    free = [c for c in columns if c.meaning not in _NEVER and c.about not in _NEVER and not c.stated]
    pairs = {c.name: list(zip(names, grid.column(c.name), strict=True)) for c in free}
    varied = [c for c in free if len(set(pairs[c.name])) > len(set(names))]
    findings = [
        c
        for c in varied
        if len(set(pairs[c.name])) == len(names)
        and len({cell for _, cell in pairs[c.name]}) <= min(_MOST, len(names) / 4)
    ]
    values = [c for c in varied if findings and c is not findings[0] and c.meaning not in UNUSED - {"ignore"}]
    return (findings[0], values[0]) if findings and values else None


def turned(grid: Grid, columns: Sequence[Column], long: str) -> Grid:
    """Return a table with one row an image, and a column for each finding.

    What the rows of an image state differently, and a value without a finding, is lost and listed by line.

    Args:
        grid: With one row a finding.
        columns: What its columns mean.
        long: Its columns of names of findings, or of readers, and of values: ``FINDING=VALUE``.

    Raises:
        BadArgument: There are no such columns, or no column of images.
    """
    image = next((c.name for c in columns if c.meaning == "image"), "")
    finding, value = next(
        ((a, b) for a in grid.header for b in grid.header if long == f"{a}={b}"),
        ("", ""),
    )
    if not finding or not image or grid.images:
        expected = f"FINDING=VALUE, two columns of the table ({', '.join(grid.header)}), beside one of images"
        raise BadArgument("--long", long, expected, "`--long finding=value`, with their names")
    at = {name: n for n, name in enumerate(grid.header)}
    of_readers = plain(finding) in HEADERS["name"]
    kept = [name for name in grid.header if name not in (finding, value)]
    named = dict.fromkeys(name for name in grid.column(finding) if not is_missing(name))
    titles = {name: f"{value} {name}" if of_readers or name in kept else name for name in named}
    used = {c.name for c in columns if c.meaning not in UNUSED}
    lost, rows = list(grid.lost), []
    groups: defaultdict[str, list[Row]] = defaultdict(list)
    for row in grid.rows:
        groups[row.cells[at[image]] or f"line {row.line}"].append(row)
        if is_missing(row.cells[at[finding]]):
            lost.append((row.line, f"{value}: {row.cells[at[value]]!r} has no name in {finding}"))
    for same in groups.values():
        first: dict[str, str] = {}
        for row in same:
            stated = {titles[name]: row.cells[at[value]] for name in (row.cells[at[finding]],) if name in titles}
            for name, cell in (*((name, row.cells[at[name]]) for name in kept), *stated.items()):
                if first.setdefault(name, cell) != cell and (name in used or name in stated):
                    lost.append((row.line, f"{name}: {cell!r} beside {first[name]!r} of the same image"))
        rows.append(Row(same[0].line, tuple(first.get(name, "") for name in (*kept, *titles.values()))))
    note = f"{len(grid.rows)} rows are turned into {len(rows)}, one an image, by {finding} and {value}"
    header = (*kept, *titles.values())
    return replace(grid, header=header, rows=tuple(rows), lost=tuple(lost), notes=(*grid.notes, note))
