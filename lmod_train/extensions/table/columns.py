"""What every column of a table means, by its name and its cells together, and where the user must say.

A meaning is certain if name and cells agree, or if the cells leave no doubt, such as names of files that exist. What a
reader could doubt is not assumed: sexes as 1 and 2, an id that might be the patient's, a grade of 0 and 1.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace

from lmod_train.core.connected_components import join
from lmod_train.core.errors import BadArgument
from lmod_train.core.vocabulary.scales import SCALES
from lmod_train.data.cells.diagnoses import (
    code_of,
    condition_of,
    disease_in,
    diseases_in,
    findings_of,
    is_earlier,
    names_an_eye,
)
from lmod_train.data.cells.image_names import Folder
from lmod_train.data.cells.ordered import icdr_of, in_order, is_none
from lmod_train.data.cells.values import (
    Values,
    ids_in_doubt,
    is_missing,
    is_shared_id,
    legend_in,
    listed,
    malformed_ids,
    people_in,
    same_person,
    shown,
    side_of,
    values_of,
)
from lmod_train.data.cells.vocabulary import HEADERS, bare, plain
from lmod_train.data.sources.grid import Grid
from lmod_train.extensions.table.looks import kind_of, levels_of, look_at, own_words, pieces_of
from lmod_train.extensions.table.meanings import (
    FACTS,
    UNUSED,
    Answers,
    Column,
    Seen,
    option_of,
    reader_of,
    takes_words,
    typed,
    value_of,
    with_words,
)
from lmod_train.extensions.table.places import structure_of, with_boxes
from lmod_train.extensions.table.question_sets import asking_columns, numbered, without_labels


def understand(grid: Grid, folder: Folder, answers: Answers) -> list[Column]:
    """Return what every column means, in their order; rows without an image say nothing of the others.

    Args:
        grid: The table.
        folder: The images.
        answers: What the user said; it is believed before anything else.
    """
    columns = _understood(grid, folder, answers)
    kept = with_images(grid, columns, folder)
    if len(kept.rows) == len(grid.rows):
        return columns
    again = _understood(kept, folder, answers)
    return [first if first.meaning == "image" else second for first, second in zip(columns, again, strict=True)]


def with_images(grid: Grid, columns: Sequence[Column], folder: Folder) -> Grid:
    """Return a table without the rows that name no image, such as subtotals; the whole table if none names one."""
    images = [(grid.column(c.name), c.stated) for c in columns if c.meaning == "image"]
    if grid.images or not folder.files:
        return grid
    there = [any(folder.find(cells[n], numbers=stated)[0] for cells, stated in images) for n in range(len(grid.rows))]
    rows = tuple(row for row, is_there in zip(grid.rows, there, strict=True) if is_there)
    return replace(grid, rows=rows) if rows else grid


def _understood(grid: Grid, folder: Folder, answers: Answers) -> list[Column]:
    eyes = _eyes(grid.header)
    asking = asking_columns(grid, answers.columns)
    found = []
    for name in grid.header:
        rest, eye = eyes.get(name, (bare(name), ""))
        cells = grid.column(name)
        seen = Seen(name, rest, eye, values_of(cells), folder, tuple(grid.classes.get(name, ())))
        if name == grid.images:
            found.append(Column(name, "image", "the files are inside the table", eye=eye))
        elif name in answers.columns:
            stated = _with_legend(_as_stated(seen, answers.columns[name]), seen, cells, answers)
            stated = with_ids(stated, cells)
            found.append(with_doubts(stated, seen.values, answers.given(stated), answers.asked))
        else:
            column = asking.get(name) or look_at(seen)
            if name in answers.asked and column.meaning == "own":
                column = replace(column, about="")
            column = _with_legend(column, seen, cells, answers)
            column = with_doubts(column, seen.values, answers.given(column), answers.asked)
            found.append(replace(_unread(with_ids(column, cells), seen.values, answers.asked), eye=eye))
    return _settled(grid, found, {name for name, meaning in answers.columns.items() if meaning == "diagnosis"})


def _with_legend(column: Column, seen: Seen, cells: Sequence[str], answers: Answers) -> Column:
    """Return a column with the words that the user, or else a legend in its name, gives to its cells."""
    legend = {code: word for code, word in legend_in(seen.name).items() if code in seen.values.count}
    typed_here = answers.values.get(seen.name, {})
    both = replace(answers, values={**answers.values, seen.name: {**legend, **typed_here}}) if legend else answers
    try:
        return with_words(column, cells, both)
    except BadArgument:
        if not legend or typed_here:
            raise
        return Column(seen.name, "own", "its name has a legend", legend, seen.eye)


def _unread(column: Column, values: Values, asked: Collection[str]) -> Column:
    """Return a column of the table's own that seems to be about a disease or a grade with a doubt about it."""
    if column.meaning != "own" or not column.about or column.stated or "own" in asked:
        return column
    option, no = f"--ask {column.name}", typed(option_of("ignore", column.name))
    doubt = f"what {listed(values.count)} state of {column.about}: the option asks in these words; `{no}` does not"
    if column.about == "diagnosis":
        is_it, is_not = option_of("diagnosis", column.name), option_of("own", column.name)
        if is_earlier(column.name):
            option, doubt = is_not, f"{_IS_IT} of the image; `{typed(is_it)}` if it is"
        else:
            option, doubt = is_it, f"{_IS_IT} of the image; `{typed(is_not)}` if it is not"
    return replace(column, meaning="ignore", why="", doubt=doubt, options=(option,))


