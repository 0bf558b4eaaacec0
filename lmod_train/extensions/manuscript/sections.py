"""The chapter of the report with what a paper takes from it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

from lmod_train.core.artifacts.manifest import read_manifest
from lmod_train.core.errors import ArtifactError
from lmod_train.core.tables import Table, table
from lmod_train.core.vocabulary.phantoms import DRAWN
from lmod_train.extensions.manuscript.characteristics import characteristics
from lmod_train.extensions.manuscript.checklists import checklists, facts_of, facts_of_data
from lmod_train.extensions.manuscript.cohort import (
    Question,
    asked_questions,
    classes_of,
    curated_questions,
    photographs,
)
from lmod_train.extensions.manuscript.flow import Row, asked_rows, flow, read_rows
from lmod_train.extensions.manuscript.main_table import main_table
from lmod_train.report.contents import Figure, Part, Remark, Text, heads, texts
from lmod_train.report.origin import phantom_tasks
from lmod_train.report.results import Results
from lmod_train.report.section import Section
from lmod_train.report.sorted_errors import GROUNDING, PROBES
from lmod_train.tasks.display_names import task_name

_TEXTS, _HEADS = texts(__file__), heads(__file__)


class ForPaper(Section):
    """Characteristics, flow, main table and checklists; a curated folder each where runs are of several."""

    title: ClassVar[str] = "For a paper"
    name: ClassVar[str] = "paper"

    def parts(self, results: Results) -> Iterator[Part]:
        """Yield the parts, which all say which tasks are of phantoms; nothing without a run."""
        if results.runs:
            drawn = ", ".join(sorted(task_name(task) for task in phantom_tasks(results.outcomes)))
            said = _TEXTS["phantoms"].format(drawn=DRAWN, tasks=drawn) if drawn else ""
            yield Text(_TEXTS["note"])
            yield from (_with(part, said) for part in _parts(results))


def _with(part: Part, said: str) -> Part:
    """Return a table with a further note, and a figure with it as the title of the drawing; others as they are."""
    if isinstance(part, Figure):
        return replace(part, table=replace(part.table, title=said))
    return replace(part, note=f"{part.note} {said}".strip()) if isinstance(part, Table) else part


def _parts(results: Results) -> Iterator[Part]:
    yield main_table(results)
    yield _prompts(results)
    folders = list(dict.fromkeys(results.images.values()))
    for number, folder in enumerate(folders, 1):
        yield from _of_folder(results, folder, f"_{number}" if len(folders) > 1 else "")


def _prompts(results: Results) -> Table:
    """Return the words of each task as they were asked of most records, and how many others there are."""
    asked: dict[str, Counter[str]] = {}
    for outcomes in results.outcomes.values():
        for record in (p.record for p in outcomes.predictions if not p.record.task.endswith((PROBES, GROUNDING))):
            turns = (f"{m.role}: {' '.join(p.text or '<image>' for p in m.parts)}" for m in record.messages)
            asked.setdefault(record.task, Counter()).update([" ".join(" ".join(turns).split())])
    rows = [
        (task_name(task, results.questions.get(task, "")), found.total(), len(found), _most(found))
        for task, found in sorted(asked.items())
    ]
    return table("paper_prompts", _HEADS["prompts"], rows, _TEXTS["prompts"], _TEXTS["words"])


def _most(found: Counter[str]) -> str:
    """Return the most frequent text, the first in alphabetical order of several."""
    return min(found, key=lambda text: (-found[text], text))


def _of_folder(results: Results, folder: Path | None, suffix: str) -> Iterator[Part]:
    """Yield what depends on one curated folder, of the runs that were asked from it."""
    names = [name for name in results.names if results.images[name] == folder]
    manifest, everything, rows = _curated(folder)
    bare = _bare(manifest)
    records = {p.record.id: p.record for name in names for p in results.outcomes[name].predictions}
    asked = asked_questions(records.values(), bare)
    if not manifest:
        yield Remark(_TEXTS["gone"].format(folder=folder.name if folder else _TEXTS["unknown"]))
    shown = everything or asked
    seen = {image for one in asked for image in one.images}
    about = (photographs(shown), seen, classes_of(shown), bare, bool(everything), results.questions)
    yield characteristics(f"paper_characteristics{suffix}", *about)
    runs = {name: results.runs[results.names.index(name)].path for name in names}
    yield flow(f"paper_flow{suffix}", [*rows, *asked_rows(runs, results.outcomes, asked, everything)])
    if suffix in ("", "_1"):
        yield from checklists(facts_of(results, manifest, asked, everything))


def _curated(folder: Path | None) -> tuple[dict[str, Any], list[Question], list[Row]]:
    """Return manifest, questions and boxes of a curated folder; nothing where it is gone or damaged."""
    try:
        manifest = read_manifest(folder) if folder else {}
        everything = curated_questions(folder, _bare(manifest)) if folder else []
        facts_of_data(manifest, everything, everything)  # that of someone else may hold other types
        return manifest, everything, list(read_rows(folder, manifest, everything)) if folder else []
    except (ArtifactError, AttributeError, KeyError, TypeError, ValueError):
        return {}, [], []


def _bare(manifest: Mapping[str, Any]) -> set[str]:
    """Return the sources that state no patients."""
    return {str(name) for name, one in manifest.get("sources", {}).items() if one.get("states_patients") is False}
