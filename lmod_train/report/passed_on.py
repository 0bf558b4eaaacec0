"""What a report shows of records of private sources: pseudonyms in the place of the names of files."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import partial
from pathlib import Path

from lmod_train.core.artifacts.pseudonyms import Pseudonyms
from lmod_train.core.tables import Table
from lmod_train.report.contents import Chapter, Contents, Figure, Part, Remark, Text
from lmod_train.report.results import Results
from lmod_train.report.viewer.first_screen import FirstScreen


def pseudonyms_of(results: Results, named: Iterable[str] = ()) -> Pseudonyms:
    """Return the names that a report shows of its records; `named` are the sources that keep their own.

    The key of a run whose curated folder is not there lies in the folder of the run.
    """
    shown = []
    for run, (label, own) in zip(results.runs, results.outcomes.items(), strict=True):
        folder = results.images[label]
        shown.append((folder if folder and folder.is_dir() else run.path, [p.record for p in own.predictions]))
    return Pseudonyms(shown, named)


def shown_contents(found: Contents, names: Pseudonyms) -> Contents:
    """Return contents under pseudonyms; figures are drawn of the files that their tables named before."""
    if not names.names:
        return found
    chapters = (replace(one, parts=tuple(_shown_part(part, names) for part in one.parts)) for one in found.chapters)
    return Contents(found.title, tuple(map(names.text, found.remarks)), tuple[Chapter, ...](chapters))


def shown_screen(screen: FirstScreen, names: Pseudonyms) -> FirstScreen:
    """Return a first screen under pseudonyms, which the addresses of its examples have."""
    findings = (replace(f, claim=names.text(f.claim), cautions=names.text(f.cautions)) for f in screen.findings)
    examples = (replace(one, answer=names.text(one.answer)) for one in screen.examples)
    return replace(screen, findings=tuple(findings), examples=tuple(examples))


def _shown_part(part: Part, names: Pseudonyms) -> Part:
    if isinstance(part, Text | Remark):
        return replace(part, text=names.text(part.text))
    if isinstance(part, Table):
        return _shown_table(part, names)
    drawn = replace(part, table=_shown_table(part.table, names), draw=partial(_drawn, part, names))
    return replace(drawn, title=names.text(part.title), alt=names.text(part.alt))


def _shown_table(one: Table, names: Pseudonyms, keep: int | None = None) -> Table:
    """Return a table under pseudonyms; the column with the number `keep` is left as it is."""
    rows = (
        tuple(names.text(cell) if isinstance(cell, str) and place != keep else cell for place, cell in enumerate(row))
        for row in one.rows
    )
    return replace(one, rows=tuple(rows), title=names.text(one.title), note=names.text(one.note))


def _drawn(figure: Figure, names: Pseudonyms, shown: Table, out: Path) -> None:
    """Draw a figure with pseudonyms of the images that its own table names in the column ``image``."""
    heads = [column.head for column in shown.columns]
    figure.draw(_shown_table(figure.table, names, heads.index("image") if "image" in heads else None), out)
