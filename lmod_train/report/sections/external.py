"""Scores by the sources that a model was trained on and those that it was tested on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import ClassVar

import numpy as np

from lmod_train.core.artifacts.run import Run
from lmod_train.core.tables import Cell, Column, Estimate, table
from lmod_train.core.types import Score
from lmod_train.report.contents import Part, Text
from lmod_train.report.results import Results
from lmod_train.report.section import Section
from lmod_train.report.seeds import by_series
from lmod_train.report.training import training
from lmod_train.scoring.headline import headline_metric
from lmod_train.tasks.run_scores import RunScores

Named = tuple[str, RunScores]
"""Label and scores of a run."""

NOTE = """Rows are the sources that a model was trained on, columns those that it was tested on; the last column counts
the training images. A cell of a source in the row's list is an internal validation, the others are external. Intervals
are 95 % intervals over patients. The seeds of a series are one row with their mean score; their standard deviation is
in the table of the spread over seeds."""


class External(Section):
    """Internal and external validation: one table of source against source for each task."""

    title: ClassVar[str] = "Trained on, tested on"

    def parts(self, results: Results) -> Iterator[Part]:
        """Yield a table per task; nothing unless a model was tested on a source that it was not trained on."""
        for task in results.tasks:
            own = [(name, run, trained) for name, run in results.named(task) if (trained := _trained(results, name))]
            tested = sorted({source for name, _, _ in own for source in _tested(results, name, task)})
            if any(set(_tested(results, name, task)) - set(trained) for name, _, trained in own):
                yield Text(NOTE)
                rows = [_row(results, task, several, tested) for several in _grouped(results, own)]
                rows.sort(key=lambda row: str(row[0]))
                columns: list[str | Column] = ["trained on", "model", "metric"]
                columns += [*(Column(source, "estimate") for source in tested), Column("seeds", "count")]
                columns += [Column("training images", "count")]
                yield table(f"external-{task}", columns, rows, f"{task}: trained on, tested on")


def _trained(results: Results, name: str) -> dict[str, int]:
    known = training(results.outcomes[name])
    return dict(known.sources) if known else {}


def _tested(results: Results, name: str, task: str) -> list[str]:
    return sorted({item.source for item in results.outcomes[name].items.get(task, ())})


def _grouped(results: Results, runs: Sequence[tuple[str, RunScores, dict[str, int]]]) -> list[list[Named]]:
    """Return the runs in groups: the seeds of a series that were trained on the same sources, others alone."""
    series = {name: folder for folder, own in by_series(results).items() for name, _ in own}
    groups: dict[tuple[Path, tuple[tuple[str, int], ...]], list[Named]] = {}
    for name, run, trained in runs:
        groups.setdefault((series.get(name, run.path), tuple(trained.items())), []).append((name, run))
    return list(groups.values())


def _row(results: Results, task: str, runs: list[Named], tested: list[str]) -> list[Cell]:
    """Return the score on each source, the mean of several seeds."""
    (name, run), trained = runs[0], _trained(results, runs[0][0])
    called = name if len(runs) == 1 else Run(run.path.parent).name
    metric = headline_metric(run.scores, task)
    cells: list[Cell] = [_estimate(results, task, metric, runs, source) for source in tested]
    return [", ".join(trained), called, metric, *cells, len(runs), sum(trained.values())]


def _estimate(results: Results, task: str, metric: str, runs: list[Named], source: str) -> Estimate:
    """Return the mean score of runs on a source, with its interval over patients; empty if a run has none."""
    scores = [_score(results, task, metric, name, run, source) for name, run in runs]
    values = [s.value for s in scores if s is not None and s.value is not None]
    if len(values) < len(runs):
        return Estimate(None)
    found = scores[0] if len(runs) == 1 else _mean(results, task, metric, [name for name, _ in runs], source)
    mean = float(np.mean(values))
    return Estimate(mean, found.low, found.high, found.n) if found else Estimate(mean)


def _score(results: Results, task: str, metric: str, name: str, run: RunScores, source: str) -> Score | None:
    """Return the score of a run on a source; the score on all records if they are of one source."""
    own = _tested(results, name, task)
    return run.find(task, metric, "all" if own == [source] else f"source={source}") if source in own else None


def _mean(results: Results, task: str, metric: str, names: list[str], source: str) -> Score | None:
    """Return the mean score of runs on a source; None if they did not answer the same records."""
    from lmod_train.scoring.seeds import mean_scores  # scipy: not for `--help`

    items = [[item for item in results.outcomes[name].items[task] if item.source == source] for name in names]
    means = mean_scores(task, metric, items, results.choices.get(task, ()))
    return next((score for score in means if score.metric == metric), None)