_IS_IT = "whether it is the diagnosis"


def _eyes(header: Sequence[str]) -> dict[str, tuple[str, str]]:
    """Return name -> (rest of the name, side) of the columns that exist once for each eye: ``Left-Fundus``, ``OS``."""
    found: dict[str, tuple[str, str]] = {}
    for name in header:
        pieces = pieces_of(name)
        sides = [(at, side) for at, piece in enumerate(pieces) if (side := side_of(piece))]
        if len(sides) == 1 and sides[0][0] in (0, len(pieces) - 1):
            at, side = sides[0]
            found[name] = (plain("".join(p for i, p in enumerate(pieces) if i != at)), side)
    rests = Counter(rest for rest, _ in set(found.values()))
    return {name: (rest, side) for name, (rest, side) in found.items() if rests[rest] == 2}


def _as_stated(seen: Seen, meaning: str) -> Column:
    """Return a column as the user says it is; cells that do not fit are bad, each by itself."""
    levels = levels_of(seen.values)[0]
    free: dict[str, Callable[[str], str | None]] = {
        "diagnosis": lambda cell: findings_of(cell).words,
        "structure": structure_of,
        "icdr": lambda cell: cell if cell in "01234" else icdr_of(cell)[0] or None,
        "grade": lambda cell: levels.get(cell, None if cell[:1].isdigit() else cell),
    }
    read = free.get(meaning) or reader_of(meaning, frozenset(map(plain, seen.values.count)))
    if read is None:
        words, bad = own_words(seen.name, seen.values) if takes_words(meaning) else ({}, {})
        return Column(seen.name, meaning, "as you say", words, seen.eye, bad=bad, stated=True)
    words, bad = seen.values.read(read, f"no {meaning}")
    if meaning == "icdr" and "0" not in words.values():
        words |= {cell: "0" for cell in seen.values.missing if is_none(cell)}
    return Column(seen.name, meaning, "as you say", words, seen.eye, bad=bad, stated=True)


def _settled(grid: Grid, columns: list[Column], meant: Collection[str]) -> list[Column]:
    """Return the columns after looking at them together: one image a row and eye, one patient, one diagnosis."""
    if any(c.meaning == "question" for c in columns):
        columns = [without_labels(c) if c.meaning != "answer" else numbered(grid, c, columns) for c in columns]
    columns = _one_image(grid, columns)
    if sum(c.meaning == "image" for c in columns) == 1 and not any(c.meaning == "question" for c in columns):
        columns = with_boxes(grid, columns)
    has_patient = any("patient" in (c.meaning, c.about) for c in columns)
    columns = asked_long(grid, columns)
    return _ids(grid, _without_eyes(_one_patient(grid, _one_diagnosis(grid, columns, meant))), has_patient)


