"""Decision curves: net benefit against the threshold, with treating all and treating none."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from lmod_train.core.tables import INTERVAL, Column, Heads, Table
from lmod_train.report.canvas import COLOURS, LINES
from lmod_train.report.figures.lines import Line, distinct, interval, lines, number, parts
from lmod_train.report.figures.sheet import LINE, sheet
from lmod_train.report.figures.wrapped import wrapped

COLUMNS: Heads = [
    "class", "model", Column("threshold", "number"), Column("net benefit", "signed"),
    Column(INTERVAL.head, "signed_interval"),
]  # fmt: skip
"""Columns of the table, a row per threshold of a line; intervals are at a few of them."""
TREAT_ALL, TREAT_NONE = "treat all", "treat none"
WIDTH = 4.2
"""Width in inches: one panel, so that its text can be read on a telephone."""


def draw_decision(table: Table, out: Path) -> None:
    """Draw a panel for each class, one below the other: a line per model, intervals, and both default lines.

    Args:
        table: Columns as `COLUMNS`; models that begin with `TREAT_ALL` are drawn as defaults.
        out: Folder to write to.
    """
    rows = lines(table)
    panels, models = list(parts(rows, "class")), distinct(rows, "model")
    models.sort(key=lambda name: name.startswith(TREAT_ALL))  # stable: the lines of treating all come last
    labels = {name: wrapped(name, 50, 2) for name in models}
    foot = 0.45 + LINE * 1.35 * (1 + sum(1 + text.count("\n") for text in labels.values()))
    with sheet(table, out, 2.6 * max(1, len(panels)) + foot, max(1, len(panels)), 1, WIDTH) as axes:
        for axis, (name, own) in zip(axes[:, 0], panels, strict=False):
            _panel(axis, own, models, labels)
            axis.set_title(wrapped(f"{name} against the rest", 50, 2), fontsize=9)
        if panels:
            axes[-1, 0].set_xlabel("threshold: probability from which on one acts")
            handles = axes[0, 0].get_legend_handles_labels()
            axes[0, 0].figure.legend(*handles, loc="outside lower center", ncols=1, frameon=False)


def _panel(axis: Any, own: Sequence[Line], models: Sequence[str], labels: dict[str, str]) -> None:
    for place, model in enumerate(models):
        points = [row for row in own if row["model"] == model]
        style = _style(place, model)
        values = [number(row["net benefit"]) for row in points]
        axis.plot([row["threshold"] for row in points], values, label=labels[model], zorder=2, **style)
        for row in points:
            if isinstance(row[INTERVAL.head], tuple):
                at = row["threshold"] + 0.008 * (place - (len(models) - 2) / 2)  # side by side
                axis.plot([at, at], interval(row, INTERVAL.head), color=style["color"], lw=1.3, zorder=3)
    axis.axhline(0, color="#000000", lw=1.3, ls=(0, (1, 1)), label=TREAT_NONE, zorder=1)
    axis.set(xlim=(0, 1), ylim=_limits(own), ylabel="net benefit, 95 % intervals")
    axis.grid(color="#e5e5e5", zorder=0)


def _style(place: int, model: str) -> dict[str, Any]:
    if model.startswith(TREAT_ALL):
        return {"color": "#777777", "lw": 1.2, "ls": "-"}
    return {"color": COLOURS[place % len(COLOURS)], "ls": LINES[place % len(LINES)], "lw": 1.7}


def _limits(own: Sequence[Line]) -> tuple[float, float]:
    """Return the limits of the vertical axis: all that is above 0, and a quarter of that below."""
    ends = [interval(row, INTERVAL.head)[1] for row in own if isinstance(row[INTERVAL.head], tuple)]
    values = [number(row["net benefit"]) for row in own]
    top = max((value for value in (*values, *ends) if value > 0), default=0.05)  # False for NaN
    return -0.25 * top, 1.05 * top
