"""The score of each task and run, with interval, chance and majority class."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import ClassVar

from lmod_train.report.contents import Figure, Part, Table, Text
from lmod_train.report.headline import headline_rows, headline_table
from lmod_train.report.results import Results
from lmod_train.report.run_figures import draw_scores
from lmod_train.report.section import Section
from lmod_train.report.warned import warned, warnings_table

NOTE = """The score of each task is its strict one: a reply without a readable answer counts as wrong. Intervals are
clustered by patient. Chance and majority class are computed on the same items. `scores.csv` has all metrics."""
ALT = "Score of each task and run as a point with its 95 % interval, beside the scores of chance and majority class."


class Scores(Section):
    """The headline table and its figure."""

    title: ClassVar[str] = "Scores of the tasks"

    def parts(self, results: Results) -> Iterator[Part]:
        """Yield the headline table and its figure."""
        found = warned(results)
        rows = headline_table(headline_rows(results.runs, found))
        yield Text(NOTE)
        yield rows
        if (listed := warnings_table(results, found)) is not None:
            yield listed
        yield Figure("scores", "Scores of the tasks", ALT, rows, partial(_draw, results))


def _draw(results: Results, _: Table, out: Path) -> None:
    draw_scores(results.runs, results.names, out)
