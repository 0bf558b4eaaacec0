"""What a column can mean, what is known of one, the words that a user typed for its cells, and contradictions."""

from __future__ import annotations

import re
import shlex
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

from lmod_train.core.connected_components import join
from lmod_train.core.errors import BadArgument
from lmod_train.core.package_data import package_data
from lmod_train.core.types import Cut, Outline, Patient
from lmod_train.core.vocabulary.modalities import MODALITIES, unknown_words
from lmod_train.core.vocabulary.scales import SCALES
from lmod_train.data.cells.diagnoses import condition_of, findings_of, kind_named
from lmod_train.data.cells.image_names import Folder
from lmod_train.data.cells.ordered import is_none
from lmod_train.data.cells.values import Values, age_of, flag_of, is_missing, sex_of, side_of, split_of, values_of
from lmod_train.data.cells.vocabulary import HEADERS, WORDS, plain
from lmod_train.data.sources.grid import Grid, Row

MEANINGS: Mapping[str, str] = WORDS["meanings"]
"""Meaning -> what it is, in words; further ones are the names of conditions and of scales."""

UNUSED = frozenset({"date", "birth", "name", "notes", "index", "licence", "box", "options", "ignore"})


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
        about: Meaning that the column gets if the user gives words to its cells; empty for the one it has.
        options: Options that would answer the doubt, of which one reading is shown.
        bad: Cell -> why it has no value.
        stated: Whether the user says so.
        differs: Rows in which a diagnosis that does not count differs from the one that does.
    """

    name: str
    meaning: str
    why: str
    words: Mapping[str, str] = field(default_factory=dict)
    eye: str = ""
    doubt: str = ""
    about: str = ""
    options: tuple[str, ...] = ()
    bad: Mapping[str, str] = field(default_factory=dict)
    stated: bool = False
    differs: int = 0

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
        asked: Names and meanings of columns that become questions.
    """

    columns: Mapping[str, str] = field(default_factory=dict)
    values: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    asked: tuple[str, ...] = ()

    def given(self, column: Column) -> dict[str, str]:
        """Return the words that the user gave to cells of a column that is understood."""
        return self.words(column.name, column.about or column.meaning)

    def words(self, column: str, meaning: str) -> dict[str, str]:
        """Return the words that the user gave to cells of a column."""
        return {**self.values.get(meaning, {}), **self.values.get(column, {})}


@dataclass(frozen=True)
class Seen:
    """A column as it is looked at.

    Attributes:
        name: Its name.
        bare: The name without brackets and side of the eye, by `plain`.
        eye: ``left`` or ``right`` if there is such a column for each eye.
        values: Its distinct cells.
        folder: The images.
        classes: Names of its whole numbers that the file states.
    """

    name: str
    bare: str
    eye: str
    values: Values
    folder: Folder
    classes: tuple[str, ...] = ()


def option_of(meaning: str, name: str) -> str:
    """Return the option that gives a column a meaning."""
    return f"--column {meaning}={name}"


def value_of(name: str, cell: str, word: str) -> str:
    """Return the option that gives a cell of a column a word."""
    return f"--value {name}:{cell}={word}"


def typed(option: str) -> str:
    """Return an option as it is typed in a shell.

    Example:
        >>> typed(value_of("eye side", "1", "left"))
        "--value 'eye side:1=left'"
    """
    flag, _, rest = option.partition(" ")
    return f"{flag} {shlex.quote(rest)}"


# Words that the user gives to cells with ``--value``: each is a word of the column's meaning, or is refused.
_CLOSED: Mapping[str, list[str]] = package_data(__file__, "words.yaml")["meanings"]["closed"]

_SAID: Mapping[str, list[str]] = package_data(__file__, "words.yaml")["meanings"]["modalities"]
"""Modality -> other words for it."""

AS_YOU_SAY = "it has no value, as you say"
"""Why a cell is bad whose word is ``unknown``."""

_FREE = frozenset({"diagnosis", "grade", "camera", "quality", "own", "structure", "answer"})
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
        "laterality": lambda cell: side_of(cell, cells),
        "modality": _modality_of,
        "sex": lambda cell: sex_of(cell, cells),
        "split": split_of,
        "age": lambda cell: f"{age:g}" if (age := age_of(cell)) is not None else None,
    }
    return read.get(meaning, flag_of if condition_of(meaning) else None)


def _modality_of(cell: str) -> str | None:
    """Return the abbreviation of a modality, or that of its full name: ``Fundus photograph``."""
    if cell and not unknown_words(cell):
        return cell
    return next(
        (m.name for m in MODALITIES if plain(cell) in map(plain, (m.name, m.meaning, *_SAID.get(m.name, ())))), None
    )


