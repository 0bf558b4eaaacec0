"""Differences by group with their intervals, around a line at zero."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from lmod_train.core.tables import INTERVAL, Column, Heads, N, Table
from lmod_train.report.figures.grid import panels_in_grid
from lmod_train.report.figures.lines import Line, distinct, interval, lines, number, parts
from lmod_train.report.figures.marks import marks, named_with_items
from lmod_train.report.figures.wrapped import wrapped

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
    list(marks(axis, own, models, groups, DIFFERENCE.head))
    axis.set_xticks(range(len(groups)), named_with_items(own, groups))
    axis.set_xlim(-0.6, len(groups) - 0.4)
    axis.set_ylim(-top, top)
    axis.set_ylabel("difference with 95 % interval")
    axis.grid(axis="y", color="#e5e5e5")
    axis.set_axisbelow(True)


def _largest(rows: Sequence[Line]) -> float:
    """Return the largest distance from zero that is drawn, at least 0.05."""
    ends = [abs(v) for row in rows for v in (number(row[DIFFERENCE.head]), *interval(row, INTERVAL.head))]
    return max([0.05, *(v for v in ends if not math.isnan(v))])
