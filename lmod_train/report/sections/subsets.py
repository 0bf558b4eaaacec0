"""Scores of subsets: a table of all, and figures by modality, source, condition and stage."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import ClassVar

from lmod_train.core.tables import INTERVAL, SCORE, Cell, Column, Heads, N, table
from lmod_train.core.types import Score
from lmod_train.report.contents import Figure, Part, Text, noted, texts
from lmod_train.report.figures.groups import COLUMNS, group_figure
from lmod_train.report.figures.heat import draw_heat
from lmod_train.report.figures.sheet import MOST
from lmod_train.report.results import Results
from lmod_train.report.section import Section
from lmod_train.scoring.headline_metrics import headline_metric
from lmod_train.scoring.subset_names import cell_of
from lmod_train.tasks.anatomy import IMAGE_TYPES
from lmod_train.tasks.run_scores import RunScores

_TEXTS = texts(__file__)


OF_SOURCES = "CFP"
"""Modality whose sources are compared, as in LMOD's figure 5."""
OF_REGIONS = {"precision": "precision", "recall": "recall", "f1_lmod_plus": "F1", "hr": "HR"}
"""Metric of `lmod_train.scoring.region_scores` -> its name; the panels of LMOD's figure 3 and LMOD+'s figure 2."""
BEST = 5
"""Number of models in these panels, the best by F1, as in the papers; of up to `MOST` runs all."""
OF_STAGES = {"precision": "precision", "recall": "recall", "f1": "F1"}
"""Metric of `lmod_train.scoring.grading` -> its name."""


class Subsets(Section):
    """Figures by modality, source, condition and stage, and the headline score of each subset.

    Kinds and grades of perturbations are left to `robustness`.
    """

    title: ClassVar[str] = "By subset"

    def parts(self, results: Results) -> Iterator[Part]:
        """Yield the figures and the table; nothing if there are no subsets."""
        yield from _by_modality(results)
        for task in results.tasks:
            yield from _of_regions(results, task)
            yield from _by_source(results, task)
            metric = results.metric(task)
            if boxes := list(subset_rows(results, task, "boxes", metric, metric)):
                axis, alt = "number of boxes", _TEXTS["boxes"].format(task)
                yield group_figure(f"boxes-{task}", f"{task} by {axis}", alt, boxes, round=False, axis=axis)
            yield from _heat(results, task, "condition", "score", {metric: f"{task} ({metric})"})
            panels = {metric: f"{task}: {name} by stage" for metric, name in OF_STAGES.items()}
            yield from _heat(results, task, "stage", "precision, recall and F1", panels)
        rows = [row for task, name, run in results.each() for row in _rows(task, name, run)]
        heads: Heads = ["task", "subset", "model", N, SCORE, INTERVAL, Column("chance", "number")]
        yield from noted(_TEXTS["note"], table("subsets", heads, rows))


def _rows(task: str, name: str, run: RunScores) -> Iterator[list[Cell]]:
    metric = headline_metric(run.scores, task)
    for s in run.scores:
        if (s.task, s.metric) == (task, metric) and s.subset != "all" and cell_of(s.subset) is None:
            yield [task, s.subset, name, *_cells(run, s)]


def _cells(run: RunScores, s: Score) -> list[Cell]:
    chance = run.find(s.task, "chance", s.subset)
    return [s.n, s.value, (s.low, s.high), chance.value if chance else None]


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
                yield [panel, name, value, *_cells(run, s)]


def _by_modality(results: Results) -> Iterator[Figure]:
    """Yield ``radar`` of the tasks of three or more modalities, and ``modalities`` of the others."""
    drawn: dict[str, list[list[Cell]]] = {"radar": [], "modalities": []}
    for task in results.tasks:
        metric = results.metric(task)
        panel = f"{task} ({metric})"
        rows = [row for name, run in results.named(task) for row in _of_run(results, task, name, run, metric, panel)]
        drawn["radar" if len({row[2] for row in rows}) > 2 else "modalities"] += rows
    for name, rows in drawn.items():
        if rows:
            yield group_figure(name, "Scores by modality", _TEXTS["modalities"], rows, round=name == "radar")


def _of_regions(results: Results, task: str) -> Iterator[Part]:
    """Yield the figure of precision, recall, F1 and HR by modality, of the best runs by F1; none for other tasks."""
    runs = [
        (name, run, score.value or 0.0)
        for name, run in results.named(task)
        if (score := run.find(task, "f1_lmod_plus"))
    ]
    kept = sorted(runs, key=lambda own: -own[2])[: BEST if len(runs) > MOST else MOST]
    shown_runs = [(name, run) for name, run, _ in runs if name in {best for best, *_ in kept}]
    panels = [(one, metric, panel) for metric, panel in OF_REGIONS.items() for one in shown_runs]
    rows = [row for one, metric, panel in panels for row in _of_run(results, task, *one, metric, panel)]
    shown = {row[2] for row in rows}
    if len(shown) > 1:
        best = f", the {len(kept)} best of {len(runs)} runs by F1" if len(kept) < len(runs) else ""
        title = f"{task} by modality{best}"
        alt = _TEXTS["regions"].format(", ".join(OF_REGIONS.values()), task)
        yield group_figure(f"regions-{task}", title, alt, rows, round=len(shown) > 2)
        if absent := [modality for modality in IMAGE_TYPES if modality not in shown]:
            yield Text(_TEXTS["absent"].format(task, ", ".join(absent)))


def _of_run(results: Results, task: str, name: str, run: RunScores, metric: str, panel: str) -> Iterator[list[Cell]]:
    """Yield a row per modality; for a run of a single modality, the score over all items."""
    found = [s for s in run.scores if (s.task, s.metric) == (task, metric)]
    held = [s for s in found if s.subset.startswith("modality=") and ";" not in s.subset]
    only = {i.modality for i in results.items[name].get(task, ())}
    for s in held or [s for s in found if s.subset == "all" and len(only) == 1]:
        modality = s.subset.removeprefix("modality=") if held else next(iter(only))
        yield [panel, name, modality, *_cells(run, s)]


def _by_source(results: Results, task: str) -> Iterator[Figure]:
    """Yield the figure of a task with several sources of `OF_SOURCES`; those of other modalities too are left out."""
    items = [i for tasks in results.items.values() for i in tasks.get(task, ())]
    sources = {i.source for i in items} - {i.source for i in items if i.modality != OF_SOURCES}
    metric = results.metric(task)
    rows = list(subset_rows(results, task, "source", metric, f"{task} ({metric})", sources))
    if len({row[2] for row in rows}) > 1:
        alt = _TEXTS["sources"].format(task, OF_SOURCES)
        yield group_figure(f"sources-{task}", f"{OF_SOURCES} sources", alt, rows, round=False)


def _heat(results: Results, task: str, key: str, measured: str, panels: dict[str, str]) -> Iterator[Figure]:
    """Yield the heat map of the values of a key, a panel per metric; nothing without scores of them."""
    rows = [row for metric, panel in panels.items() for row in subset_rows(results, task, key, metric, panel)]
    if rows:
        drawn = table(f"{key}s-{task}", COLUMNS, rows)
        yield Figure(drawn.name, f"{task} by {key}", _TEXTS["heat"].format(measured, task, key), drawn, draw_heat)
