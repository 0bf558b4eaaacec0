"""Heat maps of precision, recall and F1 of each stage."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from lmod_train.core.tables import table
from lmod_train.report.contents import Figure, Part
from lmod_train.report.figures.groups import COLUMNS
from lmod_train.report.figures.heat import draw_heat
from lmod_train.report.results import Results
from lmod_train.report.section import Section
from lmod_train.report.subset_rows import subset_rows

METRICS = {"precision": "precision", "recall": "recall", "f1": "F1"}
"""Metric of `lmod_train.scoring.grading` -> its name."""
ALT = "Heat maps of precision, recall and F1 for {}, with a row per model and a column per stage."


class StageScores(Section):
    """Precision, recall and F1 of each stage against the others."""

    title: ClassVar[str] = "Scores by stage"

    def parts(self, results: Results) -> Iterator[Part]:
        """Yield a figure per staging task; nothing without one."""
        for task in results.tasks:
            rows = [
                row
                for metric, name in METRICS.items()
                for row in subset_rows(results, task, "stage", metric, f"{task}: {name} by stage")
            ]
            if rows:
                drawn = table(f"stages-{task}", COLUMNS, rows)
                yield Figure(drawn.name, f"{task} by stage", ALT.format(task), drawn, draw_heat)
