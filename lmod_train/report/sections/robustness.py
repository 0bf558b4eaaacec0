"""How the score falls with the quality of the image, as a table and a figure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, ClassVar

from lmod_train.core.tables import INTERVAL, SCORE, Cell, Column, Heads, N, Table, score_cells, table
from lmod_train.report.canvas import COLOURS, LINES, MARKERS
from lmod_train.report.contents import Figure, Part, Text, heads, texts
from lmod_train.report.figures.grid import panels_in_grid
from lmod_train.report.figures.lines import Line, distinct, interval, lines, number, parts
from lmod_train.report.figures.sheet import TEXT
from lmod_train.report.figures.wrapped import wrapped
from lmod_train.report.results import Results
from lmod_train.report.section import Section
from lmod_train.scoring.comparison import holm
from lmod_train.scoring.headline import headline_metric
from lmod_train.scoring.robustness import drop_p, pairs
from lmod_train.scoring.subsets import cell_of
from lmod_train.tasks.run_scores import RunScores

ALT = "Score of each run on {} against the grade of each perturbation, with 95 % intervals; grade 0 is unchanged."


class Robustness(Section):
    """The score against the grade of each perturbation, and the drop from the unchanged image."""

    title: ClassVar[str] = "Robustness"
    name: ClassVar[str] = "robustness"

    def parts(self, results: Results) -> Iterator[Part]:
        """Yield a figure per task and the table; nothing if no task was asked about perturbed images."""
        rows = [
            row
            for task in results.tasks
            for name, run in results.named(task)
            for row in _rows(results, task, name, run)
        ]
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
            yield [
                f"{task} ({metric}): {name}", kind, grade, *score_cells(score), chance.value if chance else None,
            ]  # fmt: skip


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

_APART = 0.07
"""Distance between the intervals of two kinds at one grade."""


def draw_falling(table: Table, out: Path) -> None:
    """Draw a panel per run: a line for each kind from the unchanged image to the highest grade, with intervals.

    Args:
        table: Columns as `COLUMNS`.
        out: Folder to write to.
    """
    rows = lines(table)
    panels, kinds = list(parts(rows, "panel")), distinct([row for row in rows if row["grade"]], "perturbation")
    foot = 0.3 + 0.17 * -(-(len(kinds) + 1) // 3)
    with panels_in_grid(table, out, len(panels), 2, 3.0, foot, sharey=True) as axes:
        for axis, (name, own) in zip(axes, panels, strict=True):
            _panel(axis, own, kinds)
            axis.set_title(wrapped(name, 44), fontsize=TEXT)


def _panel(axis: Any, own: Sequence[Line], kinds: Sequence[str]) -> None:
    clean = [row for row in own if not row["grade"]]
    for place, (kind, rows) in enumerate(parts([row for row in own if row["grade"]], "perturbation")):
        shift = (place - (len(kinds) - 1) / 2) * _APART
        style = {"color": COLOURS[kinds.index(kind) % len(COLOURS)], "ls": LINES[kinds.index(kind) % len(LINES)]}
        style |= {"marker": MARKERS[kinds.index(kind) % len(MARKERS)]}
        ordered = [*clean, *sorted(rows, key=lambda row: row["grade"])]
        places = [row["grade"] + (shift if row["grade"] else 0) for row in ordered]
        axis.plot(places, [number(row["score"]) for row in ordered], label=kind, ms=4, lw=1.2, **style)
        for x, row in zip(places[len(clean) :], ordered[len(clean) :], strict=True):
            axis.vlines(x, *interval(row, "95 % interval"), color=style["color"], lw=0.8)
    for row in clean:
        axis.vlines(0, *interval(row, "95 % interval"), color="#000000", lw=1.2)
        axis.plot([0], [number(row["score"])], color="#000000", marker="o", ms=5, ls="", zorder=3)
    chance = next((row["chance"] for row in own if row["chance"] is not None), None)
    if chance is not None:
        axis.axhline(chance, color="#555555", lw=1, ls=":", label="chance")
    grades = sorted({row["grade"] for row in own})
    axis.set_xticks(grades, [f"{grade}" for grade in grades])
    axis.set(xlabel="grade (0: unchanged image)", ylabel="score", ylim=(0, 1.02))
    axis.grid(axis="y", color="#e5e5e5", zorder=0)
