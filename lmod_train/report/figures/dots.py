"""Dots with intervals: the score of each model, beside those of chance and the majority class."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from lmod_train.core.tables import INTERVAL, Heads, Table, cell_text
from lmod_train.report.canvas import COLOURS, MARKERS
from lmod_train.report.contents import heads
from lmod_train.report.figures.lines import Line, distinct, interval, lines, number, parts
from lmod_train.report.figures.rows import Rows, panels_of_rows, set_right
from lmod_train.report.figures.wrapped import wrapped

COLUMNS: Heads = heads(__file__)["columns"]
"""Columns of the table."""
BASELINES = {"chance": ("|", 9), "majority class": ("d", 5)}
"""Column -> marker and its size in points."""


def draw_dots(table: Table, out: Path) -> None:
    """Draw a panel per task and metric, and a row per row of the table, with its numbers on the right.

    Args:
        table: Columns as `COLUMNS`.
        out: Folder to write to.
    """
    rows = lines(table)
    panels, models = list(parts(rows, "task")), distinct(rows, "model")
    placed = [(f"{task} ({own[0]['metric']})", Rows([wrapped(row["model"]) for row in own])) for task, own in panels]
    with panels_of_rows(table, out, placed, 0.85) as axes:
        for axis, (_, own), (_, at) in zip(axes, panels, placed, strict=False):
            _panel(axis, own, at, models)
        axes[-1].set_xlabel("score with 95 % interval")
        handles = axes[0].get_legend_handles_labels()
        axes[0].figure.legend(*handles, loc="outside lower right", ncols=2, frameon=False)


def _panel(axis: Any, own: Sequence[Line], at: Rows, models: Sequence[str]) -> None:
    for row, place in zip(own, at.places, strict=True):
        colour = COLOURS[models.index(row["model"]) % len(COLOURS)]
        marker = MARKERS[models.index(row["model"]) % len(MARKERS)]
        axis.plot(interval(row, INTERVAL.head), [place, place], color=colour, lw=1.8, solid_capstyle="butt", zorder=2)
        axis.plot([number(row["score"])], [place], color=colour, marker=marker, ms=5, ls="", zorder=3, clip_on=False)
    for name, (marker, size) in BASELINES.items():
        found = [number(row[name]) for row in own]
        if not all(map(math.isnan, found)):
            style = {"color": "#555555", "ms": size, "mfc": "none", "mew": 1.3, "zorder": 1}
            axis.plot(found, at.places, marker, label=name, **style)
    set_right(axis, at, [_numbers(row) for row in own])
    axis.set_xlim(-0.02, 1.02)
    axis.grid(axis="x", color="#e0e0e0", zorder=0)


def _numbers(row: Line) -> str:
    ends = interval(row, INTERVAL.head)
    between = "" if any(map(math.isnan, ends)) else f" ({cell_text(ends, 'interval')})"
    return f"{cell_text(row['score'], 'number')}{between}, n {row['n']}"
