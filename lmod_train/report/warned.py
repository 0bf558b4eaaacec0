"""The warnings about every score of a report."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path

from lmod_train.artifacts.records import curated_ids
from lmod_train.errors import ArtifactError
from lmod_train.report.contents import Table, table
from lmod_train.report.origin import leaks_of
from lmod_train.report.results import Outcomes, Results, RunScores
from lmod_train.report.warnings import Case, Warned, warnings_of
from lmod_train.scoring.headline import headline_metric
from lmod_train.scoring.ways import question_of

Place = tuple[Path, str]
"""Folder of a run, and name of a task."""


def warned(results: Results) -> dict[Place, list[Warned]]:
    """Return the warnings about each score of the headline table; an empty list if there is none."""
    known = cache(_ids)
    return {
        (run.path, task): warnings_of(_case(run, found, task, known(results.images[name])))
        for (name, found), run in zip(results.outcomes.items(), results.runs, strict=True)
        for task in run.tasks()
    }


def warnings_table(results: Results, found: Mapping[Place, list[Warned]]) -> Table | None:
    """Return the warnings with their sentences, a row each; None without any."""
    rows = [
        (task, name, w.phrase, w.text)
        for name, run in zip(results.names, results.runs, strict=True)
        for task in run.tasks()
        for w in found[run.path, task]
    ]
    return table("warnings", ["task", "model", "warning", "what was found"], rows, "Warnings") if rows else None


def _case(run: RunScores, outcomes: Outcomes, task: str, known: frozenset[str]) -> Case:
    own = [p for p in outcomes.predictions if p.record.task == task]
    strange = [p.record.id for p in own if known and question_of(p.record.id, p.record.tags) not in known]
    chance = run.find(task, "chance")
    return Case(
        items=outcomes.items.get(task, ()),
        predictions=own,
        score=run.find(task, headline_metric(run.scores, task)),
        chance=chance.value if chance else None,
        installed=outcomes.versions.get(task, 0),
        leaks=leaks_of(outcomes) or {},
        elsewhere=[id for id in strange if id not in known],
    )


def _ids(curated: Path | None) -> frozenset[str]:
    """Return the ids of the records of a curated folder; none if it is not there."""
    try:
        return curated_ids(curated) if curated else frozenset()
    except ArtifactError:
        return frozenset()
