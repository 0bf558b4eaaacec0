"""The sheet of a figure: as wide as a page of print, as high as its rows need."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from lmod_train.core.tables import Table
from lmod_train.report.canvas import canvas
from lmod_train.report.writers.naming import file_name

WIDTH = 7.2
"""Width in inches, at which text has its size in points: that of the text of a page of A4 or letter."""
SMALL, TEXT = 7.0, 8.0
"""Sizes of text in points."""
LINE = 0.155
"""Height of a line of text in inches."""
MOST = 6
"""Number of models whose lines, bars or panels can be told apart in one figure; of more, a row each is drawn."""


@contextmanager
def sheet(
    table: Table, out: Path, height: float, rows: int = 1, columns: int = 1, width: float = WIDTH, **options: Any
) -> Iterator[Any]:
    """Yield axes (rows, columns) and save the figure under the name of the table.

    Args:
        table: What is drawn; its title is that of the figure.
        out: Folder to write to.
        height: Height in inches.
        rows: Number of rows of panels.
        columns: Number of columns of panels.
        width: Width in inches.
        **options: Options of matplotlib's ``Figure.subplots``.
    """
    with canvas(out, file_name(table.name), rows, columns, (width, height), TEXT, **options) as axes:
        yield axes
        above = {" ".join(one.get_title(place).split()) for one in axes.flat for place in ("left", "center")}
        if table.title and table.title not in above:  # a single panel may have the same title
            axes[0, 0].figure.suptitle(table.title, fontsize=9)
