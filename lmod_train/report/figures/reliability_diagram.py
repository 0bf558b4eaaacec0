"""Reliability diagrams: share of right answers against the confidence in them, with the sizes of the bins."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from lmod_train.core.tables import Heads, Table, cell_text
from lmod_train.report.canvas import COLOURS, LINES, MARKERS
from lmod_train.report.contents import heads
from lmod_train.report.figures.lines import Line, distinct, lines, number, parts
from lmod_train.report.figures.sheet import SMALL, TEXT
from lmod_train.report.figures.small_multiples import panels_in_grid
from lmod_train.report.figures.wrapped import wrapped

COLUMNS: Heads = heads(__file__)["columns"]
"""Columns of the table, a row per panel, kind of confidence and bin."""


def draw_reliability(table: Table, out: Path) -> None:
    """Draw a panel for each ``panel``: a line per kind of confidence, and as bars the shares of its answers.

    Args:
        table: Columns as `COLUMNS`.
        out: Folder to write to.
    """
    rows = lines(table)
    panels, kinds = list(parts(rows, "panel")), distinct(rows, "confidence")
    with panels_in_grid(table, out, len(panels), 3, 2.35 + 0.13 * len(kinds), 0.7, sharex=True, sharey=True) as axes:
        for place, (axis, (name, own)) in enumerate(zip(axes, panels, strict=True)):
            _panel(axis, own, kinds)
            errors = [
                f"{kind.split()[0]}: n {o[0]['n']}, ECE {cell_text(o[0]['ECE'], 'number')}"
                for kind, o in parts(own, "confidence")
            ]
            axis.set_title("\n".join([wrapped(name), *errors]), fontsize=TEXT)
            if place % 3 == 0:
                axis.set_ylabel("share right")
            if place + 3 >= len(panels):
                axis.set_xlabel("confidence")
                axis.tick_params(labelbottom=True)


def _panel(axis: Any, own: Sequence[Line], kinds: Sequence[str]) -> None:
    axis.plot([0, 1], [0, 1], color="#555555", lw=1, ls=":", label="share right equal to confidence")
    for kind, rows in parts(own, "confidence"):
        place = kinds.index(kind)
        colour = COLOURS[place % len(COLOURS)]
        width = (rows[0]["to"] - rows[0]["from"]) / len(kinds)
        lefts = [row["from"] + place * width for row in rows]
        shares = [row["items"] / (rows[0]["n"] or 1) for row in rows]
        about = f"share of the answers, {kind.split()[0]}"
        axis.bar(lefts, shares, width, align="edge", color=colour, alpha=0.25, label=about)
        held = [row for row in rows if row["items"]]
        points = [number(r["mean confidence"]) for r in held], [number(r["share right"]) for r in held]
        style = {"color": colour, "marker": MARKERS[place], "ls": LINES[place], "ms": 4, "lw": 1.3, "zorder": 3}
        axis.plot(*points, label=kind, **style)
    axis.set(xlim=(0, 1), ylim=(-0.02, 1.02))
    axis.tick_params(labelsize=SMALL)
    axis.grid(color="#e5e5e5")
    axis.set_axisbelow(True)
