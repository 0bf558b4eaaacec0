"""Net benefit of acting on a probability, beside that of acting on all patients, or on none (decision curves).

At a threshold t, a person who acts on a patient weighs a needless action as t / (1 - t) of a missed one. The net
benefit is the share of true positives minus the share of false positives by this weight (Vickers & Elkin 2006, Medical
Decision Making 26, 565-574). The threshold is chosen by what an action costs, and not from the data, so that no
validation items are needed; but the probabilities have to be calibrated to mean what the threshold says.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lmod_train.core.types import Score
from lmod_train.scoring.calibration import calibration_columns, calibration_measures
from lmod_train.scoring.class_probabilities import ClassProbabilities, of_runs
from lmod_train.scoring.intervals import Columns, Floats, Measure, compute_scores, items_in, ratio
from lmod_train.scoring.items import Item
from lmod_train.scoring.probability import curve_classes
from lmod_train.scoring.seeds import mean_over_runs

THRESHOLDS = (0.1, 0.2, 0.3, 0.5)
"""Thresholds of the scores."""
GRID: tuple[float, ...] = tuple(round(0.01 * step, 2) for step in range(1, 100))
"""Thresholds of the curves."""


@dataclass(frozen=True, slots=True)
class NetBenefit:
    """Net benefit of one class against the rest at one threshold, each with an interval over patients.

    Attributes:
        label: The class that is acted on.
        threshold: Probability from which on a patient is acted on, in (0, 1).
        model: Net benefit of acting on the model's probability, the mean over runs; treating none has 0.
        treat_all: Net benefit of acting on all.
        gain: `model` minus `treat_all`, paired.
        each: Net benefit of each run, (runs).
    """

    label: str
    threshold: float
    model: Score
    treat_all: Score
    gain: Score
    each: Floats


def net_benefits(
    task: str,
    runs: Sequence[Sequence[Item]],
    choices: Sequence[str],
    positive: str | None = None,
    thresholds: Sequence[float] = THRESHOLDS,
) -> list[NetBenefit]:
    """Return the net benefit of each class against the rest at each threshold; of several runs, their mean.

    Args:
        task: Name of the task.
        runs: Items of each run, the same ones in the same order, with likelihoods in the same ones.
        choices: The classes.
        positive: The class of a yes-or-no question; see `curve_classes`.
        thresholds: In (0, 1).

    Returns:
        An empty list if no item has likelihoods, or if the items of the runs differ. A net benefit has no interval if
        it does not vary between patients, e.g. if no item is flagged.

    Example:
        >>> alike = {"likelihoods": {"yes": np.log(0.35), "no": np.log(0.65)}}
        >>> truths = ("yes", "no", "no", "no", "no")
        >>> run = [Item(str(i), "answered", "no", t, group=str(i), **alike) for i, t in enumerate(truths)]
        >>> [(b.threshold, round(b.model.value, 3), b.gain.value) for b in net_benefits("demo", [run], ("yes", "no"))]
        [(0.1, 0.111, 0.0), (0.2, 0.0, 0.0), (0.3, -0.143, 0.0), (0.5, 0.0, 0.6)]
    """
    found = of_runs(runs, choices)
    places = curve_classes(choices, positive) if found else []
    return [_net_benefit(task, found, (choices[place], place), at) for place in places for at in thresholds]


def _net_benefit(task: str, runs: Sequence[ClassProbabilities], named: tuple[str, int], threshold: float) -> NetBenefit:
    label, place = named
    each = [_columns(*own.of_class(place), threshold) for own in runs]
    stacked = {name: np.stack([own[name] for own in each], axis=-1) for name in each[0]}
    measures = net_benefit_measures(threshold)
    averaged = [mean_over_runs(measure, len(runs)) for measure in measures]
    model, treat_all, gain = compute_scores(task, "all", stacked, runs[0].groups, averaged)
    own = measures[0].value({name: column.sum(axis=0) for name, column in stacked.items()})
    return NetBenefit(label, threshold, model, treat_all, gain, own)


def net_benefit_measures(threshold: float) -> tuple[Measure, Measure, Measure]:
    """Return net benefit of the model, of treating all, and the first minus the second, at one threshold.

    Each is a mean over items: of 1 for a true positive and -t / (1 - t) for a false one; of what treating all loses to
    the model, t / (1 - t) for a true negative and -1 for a false one.
    """
    weight = threshold / (1 - threshold)

    def model(sums: Columns) -> Floats:
        return ratio(sums["caught"] - weight * sums["alarms"], sums["items"])

    def treat_all(sums: Columns) -> Floats:
        return ratio(sums["positive"] - weight * (sums["items"] - sums["positive"]), sums["items"])

    def gain(sums: Columns) -> Floats:
        passed = sums["items"] - sums["positive"] - sums["alarms"]
        return ratio(weight * passed - (sums["positive"] - sums["caught"]), sums["items"])

    return (
        Measure("net_benefit", model, items_in, bounds=lambda _: (-weight, 1.0)),
        Measure("net_benefit_treat_all", treat_all, items_in, bounds=lambda _: (-weight, 1.0)),
        Measure("net_benefit_gain", gain, items_in, bounds=lambda _: (-1.0, weight)),
    )


def _columns(probabilities: Floats, true: NDArray[np.bool_], threshold: float) -> Columns:
    flagged = probabilities >= threshold
    columns = {"items": np.ones(len(true)), "positive": true, "caught": true & flagged, "alarms": ~true & flagged}
    return {name: np.asarray(column, dtype=np.float64) for name, column in columns.items()}


def decision_curve(
    probabilities: Floats, true: NDArray[np.bool_], thresholds: Sequence[float] = GRID
) -> tuple[Floats, Floats]:
    """Return the net benefit of the model and of treating all at each threshold, each (thresholds).

    Args:
        probabilities: Probability of the class, (items), at least one.
        true: Whether the item is of the class, (items).
        thresholds: In (0, 1).
    """
    at = np.asarray(thresholds, dtype=np.float64)
    flagged, all_of = [], []
    for kind in (true, ~true):
        own = np.sort(probabilities[kind])
        flagged.append((len(own) - np.searchsorted(own, at, side="left")) / len(true))
        all_of.append(len(own) / len(true))
    weight = at / (1 - at)
    return flagged[0] - weight * flagged[1], all_of[0] - weight * all_of[1]


def calibration_error_of(task: str, runs: Sequence[Sequence[Item]], choices: Sequence[str]) -> Score | None:
    """Return ``ece``, the mean over the runs, over the items of `net_benefits`; None where that is an empty list."""
    found = of_runs(runs, choices)
    if not found:
        return None
    each = [calibration_columns(own.truths, own.probabilities) for own in found]
    stacked = {name: np.stack([own[name] for own in each], axis=-1) for name in each[0]}
    errors = [mean_over_runs(m, len(found)) for m in calibration_measures(len(choices)) if m.name == "ece"]
    return compute_scores(task, "all", stacked, found[0].groups, errors)[0]
