"""Score against the grade of a perturbation, with a line for each kind."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from lmod_train.core.tables import INTERVAL, SCORE, Column, Heads, N, Table
from lmod_train.report.canvas import COLOURS, LINES, MARKERS
from lmod_train.report.figures.grid import panels_in_grid
from lmod_train.report.figures.lines import Line, distinct, interval, lines, number, parts
from lmod_train.report.figures.sheet import TEXT
from lmod_train.report.figures.wrapped import wrapped

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
