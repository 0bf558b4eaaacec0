"""The score of each task and run, with interval, chance and majority class."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from lmod_train.core.tables import Cell, table
from lmod_train.report.contents import Figure, Part, Text
from lmod_train.report.figures.dots import COLUMNS, draw_dots
from lmod_train.report.origin import without_patients
from lmod_train.report.results import Results
from lmod_train.report.section import Section
from lmod_train.report.sections.external import External
from lmod_train.report.sections.label_efficiency import LabelEfficiency
from lmod_train.report.sections.seeds import Seeds
from lmod_train.report.warned import warned, warnings_table
from lmod_train.scoring.headline import headline_metric
from lmod_train.tasks.headline import headline_rows, headline_table
from lmod_train.tasks.run_scores import RunScores

NOTE = """The score of each task is its strict one: a reply without a readable answer counts as wrong. {} Chance and
majority class are computed on the same items. `scores.csv` has all metrics."""
ALT = "Score of each task and run as a point with its 95 % interval, beside the scores of chance and majority class."

_PAGE = 40
"""Number of rows that fit on a page."""


TRAINING = (Seeds(), LabelEfficiency(), External())
"""What is shown below the scores of runs that differ in their training: by seed, share, and sources."""


class Scores(Section):
    """The headline table and its figure, and how the scores depend on seeds and data of the training."""

    title: ClassVar[str] = "Scores of the tasks"

    def parts(self, results: Results) -> Iterator[Part]:
        """Yield the headline table and its figure, and the parts of `TRAINING`."""
        found = warned(results)
        yield Text(NOTE.format(_clusters(results)))
        yield headline_table(headline_rows(results.runs, found))
        if (listed := warnings_table(results, found)) is not None:
            yield listed
        yield from _figures(results)
        for section in TRAINING:
            yield from section.parts(results)


def _clusters(results: Results) -> str:
    """Return what intervals are over, in a sentence; images stand for patients in a source that states none."""
    bare = sorted(set().union(*map(without_patients, results.outcomes.values())))
    if not bare:
        return "Intervals are clustered by patient."
    state = "states" if len(bare) == 1 else "state"
    over = f"over images and not over patients for {', '.join(bare)}, which {state} no patients."
    return f"Intervals are clustered by patient, but {over}"


def _figures(results: Results) -> Iterator[Figure]:
    """Yield one figure of all tasks, or one per task if they do not fit on a page."""
    rows = [row for task in results.tasks for name, run in results.named(task) for row in _rows(task, name, run)]
    if len(rows) <= _PAGE:
        yield Figure("scores", "Scores of the tasks", ALT, table("scores", COLUMNS, rows), draw_dots)
        return
    for task in results.tasks:
        own = table(f"scores-{task}", COLUMNS, [row for row in rows if row[0] == task])
        yield Figure(own.name, f"Scores of {task}", ALT, own, draw_dots)


def _rows(task: str, name: str, run: RunScores) -> Iterator[list[Cell]]:
    metric = headline_metric(run.scores, task)
    score = run.find(task, metric)
    baselines = [found.value if (found := run.find(task, kind)) else None for kind in ("chance", "majority")]
    if score is not None:
        yield [task, name, metric, score.n, score.value, (score.low, score.high), *baselines]