def _one_image(grid: Grid, columns: list[Column]) -> list[Column]:
    images = [c for c in columns if c.meaning == "image"]
    by_eye = {c.eye for c in images}
    if len(images) < 2 or (by_eye == {"left", "right"} and len(images) == 2):
        return columns
    stated = [c for c in images if c.stated]
    kept = stated or [c for c in images if c.name == grid.images]
    if kept:
        return [
            replace(c, meaning="ignore", why="another image") if c in images and c not in kept else c for c in columns
        ]
    names = ", ".join(c.name for c in images)
    doubt = f"which image is asked about ({names}); one run asks about one"
    first = option_of("image", images[0].name)
    rest = {c.name: replace(c, meaning="ignore", why="another image") for c in images[1:]}
    asked = replace(images[0], meaning="ignore", doubt=doubt, options=(first,))
    return [asked if c is images[0] else rest.get(c.name, c) for c in columns]


def _one_diagnosis(grid: Grid, columns: list[Column], meant: Collection[str]) -> list[Column]:
    """Return the columns with a doubt in place of several diagnoses that differ, as of two readers or two dates."""
    found = [c for c in columns if c.meaning == "diagnosis"]
    others = [c for c in columns if c.doubt.startswith(_IS_IT)]
    is_asking = any(c.meaning == "question" for c in columns)
    asked = [] if is_asking or not others else [others[0], *(c for c in others if c.eye and c.eye != others[0].eye)][:2]
    asked = found or asked  # of those not named so the first, if there is no other
    changed = {c.name: replace(c, meaning="own", doubt="", options=()) for c in others if c not in asked}
    for one in asked if not found else ():
        apart_of = {c.name: _apart(grid, one, c) for c in others if c not in asked and c.eye == one.eye}
        told = "".join(f"; {name} differs in {n} rows" for name, n in apart_of.items() if n)
        changed[one.name] = replace(one, doubt=one.doubt + told)
    for eye in {c.eye for c in found}:
        own = [c for c in found if c.eye == eye]
        best = [c for c in own if c.name in meant] or [c for c in own if not _is_coded(c)] or own
        best.sort(key=lambda c: not _is_plain(c))
        first, *others = best
        apart = max((_apart(grid, first, other) for other in others), default=0)
        if apart and first.name not in meant:
            named = ", ".join(c.name for c in best)
            doubt = f"which of {named} counts; they differ in {apart} rows"
            first = replace(first, meaning="ignore", doubt=doubt, options=(option_of("diagnosis", first.name),))
        for other in own:
            rows = _apart(grid, first, other)
            why = f"{first.name} is the diagnosis" + (f", and differs in {rows} rows" if rows else "")
            changed[other.name] = replace(other, meaning="own", why=why, differs=rows)
        changed[first.name] = first
    return [changed.get(c.name, c) for c in columns]


def _is_plain(column: Column) -> bool:
    """Return whether a column is named like a diagnosis and nothing else, unlike ``referral diagnosis``."""
    return bare(re.sub(r" \[\d+\]$", "", column.name)) in HEADERS["diagnosis"]


def _is_coded(column: Column) -> bool:
    """Return whether most cells of a diagnosis are codes, beside which words are easier to read."""
    return sum(bool(code_of(cell)) for cell in column.words) * 2 > len(column.words)


def _apart(grid: Grid, first: Column, second: Column) -> int:
    """Return the number of rows in which two columns state different diagnoses."""
    pairs = zip(grid.column(first.name), grid.column(second.name), strict=True)
    stated = [(findings_of(a), findings_of(b)) for a, b in pairs]
    return sum(
        bool(a.present and b.present and a.present != b.present)
        or bool({*a.present} & {*b.absent} or {*a.absent} & {*b.present})
        for a, b in stated
    )


