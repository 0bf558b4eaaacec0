"""Scores by modality and their mean."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from lmod_train.core.tables import INTERVAL, MISSING, Cell, Column, Table, table
from lmod_train.core.types import Score
from lmod_train.report.contents import Figure, Part, Text
from lmod_train.report.figures.groups import group_figure
from lmod_train.report.published import Published, published_beside
from lmod_train.report.results import Results
from lmod_train.report.section import Section
from lmod_train.scoring.headline import headline_metric
from lmod_train.scoring.item_score import item_score
from lmod_train.scoring.items import Item
from lmod_train.scoring.macro import macro_mean
from lmod_train.tasks.run_scores import RunScores

NOTE = """The mean gives every modality the same weight. A model with one run per modality has a single row for all
its runs. If each box is given exactly one structure, as by a classifier,
precision, recall and F1 of an image are all equal to the share of its boxes named correctly."""

PUBLISHED = """In comparison with the published CNN, note that
our classifiers choose among the options of the question, which is easier than among all classes of a modality."""

_ALT = "Score of each task and run by modality; radar charts, or bars with intervals and chance."


class Modalities(Section):
    """Scores by modality and their mean, with a published supervised row per task, and figures of them."""

    title: ClassVar[str] = "Macro over modalities"
    name: ClassVar[str] = "modalities"

    def parts(self, results: Results) -> Iterator[Part]:
        """Yield the table of means, if a run or model has several modalities, and the figures."""
        rows = across_modalities(results.runs, results.names, results.items)
        if rows:
            printed = [p for p in published_beside(results, kind="supervised", by_modality=True) if p.modality]
            yield from [Text(NOTE), Text(PUBLISHED)] if printed else [Text(NOTE)]
            yield _table(results, rows, printed)
        yield from _figures(results)


def _figures(results: Results) -> Iterator[Figure]:
    """Yield ``radar`` of the tasks of three or more modalities, and ``modalities`` of the others."""
    drawn: dict[str, list[list[Cell]]] = {"radar": [], "modalities": []}
    for task in results.tasks:
        rows = [row for name, run in results.named(task) for row in _groups(results, task, name, run)]
        drawn["radar" if len({row[2] for row in rows}) > 2 else "modalities"] += rows
    for name, rows in drawn.items():
        if rows:
            yield group_figure(name, "Scores by modality", _ALT, rows, round=name == "radar")


def _groups(results: Results, task: str, name: str, run: RunScores) -> Iterator[list[Cell]]:
    """Yield a row per modality; for a run of a single modality, the score over all items."""
    metric = headline_metric(run.scores, task)
    found = [s for s in run.scores if (s.task, s.metric) == (task, metric)]
    held = [s for s in found if s.subset.startswith("modality=") and ";" not in s.subset]
    only = {i.modality for i in results.items[name].get(task, ())}
    for s in held or [s for s in found if s.subset == "all" and len(only) == 1]:
        chance = run.find(task, "chance", s.subset)
        modality = s.subset.removeprefix("modality=") if held else next(iter(only))
        cells: list[Cell] = [modality, s.n, s.value, (s.low, s.high), chance.value if chance else None]
        yield [f"{task} ({metric})", name, *cells]


def _table(results: Results, rows: Sequence[AcrossModalities], printed: Sequence[Published]) -> Table:
    modalities = sorted({m for r in rows for m in r.values} | {p.modality for p in printed} - {"macro"})
    lines = []
    for task in dict.fromkeys(r.task for r in rows):
        metric = headline_metric([s for run in results.runs for s in run.scores], task)
        lines += [_row(r, metric, modalities) for r in rows if r.task == task]
        own = {p.modality: p for p in printed if p.task == task}
        lines += [_printed(own, modalities)] if own else []
    columns = [Column("runs", "count"), *(Column(m, "number") for m in modalities), Column("macro", "number"), INTERVAL]
    return table("modalities", ["task", "model", "metric", *columns], lines)


def _row(row: AcrossModalities, metric: str, modalities: Sequence[str]) -> list[Cell]:
    cells = [_cell(row, modality) for modality in modalities]
    mean: list[Cell] = [row.macro.value, (row.macro.low, row.macro.high)] if row.macro else [None, MISSING]
    return [row.task, row.model, metric, row.runs, *cells, *mean]


def _printed(own: Mapping[str, Published], modalities: Sequence[str]) -> list[Cell]:
    p = next(iter(own.values()))
    cells = [own[m].printed if m in own else None for m in (*modalities, "macro")]
    return [p.task, f"{p.model}, published ({p.where})", p.metric, None, *cells, MISSING]


def _cell(row: AcrossModalities, modality: str) -> Cell:
    if modality not in row.values:
        return None
    value = row.values[modality]
    return "several runs" if value is None else value


# Scores by modality and their mean, also over the runs of models trained per modality, as the papers' CNN.


@dataclass(frozen=True, slots=True)
class AcrossModalities:
    """Scores of one task by modality.

    Attributes:
        task: Name of the task.
        model: Name of the model, or label of a single run with several modalities.
        runs: Number of runs in the row.
        values: Modality -> mean score; None if several runs have this modality.
        macro: Mean over the modalities, with an interval over patients; None if a value is None.
    """

    task: str
    model: str
    runs: int
    values: dict[str, float | None]
    macro: Score | None


def across_modalities(
    runs: Sequence[RunScores], names: Sequence[str], items: Mapping[str, Mapping[str, Sequence[Item]]]
) -> list[AcrossModalities]:
    """Return a row per run with several modalities, and per model whose runs have a single modality each.

    Scores are those of the headline: strict accuracy, or for regions the mean F1 per image.

    Args:
        runs: The runs.
        names: Their labels, in the same order.
        items: Label -> task -> items.
    """
    found = []
    for task in dict.fromkeys(task for run in runs for task in run.tasks()):
        families: dict[str, list[Sequence[Item]]] = {}
        for run, name in zip(runs, names, strict=True):
            own = items[name].get(task, ())
            if len({i.modality for i in own}) > 1:
                found.append(_across(task, name, [own]))
            elif own:
                families.setdefault(run.model, []).append(own)
        for model, parts in families.items():
            if len({part[0].modality for part in parts}) > 1:
                found.append(_across(task, model, parts))
    return found


def _across(task: str, model: str, parts: Sequence[Sequence[Item]]) -> AcrossModalities:
    held = Counter(modality for part in parts for modality in {i.modality for i in part})
    pooled = [item for part in parts for item in part]
    values: dict[str, float | None] = {}
    for modality in sorted(held):
        scores = [item_score(item) for item in pooled if item.modality == modality]
        values[modality] = sum(scores) / len(scores) if held[modality] == 1 else None
    macro = None
    if None not in values.values():
        kinds, groups = [i.modality for i in pooled], [i.group for i in pooled]
        macro = macro_mean(task, "macro", [item_score(i) for i in pooled], kinds, groups)[0]
    return AcrossModalities(task, model, len(parts), values, macro)
