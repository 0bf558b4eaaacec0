"""Scores of subsets: by modality, source, language, patient and tags."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from lmod_train.core.tables import INTERVAL, SCORE, Cell, Column, N, table
from lmod_train.report.contents import Part, Text
from lmod_train.report.results import Results
from lmod_train.report.section import Section
from lmod_train.scoring.headline import headline_metric
from lmod_train.scoring.subsets import cell_of
from lmod_train.tasks.run_scores import RunScores

NOTE = "Subsets are shown for keys with more than one value."


class Subsets(Section):
    """The headline score of each subset, but for kinds and grades of perturbations, which `robustness` shows."""

    title: ClassVar[str] = "By subset"

    def parts(self, results: Results) -> Iterator[Part]:
        """Yield the table; nothing if there are no subsets."""
        rows = [row for task in results.tasks for name, run in results.named(task) for row in _rows(task, name, run)]
        if rows:
            yield Text(NOTE)
            yield table("subsets", ["task", "subset", "model", N, SCORE, INTERVAL, Column("chance", "number")], rows)


def _rows(task: str, name: str, run: RunScores) -> Iterator[list[Cell]]:
    metric = headline_metric(run.scores, task)
    for s in run.scores:
        if (s.task, s.metric) == (task, metric) and s.subset != "all" and cell_of(s.subset) is None:
            chance = run.find(task, "chance", s.subset)
            yield [task, s.subset, name, s.n, s.value, (s.low, s.high), chance.value if chance else None]