def _one_patient(grid: Grid, columns: list[Column]) -> list[Column]:
    """Return the columns with those of the patient; a doubt about empty cells, and about two that do not agree."""
    found = [c for c in columns if c.meaning == "patient"]
    if not found or found[0].doubt:
        return columns
    stated = [c for c in found if c.stated]
    if stated:
        rest = {c.name: replace(c, meaning="own", why=f"{stated[0].name} is the patient") for c in found}
        return [c if c in stated else rest.get(c.name, c) for c in columns]
    numbers = [[(c.name, same_person(n)) for c, n in zip(found, row, strict=True) if not is_missing(n)]
               for row in zip(*(grid.column(c.name) for c in found), strict=True)]  # fmt: skip
    empty = numbers.count([])
    groups = len(join((row[0], number) for row in numbers for number in row))
    doubt, options = "", tuple(option_of("patient", c.name) for c in found)
    if empty * 5 > len(grid.rows):
        doubt = f"whose images those are of the {empty} rows in which it is empty; each would be a patient of its own"
    elif any(len({n for row in numbers for n in row if n[0] == c.name}) > groups for c in found):
        named = " and ".join(c.name for c in found)
        ignored = typed(option_of("ignore", found[-1].name))
        doubt = f"whether rows that share either of {named} are of one patient; `{ignored}` if only the other counts"
    if not doubt:
        return columns
    first = replace(found[0], meaning="ignore", doubt=doubt, options=options)
    return [first if c is found[0] else c for c in columns]


def _without_eyes(columns: list[Column]) -> list[Column]:
    """Return the columns with a doubt about labels of each eye where nothing says of which eye an image is."""
    if any(c.meaning == "laterality" or (c.meaning == "image" and c.eye) for c in columns):
        return columns
    doubt = "of which eye the images are, as it is of one eye"
    return [
        replace(c, meaning="ignore", doubt=doubt, options=(option_of("ignore", c.name),), about=c.meaning)
        if c.eye and c.is_used and c.meaning != "own" and not c.doubt
        else c
        for c in columns
    ]


def _ids(grid: Grid, columns: list[Column], has_patient: bool) -> list[Column]:
    """Return the columns with ids settled: the patient's only if the user says so, as far as rows share one."""
    both = any(c.meaning == "image" and c.eye for c in columns)
    settled = []
    for column in columns:
        if column.meaning not in ("id", "name"):
            settled.append(column)
            continue
        wrong = ids_in_doubt(grid.column(column.name)) if column.meaning == "id" else ""
        repeated = max(Counter(filter(None, grid.column(column.name))).values(), default=0) > 1
        if not has_patient and (repeated or wrong or (both and column.meaning == "id")):
            has_patient = True
            doubt = "whether it is the patient, whose images must stay in one split"
            doubt += f": {wrong}; `{typed(option_of('ignore', column.name))}` if it is not" if wrong else ""
            option = (option_of("patient", column.name),)
            settled.append(replace(column, meaning="ignore", why="", doubt=doubt, options=option))
        elif column.meaning == "id":
            settled.append(replace(column, meaning="index", why="an id of its own in each row"))
        else:
            settled.append(column)
    is_asked = any(c.meaning == "question" for c in columns)
    return settled if has_patient or is_asked else _unnamed_patient(grid, settled)


def _unnamed_patient(grid: Grid, columns: list[Column]) -> list[Column]:
    """Return the columns with a doubt about the first that holds numbers of something which several rows share."""
    for at, column in enumerate(columns):
        cells = [cell for cell in grid.column(column.name) if not is_missing(cell)]
        if column.meaning == "own" and not (column.stated or column.eye or column.about) and is_shared_id(cells):
            options = (option_of("patient", column.name),)
            no = typed(option_of("ignore", column.name))
            doubt = f"whether it is the patient, whose images must stay in one split; `{no}` if it is not"
            return [*columns[:at], replace(column, meaning="ignore", doubt=doubt, options=options), *columns[at + 1 :]]
    return columns