def with_words(column: Column, cells: Iterable[str], answers: Answers) -> Column:
    """Return a column with the words that the user gave to its cells, which may answer its doubt.

    A cell whose word is ``unknown``, or another word for a missing value, has none; ``none`` is a class where the words
    are the table's own.

    Raises:
        BadArgument: The meaning of the column has no such word.
    """
    meaning = column.about or column.meaning
    given = answers.words(column.name, meaning)
    flags = all(flag_of(word) or word == "unknown" for word in given.values())
    if column.meaning == "own" and condition_of(meaning) and not flags:
        meaning = "own"  # a word that a column of yes and no of the disease would not take
    here = {cell for cell in cells if cell in given} if given and takes_words(meaning) else set()
    if not here:
        return column
    read = {cell: _word(column.name, meaning, cell, given[cell]) for cell in here}
    words = {cell: word for cell, word in {**column.words, **read}.items() if word}
    known = dict.fromkeys(values_of([*cells]).count) if column.doubt else column.bad
    bad = {cell: f"no word for {meaning} was given" for cell in known if cell not in words} | {
        cell: why for cell, why in column.bad.items() if cell not in words
    }
    bad |= dict.fromkeys(here - words.keys(), AS_YOU_SAY)
    settled = replace(column, meaning=meaning, why="as you say", words=words, bad=bad, stated=True)
    return replace(settled, doubt="", about="", options=())


def _word(name: str, meaning: str, cell: str, word: str) -> str:
    """Return a word as the meaning spells it; empty for one that stands for a missing value."""
    read = reader_of(meaning)
    if is_missing(word) and not (read is None and is_none(word)):
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


Eye = Literal["", "left", "right"]


@dataclass(frozen=True, slots=True)
class Place:
    """Where an image is: a file below the folder, or a row of a Parquet file.

    Attributes:
        path: The file.
        key: Key of the image in records.
        cut: Column and row of a Parquet file.
    """

    path: Path
    key: str
    cut: Cut = field(default_factory=Cut)


@dataclass
class Entry:
    """One image of a row, with what the row states of it, and the numbers of its patient.

    Attributes:
        given: Name of a column -> the labels and facts that its cell gives.
    """

    row: Row
    eye: Eye
    place: Place
    stated: dict[str, tuple[Column, str, str]] = field(default_factory=dict)
    given: dict[str, dict[str, str]] = field(default_factory=dict)
    people: list[str] = field(default_factory=list)
    date: str = ""
    labels: dict[str, str] = field(default_factory=dict)
    patient: Patient = field(default_factory=Patient)
    person: str = ""
    split: Literal["", "train", "val", "test"] = ""
    modality: str = ""
    outlines: tuple[Outline, ...] = ()
    boxed: bool = False


# Values of a row, or of a patient, that cannot all be true: none of them is used, as nothing says which is wrong.
Stated = Mapping[str, tuple[Column, str, str]]
"""Name of a column -> the column, the cell and the word that it stands for, of one image."""

ONE_FACT = frozenset({"age", "sex", "laterality", "split", "modality"})
"""Meanings of which an image has one value, whatever the number of columns that state it."""

FACTS = ONE_FACT | {"camera", "quality"}
"""Meanings that are stated of an image and are no labels."""

SCALE_NAMES = frozenset(scale.name for scale in SCALES)

_DISEASES = {scale.name: scale.disease for scale in SCALES if "0" in scale.levels}


def claims_of(column: Column, word: str) -> dict[str, str]:
    """Return what a value says of diseases: the name of each, or ``normal``, with yes or no."""
    if column.meaning == "diagnosis":
        found = findings_of(word)
        return dict.fromkeys(found.absent, "no") | dict.fromkeys(found.present, "yes")
    graded = _DISEASES.get(column.meaning) or (graded_in(column.name) if column.meaning == "grade" else None)
    if graded:
        return {graded: "no" if word == "0" else "yes"} if word.isdecimal() else {}
    if column.meaning == "own" and findings_of(column.name).present == ("normal",) and flag_of(word):
        return {"normal": str(flag_of(word))}
    kind = kind_named(column.name)
    if kind and condition_of(column.meaning):  # of another kind nothing is denied
        return {column.meaning: word, kind: word} if word == "yes" else {kind: word}
    return {column.meaning: word} if condition_of(column.meaning) else {}


