"""What a column can mean, and what is known of one: its meaning, the words of its cells, and what is in doubt."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field

from lmod_train.data.table.images import Folder
from lmod_train.data.table.values import Values

OPTIONS = tuple("ABCDEFGHIJ")
"""Columns of the options of a question, as in tables of VLMEvalKit."""

MEANINGS: Mapping[str, str] = {
    "image": "image",
    "patient": "patient",
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
    "category": "a kind of questions, scored by itself",
    "hint": "a hint, before the question",
    "own": "your own, asked with --ask",
    "date": "date, not used",
    "birth": "birth, not used",
    "name": "name of a person, not used",
    "notes": "free text, not used",
    "index": "number of the row, not used",
    "licence": "licence, not used: state it with `--licence`",
    "region": "a side of a box",
    "structure": "the structure in the box",
    "box": "a box, not used",
    "ignore": "not used",
}
"""Meaning -> what it is, in words; further ones are the names of conditions and of scales."""

UNUSED = frozenset({"date", "birth", "name", "notes", "index", "licence", "box", "ignore"})


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
