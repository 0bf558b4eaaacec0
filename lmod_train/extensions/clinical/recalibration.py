"""Brier score and calibration error on test records, before and after recalibration on validation records."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import ClassVar

import numpy as np

from lmod_train.core.tables import Cell, Estimate, table
from lmod_train.core.types import Score
from lmod_train.extensions.clinical.chosen_on import (
    ClassProbabilities,
    Evaluated,
    class_probabilities,
    evaluated,
    of_runs,
)
from lmod_train.extensions.clinical.operating import place_of
from lmod_train.report.contents import Part, Remark, Text, heads, texts
from lmod_train.report.results import Results
from lmod_train.report.section import Section
from lmod_train.scoring.calibration import (
    calibration_columns,
    calibration_measures,
    isotonic_of,
    temperature_of,
    with_isotonic,
    with_temperature,
)
from lmod_train.scoring.intervals import Columns, Floats, compute_scores, share_measure
from lmod_train.scoring.seeds import mean_over_runs

_TEXTS, _HEADS = texts(__file__), heads(__file__)["heads"]

ABSENT = "{}: no isotonic calibration of {}, as a choice is not the answer to any of its validation records"

Fitted = tuple[str, Callable[[Floats], Floats]]
"""How probabilities were fitted, and the function that applies it."""


class Recalibration(Section):
    """Temperature scaling and isotonic calibration, fitted on validation records and applied to test records."""

    title: ClassVar[str] = "Recalibration"
    name: ClassVar[str] = "recalibration"

    def parts(self, results: Results) -> Iterator[Part]:
        """Yield the table, and a remark where a curve cannot be fitted; nothing without validation and test records."""
        found = [(task, own) for task in results.choices for own in evaluated(results, task) if not own.missing]
        rows = [row for task, own in found for row in _rows(task, own, results.choices[task])]
        if rows:
            yield Text(_TEXTS["note"])
            yield table("recalibration", _HEADS, rows)
        lacking = [(own.name, task) for task, own in found if not _complete(_validation(own, results.choices[task]))]
        yield from (Remark(ABSENT.format(name, task)) for name, task in lacking)


def _rows(task: str, own: Evaluated, classes: Sequence[str]) -> Iterator[list[Cell]]:
    """Yield a row for the stored probabilities, and one for each way of fitting them; none without common items."""
    test = of_runs(own.test, classes)
    for how, each in recalibrated(_validation(own, classes), test) if test else ():
        brier, ece, change = calibration_change(task, test, each)
        ends: list[Cell] = [None, None] if how == STORED else [change.value, (change.low, change.high)]
        on = "" if how == STORED else f"{place_of(own)}: {min(len(v.ids) for v in _validation(own, classes))}"
        yield [task, own.name, how, on, brier.n, Estimate.of(brier), ece.value, *ends]


STORED = "as stored"


def _validation(own: Evaluated, classes: Sequence[str]) -> list[ClassProbabilities]:
    return [class_probabilities(items, classes) for items in own.validation]


def _complete(validation: Sequence[ClassProbabilities]) -> bool:
    """Return whether every class is the truth of a validation item of every run."""
    return all(len(set(one.truths.tolist())) == one.probabilities.shape[1] for one in validation)


def recalibrated(
    validation: Sequence[ClassProbabilities], test: Sequence[ClassProbabilities]
) -> Iterator[tuple[str, list[Floats]]]:
    """Yield how the test probabilities of each run were made, and they: as stored, then fitted on validation items.

    Args:
        validation: Validation items of each run, which alone are fitted on.
        test: Test items of each run.
    """
    stored = [own.probabilities for own in test]
    yield STORED, stored
    if not all(len(own.ids) for own in validation):
        return
    temperatures = [temperature_of(own.truths, own.probabilities) for own in validation]
    low, high = (f"{t:.2f}" for t in (min(temperatures), max(temperatures)))
    named = f"temperature {low}" if low == high else f"temperature {low} to {high}"
    yield named, [with_temperature(p, t) for p, t in zip(stored, temperatures, strict=True)]
    if _complete(validation):
        curves = [isotonic_of(own.truths, own.probabilities) for own in validation]
        yield "isotonic", [with_isotonic(p, own) for p, own in zip(stored, curves, strict=True)]


def calibration_change(
    task: str, test: Sequence[ClassProbabilities], each: Sequence[Floats]
) -> tuple[Score, Score, Score]:
    """Return Brier score and calibration error of probabilities, and how much the Brier score differs from the stored.

    Args:
        task: Name of the task.
        test: The same test items of each run, with the stored probabilities.
        each: Other probabilities of these items, of each run.
    """
    own = [_columns(run, probabilities) for run, probabilities in zip(test, each, strict=True)]
    stacked = {name: np.stack([columns[name] for columns in own], axis=-1) for name in own[0]}
    brier, ece = calibration_measures(each[0].shape[1])
    least, worst = brier.bounds({})
    change = share_measure("brier_change", "change", bounds=lambda _: (least - worst, worst - least))
    measures = [mean_over_runs(measure, len(each)) for measure in (brier, ece, change)]
    scores = compute_scores(task, "all", stacked, test[0].groups, measures)
    return scores[0], scores[1], scores[2]


def _columns(run: ClassProbabilities, probabilities: Floats) -> Columns:
    before, after = (calibration_columns(run.truths, p) for p in (run.probabilities, probabilities))
    return {**after, "change": after["brier"] - before["brier"]}
