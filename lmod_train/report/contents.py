"""What a report shows, as data: chapters of texts, remarks, tables and figures.

Sections make them (`lmod_train.report.section`), writers write them (`lmod_train.report.writers`). Cells are numbers
and not text: a writer decides digits and alignment by the format of the column, and never what is shown.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from lmod_train.core.types import Score

MISSING = "-"
"""Text of a missing value."""

Format = Literal[
    "text", "count", "number", "signed", "percent", "interval", "signed_interval", "statistic", "p", "estimate"
]
"""How the cells of a column are written: numbers and intervals with three decimals, with a sign if ``signed``; shares
in percent; test statistics with two decimals."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """A value in one cell with its 95 % interval and number of items, each None if there is none."""

    value: float | None
    low: float | None = None
    high: float | None = None
    n: int | None = None


Cell = str | int | float | None | tuple[float | None, float | None] | Estimate
"""A pair is an interval (low, high); None is a missing value. A string is written as it is."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table: its head, and the format of its cells."""

    head: str
    format: Format = "text"


Heads = Sequence[str | Column]
"""Columns of a table; one given by its head alone is text."""

N, SCORE, INTERVAL = Column("n", "count"), Column("score", "number"), Column("95 % interval", "interval")
"""Columns of many tables."""


@dataclass(frozen=True, slots=True)
class Table:
    """A table.

    Attributes:
        name: Name of its files, unique in a report.
        columns: The columns.
        rows: Cells, one per column.
        title: Heading above the table; empty for none.
        note: Text needed to interpret the numbers.
    """

    name: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    title: str = ""
    note: str = ""

    def __post_init__(self) -> None:
        """Check that every row has a cell for each column."""
        wrong = [row for row in self.rows if len(row) != len(self.columns)]
        if wrong:
            raise ValueError(f"table {self.name}: {len(wrong[0])} cells for {len(self.columns)} columns: {wrong[0]}")


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure and the numbers that it shows.

    Attributes:
        name: Name of its files, unique in a report.
        title: What is drawn.
        alt: What the figure shows, for readers who do not see it.
        table: The numbers, written as CSV beside the figure.
        draw: Draws the table and writes ``NAME.png`` and ``NAME.svg`` to a folder.
    """

    name: str
    title: str
    alt: str
    table: Table
    draw: Callable[[Table, Path], object]


@dataclass(frozen=True, slots=True)
class Text:
    """A paragraph."""

    text: str


@dataclass(frozen=True, slots=True)
class Remark:
    """A sentence that a reader of the scores must know."""

    text: str


Part = Table | Figure | Text | Remark


@dataclass(frozen=True, slots=True)
class Chapter:
    """The contents of one section; `name` is that of the section's module."""

    name: str
    title: str
    parts: tuple[Part, ...]


@dataclass(frozen=True, slots=True)
class Contents:
    """Everything a report shows."""

    title: str
    remarks: tuple[str, ...]
    chapters: tuple[Chapter, ...]

    def tables(self) -> Iterator[Table]:
        """Yield the tables, without those of figures."""
        yield from (part for chapter in self.chapters for part in chapter.parts if isinstance(part, Table))

    def figures(self) -> Iterator[Figure]:
        """Yield the figures."""
        yield from (part for chapter in self.chapters for part in chapter.parts if isinstance(part, Figure))


def table(name: str, columns: Heads, rows: Sequence[Sequence[Cell]], title: str = "", note: str = "") -> Table:
    """Return a table; a column given by its head alone is text.

    Example:
        >>> table("ages", ["eye", Column("age", "count")], [["left", 40]]).rows
        (('left', 40),)
    """
    heads = tuple(c if isinstance(c, Column) else Column(c) for c in columns)
    return Table(name, heads, tuple(tuple(row) for row in rows), title, note)


def score_cells(score: Score | None) -> list[Cell]:
    """Return the cells n, value and interval of a score; dashes if it has no value."""
    if score is None or score.value is None:
        return [None, None, MISSING]
    return [score.n, score.value, (score.low, score.high)]
