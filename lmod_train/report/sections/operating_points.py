"""Sensitivity and specificity on test records, at thresholds that were chosen on validation records."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

import numpy as np

from lmod_train.core.tables import Cell, Column, Estimate, Heads, table
from lmod_train.core.types import Score
from lmod_train.report.chosen_on import Evaluated, evaluated
from lmod_train.report.contents import Part, Remark, Text
from lmod_train.report.results import Results
from lmod_train.report.section import Section

NOTE = """Each class against the rest; of two choices, the first is the positive class. A threshold is chosen on
validation records: of those that reach the fixed specificity (or sensitivity) there, the one with the largest
sensitivity (specificity); test records have no part in it. Both values are those reached on test records, and the fixed
one is reached there only nearly. Intervals are 95 % intervals over test patients and hold for the chosen threshold:
they leave out how much it would differ on other validation patients. "Chosen on" counts validation records of the class
and of the rest; where one kind is missing, there is no threshold."""
SEEDS = """Of a series, each seed has a threshold of its own, chosen on its own validation likelihoods. Values are means
over the seeds with the interval of the mean over patients; sd is the standard deviation (n - 1) over seeds, which is no
part of it."""
HEADS: Heads = [
    "task", "model", "class", "fixed on validation", Column("threshold", "number"), "chosen on",
    Column("sensitivity", "estimate"), Column("specificity", "estimate"),
]  # fmt: skip
SPREAD: Heads = [
    Column("seeds", "count"), Column("sd of sensitivity over seeds", "number"),
    Column("sd of specificity over seeds", "number"),
]  # fmt: skip
NO_FLAG = "none flagged"
"""Threshold if no validation record may be flagged."""


class OperatingPoints(Section):
    """Sensitivity at fixed specificity, and specificity at fixed sensitivity, with the thresholds."""

    title: ClassVar[str] = "Operating points"

    def parts(self, results: Results) -> Iterator[Part]:
        """Yield the table, and a remark for each model without thresholds; nothing if no run has likelihoods."""
        found = [(task, own) for task in results.choices for own in evaluated(results, task)]
        rows = [row for task, own in found if not own.missing for row in _rows(results, task, own)]
        spread = SPREAD if any(row[len(HEADS)] for row in rows) else []
        if rows:
            yield Text(NOTE)
            yield from [Text(SEEDS)] if spread else []
            heads = [*HEADS, *spread]
            yield table("operating_points", heads, [row[: len(heads)] for row in rows])
        yield from (Remark(own.missing) for _, own in found if own.missing)
        yield from (Remark(_shared(task, own)) for task, own in found if own.shared)


def _shared(task: str, own: Evaluated) -> str:
    return (
        f"{own.name}: {own.shared} patients have validation and test records of {task}; the values reached on test are "
        "too near to those on validation"
    )


def _rows(results: Results, task: str, own: Evaluated) -> Iterator[list[Cell]]:
    """Yield the rows of one model, with the cells of `SPREAD`, which are empty for a single run."""
    from lmod_train.scoring.operating import operating_points  # scipy: not for `--help`

    several = len(own.runs) > 1
    for point in operating_points(task, own.validation, own.test, results.choices[task]):
        counts = f"{_place(own)}: {point.positives} + {point.negatives}"
        reached: list[Cell] = [_estimate(point.sensitivity), _estimate(point.specificity)]
        sds = np.std(point.each, axis=0, ddof=1).tolist() if len(point.each) > 1 else [np.nan] * 2
        spread = [None if np.isnan(sd) else sd for sd in sds]
        first: list[Cell] = [task, own.name, point.label, f"{point.fixed} {point.level:.2f}"]
        yield [*first, _threshold(point.thresholds), counts, *reached, len(own.runs) if several else None, *spread]


def _place(own: Evaluated) -> str:
    """Return where the validation records of a model are from."""
    if own.chosen_on == own.runs:
        return "same run" if len(own.runs) == 1 else "same runs"
    return own.chosen_on[0] if len(own.runs) == 1 else f"{len(set(own.chosen_on))} runs"


def _threshold(thresholds: tuple[float, ...]) -> Cell:
    """Return one threshold as a number, several as least and largest."""
    if not thresholds:
        return None
    texts = [NO_FLAG if np.isinf(t) else f"{t:.3f}" for t in (min(thresholds), max(thresholds))]
    if len(thresholds) == 1:
        return thresholds[0] if np.isfinite(thresholds[0]) else NO_FLAG
    return texts[0] if texts[0] == texts[1] else " to ".join(texts)


def _estimate(score: Score) -> Estimate:
    return Estimate(score.value, score.low, score.high, score.n)
