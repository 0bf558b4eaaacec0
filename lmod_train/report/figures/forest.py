"""The forest plot: scores of groups, run by run, with their intervals."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from lmod_train.core.escaping import for_terminal
from lmod_train.core.tables import INTERVAL, SCORE, Cell, Column, Heads, N, Table
from lmod_train.report.canvas import COLOURS, MARKERS, canvas
from lmod_train.report.writers.naming import file_name

DRAWN = len(COLOURS)
"""Largest number of groups that are drawn, those with the most items."""
LONGEST = 36

COLUMNS: Heads = ["model", "group", N, Column("patients", "count"), SCORE, INTERVAL, Column("overall", "number")]
"""Columns of the table of the figure, a row per run and group."""
_ROW, _BETWEEN = 0.13, 0.12  # inches between the groups of a run, and between runs

Row = Sequence[Any]


def draw_forest(table: Table, out: Path) -> None:
    """Draw the scores of the groups of one key; at most the `DRAWN` groups with the most items.

    Args:
        table: Columns as `COLUMNS`.
        out: Folder to write ``NAME.png`` and ``NAME.svg`` to.
    """
    models = list(dict.fromkeys(str(row[0]) for row in table.rows))
    groups = drawn_groups(table.rows)
    step = _ROW * len(groups) + _BETWEEN
    height = 1.0 + max(2, len(models)) * step + 0.2 * ((len(groups) + 1) // 2)
    with canvas(out, file_name(table.name), 1, 1, (7.2, height)) as axes:
        axis = axes[0, 0]
        for place, group in enumerate(groups):
            own = [row for row in table.rows if row[1] == group and row[4] is not None]
            ys = [models.index(str(row[0])) + (_ROW * (place - (len(groups) - 1) / 2)) / step for row in own]
            _draw_group(axis, own, ys, place, _legend(group, own))
        _draw_overall(axis, table.rows, models)
        axis.set_yticks(range(len(models)), [_short(model) for model in models], fontsize=8)
        axis.set_ylim(len(models) - 0.5, -0.5)
        axis.set_xlim(-0.02, 1.02)
        axis.grid(axis="x", color="#dddddd", zorder=0)
        axis.set_title(_short(table.title, 80), loc="left", fontsize=10, fontweight="bold")
        axis.set_xlabel("score with 95 % interval; vertical line: all groups together")
        axis.figure.legend(loc="outside lower center", ncols=2, frameon=False, fontsize=8)


def drawn_groups(rows: Sequence[Row]) -> list[str]:
    """Return the groups that are drawn, in the order of the table."""
    sizes: dict[str, int] = {}
    for row in rows:
        sizes[row[1]] = max(sizes.get(row[1], 0), row[2] or 0)
    largest = sorted(sizes, key=lambda group: -sizes[group])[:DRAWN]
    return [group for group in sizes if group in largest]


def _draw_group(axis: Any, rows: Sequence[Row], ys: Sequence[float], place: int, label: str) -> None:
    ends = [(y, *row[5]) for row, y in zip(rows, ys, strict=True) if row[5][0] is not None]
    axis.hlines([y for y, *_ in ends], [low for _, low, _ in ends], [high for *_, high in ends], COLOURS[place], lw=1.6)
    style = {"color": COLOURS[place], "marker": MARKERS[place], "ms": 4.5, "ls": "", "label": label, "zorder": 3}
    axis.plot([row[4] for row in rows], ys, **style)


def _draw_overall(axis: Any, rows: Sequence[Row], models: Sequence[str]) -> None:
    overall = {str(row[0]): row[6] for row in rows if row[6] is not None}
    places = [models.index(model) for model in overall]
    axis.vlines(list(overall.values()), [y - 0.42 for y in places], [y + 0.42 for y in places], "#777777", lw=1)
    for y in range(1, len(models)):
        axis.axhline(y - 0.5, color="#eeeeee", lw=0.8, zorder=0)


def _legend(group: str, rows: Sequence[Row]) -> str:
    """Return a group with its number of items, of different runs the least and the most."""
    sizes = sorted({row[2] for row in rows})
    return f"{_short(group)} (n = {'-'.join(str(n) for n in dict.fromkeys((*sizes[:1], *sizes[-1:])))})"


def _short(cell: Cell, longest: int = LONGEST) -> str:
    """Return a name on one line, the middle of a long one left out.

    Example:
        >>> _short("a" * 30 + "b" * 30, 9)
        'aaaa…bbbb'
    """
    text = for_terminal(str(cell))
    half = (longest - 1) // 2
    return text if len(text) <= longest else f"{text[:half]}…{text[-half:]}"
