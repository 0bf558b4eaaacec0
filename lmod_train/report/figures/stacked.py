"""Stacked bars: what the items of each row consist of."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from lmod_train.core.tables import Column, Heads, Table
from lmod_train.report.figures.lines import Line, distinct, lines, number, parts
from lmod_train.report.figures.rows import Rows, panels_of_rows, set_right
from lmod_train.report.figures.sheet import SMALL
from lmod_train.report.figures.wrapped import wrapped

COLUMNS: Heads = ["panel", "row", "part", Column("items", "count")]
"""Columns of the table. Items of one row and part are added; a row of no items is left empty."""
HATCHES = ("", "////", "....", "\\\\\\\\", "xxxx", "", "----", "oo")
"""Patterns of the parts, by which they differ in grey."""
SHADES = ("#0072B2", "#E69F00", "#CC79A7", "#56B4E9", "#D55E00", "#222222", "#F0E442", "#009E73")
"""Colours of Okabe and Ito, in an order in which neighbours differ in lightness."""


def draw_stacked(table: Table, out: Path) -> None:
    """Draw a panel for each ``panel`` and a bar for each ``row``, divided into shares of its ``items``.

    Numbers are items, where there is room for them; the right edge has those of the whole row.

    Args:
        table: Columns as `COLUMNS`.
        out: Folder to write to.
    """
    rows = lines(table)
    named, panels = distinct(rows, "part"), list(parts(rows, "panel"))
    placed = [(name, Rows([wrapped(row) for row in distinct(own, "row")])) for name, own in panels]
    with panels_of_rows(table, out, placed, 1.0) as axes:
        for axis, (_, own) in zip(axes, panels, strict=False):
            _panel(axis, own, named)
        axes[-1].set_xlabel("share of the items")
        handles = axes[0].get_legend_handles_labels()
        axes[0].figure.legend(*handles, loc="outside lower center", ncols=3, frameon=False, handleheight=1.1)


def _panel(axis: Any, own: Sequence[Line], named: Sequence[str]) -> None:
    bars = [(name, [_items(members, part) for part in named]) for name, members in parts(own, "row")]
    rows = Rows([wrapped(name) for name, _ in bars])
    set_right(axis, rows, [f"n {sum(counts):g}" for _, counts in bars])
    for part, name in enumerate(named):
        shares = [_shares(counts) for _, counts in bars]
        left = [sum(share[:part]) for share in shares]
        style = {"color": SHADES[part % len(SHADES)], "hatch": HATCHES[part % len(HATCHES)], "edgecolor": "white"}
        axis.barh(rows.places, [s[part] for s in shares], 1.0, left=left, lw=0.6, label=wrapped(name, 36), **style)
        for place, start, share, (_, counts) in zip(rows.places, left, shares, bars, strict=True):
            _count(axis, start + share[part] / 2, place, f"{counts[part]:g}", share[part])
    axis.set_xlim(0, 1)


def _items(rows: Sequence[Line], part: str) -> float:
    return sum(number(row["items"]) for row in rows if row["part"] == part and row["items"] is not None)


def _shares(counts: Sequence[float]) -> list[float]:
    return [count / (sum(counts) or 1) for count in counts]


def _count(axis: Any, x: float, y: float, text: str, share: float) -> None:
    if share > 0.02 + 0.018 * len(text):
        box = {"boxstyle": "square,pad=0.12", "facecolor": "white", "edgecolor": "none"}
        axis.text(x, y, text, ha="center", va="center", fontsize=SMALL, bbox=box)
