"""Scores of shortcut classifiers, which do not use the medical content of the images."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from lmod_train.core.artifacts.shortcuts import Shortcut, read_shortcuts
from lmod_train.core.types import Prediction

UNSEEN = ("names", "most_frequent")
"""Rows that are not shown: names of files, which no model sees, and the majority class, which has its own column."""


def shortcuts_of(folders: Iterable[Path | None], predictions: Iterable[Prediction]) -> list[Shortcut]:
    """Return the rows of the curated folders for the tasks and splits of the predictions, without duplicates."""
    asked = {(p.record.task, p.record.split) for p in predictions}
    curated = [folder for folder in dict.fromkeys(folders) if folder]
    rows = dict.fromkeys(row for folder in curated for row in read_shortcuts(folder))
    shown = [row for row in rows if row.metric == "accuracy" and row.shortcut not in UNSEEN]
    return [row for row in shown if (row.task, row.split) in asked]