@lru_cache(maxsize=256)
def graded_in(name: str) -> str | None:
    """Return the disease whose grades a column has by its name; None for another column.

    Example:
        >>> graded_in("DR_grade"), graded_in("Grado de RD"), graded_in("DR"), graded_in("grade")
        ('diabetic retinopathy', 'diabetic retinopathy', None, None)
    """
    parts = [part for part in re.split(r"[\W_]+", name) if part.casefold() not in _BETWEEN]
    rest = [part for part in parts if plain(part) not in HEADERS["grade"]]
    return condition_of(" ".join(rest)) if 0 < len(rest) < len(parts) else None


_BETWEEN = frozenset(("de", "der", "des", "of", "du", "la", "le", "da", "do", "del", "di"))


def in_a_row(stated: Stated) -> dict[str, str]:
    """Return column -> column that contradicts it, of the values of one image.

    Two values exclude each other if they say yes and no of one disease, if one says normal and the other a disease, or
    if they are two of what an image has one of, such as a sex.
    """
    said: defaultdict[tuple[str, str], list[str]] = defaultdict(list)
    against: defaultdict[str, list[tuple[str, str]]] = defaultdict(list)
    for name, (column, _, word) in stated.items():
        if column.meaning in ONE_FACT:
            said[column.meaning, word].append(name)
        for disease, answer in claims_of(column, word).items():
            said[disease, answer].append(name)
            against[name].append((disease, "no" if answer == "yes" else "yes"))
            if answer == "yes":
                against[name].append(_DISEASED if disease == "normal" else _NORMAL)
                said[_DISEASED] += [name] if disease != "normal" else []
    for (meaning, word), names in list(said.items()):
        if meaning in ONE_FACT:
            others = [one for one in said if one[0] == meaning and one[1] != word]
            for name in names:
                against[name] += others
    opposed = {name: [o for key in keys for o in said[key][:2] if o != name] for name, keys in against.items()}
    return {name: others[0] for name, others in opposed.items() if others}


_NORMAL, _DISEASED = ("normal", "yes"), ("a disease", "yes")


def of_patients(images: Sequence[tuple[Iterable[str], str, Stated]]) -> list[dict[str, str]]:
    """Return column -> what contradicts it, for each image: two sexes of a patient, two ages at one date.

    Args:
        images: Numbers of the patient, the date, empty without one, and the values of each image.
    """
    words: defaultdict[Hashable, set[str]] = defaultdict(set)
    for people, date, stated in images:
        for column, _, word in stated.values():
            for key in _keys(people, date, column):
                words[key].add(word)
    return [
        {
            name: f"another {column.meaning} of the same patient"
            for name, (column, _, _) in stated.items()
            if any(len(words[key]) > 1 for key in _keys(people, date, column))
        }
        for people, date, stated in images
    ]


def _keys(people: Iterable[str], date: str, column: Column) -> list[Hashable]:
    """Return what has one value: the sex of a patient, and the age at a date."""
    if column.meaning == "sex":
        return [(person, "sex") for person in people]
    return [(person, "age", date) for person in people] if column.meaning == "age" and date else []


def as_one_person(entries: Sequence[Entry]) -> None:
    """Give patients one name that share an image or a row, as tables state one person under two numbers."""
    first: dict[str, str] = {}
    pairs = [(first.setdefault(one.place.key, one.people[0]), who) for one in entries for who in one.people]
    pairs += [(one.people[0], who) for one in entries for who in one.people]
    named = {person: group[0] for group in join(pairs) for person in group}
    for entry in entries:
        entry.person = named[entry.people[0]] if entry.people else ""


def merged_of(entries: Sequence[Entry]) -> tuple[Entry, list[str]]:
    """Return what the rows of one image state together, and the names of what they contradict each other in."""
    first, lost = entries[0], []
    labels: dict[str, str] = {}
    for name in dict.fromkeys(name for one in entries for name in one.labels):
        words = {one.labels[name] for one in entries if name in one.labels}
        if len(words) == 1:
            labels[name] = words.pop()
        else:
            lost.append(name)
    facts: dict[str, Any] = {}
    for name in ("age", "sex", "laterality", "camera", "quality", "visit"):
        known = {value for one in entries if (value := getattr(one.patient, name)) is not None}
        facts[name] = known.pop() if len(known) == 1 else None
        lost += [name] if known and facts[name] is None else []
    outlines = tuple(dict.fromkeys(outline for one in entries for outline in one.outlines))
    return replace(first, labels=labels, patient=Patient(**facts), outlines=outlines), lost
