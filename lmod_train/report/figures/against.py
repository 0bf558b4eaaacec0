"""Scores against a number, such as the grade of a perturbation or the size of a model, with a line per kind."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from lmod_train.core.tables import INTERVAL, SCORE, Table
from lmod_train.report.canvas import COLOURS, LINES, MARKERS
from lmod_train.report.figures.lines import Line, distinct, interval, lines, number, parts
from lmod_train.report.figures.small_multiples import panels_in_grid
from lmod_train.report.figures.wrapped import wrapped


def draw_against(table: Table, out: Path, *, x: str, line: str, axis: str, ticks: Sequence[float] = ()) -> None:
    """Draw a panel for each ``panel``: the scores of each line with their intervals, and chance if it is a column.

    The row with 0 is the first point of every line. Models without a number are listed below.

    Args:
        table: With the columns panel, `x`, `line`, score, and as they are known model, 95 % interval and chance.
        out: Folder to write to.
        x: Head of the column of numbers.
        line: Head of the column that names the lines.
        axis: Name of the horizontal axis; with a percent sign at its end, shares are written as such.
        ticks: Places of a logarithmic axis; none for one that is not.
    """
    rows = [row for row in lines(table) if row[x] is not None]
    unknown = distinct([row for row in lines(table) if row[x] is None], "model")
    panels, names = list(parts(rows, "panel")), distinct([row for row in rows if row[x]], line)
    note = wrapped(f"Size unknown: {', '.join(unknown)}", 110, 12) if unknown else ""
    foot = 0.5 + 0.17 * -(-(len(names) + 1) // 3) + 0.16 * (note.count("\n") + 1)
    with panels_in_grid(table, out, len(panels), 2, 2.9, foot, note, sharey=True) as axes:
        for panel, (title, own) in zip(axes, panels, strict=True):
            _lines(panel, own, names, x, line, bool(ticks))
            _axis(panel, sorted({row[x] for row in own}), axis, ticks)
            panel.set_title(wrapped(title, 44), fontsize=9)


def _lines(panel: Any, own: Sequence[Line], names: Sequence[str], x: str, line: str, log: bool) -> None:
    first = [row for row in own if not row[x]]
    for name, rows in parts([row for row in own if row[x]], line):
        place = names.index(name)
        style = {"color": COLOURS[place % len(COLOURS)], "ls": LINES[place % len(LINES)]}
        apart = (place - (len(names) - 1) / 2) * (INTERVAL.head in rows[0])  # intervals side by side
        points = [*first, *sorted(rows, key=lambda row: row[x])]
        places = [row[x] * 1.02**apart if log else row[x] + (0.07 * apart if row[x] else 0) for row in points]
        scores, marker = (
            [number(row[SCORE.head]) for row in points],
            MARKERS[(place + place // len(COLOURS)) % len(MARKERS)],
        )
        panel.plot(places, scores, label=wrapped(name, 40, 1), marker=marker, ms=4.5, lw=1.3, **style)
        for at, row in list(zip(places, points, strict=True))[len(first) :]:
            panel.vlines(at, *interval(row, INTERVAL.head), color=style["color"], lw=1)
    for row in first:
        panel.vlines(0, *interval(row, INTERVAL.head), color="#000000", lw=1.2)
        panel.plot([0], [number(row[SCORE.head])], color="#000000", marker="o", ms=5, ls="", zorder=3)
    if chance := [row["chance"] for row in own if row.get("chance") is not None]:
        panel.axhline(chance[0], color="#555555", lw=1, ls=":", label="chance")


def _axis(panel: Any, numbers: Sequence[float], axis: str, ticks: Sequence[float]) -> None:
    if ticks:
        panel.set_xscale("log")
    shown = [tick for tick in ticks if numbers[0] / 3 <= tick <= numbers[-1] * 3] or numbers
    panel.set_xticks(shown, [f"{100 * tick:g} %" if axis.endswith("%") else f"{tick:g}" for tick in shown])
    panel.minorticks_off()
    if ticks:
        panel.set_xlim(numbers[0] / 1.8, numbers[-1] * 1.8)
    panel.set(xlabel=axis, ylabel="score", ylim=(0, 1.02))
    panel.grid(color="#e5e5e5", zorder=0)
