"""Mean and standard deviation over the seeds of a training, and the interval of the mean over patients."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np

from lmod_train.core.artifacts.run import Run
from lmod_train.core.artifacts.series import runs_of
from lmod_train.core.types import Score
from lmod_train.report.contents import Cell, Column, Heads, Table, table
from lmod_train.report.headline import Row, headline_rows
from lmod_train.report.results import Results, RunScores, read_results
from lmod_train.report.writers.markdown import markdown
from lmod_train.scoring.headline import headline_metric

SHOWN = ("accuracy_strict", "f1_lmod_plus", "balanced_accuracy", "macro_f1", "kappa", "auroc_macro")
"""Metrics of the table; the headline metric of the task is first."""
NOTE = """Mean and standard deviation (n - 1) of the scores of the seeds: how much the score changes if the training is
repeated on the same patients. Interval: 95 % interval of the mean score over patients: how much it could differ on
other patients, with these trainings. The one does not hold the other; the scores of single seeds are in the table of
scores, each with its interval over patients."""
HEADS: Heads = [
    "task", "runs", "metric", Column("seeds", "count"), Column("mean", "number"), Column("sd over seeds", "number"),
    Column("lowest", "number"), Column("highest", "number"), Column("n", "count"),
    Column("95 % interval over patients", "interval"),
]  # fmt: skip


def by_series(results: Results) -> dict[Path, list[tuple[str, RunScores]]]:
    """Return folder of a series -> label and scores of each of its seeds, of at least two."""
    found: dict[Path, list[tuple[str, RunScores]]] = {}
    for name, run in zip(results.names, results.runs, strict=True):
        if re.fullmatch(r"seed_\d+", run.path.name):
            found.setdefault(run.path.parent, []).append((name, run))
    return {folder: runs for folder, runs in found.items() if len(runs) > 1}


def seeds_table(results: Results) -> Table | None:
    """Return a row for each task, series and metric; None without a series of seeds."""
    rows = [row for folder, runs in by_series(results).items() for row in _rows(results, folder, runs)]
    return table("seeds", HEADS, rows, "Spread over seeds") if rows else None


def seeds_text(folder: Path, trust: tuple[str, ...] = ()) -> str:
    """Return the table of one series as text, with the runs that have no scores yet; empty with fewer than two."""
    runs, unscored = runs_of([folder])
    found = seeds_table(read_results(runs, trust=trust)) if len(runs) > 1 else None
    missing = [f"no scores yet: {Run(run).name}" for run in unscored]
    return "\n".join([*([f"{' '.join(NOTE.split())}\n\n{markdown(found)}"] if found else []), *missing])


def _rows(results: Results, folder: Path, runs: list[tuple[str, RunScores]]) -> Iterator[list[Cell]]:
    for task in _tasks(runs):
        own = [(name, run) for name, run in runs if task in run.tasks()]
        headline = headline_metric(own[0][1].scores, task)
        means = {score.metric: score for score in _means(results, task, headline, [name for name, _ in own])}
        for metric in dict.fromkeys((headline, *SHOWN)):
            values = [s.value for _, run in own if (s := run.find(task, metric)) is not None and s.value is not None]
            if len(values) == len(own) > 1:
                yield [task, Run(folder).name, metric, len(values), *_spread(values), *_cells(means.get(metric))]


def _means(results: Results, task: str, headline: str, names: list[str]) -> list[Score]:
    from lmod_train.scoring.seeds import mean_scores  # scipy: not for `--help`

    items = [results.outcomes[name].items.get(task, []) for name in names]
    return mean_scores(task, headline, items, results.choices.get(task, ()))


def mean_rows(results: Results) -> dict[str, list[Row]]:
    """Return name of each series of seeds -> a row of the headline table a task: the mean score over the seeds.

    Its interval is that of the mean over patients; baselines are those of the first seed.
    """
    return {
        f"{Run(folder).name} (mean of {len(runs)} seeds)": [_mean_row(results, task, runs) for task in _tasks(runs)]
        for folder, runs in by_series(results).items()
    }


def _mean_row(results: Results, task: str, runs: list[tuple[str, RunScores]]) -> Row:
    own = [(name, run) for name, run in runs if task in run.tasks()]
    (first,) = (row for row in headline_rows([own[0][1]]) if row.task == task)
    means = {s.metric: s for s in _means(results, task, first.metric, [name for name, _ in own])}
    mean = means.get(first.metric)
    if mean is None:
        return replace(first, value=None, low=None, high=None)
    return replace(first, n=mean.n, value=mean.value, low=mean.low, high=mean.high)


def _tasks(runs: list[tuple[str, RunScores]]) -> list[str]:
    return list(dict.fromkeys(task for _, run in runs for task in run.tasks()))


def _spread(values: list[float]) -> list[Cell]:
    return [float(np.mean(values)), float(np.std(values, ddof=1)), min(values), max(values)]


def _cells(mean: Score | None) -> list[Cell]:
    return [mean.n, (mean.low, mean.high)] if mean else [None, None]