# What is asked of values: words that may be missing, and those of a disease that other cells state.
_ENOUGH = 0.1
"""Share of the rows from which a word is asked about that may be missing."""

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
    doubts = [*_missing(column, values, given), *_of_eyes(column, given), *_same(column, given)]
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
    least = "unknown" if "normal" in column.words.values() else least  # which is the lowest class already
    options = [value_of(column.name, cell, least if is_none(cell) else "unknown") for cell in cells]
    cell = next(iter(cells))
    other = typed(value_of(column.name, cell, "unknown" if is_none(cell) else "none"))
    yield f"whether {listed(cells)} ({rows} rows) is a missing value or one of its own (`{other}`)", options


def _of_eyes(column: Column, given: Collection[str]) -> Iterator[Doubt]:
    """Yield a doubt about cells that state the diseases of each eye, as an image is of one."""
    if column.meaning != "diagnosis":
        return
    found = [cell for cell in column.words if cell not in given and names_an_eye(cell) and diseases_in(cell)]
    if 0 < len(found) <= _MOST:  # more are free text
        yield (
            f"what {listed(found)} state of one eye: put each eye into a column or row of its own",
            [value_of(column.name, cell, "unknown") for cell in found],
        )


def _same(column: Column, given: Collection[str]) -> Iterator[Doubt]:
    """Yield a doubt about words of the table's own that name a disease which other cells state."""
    if column.meaning != "diagnosis":
        return
    stated = {cell: findings_of(word) for cell, word in column.words.items()}
    known = {name for one in stated.values() for name in one.present}
    own = {cell: one.others[0] for cell, one in stated.items() if one.others and not (one.present or one.absent)}
    own = {cell: word for cell, word in own.items() if not names_an_eye(cell)}
    found = {cell: name for cell, word in own.items() if cell not in given and (name := disease_in(word, known))}
    if found:
        cell, name = next(iter(found.items()))
        kept = typed(value_of(column.name, cell, cell))
        pairs = ", ".join(f"{shown(cell)} is {known}" for cell, known in [*found.items()][:6])
        yield (
            f"whether {pairs}, as other cells are; `{kept}` if not",
            [value_of(column.name, *one) for one in found.items()],
        )


def with_ids(column: Column, cells: Sequence[str]) -> Column:
    """Return a column of patients with the doubt about its numbers."""
    if column.meaning != "patient" or column.stated or not (wrong := ids_in_doubt(cells)):
        return replace(column, words=people_in(cells)) if column.meaning == "patient" else column
    malformed = malformed_ids(cells)
    few = 0 < sum(cell in malformed for cell in cells) * 2 < len(cells)  # the others are of patients
    doubt = f"whether it is the patient: {wrong}; `{typed(option_of('patient', column.name))}` if it is"
    options = (option_of("patient" if few else "ignore", column.name),)
    return replace(column, meaning="ignore", why="", doubt=doubt, options=options, about="patient")


# A long table has a row for each finding: it is recognised by images in several rows, and turned.
_NEVER = FACTS | {
    "image",
    "patient",
    "name",
    "date",
    "birth",
    "index",
    "region",
    "structure",
    "box",
    "question",
    "answer",
}
"""Meanings of columns that name no findings."""

_ALMOST = 0.9
"""Share of the rows of which each states another finding of its image, as few are there twice."""

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
    readers = [grid.column(c.name) for c in columns if c.meaning == "name"]
    read = list(zip(names, *readers, strict=True))
    pairs = {c.name: list(zip(names, grid.column(c.name), strict=True)) for c in free}
    varied = [c for c in free if len(set(pairs[c.name])) > len(set(names))]
    findings = [
        c
        for c in varied
        if len(set(zip(read, grid.column(c.name), strict=True))) >= _ALMOST * len(names)
        and len({cell for _, cell in pairs[c.name]}) <= min(_MOST, len(names) / 4)
    ]
    values = [c for c in varied if findings and c is not findings[0] and c.meaning not in UNUSED - {"ignore"}]
    return (findings[0], values[0]) if findings and values else None
