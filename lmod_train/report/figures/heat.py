"""Heat map: a value for each model and group, in the cells and as their shade."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from lmod_train.core.tables import Column, Table
from lmod_train.report.figures.lines import Line, distinct, lines, number, parts
from lmod_train.report.figures.rows import Rows, panels_of_rows
from lmod_train.report.figures.sheet import SMALL, TEXT
from lmod_train.report.figures.wrapped import wrapped

HEADS = ("panel", "model", "group")
"""Columns of the table beside that of the values, the first of the format ``number`` or ``signed``."""
ACROSS = 12
"""Largest number of columns of a panel, whose numbers do not overlap."""
_UPRIGHT = 8
_MISSING = "–"


def draw_heat(table: Table, out: Path) -> None:
    """Draw a panel for each ``panel`` and twelve groups, with a row per model and a column per group.

    Shades are from 0 to 1 (``number``), or from the largest negative to the largest positive value (``signed``). A row
    of the table without a value is a dash; what has no row is empty.

    Args:
        table: Columns `HEADS` and one of values; further ones are not drawn.
        out: Folder to write to.
    """
    value = next(c for c in table.columns if c.format in ("number", "signed"))
    panels = list(_panels(lines(table)))
    placed = [(name, Rows([wrapped(m) for m in distinct(own, "model")], 0.25)) for name, _, own in panels]
    longest = max((len(group) for _, groups, _ in panels for group in groups), default=0)
    below = 0.3 if longest <= _UPRIGHT else 0.25 + 0.068 * min(longest, 26)
    top = max((abs(number(row[value.head])) for row in lines(table) if row[value.head] is not None), default=1) or 1
    with panels_of_rows(table, out, placed, 0.2, below=below, sharex=False) as axes:
        for axis, (_, groups, own), (_, at) in zip(axes, panels, placed, strict=False):
            _panel(axis, own, groups, at, value, 1.0 if value.format == "number" else top)
            turned = 0 if longest <= _UPRIGHT else 90
            labels = [wrapped(group, 26, 1 if turned else 2) for group in groups]
            axis.set_xticks(np.arange(len(groups)) + 0.5, labels, fontsize=TEXT, rotation=turned)
            axis.tick_params(axis="x", length=0)


def _panels(rows: Sequence[Line]) -> Iterator[tuple[str, list[str], list[Line]]]:
    """Yield title, groups and rows of each panel; of many groups, several panels of about as many."""
    for name, own in parts(rows, "panel"):
        groups = distinct(own, "group")
        bands = math.ceil(len(groups) / ACROSS)
        for band in range(bands):
            held = groups[band * len(groups) // bands : (band + 1) * len(groups) // bands]
            yield name, held, [row for row in own if row["group"] in held]


def _panel(axis: Any, own: Sequence[Line], groups: Sequence[str], at: Rows, value: Column, top: float) -> None:
    models, edges = distinct(own, "model"), np.cumsum([0.0, *at.heights])
    values = np.full((len(models), len(groups)), np.nan)
    for row in own:
        values[models.index(row["model"]), groups.index(row["group"])] = number(row[value.head])
    low, colours = (0.0, "Blues") if value.format == "number" else (-top, "PuOr_r")
    axis.set_facecolor("#f2f2f2")
    shades = np.ma.masked_invalid(values)
    axis.pcolormesh(
        np.arange(len(groups) + 1), edges, shades, cmap=colours, vmin=low, vmax=top, edgecolors="white", lw=1
    )
    for row in own:
        place = groups.index(row["group"]) + 0.5, at.places[models.index(row["model"])]
        held = number(row[value.head])
        shade = "white" if abs(held) > (0.6 if value.format == "number" else 0.65 * top) else "#111111"
        axis.text(*place, _text(held, value), ha="center", va="center", fontsize=SMALL, color=shade)
    axis.spines["bottom"].set_visible(False)


def _text(value: float, column: Column) -> str:
    if math.isnan(value):
        return _MISSING
    return f"{value:+.2f}" if column.format == "signed" else f"{value:.2f}"
