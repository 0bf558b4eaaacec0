"""Style and files of all figures: reproducible PNG and SVG.

Colours are those of Okabe and Ito, which colour-blind readers can distinguish; every run also has its own marker and
line style.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

from lmod_train.core.files import write_beside
from lmod_train.core.package_data import package_data

_WORDS = package_data(__file__, "words.yaml")["canvas"]

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#F0E442")
MARKERS = "osD^vP*X"
LINES: Any = ("-", (0, (5, 1.5)), (0, (6, 1.5, 1, 1.5)), (0, (1.5, 1)))
FONT = "DejaVu Sans"
"""Font of all figures, part of matplotlib."""
CHINESE: list[str] = _WORDS["chinese"]
"""Fonts with Chinese characters, of which the first installed one draws what `FONT` lacks."""
_STYLE: Any = _WORDS["style"]


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

    with mpl.rc_context({**_STYLE, "font.family": list(families()), "font.size": font}):
        figure = Figure(figsize=size, layout="constrained")
        FigureCanvasAgg(figure)
        yield figure.subplots(rows, columns, squeeze=False, **options)
        _lay_out(figure)
        for suffix, metadata in (("png", {"Software": None}), ("svg", {"Date": None, "Creator": None})):
            with write_beside(out / f"{name}.{suffix}") as part:
                figure.savefig(part, format=suffix, metadata=metadata)


def _lay_out(figure: Any) -> None:
    """Lay out here, as each file would do it again; twice if a legend is beside axes of equal aspect."""
    narrowed = [axes for axes in figure.axes if axes.get_aspect() != "auto" and axes.get_legend()]
    for _ in range(2 if narrowed else 1):  # the first pass places the legend below the axes as they were
        figure.get_layout_engine().execute(figure)
    for axes in figure.axes:  # the last digits of the solver depend on addresses in memory, and files are the same
        axes.set_position([round(side, 9) for side in axes.get_position(original=True).bounds])
    figure.set_layout_engine(None)  # with "none" a figure keeps a layout, for which each file is drawn twice


def hide_from(axes: Any, count: int) -> None:
    """Hide all panels after the first `count`."""
    for axis in list(axes.flat)[count:]:
        axis.set_visible(False)


@cache
def families() -> tuple[str, ...]:
    """Return the names of the fonts of figures: `FONT`, and the first of `CHINESE` that is installed."""
    from matplotlib.font_manager import fontManager

    installed = set(fontManager.get_font_names())
    return (FONT, *[name for name in CHINESE if name in installed][:1])


def fonts() -> list[Any]:
    """Return the fonts of figures, as matplotlib has them opened."""
    from matplotlib.font_manager import findfont, get_font

    return [get_font(findfont(name)) for name in families()]


def undrawn(text: str) -> str:
    """Return the different characters of a text that no font of the figures has, in their order.

    Example:
        >>> undrawn("OCT, \u03b1 = 5 \u00b5m")
        ''
    """
    every = fonts()
    return "".join(
        c for c in dict.fromkeys(text) if not c.isspace() and not any(f.get_char_index(ord(c)) for f in every)
    )
