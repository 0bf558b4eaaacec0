"""What the papers printed, to stand beside what was measured here: facts of their tables, on the real data."""

from __future__ import annotations

import csv
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from lmod_train.report.headline import grid
from lmod_train.report.runs import Figures

SAID = "Printed by the papers for their own runs on the real data, none of it measured here."


@dataclass(frozen=True, slots=True)
class Published:
    """One printed figure: one row of ``published.csv``.

    Attributes:
        task: Our name of the task.
        chance: Chance of a right guess where the paper's choices were not always the task's; None where they were.
        modality: Of a figure about one modality, ``macro`` for their mean, empty for all.
        kind: ``supervised`` or ``zero-shot``.
        model: As the paper names it; or which mean.
        metric: As the paper names it.
        ours: The nearest of our own figures.
        value: In [0, 1].
        where: Paper and table.
        note: What must be known to read it.
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
        """The value to the four decimals that the papers have."""
        return f"{self.value:.4f}"

    @property
    def line(self) -> str:
        """The figure in a sentence."""
        mean = "macro " if self.modality == "macro" else f"{self.modality} " if self.modality else ""
        note = f" ({self.note})" if self.note else ""
        return f"published ({self.where}), on the real data, not ours: {self.model}, {mean}{self.metric} " + (
            f"{self.printed}{note}"
        )


@cache
def published() -> tuple[Published, ...]:
    """Return every printed figure that comes with the package."""
    with Path(__file__).with_name("published.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    return tuple(
        Published(**row | {"chance": float(row["chance"]) if row["chance"] else None, "value": float(row["value"])})  # type: ignore[arg-type]
        for row in rows
    )


def published_beside(runs: Sequence[Figures], drawn: Collection[str] = ()) -> list[Published]:
    """Return the printed figures of the tasks that runs have, tasks in their order; those of one modality left out.

    Args:
        runs: The runs.
        drawn: Tasks that were asked of phantoms; they have none, as what is printed is of eyes.
    """
    found = []
    for task in dict.fromkeys(task for run in runs for task in run.tasks() if task not in drawn):
        chances = [s.value for run in runs for s in [run.find(task, "chance")] if s and s.value is not None]
        for p in published():
            fits = p.chance is None or any(abs(p.chance - chance) < 1e-6 for chance in chances)
            if p.task == task and fits and p.modality in ("", "macro"):
                found.append(p)
    return found


def published_table(runs: Sequence[Figures], drawn: Collection[str] = ()) -> str:
    """Return these figures as a table that reads well in a terminal and is Markdown too; empty where there is none."""
    lines = [
        [p.task, p.model, f"{p.modality} {p.metric}".strip(), p.printed, p.ours, p.where, p.note]
        for p in published_beside(runs, drawn)
    ]
    heads = ["task", "published, not ours", "metric", ">score", "nearest of ours", "where", "note"]
    return grid(heads, lines) if lines else ""
