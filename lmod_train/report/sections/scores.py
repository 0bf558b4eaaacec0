"""The score of each task and run, external validation, label efficiency, and the spread over seeds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from lmod_train.core.artifacts.run import Run
from lmod_train.core.tables import INTERVAL, SCORE, Cell, Column, Estimate, Heads, N, Table, table
from lmod_train.core.types import Score
from lmod_train.report.canvas import COLOURS, LINES, MARKERS
from lmod_train.report.comparisons import by_question, comparable
from lmod_train.report.contents import Figure, Part, Text
from lmod_train.report.figures.dots import COLUMNS, draw_dots
from lmod_train.report.figures.grid import panels_in_grid
from lmod_train.report.figures.lines import Line, distinct, interval, lines, number, parts
from lmod_train.report.figures.wrapped import wrapped
from lmod_train.report.origin import without_patients
from lmod_train.report.results import Results
from lmod_train.report.section import Section
from lmod_train.report.seeds import NOTE, by_series, seeds_table
from lmod_train.report.training import training
from lmod_train.report.warned import warned, warnings_table
from lmod_train.scoring.comparison import paired_difference
from lmod_train.scoring.headline import headline_metric
from lmod_train.scoring.item_score import item_score
from lmod_train.scoring.items import Item
from lmod_train.tasks.headline import headline_rows, headline_table
from lmod_train.tasks.run_scores import RunScores

NOTE_SCORES = """\
The score of each task is its strict one: a reply without a readable answer counts as wrong. {} Chance and
majority class are computed on the same items. `scores.csv` has all metrics."""

ALT = "Score of each task and run as a point with its 95 % interval, beside the scores of chance and majority class."

_PAGE = 40
"""Number of rows that fit on a page."""


class External(Section):
    """Internal and external validation: one table of source against source for each task."""

    title: ClassVar[str] = "Trained on, tested on"
    name: ClassVar[str] = "external"

    def parts(self, results: Results) -> Iterator[Part]:
        """Yield a table per task; nothing unless a model was tested on a source that it was not trained on."""
        for task in results.tasks:
            own = [(name, run, trained) for name, run in results.named(task) if (trained := _trained(results, name))]
            tested = sorted({source for name, _, _ in own for source in _tested(results, name, task)})
            if any(set(_tested(results, name, task)) - set(trained) for name, _, trained in own):
                yield Text(NOTE_EXTERNAL)
                rows = [_row(results, task, several, tested) for several in _grouped(results, own)]
                rows.sort(key=lambda row: str(row[0]))
                columns: list[str | Column] = ["trained on", "model", "metric"]
                columns += [*(Column(source, "estimate") for source in tested), Column("seeds", "count")]
                columns += [Column("training images", "count")]
                yield table(f"external-{task}", columns, rows, f"{task}: trained on, tested on")


class LabelEfficiency(Section):
    """Score against the share of the training split, for models that were trained on several shares."""

    title: ClassVar[str] = "Label efficiency"
    name: ClassVar[str] = "label_efficiency"

    def parts(self, results: Results) -> Iterator[Part]:
        """Yield a figure per task and metric; nothing unless a model was trained on two shares."""
        for task in results.tasks:
            grouped = _grouped_label_efficiency(results, task)
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
                    yield Text(NOTE_LABEL_EFFICIENCY)
                name, title = f"label_efficiency-{task}-{metric}", f"{task}: {metric} by share of the training split"
                yield Figure(
                    name, title, ALT_LABEL_EFFICIENCY.format(task), table(name, HEADS, rows), draw_label_efficiency
                )


# Spread of the scores over the seeds of a training, apart from the intervals over patients.


class Seeds(Section):
    """Mean and standard deviation over seeds, the interval of the mean over patients, and differences of series."""

    title: ClassVar[str] = "Spread over seeds"
    name: ClassVar[str] = "seeds"

    def parts(self, results: Results) -> Iterator[Part]:
        """Yield the tables; nothing without two runs of one series."""
        found = seeds_table(results)
        if found is not None:
            yield Text(NOTE)
            yield found
        differences = differences_table(results)
        if differences is not None:
            yield Text(NOTE_SERIES_DIFFERENCES)
            yield differences


TRAINING = (Seeds(), LabelEfficiency(), External())
"""What is shown below the scores of runs that differ in their training: by seed, share, and sources."""


class Scores(Section):
    """The headline table and its figure, and how the scores depend on seeds and data of the training."""

    title: ClassVar[str] = "Scores of the tasks"
    name: ClassVar[str] = "scores"

    def parts(self, results: Results) -> Iterator[Part]:
        """Yield the headline table and its figure, and the parts of `TRAINING`."""
        found = warned(results)
        yield Text(NOTE_SCORES.format(_clusters(results)))
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


# Scores by the sources that a model was trained on and those that it was tested on.
Named = tuple[str, RunScores]
"""Label and scores of a run."""

NOTE_EXTERNAL = """\
Rows are the sources that a model was trained on, columns those that it was tested on; the last column counts
the training images. A cell of a source in the row's list is an internal validation, the others are external. Intervals
are 95 % intervals over patients. The seeds of a series are one row with their mean score; their standard deviation is
in the table of the spread over seeds."""


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


# Scores of models by the share of the training split that they were trained on.
NOTE_LABEL_EFFICIENCY = """\
Shares of the training split are nested: the records of a smaller one are among those of every larger one. The
score is the mean over the seeds of a share, the interval its 95 % interval over patients, and sd the standard deviation
(n - 1) over seeds. Runs are seeds of one line if their models have the same name and they were tested on the same
items; if there are several sets of items, each line is marked with its own."""

ALT_LABEL_EFFICIENCY = (
    "Score of each model for {} against the share of the training split, on a logarithmic axis, with 95 % intervals."
)

HEADS: Heads = [
    "panel", "model", Column("share", "number"), Column("training images", "count"), Column("seeds", "count"), N, SCORE,
    INTERVAL, Column("sd over seeds", "number"),
]  # fmt: skip

AREA = "auroc_macro"


def _grouped_label_efficiency(results: Results, task: str) -> dict[tuple[str, float], list[tuple[str, RunScores]]]:
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


# Score against the share of the training split, with intervals.
TICKS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1.0)


def draw_label_efficiency(table: Table, out: Path) -> None:
    """Draw a panel for each ``panel``: a line per model over a logarithmic axis of shares.

    Args:
        table: With the columns panel, model, share, score and 95 % interval.
        out: Folder to write to.
    """
    rows = lines(table)
    panels, models = list(parts(rows, "panel")), distinct(rows, "model")
    with panels_in_grid(table, out, len(panels), 1, 3.4, 0.5 + 0.17 * len(models), "", sharey=True) as axes:
        for axis, (name, own) in zip(axes, panels, strict=True):
            _panel(axis, own, models)
            axis.set_title(wrapped(name, 60), fontsize=9)


def _panel(axis: Any, own: list[Line], models: list[str]) -> None:
    for place, model in enumerate(models):
        points = [row for row in own if row["model"] == model]
        shares = [row["share"] * 1.02 ** (place - len(models) / 2) for row in points]  # intervals side by side
        style = {"color": COLOURS[place % len(COLOURS)], "ls": LINES[place % len(LINES)], "lw": 1.5}
        marker = MARKERS[place % len(MARKERS)]
        axis.plot(
            shares, [number(row["score"]) for row in points], marker=marker, ms=5, label=wrapped(model, 40, 1), **style
        )
        for share, row in zip(shares, points, strict=True):
            axis.plot([share, share], interval(row, INTERVAL.head), color=style["color"], lw=1.2)
    axis.set_xscale("log")
    shares = [row["share"] for row in own]
    ticks = [tick for tick in TICKS if min(shares) / 1.5 <= tick <= max(shares) * 1.5]
    axis.set_xticks(ticks, [f"{100 * tick:g} %" for tick in ticks])
    axis.minorticks_off()
    axis.set(xlabel="share of the training split", ylabel="score with 95 % interval", ylim=(0, 1.02))
    axis.grid(color="#e5e5e5", zorder=0)


# Differences between series of seeds, paired on their common items.
NOTE_SERIES_DIFFERENCES = """\
Difference of the mean scores (accuracy, or F1 per image) of two series on their common items; an item counts
by its mean over the seeds of a series. The interval is over patients, with these trainings: an interval that holds 0
means that these patients do not tell the two apart."""

HEADS_SERIES_DIFFERENCES: Heads = [
    "task", "first", "second", Column("n", "count"), Column("difference", "signed"),
    Column("95 % interval over patients", "signed_interval"),
]  # fmt: skip

SeedsSeriesDifferences = Sequence[Mapping[str, Sequence[Item]]]
"""Task -> items, of each seed of a series."""

Merits = Mapping[str, tuple[float, str]]
"""Id of an item -> its mean score over the runs of a series, and its patient."""


def differences_table(results: Results) -> Table | None:
    """Return a row for each task and pair of series of seeds; None without two series of one task."""
    items = comparable(results)
    series = {Run(folder).name: [items[name] for name, _ in runs] for folder, runs in by_series(results).items()}
    rows = [
        row
        for pair in combinations(series, 2)
        for row in _rows_series_differences(*pair, *(series[name] for name in pair))
    ]
    return table("seed_differences", HEADS_SERIES_DIFFERENCES, rows, "Differences between series") if rows else None


def _rows_series_differences(
    first: str, second: str, ours: SeedsSeriesDifferences, theirs: SeedsSeriesDifferences
) -> Iterator[list[Cell]]:
    for task in sorted(set.intersection(*(set(run) for run in (*ours, *theirs)))):
        one, two = (mean_merits([run[task] for run in runs]) for runs in (ours, theirs))
        if common := sorted(one.keys() & two.keys()):
            values, groups = zip(*(one[i] for i in common), strict=True)
            gap = paired_difference(task, values, [two[i][0] for i in common], groups)
            yield [task, first, second, gap.n, gap.value, (gap.low, gap.high)]


def mean_merits(runs: Sequence[Sequence[Item]]) -> Merits:
    """Return the mean score over runs of each item that all of them have.

    Args:
        runs: Items of each run.
    """
    asked = [by_question(items) for items in runs]
    common = set.intersection(*(set(items) for items in asked))
    return {i: (float(np.mean([item_score(items[i]) for items in asked])), asked[0][i].group) for i in common}
