"""Markdown: the texts of a report and the tables that fit in one file; the others are named there."""

from __future__ import annotations

from collections.abc import Iterator, Set
from pathlib import Path

from lmod_train.core.escaping import for_markdown
from lmod_train.core.files import write_durably
from lmod_train.core.tables import Table, markdown
from lmod_train.report.contents import Chapter, Contents, Figure, Remark, Text
from lmod_train.report.writers.naming import file_name

MOST_LINES = 600
"""Number of lines that the tables may fill; texts and remarks are never left out."""


def write_markdown(contents: Contents, file: Path) -> None:
    """Write the texts of a report to one file, with its first table and the smallest ones, up to `MOST_LINES`.

    The other tables are named at the end of their chapter, as ``tables/NAME.csv``.
    """
    with write_durably(file) as beside:
        beside.write_text("\n\n".join(_paragraphs(contents, _fitting(contents))) + "\n", encoding="utf-8")


def _fitting(contents: Contents) -> Set[int]:
    """Return the `id` of each table that is written: the first one, then those of fewest rows."""
    tables = [*contents.tables()]
    room = MOST_LINES - _lines(_paragraphs(contents, frozenset()))
    found = set[int]()
    for table in [*tables[:1], *sorted(tables[1:], key=lambda one: len(one.rows))]:
        room -= _lines(_part(table))
        if room < 0:
            break
        found.add(id(table))
    return found


def _lines(parts: Iterator[str]) -> int:
    return sum(part.count("\n") + 2 for part in parts)  # one is empty


def _paragraphs(contents: Contents, shown: Set[int]) -> Iterator[str]:
    yield from (f"# {contents.title}", *(f"**{for_markdown(remark)}**" for remark in contents.remarks))
    for chapter in contents.chapters:
        yield from _chapter(chapter, shown)


def _chapter(chapter: Chapter, shown: Set[int]) -> Iterator[str]:
    parts = [part for part in chapter.parts if not isinstance(part, Figure)]
    left_out = [part for part in parts if isinstance(part, Table) and id(part) not in shown]
    if parts:
        yield f"## {chapter.title}"
    for part in parts:
        if part not in left_out:
            yield from _part(part)
    if left_out:
        yield f"In files: {', '.join(map(_named, left_out))}"


def _named(table: Table) -> str:
    """Return where a table that is not written stands, with its title."""
    title = f"{for_markdown(table.title)}, " if table.title else ""
    return f"`tables/{file_name(table.name)}.csv` ({title}{len(table.rows)} rows)"


def _part(part: Table | Text | Remark) -> Iterator[str]:
    if isinstance(part, Text):
        yield part.text
    elif isinstance(part, Remark):
        yield f"**{for_markdown(part.text)}**"
    else:
        yield from filter(None, (f"### {part.title}" if part.title else "", part.note, markdown(part)))
