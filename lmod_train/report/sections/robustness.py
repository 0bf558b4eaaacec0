"""How the score falls with the quality of the image, as a table and a figure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import ClassVar

from lmod_train.core.tables import INTERVAL, SCORE, Cell, Column, Heads, N, score_cells, table
from lmod_train.report.contents import Figure, Part, Text, heads, texts
from lmod_train.report.figures.against import draw_against
from lmod_train.report.results import Results
from lmod_train.report.section import Section
from lmod_train.scoring.comparison import holm
from lmod_train.scoring.headline_metrics import headline_metric
from lmod_train.scoring.robustness import drop_p, pairs
from lmod_train.scoring.subset_names import cell_of
from lmod_train.tasks.run_scores import RunScores

ALT = "Score of each run on {} against the grade of each perturbation, with 95 % intervals; grade 0 is unchanged."


class Robustness(Section):
    """The score against the grade of each perturbation, and the drop from the unchanged image."""

    title: ClassVar[str] = "Robustness"
    name: ClassVar[str] = "robustness"

    def parts(self, results: Results) -> Iterator[Part]:
        """Yield a figure per task and the table; nothing if no task was asked about perturbed images."""
        rows = [row for task, name, run in results.each() for row in _rows(results, task, name, run)]
        if rows:
            yield Text(texts(__file__)["note"])
            yield from _figures(results)
            yield table("robustness", heads(__file__)["robustness"], _adjusted(rows))


def _cells(run: RunScores, task: str) -> Iterator[tuple[str, str, int]]:
    """Yield subset, kind and grade of each perturbation that a run was asked about."""
    for subset in dict.fromkeys(s.subset for s in run.scores if s.task == task):
        if found := cell_of(subset):
            yield subset, *found


def _figures(results: Results) -> Iterator[Figure]:
    for task in results.tasks:
        rows = [row for name, run in results.named(task) for row in _points(task, name, run)]
        if rows:
            drawn = table(f"robustness-{task}", COLUMNS, rows)
            yield Figure(drawn.name, f"{task} by grade of perturbation", ALT.format(task), drawn, draw_falling)


def _points(task: str, name: str, run: RunScores) -> Iterator[list[Cell]]:
    metric = headline_metric(run.scores, task)
    for subset, kind, grade in _cells(run, task):
        score, chance = run.find(task, metric, subset), run.find(task, "chance", subset)
        if score is not None and score.value is not None:
            level = chance.value if chance else None
            yield [f"{task} ({metric}): {name}", kind, grade, *score_cells(score), level]


def _rows(results: Results, task: str, name: str, run: RunScores) -> Iterator[list[Cell]]:
    metric = headline_metric(run.scores, task)
    cells = list(_cells(run, task))
    paired = pairs(results.items[name].get(task, [])) if cells else {}
    for subset, kind, grade in cells:
        drop = run.find(task, "drop", subset)
        gap: list[Cell] = [drop.value, (drop.low, drop.high)] if drop else [None, None]
        p = drop_p(paired[kind, grade]) if drop and (kind, grade) in paired else None
        yield [task, name, kind, grade, *score_cells(run.find(task, metric, subset)), *gap, p]


def _adjusted(rows: Sequence[Sequence[Cell]]) -> list[list[Cell]]:
    """Return the rows with the p values of all of them adjusted."""
    ps = holm([row[-1] if isinstance(row[-1], float) else None for row in rows])
    return [[*row[:-1], p] for row, p in zip(rows, ps, strict=True)]


# Score against the grade of a perturbation, with a line for each kind.
COLUMNS: Heads = ["panel", "perturbation", Column("grade", "count"), N, SCORE, INTERVAL, Column("chance", "number")]
"""Columns of the table; the first row of a panel is the unchanged image, of grade 0."""

draw_falling = partial(draw_against, x="grade", line="perturbation", axis="grade (0: unchanged image)")
