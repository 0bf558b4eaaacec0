"""Tables of all metrics of each task, with a column per run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import ClassVar

from lmod_train.core.package_data import package_data
from lmod_train.core.tables import Cell, Column, Estimate, Heads, table
from lmod_train.report.contents import Part, Text, texts
from lmod_train.report.results import Results
from lmod_train.report.section import Section
from lmod_train.scoring.items import FEW_PATIENTS, patients_of_classes
from lmod_train.tasks.run_scores import RunScores

_FIRST: list[str] = package_data(__file__, "words.yaml")["metrics"]["first"]
"""Order of the rows; other metrics follow in the order of the scores."""
_LEFT_OUT = ("share_", "chance", "majority", "likelihoods_given")
"""Prefixes of metrics in other tables of the report."""


class Metrics(Section):
    """A table per task, with a row per metric and a column per run."""

    title: ClassVar[str] = "All metrics"

    def parts(self, results: Results) -> Iterator[Part]:
        """Yield a table per task."""
        for task in results.tasks:
            own = list(results.named(task))
            rows = [[metric, *(_cell(run, task, metric) for _, run in own)] for metric in _metrics(task, results.runs)]
            columns: Heads = ["metric", *(Column(name, "estimate") for name, _ in own)]
            yield from map(Text, few_patients(results, task))
            yield table(f"metrics-{task}", columns, rows, title=task)


def few_patients(results: Results, task: str) -> Iterator[str]:
    """Yield a sentence if a class of the task has so few patients that its intervals are not as wide as they should be.

    The patients are those of the run with the most; questions with options of their own have no classes.
    """
    counts = [patients_of_classes(items[task]) for items in results.items.values() if items.get(task)]
    most = {label: max(own.get(label, 0) for own in counts) for own in counts for label in own}
    if few := {label: n for label, n in sorted(most.items()) if n < FEW_PATIENTS} if results.choices.get(task) else {}:
        named = ", ".join(f"{label} {n}" for label, n in few.items())
        yield texts(__file__)["few"].format(task=task, named=named, least=FEW_PATIENTS)


def _metrics(task: str, runs: Sequence[RunScores]) -> list[str]:
    found = dict.fromkeys(s.metric for run in runs for s in run.scores if s.task == task and s.subset == "all")
    shown = [m for m in found if not m.startswith(_LEFT_OUT)]
    return sorted(shown, key=lambda m: _FIRST.index(m) if m in _FIRST else len(_FIRST))


def _cell(run: RunScores, task: str, metric: str) -> Cell:
    score = run.find(task, metric)
    return None if score is None else Estimate.of(score)
