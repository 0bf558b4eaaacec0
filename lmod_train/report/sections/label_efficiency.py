"""Scores of models by the share of the training split that they were trained on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import ClassVar

import numpy as np

from lmod_train.core.tables import INTERVAL, SCORE, Cell, Column, Heads, N, table
from lmod_train.report.contents import Figure, Part, Text
from lmod_train.report.figures.label_efficiency import draw_label_efficiency
from lmod_train.report.results import Results
from lmod_train.report.section import Section
from lmod_train.report.training import training
from lmod_train.scoring.headline import headline_metric
from lmod_train.tasks.run_scores import RunScores

NOTE = """Shares of the training split are nested: the records of a smaller one are among those of every larger one. The
score is the mean over the seeds of a share, the interval its 95 % interval over patients, and sd the standard deviation
(n - 1) over seeds. Runs are seeds of one line if their models have the same name and they were tested on the same
items; if there are several sets of items, each line is marked with its own."""
ALT = "Score of each model for {} against the share of the training split, on a logarithmic axis, with 95 % intervals."
HEADS: Heads = [
    "panel", "model", Column("share", "number"), Column("training images", "count"), Column("seeds", "count"), N, SCORE,
    INTERVAL, Column("sd over seeds", "number"),
]  # fmt: skip
AREA = "auroc_macro"


class LabelEfficiency(Section):
    """Score against the share of the training split, for models that were trained on several shares."""

    title: ClassVar[str] = "Label efficiency"

    def parts(self, results: Results) -> Iterator[Part]:
        """Yield a figure per task and metric; nothing unless a model was trained on two shares."""
        for task in results.tasks:
            grouped = _grouped(results, task)
            several = {model for model, _ in grouped if sum(own == model for own, _ in grouped) > 1}
            runs = [run for own in grouped.values() for _, run in own]
            metrics = [headline_metric(run.scores, task) for run in runs[:1]] if several else []
            for metric in (*metrics, *([AREA] if metrics and all(run.find(task, AREA) for run in runs) else [])):
                rows = [
                    [f"{task} ({metric})", model, share, *_cells(results, task, metric, own)]
                    for (model, share), own in sorted(grouped.items())
                    if model in several
                ]
                if metric != AREA:
                    yield Text(NOTE)
                name, title = f"label_efficiency-{task}-{metric}", f"{task}: {metric} by share of the training split"
                yield Figure(name, title, ALT.format(task), table(name, HEADS, rows), draw_label_efficiency)


def _grouped(results: Results, task: str) -> dict[tuple[str, float], list[tuple[str, RunScores]]]:
    """Return line and share -> label and scores of its seeds; a line is a model on one set of test items."""
    known = [(name, run, own) for name, run in results.named(task) if (own := training(results.outcomes[name]))]
    asked = {name: frozenset(item.id for item in results.outcomes[name].items[task]) for name, _, _ in known}
    sets = list(dict.fromkeys(asked.values()))
    grouped: dict[tuple[str, float], list[tuple[str, RunScores]]] = {}
    for name, run, own in known:
        line = run.called if len(sets) == 1 else f"{run.called} (test set {sets.index(asked[name]) + 1})"
        grouped.setdefault((line, own.share), []).append((name, run))
    return grouped


def _cells(results: Results, task: str, metric: str, own: Sequence[tuple[str, RunScores]]) -> list[Cell]:
    """Return training images, seeds, n, mean, interval and standard deviation of the seeds of one share."""
    from lmod_train.scoring.seeds import mean_scores  # scipy: not for `--help`

    names, scores = [name for name, _ in own], [run.find(task, metric) for _, run in own]
    values = [score.value for score in scores if score is not None and score.value is not None]
    known = training(results.outcomes[names[0]])
    items = [results.outcomes[name].items[task] for name in names]
    means = mean_scores(task, metric, items, results.choices.get(task, ())) if len(own) > 1 else scores
    mean = next((score for score in means if score is not None and score.metric == metric), None)
    ends: Cell = (mean.low, mean.high) if mean else None
    sd = float(np.std(values, ddof=1)) if len(values) > 1 else None
    count: list[Cell] = [known.images if known else None, len(own), mean.n if mean else None]
    return [*count, float(np.mean(values)) if values else None, ends, sd]
