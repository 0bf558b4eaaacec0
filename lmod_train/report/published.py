"""Published scores of the papers, measured on real data, for comparison with the scores of runs."""

from __future__ import annotations

import csv
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from lmod_train.report.results import RunScores


@dataclass(frozen=True, slots=True)
class Published:
    """One published score: one row of ``published.csv``.

    Attributes:
        task: Name of the task in this package.
        chance: Accuracy of guessing, if the paper's choices differ from the task's; otherwise None.
        modality: Modality of the score, ``macro`` for the mean of modalities, empty for all together.
        kind: ``supervised`` or ``zero-shot``.
        model: Model in the paper, or the kind of mean over models.
        metric: Metric in the paper.
        ours: Most similar metric of this package.
        value: Score in [0, 1].
        where: Paper and table.
        note: Remark needed to interpret the score.
    """

    task: str
    chance: float | None
    modality: str
    kind: str
    model: str
    metric: str
    ours: str
    value: float
    where: str
    note: str

    @property
    def printed(self) -> str:
        """The score with four decimals, as in the papers."""
        return f"{self.value:.4f}"

    @property
    def line(self) -> str:
        """The score in a sentence."""
        mean = "macro " if self.modality == "macro" else f"{self.modality} " if self.modality else ""
        note = f" ({self.note})" if self.note else ""
        return f"published ({self.where}), on real data: {self.model}, {mean}{self.metric} " + (f"{self.printed}{note}")


@cache
def published() -> tuple[Published, ...]:
    """Return all published scores in the package."""
    with Path(__file__).with_name("published.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    return tuple(
        Published(**row | {"chance": float(row["chance"]) if row["chance"] else None, "value": float(row["value"])})  # type: ignore[arg-type]
        for row in rows
    )


def published_beside(runs: Sequence[RunScores], drawn: Collection[str] = ()) -> list[Published]:
    """Return the published scores for the tasks of runs, without those of a single modality.

    Args:
        runs: The runs.
        drawn: Tasks with records of phantoms, which are left out, as published scores are of real eyes.
    """
    found = []
    for task in dict.fromkeys(task for run in runs for task in run.tasks() if task not in drawn):
        chances = [s.value for run in runs for s in [run.find(task, "chance")] if s and s.value is not None]
        for p in published():
            fits = p.chance is None or any(abs(p.chance - chance) < 1e-6 for chance in chances)
            if p.task == task and fits and p.modality in ("", "macro"):
                found.append(p)
    return found
