"""Outcomes of the replies: how many were answered, right, refused, unparsed, truncated and failed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import ClassVar

from lmod_train.core.tables import Cell, Column, N, table
from lmod_train.report.contents import Figure, Part, Text, texts
from lmod_train.report.figures.stacked import COLUMNS, draw_stacked
from lmod_train.report.results import Results
from lmod_train.report.section import Section
from lmod_train.tasks.run_scores import RunScores

_OTHERS = ("refused", "unparsed", "truncated", "failed")
PARTS = ("right", "wrong", "answered, graded in parts", *_OTHERS)
"""Parts of the bars. A task whose answers are graded in parts, e.g. region by region, has neither right nor wrong."""
ALT = f"Stacked bars per model over all its tasks, shares of the items: {', '.join(PARTS)}."


class OutcomesOfReplies(Section):
    """Number of items by the outcome of the reply."""

    title: ClassVar[str] = "Outcomes of the replies"

    def parts(self, results: Results) -> Iterator[Part]:
        """Yield the table of outcomes, in numbers of items."""
        rows = [row for task, name, run in results.each() for row in _rows(task, name, run)]
        heads = [Column(head, "count") for head in ("answered", "wrong", *_OTHERS)]
        yield Text(texts(__file__)["note"])
        yield table("outcomes", ["task", "model", N, *heads], rows)
        drawn = table("outcomes", COLUMNS, _bars(rows))
        yield Figure("outcomes", "Outcomes of the replies", ALT, drawn, draw_stacked)


def _rows(task: str, name: str, run: RunScores) -> Iterator[list[Cell]]:
    answered, right = (_count(run, task, metric) for metric in ("share_answered", "accuracy_strict"))
    if answered is not None:
        others = [_count(run, task, f"share_{status}") for status in _OTHERS]
        n = answered + sum(count for count in others if count is not None)
        yield [task, name, n, answered, None if right is None else answered - right, *others]


def _bars(rows: Sequence[Sequence[Cell]]) -> list[list[Cell]]:
    """Return the bars of the models over all tasks; answers of tasks with partly correct answers are a part."""
    counts: Counter[tuple[str, str]] = Counter()
    for _, name, _, answered, wrong, *others in rows:
        graded = answered if wrong is None else 0
        right = 0 if wrong is None else answered - wrong  # type: ignore[operator]
        for part, count in zip(PARTS, (right, wrong, graded, *others), strict=True):
            counts[str(name), part] += count or 0  # type: ignore[assignment,operator]
    held = [part for part in PARTS if any(n for (_, own), n in counts.items() if own == part)]
    return [["", name, part, counts[name, part]] for name in dict.fromkeys(name for name, _ in counts) for part in held]


def _count(run: RunScores, task: str, metric: str) -> int | None:
    score = run.find(task, metric)
    return None if score is None or score.value is None else round(score.value * score.n)
