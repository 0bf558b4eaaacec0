"""Columns of scores by group, as drawn by radar charts, bars and heat maps."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from lmod_train.core.tables import INTERVAL, SCORE, Cell, Column, Heads, N, Table, table
from lmod_train.report.canvas import COLOURS, LINES, MARKERS
from lmod_train.report.contents import Figure
from lmod_train.report.figures.differences import named_with_items
from lmod_train.report.figures.heat import draw_heat
from lmod_train.report.figures.lines import Line, distinct, interval, lines, number, parts
from lmod_train.report.figures.sheet import MOST, SMALL
from lmod_train.report.figures.small_multiples import panels_in_grid
from lmod_train.report.figures.stacked import HATCHES, SHADES
from lmod_train.report.figures.wrapped import wrapped

COLUMNS: Heads = ["panel", "model", "group", N, SCORE, INTERVAL, Column("chance", "number")]
"""Columns of the tables of these figures."""
_MANY = f" (a heat map, as lines and bars of more than {MOST} models could not be told apart)"


def group_figure(
    name: str, title: str, alt: str, rows: Sequence[Sequence[Cell]], round: bool, axis: str = ""
) -> Figure:
    """Return the figure of scores by group: radar charts or bars of up to six models, otherwise a heat map.

    Args:
        name: Name of the figure.
        title: What is drawn.
        alt: Description of the figure.
        rows: Cells as `COLUMNS`.
        round: Whether to draw radar charts instead of bars.
        axis: Name of the axis of the groups of bars.
    """
    found = table(name, COLUMNS, rows, title)
    many = len(distinct(lines(found), "model")) > MOST
    draw = draw_heat if many else draw_radar if round else partial(draw_bars, axis=axis) if axis else draw_bars
    return Figure(name, title, alt + _MANY if many else alt, _with_chance(found) if many else found, draw)


def _with_chance(found: Table) -> Table:
    """Return the table with the chance level of each group as a model, if it is known."""
    chance = {
        (panel, row["group"]): row["chance"]
        for panel, own in parts(lines(found), "panel")
        for row in own
        if row["chance"] is not None
    }
    rows = [*found.rows, *([panel, "chance", group, None, v, None, None] for (panel, group), v in chance.items())]
    return table(found.name, found.columns, rows, found.title)


_ROOM = 14
"""Number of bars for which there is room in a panel of half a page."""


def draw_bars(table: Table, out: Path, axis: str = "") -> None:
    """Draw a panel for each ``panel``, with a bar per ``model`` for each ``group`` and a line at chance.

    Each group has its number of items, the least and the most of different models.

    Args:
        table: Columns as `lmod_train.report.figures.groups.COLUMNS`.
        out: Folder to write to.
        axis: Name of the axis of the groups.
    """
    rows = lines(table)
    panels, models = list(parts(rows, "panel")), distinct(rows, "model")
    most = max((len(distinct(own, "group")) for _, own in panels), default=0)
    across = 2 if most * len(models) <= _ROOM and most <= 4 else 1
    foot = 0.3 + 0.45 * -(-(len(models) + 1) // 3)
    with panels_in_grid(table, out, len(panels), across, 2.4, foot, sharey=True) as axes:
        for panel, (name, own) in zip(axes, panels, strict=True):
            _bars_panel(panel, own, models)
            panel.set_title(wrapped(name, 40), fontsize=9)
            panel.set_xlabel(axis)


def _bars_panel(axis: Any, own: Sequence[Line], models: Sequence[str]) -> None:
    groups, width = distinct(own, "group"), 0.8 / max(1, len(models))
    for i, model in enumerate(models):
        rows = [row for row in own if row["model"] == model and row["score"] is not None]
        places = [groups.index(row["group"]) + (i - (len(models) - 1) / 2) * width for row in rows]
        style = {"color": SHADES[i % len(SHADES)], "hatch": HATCHES[i % len(HATCHES)], "edgecolor": "white", "lw": 0.5}
        axis.bar(places, [number(row["score"]) for row in rows], 0.92 * width, label=wrapped(model), **style)
        for place, row in zip(places, rows, strict=True):
            axis.plot([place, place], interval(row, INTERVAL.head), color="#000000", lw=1.1)
    for place, group in enumerate(groups):
        chance = {number(row["chance"]) for row in own if row["group"] == group and row["chance"] is not None}
        for level in sorted(c for c in chance if not math.isnan(c)):
            axis.plot([place - 0.45, place + 0.45], [level, level], color="#000000", ls=":", lw=1.3, label="chance")
    axis.set_xticks(range(len(groups)), named_with_items(own, groups))
    axis.set_xlim(-0.6, len(groups) - 0.4)
    axis.set_ylim(0, 1.02)
    axis.set_ylabel("score with 95 % interval")


FEW = 20
"""Number of items below which a spoke is grey."""
GREY = "#767676"


def draw_radar(table: Table, out: Path) -> None:
    """Draw a chart for each ``panel``, with a spoke per ``group`` and a line per ``model``, from 0 to 1.

    A missing score is a gap of the line. Each spoke has its number of items, the least and the most of different
    models, grey if any has few.

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
            _radar_panel(axis, own, models)
            axis.set_title(wrapped(name, 40), fontsize=9, pad=14)


def _radar_panel(axis: Any, own: Sequence[Line], models: Sequence[str]) -> None:
    spokes = distinct(own, "group")
    angles = np.linspace(0, 2 * np.pi, len(spokes), endpoint=False)
    for model, rows in parts(own, "model"):
        held = {row["group"]: number(row["score"]) for row in rows}
        radii = [held.get(spoke, np.nan) for spoke in spokes]
        axis.plot([*angles, angles[0]], [*radii, radii[0]], label=wrapped(model), **_style(models.index(model)))
    least = {spoke: min((row["n"] for row in rows if row["n"]), default=0) for spoke, rows in parts(own, "group")}
    axis.set_xticks(angles, named_with_items(own, spokes))
    for label, spoke, angle in zip(axis.get_xticklabels(), spokes, np.sin(angles), strict=True):
        label.set_color(GREY if least[spoke] < FEW else "black")
        label.set_ha("center" if abs(angle) < 0.1 else "right" if angle > 0 else "left")
    axis.tick_params(axis="x", pad=9)
    axis.set_theta_zero_location("N")
    axis.set_ylim(0, 1)
    axis.set_yticks([0.25, 0.5, 0.75, 1.0], [])
    for ring in (0.5, 1.0):  # over the lines
        around = {"facecolor": "white", "edgecolor": "none", "pad": 0.6, "alpha": 0.8}
        middle = np.pi / max(1, len(spokes))
        axis.text(middle, ring, f"{ring:g}", fontsize=SMALL, color="#333333", ha="center", va="center", bbox=around)


def _style(place: int) -> dict[str, Any]:
    line = {"color": COLOURS[place % len(COLOURS)], "ls": LINES[place % len(LINES)], "lw": 1.6}
    return {**line, "marker": MARKERS[place % len(MARKERS)], "ms": 4.5, "clip_on": False}
