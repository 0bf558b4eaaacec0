"""Heat map of the conditions that LMOD+ asks for one by one."""

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
from lmod_train.scoring.headline import headline_metric

ALT = "Heat map of the score of {}, with a row per model and a column per condition; the numbers are in the cells."


class ConditionScores(Section):
    """Score of each model and condition."""

    title: ClassVar[str] = "Scores by condition"

    def parts(self, results: Results) -> Iterator[Part]:
        """Yield a heat map per task with scores of several conditions; nothing without any."""
        for task in results.tasks:
            metric = headline_metric([s for run in results.runs for s in run.scores], task)
            rows = list(subset_rows(results, task, "condition", metric, f"{task} ({metric})"))
            if rows:
                drawn = table(f"conditions-{task}", COLUMNS, rows)
                yield Figure(drawn.name, f"{task} by condition", ALT.format(task), drawn, draw_heat)
