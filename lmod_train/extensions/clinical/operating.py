"""Sensitivity and specificity on test records, at thresholds chosen on validation records: scores and section."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from lmod_train.core.tables import Cell, Estimate, table
from lmod_train.core.types import Score
from lmod_train.extensions.clinical.chosen_on import (
    ClassProbabilities,
    Evaluated,
    class_probabilities,
    evaluated,
    of_runs,
)
from lmod_train.report.contents import Part, Remark, Text, heads, texts
from lmod_train.report.results import Results
from lmod_train.report.section import Section
from lmod_train.scoring.intervals import Columns, Floats, compute_scores, share_measure
from lmod_train.scoring.items import Item
from lmod_train.scoring.probability import curve_classes
from lmod_train.scoring.ranking import rank
from lmod_train.scoring.seeds import mean_over_runs

_TEXTS, _HEADS = texts(__file__), heads(__file__)

NO_FLAG = "none flagged"
"""Threshold if no validation record may be flagged."""


class OperatingPoints(Section):
    """Sensitivity at fixed specificity, and specificity at fixed sensitivity, with the thresholds."""

    title: ClassVar[str] = "Operating points"
    name: ClassVar[str] = "operating_points"

    def parts(self, results: Results) -> Iterator[Part]:
        """Yield the table, and a remark for each model without thresholds; nothing if no run has likelihoods."""
        found = [(task, own) for task in results.choices for own in evaluated(results, task)]
        rows = [row for task, own in found if not own.missing for row in _rows(results, task, own)]
        spread = _HEADS["spread"] if any(row[len(_HEADS["heads"])] for row in rows) else []
        if rows:
            yield Text(_TEXTS["note"])
            yield from [Text(_TEXTS["seeds"])] if spread else []
            heads = [*_HEADS["heads"], *spread]
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
    several = len(own.runs) > 1
    for point in operating_points(task, own.validation, own.test, results.choices[task]):
        counts = f"{place_of(own)}: {point.positives} + {point.negatives}"
        reached: list[Cell] = [Estimate.of(point.sensitivity), Estimate.of(point.specificity)]
        sds = np.std(point.each, axis=0, ddof=1).tolist() if len(point.each) > 1 else [np.nan] * 2
        spread = [None if np.isnan(sd) else sd for sd in sds]
        first: list[Cell] = [task, own.name, point.label, f"{point.fixed} {point.level:.2f}"]
        yield [*first, _threshold(point.thresholds), counts, *reached, len(own.runs) if several else None, *spread]


def place_of(own: Evaluated) -> str:
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


# Operating points: thresholds chosen on validation items, sensitivity and specificity reached on test items.
Fixed = Literal["specificity", "sensitivity"]
"""What has to reach a level on the validation items; the other one is the largest possible."""

FIXED: tuple[Fixed, ...] = ("specificity", "sensitivity")

LEVELS = (0.85, 0.90, 0.95)
"""Levels that are fixed."""

MEASURES = (share_measure("sensitivity", "caught", "positive"), share_measure("specificity", "passed", "negative"))


@dataclass(frozen=True, slots=True)
class OperatingPoint:
    """One class against the rest at thresholds chosen on validation items, one for each run.

    Attributes:
        label: The class; items with at least the threshold as its probability are flagged.
        fixed: What reached `level` on the validation items.
        level: The level, in (0, 1].
        thresholds: One per run, infinite if no item may be flagged; empty if validation items of the class or of the
            rest are missing.
        positives: Validation items of the class, of the run with the fewest.
        negatives: Validation items of the rest, of the run with the fewest.
        sensitivity: Mean over the runs on test items, with its interval over patients for these thresholds.
        specificity: Likewise.
        each: Sensitivity and specificity of each run on the test items, (runs, 2).
    """

    label: str
    fixed: Fixed
    level: float
    thresholds: tuple[float, ...]
    positives: int
    negatives: int
    sensitivity: Score
    specificity: Score
    each: Floats


def operating_points(
    task: str,
    validation: Sequence[Sequence[Item]],
    test: Sequence[Sequence[Item]],
    choices: Sequence[str],
    positive: str | None = None,
    levels: Sequence[float] = LEVELS,
) -> list[OperatingPoint]:
    """Return sensitivity at fixed specificity, and specificity at fixed sensitivity, of each class against the rest.

    Thresholds are those of `threshold_at` on the validation items of each run. Intervals are clustered by patient and
    hold for the chosen thresholds: they contain what other test patients would change, not what other validation
    patients would. With several runs, every item counts by its mean over them, as in `mean_scores`.

    Args:
        task: Name of the task.
        validation: Validation items of each run; those without likelihoods are left out.
        test: Test items of each run, the same ones in the same order, with likelihoods in the same ones.
        choices: The classes.
        positive: The class of a yes-or-no question; see `curve_classes`.
        levels: Levels to fix, in (0, 1].

    Returns:
        For each class, points of each fixed specificity, then of each fixed sensitivity. Scores have no value and n = 0
        without a threshold, without test items of their kind, or if the test items of the runs differ.

    Example:
        >>> def scored(id, p, truth):
        ...     return Item(id, "answered", "yes", truth, likelihoods={"yes": np.log(p), "no": np.log(1 - p)}, group=id)
        >>> known = [scored("a", 0.9, "yes"), scored("b", 0.6, "yes"), scored("c", 0.4, "no"), scored("d", 0.2, "no")]
        >>> unseen = [scored("e", 0.7, "yes"), scored("f", 0.5, "yes")]
        >>> point = operating_points("demo", [known], [unseen], ("yes", "no"))[0]
        >>> round(point.thresholds[0], 3), point.sensitivity.value, point.specificity.n
        (0.6, 0.5, 0)
    """
    chosen_on = [class_probabilities(items, choices) for items in validation]
    applied_to = of_runs(test, choices)
    return [
        _point(task, chosen_on, applied_to, (choices[place], place), fixed, level)
        for place in curve_classes(choices, positive)
        for fixed in FIXED
        for level in levels
    ]


def _point(
    task: str,
    validation: Sequence[ClassProbabilities],
    test: Sequence[ClassProbabilities],
    named: tuple[str, int],
    fixed: Fixed,
    level: float,
) -> OperatingPoint:
    label, place = named
    found = [threshold_at(*own.of_class(place), fixed, level) for own in validation]
    thresholds = tuple(t for t in found if t is not None)
    thresholds = thresholds if len(thresholds) == len(found) else ()
    true = [own.of_class(place)[1] for own in validation]
    of_class, of_rest = (min((int(np.sum(t == kind)) for t in true), default=0) for kind in (True, False))
    (sensitivity, specificity), each = _reached(task, place, thresholds, test)
    return OperatingPoint(label, fixed, level, thresholds, of_class, of_rest, sensitivity, specificity, each)


def threshold_at(probabilities: Floats, true: NDArray[np.bool_], fixed: Fixed, level: float) -> float | None:
    """Return the threshold that fixes specificity or sensitivity at a level or above, and has the most of the other.

    Items with at least the threshold as their probability are flagged, so that items of equal probability stay
    together. Thresholds are the distinct probabilities, and infinity, which flags none: the corners of the ROC curve.
    Of several with as much of the other, the one with the most of what is fixed is taken.

    Args:
        probabilities: Probability of the class, (items).
        true: Whether the item is of the class, (items).
        fixed: What has to reach `level`.
        level: In (0, 1].

    Returns:
        The threshold; None unless there are items of the class and of the rest.

    Example:
        >>> probabilities, true = np.array([0.9, 0.7, 0.7, 0.2]), np.array([True, True, False, False])
        >>> [threshold_at(probabilities, true, "specificity", level) for level in (0.5, 0.9)]
        [0.7, 0.9]
    """
    if true.all() or not true.any():
        return None
    ranked = rank(probabilities, true)
    caught = np.append(0, np.cumsum(ranked.true)[ranked.ends])
    alarms = np.append(0, ranked.ends + 1) - caught
    sensitivity, specificity = caught / caught[-1], (alarms[-1] - alarms) / alarms[-1]
    held, free = (specificity, sensitivity) if fixed == "specificity" else (sensitivity, specificity)
    best = np.lexsort((held, np.where(held >= level, free, -1)))[-1]
    return float(np.append(np.inf, probabilities[ranked.order][ranked.ends])[best])


def _reached(
    task: str, place: int, thresholds: Sequence[float], test: Sequence[ClassProbabilities]
) -> tuple[list[Score], Floats]:
    """Return the mean sensitivity and specificity over the runs, and those of each run, (runs, 2)."""
    if not test or len(thresholds) != len(test):
        return [Score(task, "all", measure.name, 0, None) for measure in MEASURES], np.zeros((0, 2))
    each = [_columns(*own.of_class(place), at) for own, at in zip(test, thresholds, strict=True)]
    stacked = {name: np.stack([own[name] for own in each], axis=-1) for name in each[0]}
    scores = compute_scores(task, "all", stacked, test[0].groups, [mean_over_runs(m, len(each)) for m in MEASURES])
    sums = {name: column.sum(axis=0) for name, column in stacked.items()}
    return scores, np.stack([measure.value(sums) for measure in MEASURES], axis=-1)


def _columns(probabilities: Floats, true: NDArray[np.bool_], threshold: float) -> Columns:
    flagged = probabilities >= threshold
    columns = {"caught": true & flagged, "positive": true, "passed": ~true & ~flagged, "negative": ~true}
    return {name: column.astype(np.float64) for name, column in columns.items()}
