"""Scores by modality and their mean, also over the runs of models trained per modality, as the papers' CNN."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from lmod_train.core.types import Score
from lmod_train.scoring.item_score import item_score
from lmod_train.scoring.items import Item
from lmod_train.scoring.macro import macro_mean
from lmod_train.tasks.run_scores import RunScores


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
