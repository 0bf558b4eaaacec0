"""What a report shows, as data: chapters of texts, remarks, tables and figures.

Sections make them (`lmod_train.report.section`), writers write them (`lmod_train.report.writers`). Cells are numbers
and not text: a writer decides digits and alignment by the format of the column, and never what is shown.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from lmod_train.core.package_data import package_data
from lmod_train.core.tables import Column, Heads, Table


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure and the numbers that it shows.

    Attributes:
        name: Name of its files, unique in a report.
        title: What is drawn.
        alt: What the figure shows, for readers who do not see it.
        table: The numbers, written as CSV beside the figure.
        draw: Draws the table and writes ``NAME.png`` and ``NAME.svg`` to a folder.
        photographs: Whether it shows photographs, whose colours a dark page leaves as they are.
    """

    name: str
    title: str
    alt: str
    table: Table
    draw: Callable[[Table, Path], object]
    photographs: bool = False


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


def texts(module: str) -> Mapping[str, str]:
    """Return name -> note or description of the sections of a module, from ``texts.yaml`` in its folder.

    Args:
        module: The module's ``__file__``.
    """
    found: Mapping[str, str] = package_data(module, "texts.yaml")[Path(module).stem]
    return found


def heads(module: str) -> Mapping[str, Heads]:
    """Return name -> columns of the tables of a module, from ``tables.yaml`` in its folder.

    A column is its head, or its head and format.

    Args:
        module: The module's ``__file__``.
    """
    listed = package_data(module, "tables.yaml")[Path(module).stem]
    return {
        name: [c if isinstance(c, str) else Column(*next(iter(c.items()))) for c in own] for name, own in listed.items()
    }


def noted(note: str, *shown: Table) -> Iterator[Part]:
    """Yield a note and the tables that it is about, those without rows left out; nothing if none is left."""
    if tables := [one for one in shown if one.rows]:
        yield Text(note)
        yield from tables
