"""ROC and precision-recall curves, and accuracy against coverage, with the areas under them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from lmod_train.core.tables import Column, Estimate, Heads, Table, cell_text
from lmod_train.report.canvas import COLOURS, LINES
from lmod_train.report.figures.lines import Line, distinct, lines, parts
from lmod_train.report.figures.sheet import LINE, SMALL, sheet
from lmod_train.report.figures.wrapped import wrapped

COLUMNS: Heads = ["curve", "model", Column("area", "estimate"), Column("x", "number"), Column("y", "number")]
"""Columns of the table, a row per corner of a line; the area is in the first row of a line."""
CHANCE = "chance"
"""Model of the lines that show the level of chance."""
STATED, LIKELIHOOD = "stated confidence", "likelihood of the answer"
_COVERAGE = ("coverage: share of the answers kept", "accuracy of these")
AXES = {
    "ROC": ("false positive rate", "true positive rate"),
    "precision-recall": ("recall", "precision"),
    STATED: _COVERAGE,
    LIKELIHOOD: _COVERAGE,
}
"""Curve -> names of the axes."""


def draw_curves(table: Table, out: Path) -> None:
    """Draw a panel per curve with a line per model; areas and their intervals are in the legends below.

    Args:
        table: Columns as `COLUMNS`.
        out: Folder to write to.
    """
    rows = lines(table)
    panels, models = list(parts(rows, "curve")), [m for m in distinct(rows, "model") if m != CHANCE]
    with sheet(table, out, 4.0 + LINE * _lines_of(models), 1, max(1, len(panels))) as axes:
        for axis, (name, own) in zip(axes[0], panels, strict=False):
            for model, points in parts(own, "model"):
                axis.plot([r["x"] for r in points], [r["y"] for r in points], **_line(models, model, points[0]))
            x, y = AXES.get(name, ("x", "y"))
            axis.set(xlabel=x, ylabel=y, xlim=(-0.01, 1.01), ylim=(-0.01, 1.02), aspect="equal")
            axis.set_title(name, fontsize=9)
            axis.grid(color="#e5e5e5", zorder=0)
            axis.legend(loc="upper center", bbox_to_anchor=(0.5, -0.16), frameon=False, fontsize=SMALL)


def _line(models: Sequence[str], model: str, first: Line) -> dict[str, Any]:
    label = f"{_name(model)}: {_area(first['area'])}"
    if model == CHANCE:
        return {"color": "#888888", "lw": 1, "ls": ":", "label": label}
    place = models.index(model)
    return {"color": COLOURS[place % len(COLOURS)], "ls": LINES[place % len(LINES)], "lw": 1.7, "label": label}


def _name(model: str) -> str:
    return wrapped(model, 30, 2)


def _lines_of(models: Sequence[str]) -> int:
    """Return the number of lines of the longer legend, in which one line is of chance."""
    return 1 + sum(1 + _name(model).count("\n") for model in models)


def _area(area: object) -> str:
    return cell_text(area, "estimate") if isinstance(area, Estimate) else "-"
