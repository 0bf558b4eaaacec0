"""Metrics of staging tasks, whose choices are an ordered scale."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from lmod_train.core.types import Score
from lmod_train.scoring.classification import classification_columns, classification_scores
from lmod_train.scoring.intervals import Columns, Floats, Measure, compute_scores, mean_measure, ratio
from lmod_train.scoring.items import Item


def grading_scores(task: str, items: Sequence[Item], levels: Sequence[str]) -> list[Score]:
    """Return all metrics of a staging task: those of `classification_scores`, and those of an ordered scale.

    For the subset ``all``: ``kappa_quadratic`` (Cohen 1968, weights (i - j) squared) and ``mean_absolute_error`` in
    levels, both over the answered items; ``macro_precision``, the mean over the levels that occur as an answer (the
    mean recall is ``balanced_accuracy``). For each level as ``stage=<level>``: ``precision``, ``recall`` and ``f1`` of
    this level against the others, with their denominators as n; a missing answer is a miss. The RETFound measures take
    the first level as the healthy class, as its program takes the first folder.

    Args:
        task: Name of the task.
        items: One per record id; an empty sequence gives no scores.
        levels: The scale in order, in the spelling of the choices.

    Raises:
        BadArgument: A truth or an answer is no level.

    Example:
        >>> rows = [("a", "1", "1"), ("b", "3", "2"), ("c", "3", "3"), ("d", "2", "2")]
        >>> items = [Item(i, "answered", answer, truth, ("1", "2", "3"), group=i) for i, answer, truth in rows]
        >>> scores = {(s.subset, s.metric): s.value for s in grading_scores("demo", items, ("1", "2", "3"))}
        >>> scores["all", "kappa_quadratic"], scores["all", "mean_absolute_error"], scores["stage=2", "recall"]
        (0.8, 0.25, 0.5)
    """
    scores = classification_scores(task, items, levels, healthy=levels[0] if len(levels) > 1 else None)
    if not items:
        return scores
    columns = classification_columns(items, levels)
    groups = [item.group for item in items]
    at = next(i for i, s in enumerate(scores) if s.metric == "chance")
    scores[at:at] = compute_scores(task, "all", columns, groups, ordered(len(levels)))
    for level, name in enumerate(levels):
        scores += compute_scores(task, f"stage={name}", columns, groups, _one_against_rest(level))
    return scores


def _answered(sums: Columns) -> Floats:
    """Return the confusion matrix of the answered items, (..., levels, levels)."""
    answered: Floats = sums["confusion"][..., :-1]
    return answered


def _given(columns: Columns) -> Floats:
    return columns["answered"]


def _kappa(sums: Columns) -> Floats:
    seen = _answered(sums)
    observed = ratio((_squares(seen) * seen).sum(axis=(-2, -1)), seen.sum(axis=(-2, -1)))
    kappa: Floats = 1 - ratio(observed, _by_chance(sums))
    return kappa


def _by_chance(sums: Columns) -> Floats:
    """Return the mean squared disagreement expected of independent answers and truths."""
    seen = _answered(sums)
    by_truth, by_answer = seen.sum(axis=-1), seen.sum(axis=-2)
    total = by_truth.sum(axis=-1)
    pairs = by_truth[..., :, None] * by_answer[..., None, :]
    return ratio((_squares(seen) * pairs).sum(axis=(-2, -1)), total**2)


def _squares(seen: Floats) -> Floats:
    levels = np.arange(seen.shape[-1])
    squares: Floats = (levels[:, None] - levels[None, :]).astype(np.float64) ** 2
    return squares


def _absolute_error(sums: Columns) -> Floats:
    seen = _answered(sums)
    levels = np.arange(seen.shape[-1])
    return ratio((abs(levels[:, None] - levels[None, :]) * seen).sum(axis=(-2, -1)), seen.sum(axis=(-2, -1)))


def _precisions(sums: Columns) -> Floats:
    seen = _answered(sums)
    return ratio(np.diagonal(seen, axis1=-2, axis2=-1), seen.sum(axis=-2))


def _recalls(sums: Columns) -> Floats:
    return ratio(np.diagonal(_answered(sums), axis1=-2, axis2=-1), sums["confusion"].sum(axis=-1))


def _f1s(sums: Columns) -> Floats:
    seen = _answered(sums)
    right = np.diagonal(seen, axis1=-2, axis2=-1)
    return ratio(2 * right, sums["confusion"].sum(axis=-1) + seen.sum(axis=-2))


def _one_against_rest(level: int) -> tuple[Measure, ...]:
    return (
        Measure("precision", lambda s: _precisions(s)[..., level], lambda c: _answered(c)[..., level].sum(axis=-1)),
        Measure("recall", lambda s: _recalls(s)[..., level], lambda c: c["truths"][..., level]),
        Measure("f1", lambda s: _f1s(s)[..., level], lambda c: c["truths"][..., level]),
    )


def ordered(levels: int) -> tuple[Measure, ...]:
    """Return the measures that use the order of a scale with `levels` levels."""
    farthest = max(1.0, levels - 1)
    return (
        Measure("kappa_quadratic", _kappa, _given, bounds=lambda s: (1 - farthest**2 / float(_by_chance(s)), 1.0)),
        Measure("mean_absolute_error", _absolute_error, _given, bounds=lambda _: (0.0, farthest)),
        mean_measure("macro_precision", _precisions, lambda c: _answered(c).sum(axis=-2)),
    )
