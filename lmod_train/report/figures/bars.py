"""Bars by group: the score of each model with its interval, and chance."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from lmod_train.report.contents import INTERVAL, Table
from lmod_train.report.figures.grid import panels_in_grid
from lmod_train.report.figures.lines import Line, distinct, interval, lines, number, parts
from lmod_train.report.figures.stacked import HATCHES, SHADES
from lmod_train.report.figures.wrapped import wrapped

_ROOM = 14
"""Number of bars for which there is room in a panel of half a page."""


def draw_bars(table: Table, out: Path) -> None:
    """Draw a panel for each ``panel``, with a bar per ``model`` for each ``group`` and a line at chance.

    Args:
        table: Columns as `lmod_train.report.figures.groups.COLUMNS`.
        out: Folder to write to.
    """
    rows = lines(table)
    panels, models = list(parts(rows, "panel")), distinct(rows, "model")
    most = max((len(distinct(own, "group")) for _, own in panels), default=0)
    across = 2 if most * len(models) <= _ROOM and most <= 4 else 1
    foot = 0.3 + 0.45 * -(-(len(models) + 1) // 3)
    with panels_in_grid(table, out, len(panels), across, 2.4, foot, sharey=True) as axes:
        for axis, (name, own) in zip(axes, panels, strict=True):
            _panel(axis, own, models)
            axis.set_title(wrapped(name, 40), fontsize=9)


def _panel(axis: Any, own: Sequence[Line], models: Sequence[str]) -> None:
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
    axis.set_xticks(range(len(groups)), [wrapped(group, 14, 2) for group in groups])
    axis.set_xlim(-0.6, len(groups) - 0.4)
    axis.set_ylim(0, 1.02)
    axis.set_ylabel("score with 95 % interval")
