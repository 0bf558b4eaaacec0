"""Rows of text along an axis: models, groups and their numbers, without overlap."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lmod_train.core.tables import Table
from lmod_train.report.figures.sheet import LINE, SMALL, TEXT, sheet
from lmod_train.report.figures.wrapped import wrapped

_HEADING = 0.35
"""Height of a panel's title and its space in inches."""


@dataclass(frozen=True, slots=True)
class Rows:
    """Places of rows along an axis, in lines of text from the top.

    Attributes:
        texts: Text of each row, of one or several lines.
        gap: Space between two rows, in lines.
    """

    texts: Sequence[str]
    gap: float = 0.35

    @property
    def heights(self) -> list[float]:
        """Height of each row in lines."""
        return [1 + text.count("\n") + self.gap for text in self.texts]

    @property
    def height(self) -> float:
        """Height of all rows in lines."""
        return sum(self.heights)

    @property
    def places(self) -> list[float]:
        r"""Middle of each row.

        Example:
            >>> Rows(["cnn", "llava\ntuned"], gap=0).places
            [0.5, 2.0]
        """
        heights = self.heights
        return [sum(heights[:i]) + height / 2 for i, height in enumerate(heights)]


def set_rows(axis: Any, rows: Rows) -> None:
    """Label the vertical axis of a panel with rows."""
    axis.set_yticks(rows.places, rows.texts, fontsize=TEXT)
    axis.set_ylim(max(1.0, rows.height), 0)
    axis.tick_params(axis="y", length=0)
    axis.spines["left"].set_visible(False)


def set_right(axis: Any, rows: Rows, texts: Sequence[str]) -> None:
    """Label the right edge of a panel with a text per row."""
    beside = axis.secondary_yaxis("right")
    beside.set_yticks(rows.places, texts, fontsize=SMALL)
    beside.tick_params(axis="y", length=0)
    beside.spines["right"].set_visible(False)


@contextmanager
def panels_of_rows(
    table: Table,
    out: Path,
    panels: Sequence[tuple[str, Rows]],
    foot: float,
    below: float = 0.0,
    sharex: bool = True,
) -> Iterator[list[Any]]:
    """Yield an axis for each titled panel, one below the other, each with its rows on the left; save the figure.

    Args:
        table: What is drawn.
        out: Folder to write to.
        panels: Title and rows of each panel; without panels, there is an empty one.
        foot: Height in inches of what is below the last panel.
        below: Height in inches of what is below each panel.
        sharex: Whether the panels share their horizontal axis.
    """
    held = list(panels) or [("", Rows([]))]
    heights = [_HEADING + below + LINE * max(1.0, rows.height) for _, rows in held]
    ratios: Any = {"height_ratios": heights}
    with sheet(table, out, sum(heights) + foot, len(held), sharex=sharex, gridspec_kw=ratios) as axes:
        for axis, (title, rows) in zip(axes[:, 0], held, strict=True):
            axis.set_title(wrapped(title, 60), loc="left", fontsize=9, fontweight="bold")
            set_rows(axis, rows)
        yield list(axes[:, 0])
