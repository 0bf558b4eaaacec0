"""Forest plot: a value with its interval in each row, beside the numbers."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from lmod_train.report.contents import Column, Table
from lmod_train.report.figures.lines import Line, interval, lines, number, parts
from lmod_train.report.figures.rows import Rows, panels_of_rows, set_right
from lmod_train.report.figures.wrapped import wrapped
from lmod_train.report.writers.cells import cell_text

HEADS = ("panel", "group", "row", "n", "95 % interval", "reference")
"""Columns of the table beside that of the value, the only one of the format ``number`` or ``signed`` but the last.
Panels have a title, groups a heading (empty for none); the reference is a vertical line of the panel, e.g. 0 or the
score over all items, and may be missing."""


def draw_forest(table: Table, out: Path) -> None:
    """Draw a panel for each ``panel`` and a row for each row of the table.

    Scores (``number``) are drawn from 0 to 1, differences (``signed``) about 0. A row without a value has its texts
    alone.

    Args:
        table: Columns `HEADS`, and a column of the values; its head is the name of the axis.
        out: Folder to write to.
    """
    value = next(c for c in table.columns if c.format in ("number", "signed") and c.head != "reference")
    panels = [(name, list(_rows(own, value))) for name, own in parts(lines(table), "panel")]
    placed = [(name, Rows([text for text, _ in rows])) for name, rows in panels]
    with panels_of_rows(table, out, placed, 0.5) as axes:
        for axis, (_, rows) in zip(axes, panels, strict=False):
            _panel(axis, rows, value)
        axes[-1].set_xlabel(f"{value.head} with 95 % interval")


def _rows(own: Sequence[Line], value: Column) -> Iterator[tuple[str, Line | None]]:
    """Yield label and row, and for each group its heading without a row."""
    for group, members in parts(own, "group"):
        if group:
            yield wrapped(group, 30), None
        yield from ((wrapped(row["row"], 30), row) for row in members)


def _panel(axis: Any, rows: Sequence[tuple[str, Line | None]], value: Column) -> None:
    placed = Rows([text for text, _ in rows])
    set_right(axis, placed, ["" if row is None else _numbers(row, value) for _, row in rows])
    for place, (_, row) in zip(placed.places, rows, strict=True):
        if row is not None:
            _mark(axis, row, value, place)
    for label, (_, row) in zip(axis.get_yticklabels(), rows, strict=True):
        label.set_fontweight("bold" if row is None else "normal")
    _reference(axis, [row for _, row in rows if row is not None], value)


def _mark(axis: Any, row: Line, value: Column, place: float) -> None:
    low, high = interval(row, "95 % interval")
    axis.plot([low, high], [place, place], color="#0072B2", lw=1.6, solid_capstyle="butt", zorder=2)
    axis.plot(number(row[value.head]), place, "s", color="#0072B2", ms=4.5, zorder=3, clip_on=False)


def _numbers(row: Line, value: Column) -> str:
    shown = cell_text(row[value.head], value.format)
    between = cell_text(row["95 % interval"], "signed_interval" if value.format == "signed" else "interval")
    return f"{shown} ({between}), n {cell_text(row['n'])}" if row[value.head] is not None else f"{shown}, n {row['n']}"


def _reference(axis: Any, rows: Sequence[Line], value: Column) -> None:
    reference = number(rows[0].get("reference")) if rows else math.nan
    if not math.isnan(reference):
        axis.axvline(reference, color="#555555", lw=1, ls=(0, (4, 2)), zorder=1)
    if value.format == "number":
        axis.set_xlim(-0.02, 1.02)
    axis.grid(axis="x", color="#e0e0e0", zorder=0)
