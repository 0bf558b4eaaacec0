"""Metrics of the RETFound program, for comparison with published results of it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from lmod_train.core.tables import Cell, Column, N, table
from lmod_train.report.contents import Part, Text
from lmod_train.report.results import Results
from lmod_train.report.section import Section
from lmod_train.tasks.run_scores import RunScores

NOTE = """Metrics as defined in the program behind the published RETFound results, for comparison with these only.
Its accuracy is not the share of correct answers, and all metrics but the two areas leave out the healthy class (of
scales, the first level). Only runs in which every reply has a likelihood for every choice are shown; a dash marks a
metric whose denominator is zero."""
MEASURES = {
    "accuracy": "accuracy",
    "sensitivity": "sensitivity",
    "specificity": "specificity",
    "precision": "precision",
    "g_mean": "G",
    "f1": "F1",
    "mcc": "MCC",
    "auroc": "AUROC",
    "auprc": "AUPRC",
}
"""Metric of `lmod_train.scoring.classification`, without its prefix -> head of the column."""


class RetFound(Section):
    """The nine metrics of the program behind the published RETFound results."""

    title: ClassVar[str] = "Metrics of the RETFound program"

    def parts(self, results: Results) -> Iterator[Part]:
        """Yield the table; nothing if no run has these metrics."""
        rows = [row for task in results.tasks for name, run in results.named(task) for row in _rows(task, name, run)]
        if rows:
            yield Text(NOTE)
            heads = [Column(head, "number") for head in MEASURES.values()]
            yield table("retfound", ["task", "model", N, *heads], rows)


def _rows(task: str, name: str, run: RunScores) -> Iterator[list[Cell]]:
    found = [run.find(task, f"retfound_{metric}") for metric in MEASURES]
    if any(found):
        n = max(score.n for score in found if score)
        yield [task, name, n, *(score.value if score else None for score in found)]
