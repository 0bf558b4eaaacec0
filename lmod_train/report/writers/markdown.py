"""Markdown: all tables of a report in one file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from lmod_train.core.escaping import for_markdown
from lmod_train.core.files import write_durably
from lmod_train.report.contents import Chapter, Contents, Figure, Remark, Table, Text
from lmod_train.report.writers.cells import RIGHT, cell_text


def write_markdown(contents: Contents, file: Path) -> None:
    """Write the texts and tables of a report to one file."""
    parts = [f"# {contents.title}", *(f"**{for_markdown(remark)}**" for remark in contents.remarks)]
    parts += [text for chapter in contents.chapters for text in _chapter(chapter)]
    with write_durably(file) as beside:
        beside.write_text("\n\n".join(parts) + "\n", encoding="utf-8")


def _chapter(chapter: Chapter) -> Iterator[str]:
    shown = [part for part in chapter.parts if not isinstance(part, Figure)]
    if shown:
        yield f"## {chapter.title}"
    for part in shown:
        yield from _part(part)


def _part(part: Table | Text | Remark) -> Iterator[str]:
    if isinstance(part, Text):
        yield part.text
    elif isinstance(part, Remark):
        yield f"**{for_markdown(part.text)}**"
    else:
        yield from filter(None, (f"### {part.title}" if part.title else "", part.note, markdown(part)))


def markdown(table: Table) -> str:
    r"""Return a table as aligned Markdown, numbers right-aligned; of no rows the head alone.

    Example:
        >>> from lmod_train.report.contents import Column, table
        >>> print(markdown(table("t", ["a", Column("b", "count")], [["x|y", 1]])))
        | a    |  b |
        | ---- | -: |
        | x\|y |  1 |
    """
    right = [column.format in RIGHT for column in table.columns]
    return _grid([column.head for column in table.columns], [_line(table, i) for i in range(len(table.rows))], right)


def _line(table: Table, row: int) -> list[str]:
    return [cell_text(c, column.format) for c, column in zip(table.rows[row], table.columns, strict=True)]


def _grid(heads: Sequence[str], lines: Sequence[Sequence[str]], right: Sequence[bool]) -> str:
    cells = [[for_markdown(" ".join(text.split())) for text in line] for line in (heads, *lines)]
    widths = [max(2, *(len(line[i]) for line in cells)) for i in range(len(heads))]
    rule = ["-" * (w - 1) + ":" if r else "-" * w for w, r in zip(widths, right, strict=True)]

    def join(line: Sequence[str]) -> str:
        aligned = [c.rjust(w) if r else c.ljust(w) for c, w, r in zip(line, widths, right, strict=True)]
        return "| " + " | ".join(aligned) + " |"

    return "\n".join([join(cells[0]), join(rule), *map(join, cells[1:])])
