"""Scores by the sources that a model was trained on and those that it was tested on."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from lmod_train.report.contents import Cell, Column, Estimate, Part, Text, table
from lmod_train.report.results import Results, RunScores
from lmod_train.report.section import Section
from lmod_train.report.training import training
from lmod_train.scoring.headline import headline_metric

NOTE = """Rows are the sources that a model was trained on, columns those that it was tested on; the last column counts
the training images. A cell of a source in the row's list is an internal validation, the others are external. Intervals
are 95 % intervals over patients."""


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
                rows = [_row(results, task, name, run, trained, tested) for name, run, trained in own]
                rows.sort(key=lambda row: str(row[0]))
                columns: list[str | Column] = ["trained on", "model", "metric"]
                columns += [*(Column(source, "estimate") for source in tested), Column("training images", "count")]
                yield table(f"external-{task}", columns, rows, f"{task}: trained on, tested on")


def _trained(results: Results, name: str) -> dict[str, int]:
    known = training(results.outcomes[name])
    return dict(known.sources) if known else {}


def _tested(results: Results, name: str, task: str) -> list[str]:
    return sorted({item.source for item in results.outcomes[name].items.get(task, ())})


def _row(
    results: Results, task: str, name: str, run: RunScores, trained: dict[str, int], tested: list[str]
) -> list[Cell]:
    """Return the score on each source; the score on all records if they are of one source."""
    metric, own = headline_metric(run.scores, task), _tested(results, name, task)
    scores = [run.find(task, metric, "all" if own == [s] else f"source={s}") if s in own else None for s in tested]
    cells: list[Cell] = [Estimate(s.value, s.low, s.high, s.n) if s else Estimate(None) for s in scores]
    return [", ".join(trained), name, metric, *cells, sum(trained.values())]
