"""Bars of the sources of one modality, as LMOD's figure 5 of colour fundus photographs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from lmod_train.report.contents import Part
from lmod_train.report.figures.groups import group_figure
from lmod_train.report.results import Results
from lmod_train.report.section import Section
from lmod_train.report.subset_rows import subset_rows
from lmod_train.scoring.headline import headline_metric

ALT = "Score of each model for {} by source of the {} images, with 95 % intervals and chance."


class SourceScores(Section):
    """Score of each model by source, for tasks with several sources of the modality.

    Args:
        modality: Modality whose sources are shown, a name in `lmod_train.core.vocabulary.modalities`.
    """

    title: ClassVar[str] = "Scores by source"

    def __init__(self, modality: str = "CFP") -> None:
        self.modality = modality

    def parts(self, results: Results) -> Iterator[Part]:
        """Yield a figure per task; sources that also have other modalities are left out."""
        for task in results.tasks:
            metric = headline_metric([s for run in results.runs for s in run.scores], task)
            rows = list(
                subset_rows(results, task, "source", metric, f"{task} ({metric})", self._sources(results, task))
            )
            if len({row[2] for row in rows}) > 1:
                alt = ALT.format(task, self.modality)
                yield group_figure(f"sources-{task}", f"{self.modality} sources", alt, rows, round=False)

    def _sources(self, results: Results, task: str) -> set[str]:
        items = [i for tasks in results.items.values() for i in tasks.get(task, ())]
        return {i.source for i in items} - {i.source for i in items if i.modality != self.modality}
