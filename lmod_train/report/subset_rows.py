"""Scores of the subsets of one key, as rows of the figures by group."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from lmod_train.core.tables import Cell
from lmod_train.report.results import Results


def subset_rows(
    results: Results, task: str, key: str, metric: str, panel: str, among: Collection[str] | None = None
) -> Iterator[list[Cell]]:
    """Yield a row per run and value of a key, with the columns of `lmod_train.report.figures.groups`.

    Args:
        results: The runs.
        task: Name of the task.
        key: Key of the subsets, e.g. ``source``.
        metric: Metric of the scores.
        panel: Title of the panel.
        among: Values to keep; None keeps all.
    """
    for name, run in results.named(task):
        for s in run.scores:
            given, _, value = s.subset.partition("=")
            wanted = among is None or value in among
            if (s.task, s.metric, given) == (task, metric, key) and ";" not in s.subset and wanted:
                chance = run.find(task, "chance", s.subset)
                yield [panel, name, value, s.n, s.value, (s.low, s.high), chance.value if chance else None]
