"""Confusion matrices: items by truth and answer, a panel per model."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from lmod_train.core.tables import Column, Heads, Table
from lmod_train.report.figures.grid import panels_in_grid
from lmod_train.report.figures.lines import Line, distinct, lines, parts
from lmod_train.report.figures.sheet import SMALL
from lmod_train.report.figures.wrapped import wrapped

COLUMNS: Heads = ["model", "truth", "answer", Column("items", "count")]
"""Columns of the table, a row per cell of a matrix."""


def draw_confusions(table: Table, out: Path) -> None:
    """Draw a matrix per model. Shades are shares of the row, numbers are items.

    Args:
        table: Columns as `COLUMNS`; rows and columns of the matrices are in the order of the table.
        out: Folder to write to.
    """
    panels = list(parts(lines(table), "model"))
    answers = max((len(distinct(own, "answer")) for _, own in panels), default=1)
    across = 3 if answers <= 5 else 2 if answers <= 8 else 1
    longest = max((len(row["answer"]) for row in lines(table)), default=0)
    height = 1.2 + 0.32 * answers + 0.07 * min(longest, 24)
    with panels_in_grid(table, out, len(panels), across, height, 0.2) as axes:
        for axis, (name, own) in zip(axes, panels, strict=True):
            _panel(axis, own)
            axis.set_title(wrapped(name), fontsize=9)


def _panel(axis: Any, own: Sequence[Line]) -> None:
    truths, answers = distinct(own, "truth"), distinct(own, "answer")
    counts = np.zeros((len(truths), len(answers)))
    for row in own:
        counts[truths.index(row["truth"]), answers.index(row["answer"])] = row["items"]
    shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    axis.imshow(shares, cmap="Blues", vmin=0, vmax=1, aspect="auto")
    for (row, column), count in np.ndenumerate(counts):
        shade = "white" if shares[row, column] > 0.55 else "#111111"
        axis.text(column, row, f"{count:.0f}", ha="center", va="center", color=shade, fontsize=SMALL)
    axis.axvline(len(truths) - 0.5, color="#222222", lw=1)
    axis.set_xticks(range(len(answers)), [wrapped(a, 24, 1) for a in answers], rotation=90, fontsize=SMALL)
    axis.set_yticks(range(len(truths)), [wrapped(t, 18, 2) for t in truths], fontsize=SMALL)
    staged = all(name.isdigit() for name in truths)
    axis.set_xlabel("stage answered" if staged else "answer")
    axis.set_ylabel("true stage" if staged else "truth")
