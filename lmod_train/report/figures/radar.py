"""Radar chart: the score of each model over the modalities."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from lmod_train.report.canvas import COLOURS, LINES, MARKERS
from lmod_train.report.contents import Table
from lmod_train.report.figures.grid import panels_in_grid
from lmod_train.report.figures.lines import Line, distinct, lines, number, parts
from lmod_train.report.figures.sheet import SMALL
from lmod_train.report.figures.wrapped import wrapped

FEW = 20
"""Number of items below which a spoke is grey."""
GREY = "#767676"


def draw_radar(table: Table, out: Path) -> None:
    """Draw a chart for each ``panel``, with a spoke per ``group`` and a line per ``model``, from 0 to 1.

    A missing score is a gap of the line. Each spoke has its number of items, grey if there are few.

    Args:
        table: Columns as `lmod_train.report.figures.groups.COLUMNS`; score alone is drawn.
        out: Folder to write to.
    """
    rows = lines(table)
    panels, models = list(parts(rows, "panel")), distinct(rows, "model")
    foot = 0.3 + 0.45 * -(-len(models) // 3)
    polar: Any = {"subplot_kw": {"projection": "polar"}}
    with panels_in_grid(table, out, len(panels), 2, 3.3, foot, **polar) as axes:
        if axes:
            axes[0].figure.get_layout_engine().set(h_pad=0.15)
        for axis, (name, own) in zip(axes, panels, strict=True):
            _panel(axis, own, models)
            axis.set_title(wrapped(name, 40), fontsize=9, pad=14)


def _panel(axis: Any, own: Sequence[Line], models: Sequence[str]) -> None:
    spokes = distinct(own, "group")
    angles = np.linspace(0, 2 * np.pi, len(spokes), endpoint=False)
    for model, rows in parts(own, "model"):
        held = {row["group"]: number(row["score"]) for row in rows}
        radii = [held.get(spoke, np.nan) for spoke in spokes]
        axis.plot([*angles, angles[0]], [*radii, radii[0]], label=wrapped(model), **_style(models.index(model)))
    sizes = {spoke: max((row["n"] or 0 for row in rows), default=0) for spoke, rows in parts(own, "group")}
    axis.set_xticks(angles, [f"{wrapped(spoke, 12)}\nn = {sizes[spoke]}" for spoke in spokes])
    for label, spoke in zip(axis.get_xticklabels(), spokes, strict=True):
        label.set_color(GREY if sizes[spoke] < FEW else "black")
    axis.tick_params(axis="x", pad=9)
    axis.set_theta_zero_location("N")
    axis.set_ylim(0, 1)
    axis.set_rlabel_position(180 / max(1, len(spokes)))
    axis.set_yticks([0.25, 0.5, 0.75, 1.0], ["", "0.5", "", "1"], fontsize=SMALL, color="#333333")


def _style(place: int) -> dict[str, Any]:
    line = {"color": COLOURS[place % len(COLOURS)], "ls": LINES[place % len(LINES)], "lw": 1.6}
    return {**line, "marker": MARKERS[place % len(MARKERS)], "ms": 4.5, "clip_on": False}
