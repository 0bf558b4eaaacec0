"""Style and files of all figures: reproducible PNG and SVG.

Colours are those of Okabe and Ito, which colour-blind readers can distinguish; every run also has its own marker and
line style.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#F0E442")
MARKERS = "osD^vP*X"
LINES: Any = ("-", (0, (5, 1.5)), (0, (6, 1.5, 1, 1.5)), (0, (1.5, 1)))
_STYLE: Any = {
    "font.family": "DejaVu Sans",
    "font.size": 10,
    "text.parse_math": False,  # a model's name may contain a dollar sign
    "axes.spines.top": False,
    "axes.spines.right": False,
    "svg.hashsalt": "lmod_train",  # otherwise element names in the SVG are random
    "figure.dpi": 150,
}


@contextmanager
def canvas(
    out: Path, name: str, rows: int, columns: int, size: tuple[float, float], font: float = 10, **options: Any
) -> Iterator[Any]:
    """Yield axes (rows, columns) and save the figure as ``name.png`` and ``name.svg``.

    Args:
        out: Folder to write to.
        name: Name of the files, without suffix.
        rows: Number of rows of panels.
        columns: Number of columns of panels.
        size: Width and height in inches.
        font: Size of text in points; that of titles is larger by a fifth.
        **options: Options of matplotlib's ``Figure.subplots``.
    """
    import matplotlib as mpl  # imported here, as it would slow down `--help`
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    with mpl.rc_context({**_STYLE, "font.size": font}):
        figure = Figure(figsize=size, layout="constrained")
        FigureCanvasAgg(figure)
        yield figure.subplots(rows, columns, squeeze=False, **options)
        _lay_out(figure)
        figure.savefig(out / f"{name}.png", metadata={"Software": None})
        figure.savefig(out / f"{name}.svg", metadata={"Date": None, "Creator": None})


def _lay_out(figure: Any) -> None:
    """Lay out once, as each file would do it again."""
    figure.get_layout_engine().execute(figure)
    figure.set_layout_engine("none")


def hide_from(axes: Any, count: int) -> None:
    """Hide all panels after the first `count`."""
    for axis in list(axes.flat)[count:]:
        axis.set_visible(False)
