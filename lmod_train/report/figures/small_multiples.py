"""Panels side by side, with one legend below all of them."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from lmod_train.core.tables import Table
from lmod_train.report.canvas import hide_from
from lmod_train.report.figures.sheet import SMALL, sheet


@contextmanager
def panels_in_grid(
    table: Table, out: Path, count: int, across: int, height: float, foot: float = 0.3, note: str = "", **options: Any
) -> Iterator[list[Any]]:
    """Yield an axis for each panel; save the figure.

    Args:
        table: What is drawn.
        out: Folder to write to.
        count: Number of panels.
        across: Largest number of panels side by side.
        height: Height of a panel in inches.
        foot: Height of the legend and the note in inches.
        note: Text above the legend.
        **options: Options of matplotlib's ``Figure.subplots``.
    """
    columns = max(1, min(across, count))
    down = max(1, math.ceil(count / columns))
    with sheet(table, out, height * down + foot, down, columns, **options) as axes:
        hide_from(axes, count)
        yield list(axes.flat)[:count]
        named: dict[str, Any] = {}
        for axis in axes.flat:
            for handle, label in zip(*axis.get_legend_handles_labels(), strict=True):
                named.setdefault(label, handle)
        if named:
            below: dict[str, Any] = {"loc": "outside lower center", "ncols": min(3, len(named)), "frameon": False}
            below |= {"title": note or None, "title_fontsize": SMALL}
            axes.flat[0].figure.legend(named.values(), named.keys(), **below)
