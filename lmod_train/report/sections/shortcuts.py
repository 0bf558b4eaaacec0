"""Scores of shortcut classifiers, beside which the scores of models are read."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from lmod_train.core.tables import INTERVAL, SCORE, Heads, N, table
from lmod_train.report.contents import Part, Text
from lmod_train.report.results import Results
from lmod_train.report.section import Section

NOTE = """Classifiers fitted on the training split that do not use the medical content of the images, but only the words
of the question, the source, the border, a thumbnail of 24 x 24 pixels, or type and size of the file. Of thumbnails
there are two rows: the most similar one of the training split (thumbnail), and a random forest (thumbnail_forest). A
model that does not score higher has not been shown to interpret the image."""


class Shortcuts(Section):
    """Scores of classifiers that do not use the medical content of the images, from ``audit.csv``."""

    title: ClassVar[str] = "Shortcut baselines"

    def parts(self, results: Results) -> Iterator[Part]:
        """Yield the table of the classifiers for the tasks and splits of the runs; nothing if there are none."""
        rows = [[r.task, r.shortcut, r.split, r.metric, r.n, r.value, (r.low, r.high)] for r in results.shortcuts]
        columns: Heads = ["task", "shortcut", "split", "metric", N, SCORE, INTERVAL]
        if rows:
            yield Text(NOTE)
            yield table("shortcuts", columns, rows)
