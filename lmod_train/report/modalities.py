"""Scores by modality and their mean, also over the runs of models trained per modality, as the papers' CNN."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from lmod_train.report.comparisons import merit
from lmod_train.report.headline import grid, interval, number
from lmod_train.report.published import published
from lmod_train.report.runs import Figures
from lmod_train.scoring.headline import headline_metric
from lmod_train.scoring.items import Item
from lmod_train.scoring.macro import macro_mean
from lmod_train.types import Score


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
    runs: Sequence[Figures], names: Sequence[str], items: Mapping[str, Mapping[str, Sequence[Item]]]
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
        scores = [merit(item) for item in pooled if item.modality == modality]
        values[modality] = sum(scores) / len(scores) if held[modality] == 1 else None
    macro = None
    if None not in values.values():
        kinds, groups = [i.modality for i in pooled], [i.group for i in pooled]
        macro = macro_mean(task, "macro", [merit(i) for i in pooled], kinds, groups)[0]
    return AcrossModalities(task, model, len(parts), values, macro)


def modality_table(
    runs: Sequence[Figures], names: Sequence[str], items: Mapping[str, Mapping[str, Sequence[Item]]]
) -> str:
    """Return the table, with a published supervised row per task; empty if there are no rows."""
    rows = across_modalities(runs, names, items)
    printed = [p for p in published() if p.kind == "supervised" and p.modality and p.task in {r.task for r in rows}]
    columns = sorted({m for r in rows for m in r.values} | {p.modality for p in printed} - {"macro"})
    lines = []
    for task in dict.fromkeys(r.task for r in rows):
        metric = headline_metric([s for run in runs for s in run.scores], task)
        for r in (r for r in rows if r.task == task):
            cells = [_cell(r, column) for column in columns]
            mean = [number(r.macro.value), interval(r.macro.low, r.macro.high)] if r.macro else ["-", "-"]
            lines.append([task, r.model, metric, str(r.runs), *cells, *mean])
        own = {p.modality: p for p in printed if p.task == task}
        if own:
            p = next(iter(own.values()))
            cells = [own[m].printed if m in own else "-" for m in (*columns, "macro")]
            lines.append([task, f"{p.model}, published ({p.where})", p.metric, "-", *cells, "-"])
    heads = ["task", "model", "metric", ">runs", *(f">{column}" for column in columns), ">macro", "95 % interval"]
    return grid(heads, lines) if lines else ""


def _cell(row: AcrossModalities, modality: str) -> str:
    if modality not in row.values:
        return "-"
    value = row.values[modality]
    return "several runs" if value is None else number(value)
