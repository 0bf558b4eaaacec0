"""Reliability diagrams: share of correct predictions against the probability of the likeliest class."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from lmod_train.core.tables import Column, Heads, Table, cell_text
from lmod_train.report.canvas import COLOURS, MARKERS
from lmod_train.report.figures.grid import panels_in_grid
from lmod_train.report.figures.lines import Line, lines, number, parts
from lmod_train.report.figures.sheet import SMALL, TEXT
from lmod_train.report.figures.wrapped import wrapped

COLUMNS: Heads = [
    "model", Column("ECE", "number"), Column("from", "number"), Column("to", "number"), Column("items", "count"),
    Column("probability", "number"), Column("share correct", "number"),
]  # fmt: skip
"""Columns of the table, a row per model and bin of probabilities."""


def draw_reliability(table: Table, out: Path) -> None:
    """Draw a panel per model: bins as points, and as grey bars their share of the items.

    Args:
        table: Columns as `COLUMNS`.
        out: Folder to write to.
    """
    panels = list(parts(lines(table), "model"))
    with panels_in_grid(table, out, len(panels), 3, 2.9, 0.6) as axes:
        for place, (axis, (name, own)) in enumerate(zip(axes, panels, strict=True)):
            _panel(axis, own, place)
            axis.set_title(f"{wrapped(name)}\nECE {cell_text(own[0]['ECE'], 'number')}", fontsize=TEXT)


def _panel(axis: Any, own: Sequence[Line], place: int) -> None:
    total = sum(row["items"] for row in own) or 1
    lefts, widths = [row["from"] for row in own], [row["to"] - row["from"] for row in own]
    shares = [row["items"] / total for row in own]
    axis.bar(lefts, shares, widths, align="edge", color="#d0d0d0", edgecolor="white", label="share of the items")
    axis.plot([0, 1], [0, 1], color="#555555", lw=1, ls=":", label="share correct equal to probability")
    style = {"color": COLOURS[place % len(COLOURS)], "marker": MARKERS[place % len(MARKERS)], "ms": 5, "lw": 1.5}
    held = [row for row in own if row["items"]]
    axis.plot([number(r["probability"]) for r in held], [number(r["share correct"]) for r in held], zorder=3, **style)
    axis.set(xlim=(0, 1), ylim=(-0.02, 1.02), xlabel="probability of the likeliest class", ylabel="share correct")
    axis.tick_params(labelsize=SMALL)
    axis.grid(color="#e5e5e5", zorder=0)
