"""Score against the share of the training split, with intervals."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from lmod_train.core.tables import INTERVAL, Table
from lmod_train.report.canvas import COLOURS, LINES, MARKERS
from lmod_train.report.figures.grid import panels_in_grid
from lmod_train.report.figures.lines import Line, distinct, interval, lines, number, parts
from lmod_train.report.figures.wrapped import wrapped

TICKS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1.0)


def draw_label_efficiency(table: Table, out: Path) -> None:
    """Draw a panel for each ``panel``: a line per model over a logarithmic axis of shares.

    Args:
        table: With the columns panel, model, share, score and 95 % interval.
        out: Folder to write to.
    """
    rows = lines(table)
    panels, models = list(parts(rows, "panel")), distinct(rows, "model")
    with panels_in_grid(table, out, len(panels), 1, 3.4, 0.5 + 0.17 * len(models), "", sharey=True) as axes:
        for axis, (name, own) in zip(axes, panels, strict=True):
            _panel(axis, own, models)
            axis.set_title(wrapped(name, 60), fontsize=9)


def _panel(axis: Any, own: list[Line], models: list[str]) -> None:
    for place, model in enumerate(models):
        points = [row for row in own if row["model"] == model]
        shares = [row["share"] * 1.02 ** (place - len(models) / 2) for row in points]  # intervals side by side
        style = {"color": COLOURS[place % len(COLOURS)], "ls": LINES[place % len(LINES)], "lw": 1.5}
        marker = MARKERS[place % len(MARKERS)]
        axis.plot(
            shares, [number(row["score"]) for row in points], marker=marker, ms=5, label=wrapped(model, 40, 1), **style
        )
        for share, row in zip(shares, points, strict=True):
            axis.plot([share, share], interval(row, INTERVAL.head), color=style["color"], lw=1.2)
    axis.set_xscale("log")
    shares = [row["share"] for row in own]
    ticks = [tick for tick in TICKS if min(shares) / 1.5 <= tick <= max(shares) * 1.5]
    axis.set_xticks(ticks, [f"{100 * tick:g} %" for tick in ticks])
    axis.minorticks_off()
    axis.set(xlabel="share of the training split", ylabel="score with 95 % interval", ylim=(0, 1.02))
    axis.grid(color="#e5e5e5", zorder=0)
