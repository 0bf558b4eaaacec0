"""What each column of a table means, by its name and its cells together, and where the user must say.

A meaning is certain if name and cells agree, or if the cells leave no doubt, such as names of files that exist. What a
reader could doubt is not assumed: sexes as 1 and 2, an id that might be the patient's, a grade of 0 and 1.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

from lmod_train.core.vocabulary.modalities import unknown_words
from lmod_train.core.vocabulary.scales import SCALES
from lmod_train.core.vocabulary.table_words import HEADERS, WEAK, plain
from lmod_train.data.table.grid import Grid
from lmod_train.data.table.images import Folder, embedded
from lmod_train.data.table.values import (
    Values,
    age_of,
    condition_of,
    findings_of,
    flag_of,
    number_of,
    sex_of,
    side_of,
    split_of,
    values_of,
)

OPTIONS = tuple("ABCDEFGHIJ")
"""Columns of the options of a question, as in tables of VLMEvalKit."""

MEANINGS: Mapping[str, str] = {
    "image": "file of the image",
    "patient": "patient, whose images stay in one split",
    "laterality": "side of the eye",
    "diagnosis": "diagnosis",
    "grade": "grade or stage, in order",
    "sex": "sex",
    "age": "age in years",
    "split": "split",
    "camera": "camera",
    "quality": "quality of the image",
    "modality": "modality",
    "question": "a question of its own",
    "answer": "its answer",
    "option": "one of its options",
    "own": "the clinic's own; `--ask` makes a question of it",
    "date": "date, not used",
    "birth": "birth, not used",
    "name": "name of a person, not used",
    "notes": "free text, not used",
    "index": "number of the row, not used",
    "licence": "licence, not used: state it with `--licence`",
    "box": "a box, not used",
    "ignore": "not used",
}
"""Meaning -> what it is, in words; further ones are the names of conditions and of scales."""

UNUSED = frozenset({"date", "birth", "name", "notes", "index", "licence", "box", "ignore"})

_AGREED = 0.9
"""Share of the rows whose cells must be of a meaning that the name of the column states."""


@dataclass(frozen=True)
class Column:
    """A column of a table and what it means.

    Attributes:
        name: As `Grid.header` has it.
        meaning: A key of `MEANINGS`, the name of a condition (``glaucoma``: yes or no) or of a scale (``icdr``).
        why: Reason, in words.
        words: Cell -> word of the vocabulary or of the table, of what is finite.
        eye: ``left`` or ``right`` if the column is of one eye of a row that has both.
        doubt: What the user must say; empty if nothing.
        options: Options that would answer the doubt, of which one reading is shown.
        bad: Cell -> why it has no value.
    """

    name: str
    meaning: str
    why: str
    words: Mapping[str, str] = field(default_factory=dict)
    eye: str = ""
    doubt: str = ""
    options: tuple[str, ...] = ()
    bad: Mapping[str, str] = field(default_factory=dict)

    @property
    def is_used(self) -> bool:
        """Whether records use the column."""
        return self.meaning not in UNUSED


@dataclass(frozen=True)
class Answers:
    """What the user said of a table.

    Attributes:
        columns: Name of a column -> its meaning.
        values: (name of a column, or meaning) -> cell -> word.
    """

    columns: Mapping[str, str] = field(default_factory=dict)
    values: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    def words(self, column: str, meaning: str) -> dict[str, str]:
        """Return the words that the user gave to cells of a column."""
        return {**self.values.get(meaning, {}), **self.values.get(column, {})}


@dataclass(frozen=True)
class _Seen:
    """A column as it is looked at."""

    name: str
    bare: str
    eye: str
    cells: list[str]
    values: Values
    folder: Folder
    modality: str
    index: list[str]
    classes: tuple[str, ...] = ()


def understand(grid: Grid, folder: Folder, modality: str, answers: Answers) -> list[Column]:
    """Return what every column means, in their order.

    Args:
        grid: The table.
        folder: The images.
        modality: That of the images, which tells a column ``CFP`` beside a column ``OCT``.
        answers: What the user said; it is believed before anything else.
    """
    eyes = _eyes(grid.header)
    index = next((grid.column(name) for name in grid.header if plain(name) == "index"), None)
    numbers = index or [str(row) for row in range(len(grid.rows))]
    found = []
    for name in grid.header:
        bare, eye = eyes.get(name, (_bare(name), ""))
        cells = grid.column(name)
        seen = _Seen(
            name, bare, eye, cells, values_of(cells), folder, modality, numbers, tuple(grid.classes.get(name, ()))
        )
        if name == grid.images:
            found.append(Column(name, "image", "the files are inside the table", eye=eye))
        elif name in answers.columns:
            found.append(_as_stated(seen, answers.columns[name], answers))
        else:
            found.append(replace(_with_values(_look(seen), answers), eye=eye))
    return _settled(grid, found, answers)


def _bare(name: str) -> str:
    """Return the name of a column without what stands in brackets."""
    return plain(re.sub(r"[\[(（].*?[\])）]", "", name)) or plain(name)


def _eyes(header: Sequence[str]) -> dict[str, tuple[str, str]]:
    """Return name -> (rest of the name, side) of the columns that exist once for each eye: ``Left-Fundus``, ``OS``."""
    found: dict[str, tuple[str, str]] = {}
    for name in header:
        pieces = _pieces(name)
        sides = [(at, side) for at, piece in enumerate(pieces) if (side := side_of(piece))]
        if len(sides) == 1 and len(pieces[sides[0][0]]) > 1:
            at, side = sides[0]
            found[name] = (plain("".join(p for i, p in enumerate(pieces) if i != at)), side)
    rests = Counter(rest for rest, _ in set(found.values()))
    return {name: (rest, side) for name, (rest, side) in found.items() if rests[rest] == 2}


def _look(seen: _Seen) -> Column:
    """Return the meaning of a column by the first look that finds one."""
    for look in _LOOKS:
        column = look(seen)
        if column is not None:
            return column
    return Column(seen.name, "own", _kind_in_words(seen.values))


def _named(seen: _Seen, meaning: str) -> bool:
    return seen.bare in HEADERS[meaning]


def _pieces(name: str) -> list[str]:
    """Return the words of a name: ``DxDescription``, ``Glaucoma_Label``."""
    return [piece for piece in re.split(r"[\W_]+|(?<=[a-z])(?=[A-Z])", name) if piece]


def _image(seen: _Seen) -> Column | None:
    named = _named(seen, "image")
    if named and embedded(seen.cells, seen.index) is not None:
        return Column(seen.name, "image", "images in base64")
    if not seen.values.rows or (seen.eye and seen.bare and not named and not _has_endings(seen)):
        return None
    matched = {cell for cell in seen.values.count if seen.folder.find(cell)[0]}
    share = seen.values.share(dict.fromkeys(matched))
    unique = len(seen.values.count) >= 0.9 * seen.values.rows
    by_number = {c for c in seen.values.count if len(seen.folder.find(c, numbers=True)[0]) == 1} - matched
    if (
        share >= 0.5
        and not by_number
        and (named or _has_endings(seen) or (share >= 0.95 and unique and not _named(seen, "index")))
    ):
        return Column(seen.name, "image", f"{len(matched)} of {len(seen.values.count)} name a file")
    if by_number and (named or share >= 0.5) and len(by_number | matched) * 2 > len(seen.values.count):
        cell = next(iter(by_number))
        file = seen.folder.find(cell, numbers=True)[0][0].name
        doubt = f"whether {cell} is the file {file}"
        return Column(seen.name, "ignore", "", doubt=doubt, options=(_option("image", seen.name),))
    if named and _has_endings(seen):
        return Column(seen.name, "image", "by its name; none of its files is there")
    return None


def _has_endings(seen: _Seen) -> bool:
    files = [cell for cell in seen.values.count if re.search(r"\.(?:jpe?g|png|tiff?|bmp|gif|webp|jp2)$", cell, re.I)]
    return len(files) * 2 > len(seen.values.count)


def _unused(seen: _Seen) -> Column | None:
    for meaning in ("name", "birth", "notes", "licence", "box", "date", "index"):
        if _named(seen, meaning):
            return Column(seen.name, meaning, "by its name")
    if not seen.values.rows:
        return Column(seen.name, "ignore", "it is empty")
    return None


def _patient(seen: _Seen) -> Column | None:
    return Column(seen.name, "patient", "by its name") if _named(seen, "patient") else None


def _finite(
    meaning: str, read: Callable[[str, frozenset[str]], str | None], expected: str
) -> Callable[[_Seen], Column | None]:
    """Return a look at columns of a few known words, with a name that states them."""

    def look(seen: _Seen) -> Column | None:
        if not _named(seen, meaning):
            return None
        return _of_words(seen, meaning, read, expected)

    return look


def _of_words(
    seen: _Seen, meaning: str, read: Callable[[str, frozenset[str]], str | None], expected: str
) -> Column | None:
    all_words = frozenset(map(plain, seen.values.count))
    words = {cell: word for cell in seen.values.count if (word := read(cell, all_words))}
    bad = {cell: f"expected {expected}" for cell in seen.values.count if cell not in words}
    if seen.values.rows and seen.values.share(words) >= 0.5:
        return Column(seen.name, meaning, "by its name and its cells", words, bad=bad)
    if not words and seen.values.rows and len(seen.values.count) <= 4:
        codes = list(seen.values.count)
        options = _sexes(codes) if meaning == "sex" else (_option("ignore", seen.name),)
        return Column(
            seen.name,
            "ignore",
            "",
            doubt=f"which words {_listed(sorted(codes))} stand for ({expected})",
            options=options,
        )
    return None


def _sexes(codes: Sequence[str]) -> tuple[str, ...]:
    """Return options that read 1 and 2 as ISO/IEC 5218 does; of other codes nothing is known."""
    if set(codes) <= {"1", "2"}:
        return ("--value sex:1=male", "--value sex:2=female")
    return (f"--value sex:{codes[0]}=male", *(f"--value sex:{code}=female" for code in codes[1:2]))


def _age(seen: _Seen) -> Column | None:
    if not _named(seen, "age"):
        return None
    ages = {cell: f"{age:g}" for cell in seen.values.count if (age := age_of(cell)) is not None}
    if seen.values.share(ages) >= 0.5:
        bad = {cell: "expected an age in years below 120" for cell in seen.values.count if cell not in ages}
        return Column(seen.name, "age", "by its name and its cells", ages, bad=bad)
    return Column(seen.name, "own", "named like an age, but its cells are none")


def _flag(seen: _Seen) -> Column | None:
    pieces = [piece for piece in _pieces(seen.name) if plain(piece) not in WEAK["diagnosis"]]
    condition = condition_of(seen.name) or condition_of(seen.bare) or condition_of(" ".join(pieces))
    if condition is None or not seen.values.rows:
        return None
    words = {cell: word for cell in seen.values.count if (word := flag_of(cell))}
    if seen.values.share(words) >= _AGREED:
        bad = {cell: "expected yes or no" for cell in seen.values.count if cell not in words}
        return Column(seen.name, condition, "named like a disease, with yes or no", words, bad=bad)
    if all(number_of(cell) is not None for cell in seen.values.count) and len(seen.values.count) <= 8:
        doubt = f"whether {_listed(sorted(seen.values.count))} are grades of {condition}"
        return Column(seen.name, "ignore", "", doubt=doubt, options=(_option("grade", seen.name),))
    return None


def _grade(seen: _Seen) -> Column | None:
    strong, weak = _named(seen, "grade"), seen.bare in WEAK["grade"]
    scale = next((scale for scale in SCALES if plain(scale.name) in seen.bare), None)
    numbers = {cell: cell for cell in seen.values.count if re.fullmatch(r"\d(?:\.0)?", cell)}
    share = seen.values.share(numbers)
    if scale is not None and share >= _AGREED:
        words = {cell: level for cell in numbers if (level := cell[0]) in scale.levels}
        bad = {c: f"expected one of {', '.join(scale.levels)}" for c in seen.values.count if c not in words}
        return Column(seen.name, scale.name, "by its name and its cells", words, bad=bad)
    coded = plain(seen.name) in HEADERS["diagnosis"] and share >= _AGREED
    if seen.classes or not (strong or weak or coded) or share < 0.5 or not seen.values.rows:
        return None
    few = {cell[0] for cell in numbers} <= {"0", "1"}
    if not strong or few:
        kind = "yes or no, or a grade" if few else "a grade, or a class"
        doubt = f"whether {_listed(sorted(seen.values.count))} are {kind}"
        return Column(seen.name, "ignore", "", doubt=doubt, options=(_option("grade", seen.name),))
    words, bad = _levels(seen.values)
    return Column(seen.name, "grade", "by its name and its cells", words, bad=bad)


def _levels(values: Values) -> tuple[dict[str, str], dict[str, str]]:
    """Return the levels of a grade, and cells far from the others, such as a 7 among 0 to 3."""
    numbers = {cell: float(cell) for cell in values.count if number_of(cell) is not None and "," not in cell}
    steps = sorted(numbers.values())
    last = next((low for low, high in pairwise(steps) if high - low > 1), steps[-1] if steps else 0)
    words = {cell: f"{number:g}" for cell, number in numbers.items() if number <= last}
    bad = {cell: "expected a level next to the others" for cell in values.count if cell not in words}
    return words, bad


def _diagnosis(seen: _Seen) -> Column | None:
    pieces = {plain(piece) for piece in _pieces(seen.name)}
    strong = _named(seen, "diagnosis")
    weak = seen.bare in WEAK["diagnosis"]
    partly = any(p in HEADERS["diagnosis"] or p.startswith("diagn") for p in pieces)
    if not (strong or weak or partly) or not seen.values.rows:
        return None
    if seen.classes:
        names = {str(n): name for n, name in enumerate(seen.classes)}
        words = {cell: findings_of(names[cell]).words for cell in seen.values.count if cell in names}
        bad = {
            cell: f"expected 0 to {len(names) - 1}, which the file names"
            for cell in seen.values.count
            if cell not in words
        }
        return Column(seen.name, "diagnosis", "classes that the file names", words, bad=bad)
    known = {cell for cell in seen.values.count if findings_of(cell).present or findings_of(cell).absent}
    share = seen.values.share(dict.fromkeys(known))
    if all(re.fullmatch(r"\d+(?:\.0)?|[A-Za-z]", cell) for cell in seen.values.count):
        if partly and not (strong or weak):
            return None
        code = next(iter(seen.values.count))
        doubt = f"which diagnoses the codes {_listed(sorted(seen.values.count))} stand for"
        own = f"--value 'diagnosis:{code}=NAME' for each; `--column grade={seen.name}` if they are grades"
        return Column(seen.name, "ignore", "", doubt=f"{doubt} ({own})", options=(_option("ignore", seen.name),))
    if strong or share >= 0.3:
        words = {cell: findings_of(cell).words for cell in seen.values.count}
        return Column(seen.name, "diagnosis", "by its name" if strong else "by its cells", words)
    return None


def _split(seen: _Seen) -> Column | None:
    words = {cell: split for cell in seen.values.count if (split := split_of(cell))}
    if words and seen.values.share(words) == 1 and (len(set(words.values())) > 1 or _named(seen, "split")):
        return Column(seen.name, "split", "by its cells", words)
    return None


def _plain_text(meaning: str) -> Callable[[_Seen], Column | None]:
    def look(seen: _Seen) -> Column | None:
        return Column(seen.name, meaning, "by its name") if _named(seen, meaning) and seen.values.rows else None

    return look


def _modality(seen: _Seen) -> Column | None:
    if not _named(seen, "modality"):
        return None
    words = {cell: cell for cell in seen.values.count if not unknown_words(cell)}
    return (
        Column(seen.name, "modality", "by its name and its cells", words)
        if len(words) == len(seen.values.count)
        else None
    )


def _option_of_question(seen: _Seen) -> Column | None:
    return Column(seen.name, "option", "by its name") if seen.name in OPTIONS else None


def _weak_patient(seen: _Seen) -> Column | None:
    return Column(seen.name, "id", "an id") if seen.bare in WEAK["patient"] else None


def _side(cell: str, _: frozenset[str]) -> str | None:
    return side_of(cell)


def _unnamed_side(seen: _Seen) -> Column | None:
    """Return a doubt about a column whose cells all are sides, and whose name does not say so."""
    words = {cell: side for cell in seen.values.count if (side := side_of(cell))}
    if not seen.values.rows or len(words) < len(seen.values.count) or len(set(words.values())) < 2:
        return None
    doubt = f"whether {_listed(sorted(seen.values.count))} are sides of the eye"
    return Column(seen.name, "ignore", "", doubt=doubt, options=(_option("laterality", seen.name),))


_LOOKS: tuple[Callable[[_Seen], Column | None], ...] = (
    _image, _patient, _finite("laterality", _side, "left or right"), _finite("sex", sex_of, "male or female"), _age,
    _split, _grade, _flag, _diagnosis, _modality, _unused,
    *map(_plain_text, ("camera", "quality", "question", "answer")), _option_of_question, _weak_patient, _unnamed_side,
)  # fmt: skip
"""From what cells show to what only a name suggests."""


def _as_stated(seen: _Seen, meaning: str, answers: Answers) -> Column:
    """Return a column as the user says it is; cells that do not fit are bad, each by itself."""
    given = answers.words(seen.name, meaning)
    levels = _levels(seen.values)[0]
    scale = next((scale for scale in SCALES if scale.name == meaning), None)
    read: dict[str, Callable[[str], str | None]] = {
        "laterality": side_of,
        "sex": lambda cell: sex_of(cell, frozenset(map(plain, seen.values.count))),
        "split": split_of,
        "age": lambda cell: f"{age:g}" if (age := age_of(cell)) is not None else None,
        "diagnosis": lambda cell: findings_of(cell).words,
        "grade": lambda cell: levels.get(cell, None if cell[:1].isdigit() else cell),
    }
    if scale is not None:
        read[meaning] = lambda cell: cell if cell in scale.levels else None
    finite = read.get(meaning, flag_of if condition_of(meaning) else None)
    if finite is None:
        return Column(seen.name, meaning, "as you say", eye=seen.eye)
    words = {cell: word for cell in seen.values.count if (word := given.get(cell) or finite(cell))}
    bad = {cell: f"no {meaning}" for cell in seen.values.count if cell not in words}
    return Column(seen.name, meaning, "as you say", words, seen.eye, bad=bad)


def _with_values(column: Column, answers: Answers) -> Column:
    """Return a column with the words that the user gave to its cells, which may settle its doubt."""
    meanings = [column.meaning, *(m for m in ("sex", "laterality", "diagnosis") if _option_names(column, m))]
    given = {cell: word for m in meanings for cell, word in answers.words(column.name, m).items()}
    if not given:
        return column
    meaning = next((m for m in meanings if answers.words(column.name, m) and m != "ignore"), column.meaning)
    words = {**column.words, **given}
    bad = {cell: why for cell, why in column.bad.items() if cell not in given}
    return replace(column, meaning=meaning, why="as you say", words=words, bad=bad, doubt="", options=())


def _option_names(column: Column, meaning: str) -> bool:
    """Return whether the doubt about a column is about words of a meaning."""
    name = _bare(column.name)
    return bool(column.doubt) and (name in HEADERS[meaning] or name in WEAK.get(meaning, ()))


def _settled(grid: Grid, columns: list[Column], answers: Answers) -> list[Column]:
    """Return the columns after looking at them together: one image a row and eye, one patient, one diagnosis."""
    if not any(c.meaning == "question" for c in columns):
        columns = [replace(c, meaning="own", why="a letter") if c.meaning == "option" else c for c in columns]
    columns = _one_image(columns, answers)
    columns = _one_of("diagnosis", _one_diagnosis(grid, columns))
    columns = _one_of("patient", columns)
    return _ids(grid, columns)


def _one_image(columns: list[Column], answers: Answers) -> list[Column]:
    images = [c for c in columns if c.meaning == "image"]
    by_eye = {c.eye for c in images}
    if len(images) < 2 or (by_eye == {"left", "right"} and len(images) == 2):
        return columns
    stated = [c for c in images if c.why == "as you say"]
    kept = stated or [c for c in images if c.why == "the files are inside the table"]
    if kept:
        return [
            replace(c, meaning="ignore", why="another image") if c in images and c not in kept else c for c in columns
        ]
    names = ", ".join(c.name for c in images)
    doubt = f"which image is asked about ({names}); one run asks about one"
    first = _option("image", images[0].name)
    rest = {c.name: replace(c, meaning="ignore", why="another image") for c in images[1:]}
    asked = replace(images[0], meaning="ignore", doubt=doubt, options=(first,))
    return [asked if c is images[0] else rest.get(c.name, c) for c in columns]


def _one_diagnosis(grid: Grid, columns: list[Column]) -> list[Column]:
    """Return the columns with a doubt in place of two diagnoses of the same name that disagree, as of two readers."""
    found = [c for c in columns if c.meaning == "diagnosis" and c.why != "as you say"]
    stated = {c.eye for c in columns if c.meaning == "diagnosis" and c.why == "as you say"}
    doubted: dict[str, Column] = {}
    for first in found:
        for second in found[found.index(first) + 1 :]:
            same = plain(re.sub(r" \[\d+\]$", "", second.name)) == plain(first.name) and first.eye == second.eye
            apart = sum(a != b for a, b in zip(grid.column(first.name), grid.column(second.name), strict=True))
            if same and apart and first.eye not in stated:
                doubt = f"which of {first.name} and {second.name} counts; they differ in {apart} rows"
                options = (_option("diagnosis", first.name),)
                doubted[first.name] = replace(first, meaning="ignore", doubt=doubt, options=options)
                doubted[second.name] = replace(second, meaning="ignore", why=f"see {first.name}")
    return [doubted.get(c.name, c) for c in columns]


def _one_of(meaning: str, columns: list[Column]) -> list[Column]:
    """Return the columns with one of a meaning an eye: what the user states before what cells show, else the first."""
    kept: dict[str, Column] = {}
    for column in sorted(columns, key=lambda c: (c.why != "as you say", bool(c.doubt))):
        if column.meaning == meaning:
            kept.setdefault(column.eye, column)
    others = [c for c in columns if c.meaning == meaning and kept.get(c.eye) is not c]
    return [
        replace(c, meaning="own", why=f"{kept[c.eye].name} is the {meaning}") if c in others else c for c in columns
    ]


def _ids(grid: Grid, columns: list[Column]) -> list[Column]:
    """Return the columns with ids settled: the patient's only if the user says so, as far as rows share one."""
    has_patient = any(c.meaning == "patient" for c in columns)
    settled = []
    for column in columns:
        repeated = max(Counter(cell for cell in grid.column(column.name) if cell).values(), default=0) > 1
        both = any(c.meaning == "image" and c.eye for c in columns)
        private = column.meaning == "name"
        if column.meaning not in ("id", "name") or (private and not repeated):
            settled.append(column)
        elif has_patient or not (repeated or (both and not private)):
            why = column.why if private else "an id of its own in each row"
            settled.append(replace(column, meaning="name" if private else "index", why=why))
        else:
            has_patient = True
            doubt = "whether it is the patient, whose images must stay in one split"
            option = (_option("patient", column.name),)
            settled.append(replace(column, meaning="ignore", why="", doubt=doubt, options=option))
    return settled


def _option(meaning: str, name: str) -> str:
    return f"--column {meaning}={name}"


def _listed(cells: Iterable[str]) -> str:
    named = list(cells)
    return ", ".join(named[:6]) + (f" and {len(named) - 6} more" if len(named) > 6 else "")


def _kind_in_words(values: Values) -> str:
    kind, distinct = kind_of(values), len(values.count)
    return {"yes_no": "yes or no", "number": "numbers", "choice": f"{distinct} words", "open": "free text"}[kind]


def kind_of(values: Values) -> str:
    """Return the kind of question that a column can be: yes_no, number, choice or open."""
    if values.rows and all(flag_of(cell) for cell in values.count) and not set(values.count) <= {"0", "1"}:
        return "yes_no"
    if (
        values.rows
        and sum(n for cell, n in values.count.items() if number_of(cell) is not None) >= _AGREED * values.rows
    ):
        return "number"
    return "choice" if len(values.count) <= 12 and values.rows >= 2 * len(values.count) else "open"
