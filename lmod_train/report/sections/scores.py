"""The score of each task and run, external validation, label efficiency, and the spread over seeds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import combinations
from pathlib import Path
from typing import ClassVar

import numpy as np

from lmod_train.core.artifacts.run import Run
from lmod_train.core.tables import SCORE, Cell, Column, Estimate, Heads, Table, table
from lmod_train.core.types import Score
from lmod_train.report.contents import Figure, Part, Text, heads, noted, texts
from lmod_train.report.figures.against import draw_against
from lmod_train.report.figures.dots import COLUMNS, draw_dots
from lmod_train.report.figures.heat import HEADS as HEADS_OF_HEAT
from lmod_train.report.figures.heat import draw_heat
from lmod_train.report.figures.sheet import MOST
from lmod_train.report.origin import without_patients
from lmod_train.report.paired_runs import comparable
from lmod_train.report.results import Results
from lmod_train.report.section import Section
from lmod_train.report.seed_spread import NOTE, by_series, seeds_table
from lmod_train.report.training import training
from lmod_train.report.warned import warned, warnings_table
from lmod_train.scoring.comparison import paired_difference
from lmod_train.scoring.headline_metrics import direction, headline_metric
from lmod_train.scoring.item_score import item_score
from lmod_train.scoring.items import Item
from lmod_train.tasks.headline import headline_rows, headline_table
from lmod_train.tasks.run_scores import RunScores

_TEXTS, _HEADS = texts(__file__), heads(__file__)


ALT = "Score of each task and run as a point with its 95 % interval, beside the scores of chance and majority class."

_PAGE = 40
"""Number of rows that fit on a page."""


class Scores(Section):
    """The headline table and its figure, and how the scores depend on seeds and data of the training."""

    title: ClassVar[str] = "Scores of the tasks"
    name: ClassVar[str] = "scores"

    def parts(self, results: Results) -> Iterator[Part]:
        """Yield the headline table and its figure, and how scores depend on seed, share and sources of the training."""
        found = warned(results)
        yield Text(_TEXTS["scores"].format(_clusters(results)))
        yield headline_table(headline_rows(results.runs, found))
        yield from filter(lambda shown: shown.rows, [warnings_table(results, found)])
        yield from _figures(results)
        yield from noted(NOTE, seeds_table(results))
        yield from noted(_TEXTS["series_differences"], differences_table(results))
        yield from label_efficiency(results)
        yield from external(results)


def _clusters(results: Results) -> str:
    """Return what intervals are over, in a sentence; images stand for patients in a source that states none."""
    bare = sorted(set().union(*map(without_patients, results.outcomes.values())))
    if not bare:
        return "Intervals are clustered by patient."
    state = "states" if len(bare) == 1 else "state"
    over = f"over images and not over patients for {', '.join(bare)}, which {state} no patients."
    return f"Intervals are clustered by patient, but {over}"


def _figures(results: Results) -> Iterator[Figure]:
    """Yield one figure of all tasks, or one per task if they do not fit on a page; of many models a heat map too."""
    rows = [row for task, name, run in results.each() for row in _rows(task, name, run)]
    if len(results.tasks) > 1 and len(results.names) > MOST:
        shares = [["", row[1], row[0], row[4]] for row in rows if direction(str(row[2])) > 0]
        drawn = table("heatmap", [*HEADS_OF_HEAT, SCORE], shares, "Scores of models by task")
        yield Figure(drawn.name, drawn.title, _TEXTS["alt_heat"], drawn, draw_heat)
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


def external(results: Results) -> Iterator[Part]:
    """Yield a table of source against source per task, unless no model was tested on a source it was not trained on."""
    for task in results.tasks:
        own = [(name, run, trained) for name, run in results.named(task) if (trained := _trained(results, name))]
        tested = sorted({source for name, _, _ in own for source in _tested(results, name, task)})
        if any(set(_tested(results, name, task)) - set(trained) for name, _, trained in own):
            rows = sorted((_row(results, task, several, tested) for several in _grouped(results, own)), key=_first)
            sources = [Column(source, "estimate") for source in tested]
            counts = [Column("seeds", "count"), Column("training images", "count")]
            columns: Heads = ["trained on", "model", "metric", *sources, *counts]
            shown = table(f"external-{task}", columns, rows, f"{task}: trained on, tested on")
            yield from noted(_TEXTS["external"], shown)


def _first(row: Sequence[Cell]) -> str:
    return str(row[0])


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
HEADS: Heads = _HEADS["heads"]

AREA = "auroc_macro"


def label_efficiency(results: Results) -> Iterator[Part]:
    """Yield a figure per task and metric of the models that were trained on several shares of the training split."""
    for task in results.tasks:
        grouped = _by_share(results, task)
        several = {model for model, _ in grouped if sum(own == model for own, _ in grouped) > 1}
        runs = [run for own in grouped.values() for _, run in own]
        metrics = [headline_metric(run.scores, task) for run in runs[:1]] if several else []
        metrics += [AREA] if metrics and all(run.find(task, AREA) for run in runs) else []
        yield from [Text(_TEXTS["label_efficiency"])] if metrics else []
        for metric in metrics:
            rows = [
                [f"{task} ({metric})", model, share, *_cells(results, task, metric, own)]
                for (model, share), own in sorted(grouped.items())
                if model in several
            ]
            drawn = table(f"label_efficiency-{task}-{metric}", HEADS, rows)
            title = f"{task}: {metric} by share of the training split"
            alt = _TEXTS["alt_label_efficiency"].format(task)
            yield Figure(drawn.name, title, alt, drawn, draw_label_efficiency)


draw_label_efficiency = partial(
    draw_against,
    x="share",
    line="model",
    axis="share of the training split, in %",
    ticks=(0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1.0),
)


def _by_share(results: Results, task: str) -> dict[tuple[str, float], list[tuple[str, RunScores]]]:
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


# Differences between series of seeds, paired on their common items.
Merits = Mapping[str, tuple[float, str]]
"""Id of an item -> its mean score over the runs of a series, and its patient."""


def differences_table(results: Results) -> Table:
    """Return a row for each task and pair of series of seeds."""
    series = {Run(folder).name: [name for name, _ in runs] for folder, runs in by_series(results).items()}
    rows: list[list[Cell]] = []
    for pair in combinations(series, 2):
        for task, runs in sorted(comparable(results).items()):
            members = [runs.get(name) for one in pair for name in series[one]]
            if all(members) and len({own.constrained for own in members if own}) == 1:
                ours, theirs = (mean_merits([runs[name].items for name in series[one]]) for one in pair)
                if common := sorted(ours.keys() & theirs.keys()):
                    values, groups = zip(*(ours[i] for i in common), strict=True)
                    gap = paired_difference(task, values, [theirs[i][0] for i in common], groups)
                    rows.append([task, *pair, gap.n, gap.value, (gap.low, gap.high)])
    return table("seed_differences", _HEADS["series_differences"], rows, "Differences between series")


def mean_merits(runs: Sequence[Mapping[str, Item]]) -> Merits:
    """Return the mean score over runs of each item that all of them have.

    Args:
        runs: Items of each run by question.
    """
    common = set.intersection(*map(set, runs))
    return {i: (float(np.mean([item_score(items[i]) for items in runs])), runs[0][i].group) for i in common}
