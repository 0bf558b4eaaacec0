"""Differences by group with their intervals, around a line at zero."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from lmod_train.core.tables import INTERVAL, Column, Heads, N, Table
from lmod_train.report.canvas import COLOURS, MARKERS
from lmod_train.report.figures.lines import Line, distinct, interval, lines, number, parts
from lmod_train.report.figures.small_multiples import panels_in_grid
from lmod_train.report.figures.wrapped import wrapped

SPREAD = 0.6
"""Width over which the marks of one group are spread; groups are at distance 1."""

DIFFERENCE = Column("difference", "signed")
COLUMNS: Heads = ["panel", "model", "group", N, DIFFERENCE, Column(INTERVAL.head, "signed_interval")]
"""Columns of the table."""


def draw_differences(table: Table, out: Path) -> None:
    """Draw a panel for each ``panel``: a mark with its interval per model and group, above or below zero.

    Args:
        table: Columns as `COLUMNS`.
        out: Folder to write to.
    """
    rows = lines(table)
    panels, models = list(parts(rows, "panel")), distinct(rows, "model")
    across = 2 if len(panels) > 1 and len(models) <= 3 else 1
    foot = 0.25 + 0.3 * -(-len(models) // 3)
    with panels_in_grid(table, out, len(panels), across, 2.7, foot, sharey=True) as axes:
        for axis, (name, own) in zip(axes, panels, strict=True):
            _panel(axis, own, models, 1.08 * _largest(rows))
            axis.set_title(wrapped(name, 44 if across > 1 else 90), fontsize=9)


def _panel(axis: Any, own: Sequence[Line], models: Sequence[str], top: float) -> None:
    groups = distinct(own, "group")
    axis.axhline(0, color="#555555", lw=1, zorder=1)
    for place, model in enumerate(models):
        rows = {row["group"]: row for row in own if row["model"] == model and row[DIFFERENCE.head] is not None}
        shift = (place - (len(models) - 1) / 2) * SPREAD / max(1, len(models))
        held = [group for group in groups if group in rows]
        places, colour = [groups.index(group) + shift for group in held], COLOURS[place % len(COLOURS)]
        for x, group in zip(places, held, strict=True):
            axis.plot([x, x], interval(rows[group], INTERVAL.head), lw=1.2, zorder=2, color=colour)
        values = [number(rows[group][DIFFERENCE.head]) for group in held]
        marker = MARKERS[place % len(MARKERS)]
        axis.plot(places, values, marker, ms=4.5, zorder=3, label=wrapped(model), color=colour)
    axis.set_xticks(range(len(groups)), named_with_items(own, groups))
    axis.set_xlim(-0.6, len(groups) - 0.4)
    axis.set_ylim(-top, top)
    axis.set_ylabel("difference with 95 % interval")
    axis.grid(axis="y", color="#e5e5e5")
    axis.set_axisbelow(True)


def named_with_items(own: Sequence[Line], groups: Sequence[str]) -> list[str]:
    """Return each group with the number of its items below; of different models the least and the most."""
    sizes = {group: sorted({row["n"] for row in own if row["group"] == group and row["n"]}) for group in groups}
    counts = {group: dict.fromkeys((*held[:1], *held[-1:])) for group, held in sizes.items()}
    return [f"{wrapped(group, 14)}\nn {'-'.join(map(str, counts[group])) or 0}" for group in groups]


def _largest(rows: Sequence[Line]) -> float:
    """Return the largest distance from zero that is drawn, at least 0.05."""
    ends = [abs(v) for row in rows for v in (number(row[DIFFERENCE.head]), *interval(row, INTERVAL.head))]
    return max([0.05, *(v for v in ends if not math.isnan(v))])
