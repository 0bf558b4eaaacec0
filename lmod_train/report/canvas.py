"""What every picture is drawn on: PNG to look at, SVG for the paper, same bytes twice.

Colours are Okabe & Ito's, told apart by colour-blind readers, and every run has a marker and a line of its own besides.
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
    "text.parse_math": False,  # a model's name may hold a dollar
    "axes.spines.top": False,
    "axes.spines.right": False,
    "svg.hashsalt": "lmod_train",  # otherwise element names in the SVG are random
    "figure.dpi": 150,
}


@contextmanager
def canvas(out: Path, name: str, rows: int, columns: int, size: tuple[float, float], **options: Any) -> Iterator[Any]:
    """Yield axes (rows, columns) and save the figure as ``name.png`` and ``name.svg``.

    Args:
        out: Folder to write to.
        name: Of the files.
        rows: Of panels.
        columns: Of panels.
        size: Width and height in inches.
        **options: Of matplotlib's ``Figure.subplots``.
    """
    import matplotlib as mpl  # here, as `--help` must not wait for it
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    with mpl.rc_context(_STYLE):
        figure = Figure(figsize=size, layout="constrained")
        FigureCanvasAgg(figure)
        yield figure.subplots(rows, columns, squeeze=False, **options)
        figure.savefig(out / f"{name}.png", metadata={"Software": None})
        figure.savefig(out / f"{name}.svg", metadata={"Date": None, "Creator": None})


def hide_from(axes: Any, count: int) -> None:
    """Leave the panels after the first `count` empty."""
    for axis in list(axes.flat)[count:]:
        axis.set_visible(False)
