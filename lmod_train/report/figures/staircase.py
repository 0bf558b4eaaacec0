"""Staircase: a step for each stage of a chain, at the height of each model's value."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from lmod_train.core.tables import Table
from lmod_train.report.figures.grid import panels_in_grid
from lmod_train.report.figures.lines import Line, distinct, lines, number, parts
from lmod_train.report.figures.marks import marks, named_with_items
from lmod_train.report.figures.wrapped import wrapped


def draw_staircase(table: Table, out: Path) -> None:
    """Draw a panel for each ``panel``: a staircase per model over the groups, with intervals, and lines at chance.

    Args:
        table: Columns as `lmod_train.report.figures.groups.COLUMNS`; the head of the fifth names the vertical axis.
        out: Folder to write to.
    """
    rows, value = lines(table), table.columns[4].head
    panels, most = (
        list(parts(rows, "panel")),
        max((len(distinct(o, "model")) for _, o in parts(rows, "panel")), default=1),
    )
    across = 2 if len(panels) > 1 and most <= 3 else 1
    foot = 0.25 + 0.3 * -(-(len(distinct(rows, "model")) + 1) // 3)
    with panels_in_grid(table, out, len(panels), across, 2.9, foot, sharey=True) as axes:
        for axis, (name, own) in zip(axes, panels, strict=True):
            _panel(axis, own, value, distinct(rows, "model"))
            axis.set_title(wrapped(name, 40 if across > 1 else 90), fontsize=9)


def _panel(axis: Any, own: Sequence[Line], value: str, every: Sequence[str]) -> None:
    groups = distinct(own, "group")
    for style, places, values in marks(axis, own, [m for m in every if m in distinct(own, "model")], groups, value):
        corners = [(place + side, v) for place, v in zip(places, values, strict=True) for side in (-0.5, 0.5)]
        axis.plot([x for x, _ in corners], [y for _, y in corners], lw=1.2, alpha=0.8, zorder=1, **style)
    for place, group in enumerate(groups):
        for level in sorted({number(r["chance"]) for r in own if r["group"] == group and r["chance"] is not None}):
            axis.plot([place - 0.5, place + 0.5], [level, level], color="#000000", ls=":", lw=1.1, label="chance")
    axis.set_xticks(range(len(groups)), named_with_items(own, groups))
    axis.set_xlim(-0.6, len(groups) - 0.4)
    axis.set_ylim(-0.02, 1.02)
    axis.set_ylabel(f"{value} with 95 % interval")
    axis.grid(axis="y", color="#e5e5e5")
    axis.set_axisbelow(True)
