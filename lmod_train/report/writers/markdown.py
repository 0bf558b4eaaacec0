"""Markdown: all tables of a report in one file."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from lmod_train.core.escaping import for_markdown
from lmod_train.core.files import write_durably
from lmod_train.core.tables import Table, markdown
from lmod_train.report.contents import Chapter, Contents, Figure, Remark, Text


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
