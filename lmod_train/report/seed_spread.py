"""Mean and standard deviation over the seeds of a training, and the interval of the mean over patients."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

import numpy as np

from lmod_train.core.artifacts.run import Run
from lmod_train.core.artifacts.series import runs_of
from lmod_train.core.tables import Cell, Table, markdown, table
from lmod_train.core.types import Score
from lmod_train.report.contents import heads, texts
from lmod_train.report.results import Results, read_results
from lmod_train.scoring.headline_metrics import headline_metric
from lmod_train.tasks.headline import Row
from lmod_train.tasks.run_scores import RunScores

_HEADS = heads(__file__)


SHOWN = ("accuracy_strict", "f1_lmod_plus", "balanced_accuracy", "macro_f1", "kappa", "auroc_macro")
"""Metrics of the table; the headline metric of the task is first."""

NOTE = texts(__file__)["note"]


@lru_cache(maxsize=1)
def by_series(results: Results) -> dict[Path, list[tuple[str, RunScores]]]:
    """Return folder of a series -> label and scores of each of its seeds, of at least two."""
    found: dict[Path, list[tuple[str, RunScores]]] = {}
    for name, run in zip(results.names, results.runs, strict=True):
        if re.fullmatch(r"seed_\d+", run.path.name):
            found.setdefault(run.path.parent, []).append((name, run))
    return {folder: runs for folder, runs in found.items() if len(runs) > 1}


def seeds_table(results: Results) -> Table:
    """Return a row for each task, series and metric."""
    rows = [row for folder, runs in by_series(results).items() for row in _rows(results, folder, runs)]
    return table("seeds", _HEADS["seeds"], rows, "Spread over seeds")


def seeds_text(folder: Path, trust: tuple[str, ...] = ()) -> str:
    """Return the table of one series as text, with the runs that have no scores yet; empty with fewer than two."""
    runs, unscored = runs_of([folder])
    found = seeds_table(read_results(runs, trust=trust)) if len(runs) > 1 else None
    missing = [f"no scores yet: {Run(run).name}" for run in unscored]
    return "\n".join([*([f"{' '.join(NOTE.split())}\n\n{markdown(found)}"] if found and found.rows else []), *missing])


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


def rows_with_means(results: Results, rows: Mapping[str, Sequence[Row]]) -> Mapping[str, Sequence[Row]]:
    """Return the rows of the headline table with those of each series of seeds in place of its runs, by label.

    Those of a series come first, a row a task with the mean score over the seeds. Its interval is that of the mean over
    patients; there is none if the seeds have replies to different records. Baselines are those of the first seed,
    warnings and missing replies those of any.

    Args:
        results: The runs.
        rows: Label of each run -> its rows of the headline table.
    """
    found: dict[str, Sequence[Row]] = {}
    for folder, runs in by_series(results).items():
        own = {task: [(n, row) for n, _ in runs for row in rows[n] if row.task == task] for task in _tasks(runs)}
        found[f"{Run(folder).name} (mean of {len(runs)} seeds)"] = [_mean_row(results, *one) for one in own.items()]
    seeds = {name for runs in by_series(results).values() for name, _ in runs}
    return found | {name: own for name, own in rows.items() if name not in seeds}


def _mean_row(results: Results, task: str, seeds: list[tuple[str, Row]]) -> Row:
    first, values = seeds[0][1], [row.value for _, row in seeds if row.value is not None]
    means = {s.metric: s for s in _means(results, task, first.metric, [n for n, _ in seeds])}
    mean, balanced = means.get(first.metric), means.get("balanced_accuracy")
    warnings = tuple(dict.fromkeys(phrase for _, row in seeds for phrase in row.warnings))
    account = next((r.account for _, r in seeds if r.account and not r.account.complete), first.account)
    shared = replace(first, warnings=warnings, account=account, balanced=balanced)
    if mean is None:
        value = float(np.mean(values)) if len(values) == len(seeds) else None
        return replace(shared, value=value, low=None, high=None, no_interval=_SEEDS_DIFFER)
    return replace(shared, n=mean.n, value=mean.value, low=mean.low, high=mean.high)


_SEEDS_DIFFER = "the seeds have replies to different records"


def _tasks(runs: list[tuple[str, RunScores]]) -> list[str]:
    return list(dict.fromkeys(task for _, run in runs for task in run.tasks()))


def _spread(values: list[float]) -> list[Cell]:
    return [float(np.mean(values)), float(np.std(values, ddof=1)), min(values), max(values)]


def _cells(mean: Score | None) -> list[Cell]:
    return [mean.n, (mean.low, mean.high)] if mean else [None, None]
