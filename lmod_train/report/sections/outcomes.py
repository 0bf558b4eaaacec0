"""Outcomes of the replies: how many were answered, right, refused, unparsed, truncated and failed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from lmod_train.report.contents import Cell, Column, N, Part, Text, table
from lmod_train.report.results import Results, RunScores
from lmod_train.report.section import Section

NOTE = """Number of items by the outcome of the reply. Wrong: parsed answers that are not correct; a dash for tasks
with partly correct answers."""

_OTHERS = ("refused", "unparsed", "truncated", "failed")


class OutcomesOfReplies(Section):
    """Number of items by the outcome of the reply."""

    title: ClassVar[str] = "Outcomes of the replies"

    def parts(self, results: Results) -> Iterator[Part]:
        """Yield the table of outcomes, in numbers of items."""
        rows = [row for task in results.tasks for name, run in results.named(task) for row in _rows(task, name, run)]
        heads = [Column(head, "count") for head in ("answered", "wrong", *_OTHERS)]
        yield Text(NOTE)
        yield table("outcomes", ["task", "model", N, *heads], rows)


def _rows(task: str, name: str, run: RunScores) -> Iterator[list[Cell]]:
    answered, right = (_count(run, task, metric) for metric in ("share_answered", "accuracy_strict"))
    if answered is not None:
        others = [_count(run, task, f"share_{status}") for status in _OTHERS]
        n = answered + sum(count for count in others if count is not None)
        yield [task, name, n, answered, None if right is None else answered - right, *others]


def _count(run: RunScores, task: str, metric: str) -> int | None:
    score = run.find(task, metric)
    return None if score is None or score.value is None else round(score.value * score.n)
