"""What a classifier reaches that does not look at the eye, beside chance in tables and page."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from lmod_train.artifacts.shortcuts import Shortcut, read_shortcuts
from lmod_train.report.headline import grid, interval, number
from lmod_train.types import Prediction

SAID = """Each was fitted on the training split without looking at the eye: words alone, source, border, a thumbnail of
24 pixels, facts of the file. A model that is not above these rows has not been shown to read the image."""

UNSEEN = ("names", "most_frequent")
"""Names of files, which no model sees, and the majority class, which has its column: no shortcuts of a model."""


def shortcuts_of(folders: Iterable[Path | None], predictions: Iterable[Prediction]) -> list[Shortcut]:
    """Return the rows of the curated folders that are of a task and split of the predictions, each once."""
    asked = {(p.record.task, p.record.split) for p in predictions}
    curated = [folder for folder in dict.fromkeys(folders) if folder]
    rows = dict.fromkeys(row for folder in curated for row in read_shortcuts(folder))
    shown = [row for row in rows if row.metric == "accuracy" and row.shortcut not in UNSEEN]
    return [row for row in shown if (row.task, row.split) in asked]


def shortcut_table(rows: Iterable[Shortcut]) -> str:
    """Return the rows as a table that reads well in a terminal and is Markdown too; empty for none."""
    lines = [[r.task, r.shortcut, r.split, r.metric, str(r.n), number(r.value), interval(r.low, r.high)] for r in rows]
    heads = ["task", "shortcut", "split", "metric", ">n", ">score", "95 % interval"]
    return grid(heads, lines) if lines else ""
