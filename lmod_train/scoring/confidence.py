"""Metrics of the confidence of replies: whether it is calibrated, and whether it tells right from wrong answers."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from lmod_train.core.types import Score, Unparsed
from lmod_train.scoring.intervals import Floats, Measure, compute_scores, items_in, share_measure
from lmod_train.scoring.items import Item
from lmod_train.scoring.ranking import area_scores, rank
from lmod_train.scoring.reliability import (
    QUARTERS,
    TENTHS,
    Flags,
    bin_columns,
    calibration_error,
    debiased_calibration_error,
)

BINNINGS = {"ece_4": QUARTERS, "ece_10": TENTHS}
"""Metric -> bins of the expected calibration error: the example of X-PCR, and those of this project."""

SHARE_WITHOUT = share_measure("share_without_confidence", "without")


def confidence_scores(task: str, subset: str, items: Sequence[Item]) -> list[Score]:
    """Return the metrics of stated confidences, and those of the likelihoods of the answers where they were stored.

    ``share_without_confidence`` is the share of items whose reply states no confidence; the others are over the items
    with one. ``ece_4`` and ``ece_10`` are the expected calibration errors over `QUARTERS` and `TENTHS`, without an
    interval as they are biased (see `lmod_train.scoring.calibration.calibration_measures`), ``ece_4_debiased`` and
    ``ece_10_debiased`` those less the bias (`lmod_train.scoring.reliability.debiased_calibration_error`).
    ``brier_confidence`` is the mean squared difference of confidence and outcome, ``auroc_confidence`` the area
    under the ROC curve of the confidence as a test of the answer being right, ``selective_accuracy`` the mean of
    `mean_selective_accuracy`. An item without an answer is wrong, with the confidence that its reply states.

    The likelihood of an answer is its probability among the options. With it, ``ece_4_likelihood``,
    ``ece_10_likelihood``, their debiased versions, ``brier_likelihood``, ``auroc_likelihood`` and
    ``selective_accuracy_likelihood`` are over the answered items that have likelihoods of all options.

    Args:
        task: Name of the task.
        subset: Name of the subset.
        items: Items of the subset; an empty sequence gives empty scores.
    """
    without = np.array([item.confidence is None for item in items], dtype=np.float64)
    columns = {"items": np.ones(len(items)), "without": without}
    scores = compute_scores(task, subset, columns, [item.group for item in items], [SHARE_WITHOUT])
    scores += _scores_by(task, subset, items, stated_confidence, "", "confidence")
    return scores + likelihood_scores(task, subset, items)


def likelihood_scores(task: str, subset: str, items: Sequence[Item]) -> list[Score]:
    """Return the metrics of `confidence_scores` of the likelihoods of the answers; none where none was stored.

    Options may differ from item to item: the likelihood of an answer is its probability among its own.
    """
    if all(likelihood_of_answer(item) is None for item in items):
        return []
    return _scores_by(task, subset, items, likelihood_of_answer, "_likelihood", "likelihood")


def stated_confidence(item: Item) -> float | None:
    """Return the confidence that the reply states, in [0, 1]; None if it states none."""
    return item.confidence


def likelihood_of_answer(item: Item) -> float | None:
    """Return the probability of the answer among the options; None without an answer or all likelihoods.

    Example:
        >>> item = Item("a", "answered", "x", "y", ("x", "y"), likelihoods={"x": math.log(0.3), "y": math.log(0.1)})
        >>> round(likelihood_of_answer(item), 2)
        0.75
    """
    if isinstance(item.answer, Unparsed) or item.answer not in item.choices:
        return None
    logs = [item.likelihoods.get(choice, math.nan) for choice in item.choices]
    highest = max(logs)
    if any(map(math.isnan, logs)) or not math.isfinite(highest):
        return None
    weights = [math.exp(log - highest) for log in logs]
    return weights[item.choices.index(str(item.answer))] / sum(weights)


def known(items: Sequence[Item], confidence: Callable[[Item], float | None]) -> tuple[list[Item], Floats, Flags]:
    """Return the items whose confidence is known, their confidence (n), and whether they are right (n)."""
    own = [(item, value) for item in items if (value := confidence(item)) is not None]
    values = np.array([value for _, value in own], dtype=np.float64)
    return [item for item, _ in own], values, np.array([i.answer == i.truth for i, _ in own], dtype=np.bool_)


def _scores_by(
    task: str, subset: str, items: Sequence[Item], by: Callable[[Item], float | None], suffix: str, name: str
) -> list[Score]:
    own, confidence, right = known(items, by)
    groups = [item.group for item in own]
    base = {"items": np.ones(len(own)), "brier": (confidence - right) ** 2}
    scores = []
    for metric, edges in BINNINGS.items():
        columns = base | bin_columns(confidence, right, edges)
        measures = [
            Measure(f"{metric}{suffix}", calibration_error, items_in, interval=False),
            Measure(f"{metric}_debiased{suffix}", debiased_calibration_error, items_in, interval=False),
        ]
        scores += compute_scores(task, subset, columns, groups, measures)
    scores += compute_scores(task, subset, base, groups, [share_measure(f"brier_{name}", "brier")])
    area = area_scores(task, subset, right.astype(np.intp), np.stack([1 - confidence, confidence], axis=1), groups, [1])
    mean = mean_selective_accuracy(confidence, right)
    selective = Score(task, subset, f"selective_accuracy{suffix}", len(own), mean if len(own) else None)
    return [*scores, replace(area[0], metric=f"auroc_{name}"), selective]


@dataclass(frozen=True, slots=True)
class Selective:
    """Accuracy of the answers with at least some confidence, against their share of all answers.

    Attributes:
        coverage: Share of the items that are kept, ascending to 1, (points); one point per distinct confidence.
        accuracy: Share of right answers among them, (points).
        threshold: Least confidence that is kept, descending, (points).
    """

    coverage: Floats
    accuracy: Floats
    threshold: Floats


def selective_accuracy(confidence: Floats, right: Flags) -> Selective:
    """Return accuracy against coverage if the answers of least confidence are withheld; no points without items.

    Args:
        confidence: Confidence of each item, (n).
        right: Whether it is right, (n).

    Example:
        >>> curve = selective_accuracy(np.array([0.9, 0.9, 0.5, 0.2]), np.array([True, True, False, True]))
        >>> curve.coverage.tolist(), curve.accuracy.round(2).tolist()
        ([0.5, 0.75, 1.0], [1.0, 0.67, 0.75])
    """
    if not len(confidence):
        return Selective(np.zeros(0), np.zeros(0), np.zeros(0))
    ranked = rank(confidence, right)
    kept = ranked.ends + 1
    accuracy = np.cumsum(ranked.true)[ranked.ends] / kept
    return Selective(kept / len(confidence), accuracy, confidence[ranked.order][ranked.ends])


def mean_selective_accuracy(confidence: Floats, right: Flags) -> float:
    """Return the mean accuracy over all coverages 1/n, 2/n ... 1; NaN without items.

    It is 1 minus the area under the risk-coverage curve (Geifman, Uziel & El-Yaniv 2019, Bias-reduced uncertainty
    estimation). Items of equal confidence are in random order, of which this is the exact mean. A confidence that
    carries no information gives the accuracy.

    Example:
        >>> mean_selective_accuracy(np.array([0.9, 0.5]), np.array([True, False]))
        0.75
    """
    if not len(confidence):
        return math.nan
    curve = selective_accuracy(confidence, right)
    ends = np.concatenate([[0], np.rint(curve.coverage * len(confidence))]).astype(np.intp)
    hits = np.interp(np.arange(1, len(confidence) + 1), ends, np.concatenate([[0], curve.accuracy * ends[1:]]))
    return float((hits / np.arange(1, len(confidence) + 1)).mean())
