"""Uncertainty-aware score (UAS) of X-PCR: rewards confidence in right answers and doubt in wrong ones."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from lmod_train.core.errors import BadArgument
from lmod_train.core.types import Score
from lmod_train.scoring.expertise import level_of
from lmod_train.scoring.intervals import Columns, Floats, Measure, compute_scores, ratio
from lmod_train.scoring.items import Item
from lmod_train.scoring.reliability import Flags

CATEGORIES = {"cc": 1.0, "cu": 0.7, "iu": 0.3, "ic": -0.5}
"""Category -> score (supplement of X-PCR, equation 5): right and confident, right and uncertain, wrong and uncertain,
wrong and confident."""
CONFIDENT_RIGHT, CONFIDENT_WRONG = 0.7, 0.5
"""Least confidence of a confident right answer and of a confident wrong one."""

DIFFICULTY = {"R": 1.0, "A": 2.0, "S": 3.0}
"""Level -> difficulty in the weight of a question."""
MEAN_IMPACT, LEAST_IMPACT, LARGEST_IMPACT = 3.0, 1.0, 5.0
"""Impact of a question without the tag ``impact``, and its range."""
OF_DIFFICULTY, OF_IMPACT = 0.6, 0.4
"""Weights of both in the weight of a question (supplement of X-PCR, equation 1)."""


def categories(right: Flags, confidence: Floats) -> Floats:
    """Return 1 in the category of each answer and 0 in the others, (n, categories) in the order of `CATEGORIES`.

    Without a confidence it is the worst possible category: a wrong answer is confident, a right one uncertain.

    Args:
        right: Whether each answer is right, (n).
        confidence: Its confidence in [0, 1], NaN without one, (n).

    Example:
        >>> categories(np.array([True, True, False, False]), np.array([0.7, 0.69, 0.49, 0.5])).argmax(axis=1).tolist()
        [0, 1, 2, 3]
    """
    sure = np.where(right, confidence >= CONFIDENT_RIGHT, ~(confidence < CONFIDENT_WRONG))
    return np.stack([right & sure, right & ~sure, ~right & ~sure, ~right & sure], axis=1).astype(np.float64)


def impact_of(item: Item) -> float:
    """Return the impact in an item's tag ``impact``, 1 to 5; `MEAN_IMPACT` without the tag.

    Raises:
        BadArgument: It is no number from 1 to 5.
    """
    text = item.tags.get("impact", "")
    if not text:
        return MEAN_IMPACT
    try:
        impact = float(text)
    except ValueError:
        impact = math.nan
    if not LEAST_IMPACT <= impact <= LARGEST_IMPACT:
        cure = "correct the impact in the source, or leave the tag out where it is not known"
        raise BadArgument(f"impact of {item.id}", text, "a number from 1 to 5", cure)
    return impact


def weights_of(item: Item) -> tuple[float, float, float]:
    """Return the weight of a question in ``uas``, ``uas_unit`` and ``uas_flat``; NaN twice and 1 without a level.

    Raises:
        BadArgument: Its level or impact is out of range.

    Example:
        >>> item = Item("a", "answered", "x", "x", tags={"level": "S", "impact": "3"})
        >>> [round(weight, 2) for weight in weights_of(item)]
        [3.0, 0.8, 1.0]
    """
    difficulty, impact = DIFFICULTY.get(level_of(item), math.nan), impact_of(item)
    unit = (impact - LEAST_IMPACT) / (LARGEST_IMPACT - LEAST_IMPACT)
    return (
        OF_DIFFICULTY * difficulty + OF_IMPACT * impact,
        OF_DIFFICULTY * (difficulty - 1) / 2 + OF_IMPACT * unit,
        1.0,
    )


def uncertainty_scores(task: str, subset: str, items: Sequence[Item]) -> list[Score]:
    """Return ``uas`` in three weightings, ``uas_worst``, and the share of each category.

    ``uas`` is 100 times the weighted mean of the scores of `CATEGORIES`, from -50 to 100, with the weights 0.6
    difficulty + 0.4 impact of X-PCR (supplement, equations 1, 5 and 6), difficulty 1 to 3 by level and impact 1 to 5.
    ``uas_unit`` scales difficulty and impact to [0, 1] first, ``uas_flat`` has equal weights. They leave out items
    whose reply states no confidence, and all but ``uas_flat`` items without a level. ``uas_worst`` is ``uas`` with the
    former counted as the worst: a wrong one as confident, a right one as uncertain. A missing answer is wrong.

    ``share_cc``, ``share_cu``, ``share_iu`` and ``share_ic`` are the shares of the categories among the items with a
    confidence.

    Args:
        task: Name of the task.
        subset: Name of the subset.
        items: Items of the subset; an empty sequence gives empty scores.

    Raises:
        BadArgument: A level or an impact is out of range.
    """
    scores = compute_scores(task, subset, uncertainty_columns(items), [item.group for item in items], MEASURES)
    return [_percent(score) if score.metric.startswith("uas") else score for score in scores]


def uncertainty_columns(items: Sequence[Item]) -> dict[str, Floats]:
    """Return the columns of `MEASURES` for items; see `columns_of`."""
    stated = [math.nan if item.confidence is None else item.confidence for item in items]
    weights = np.array([weights_of(item) for item in items], dtype=np.float64).reshape(len(items), 3)
    right = np.array([item.answer == item.truth for item in items], dtype=np.bool_)
    return columns_of(right, np.array(stated, dtype=np.float64), weights)


def columns_of(right: Flags, confidence: Floats, weights: Floats) -> dict[str, Floats]:
    """Return the columns of `MEASURES`.

    For each weighting, ``<name>`` is the weighted score, ``<name>_weight`` the weight, and ``<name>_items`` 1, each
    (n); all are 0 for items that it leaves out. ``stated`` is 1 for items with a confidence, (n), and ``categories``
    their category, (n, categories).

    Args:
        right: Whether each answer is right, (n).
        confidence: Its confidence in [0, 1], NaN without one, (n).
        weights: Weights in ``uas``, ``uas_unit`` and ``uas_flat``, NaN where the item is left out, (n, 3).
    """
    stated, member = ~np.isnan(confidence), categories(right, confidence)
    score = member @ np.array(list(CATEGORIES.values()))
    columns = {"stated": stated.astype(np.float64), "categories": member * stated[:, None]}
    counted = {"uas": (0, stated), "uas_unit": (1, stated), "uas_flat": (2, stated), "uas_worst": (0, stated | True)}
    for name, (place, among) in counted.items():
        held = (among & ~np.isnan(weights[:, place])).astype(np.float64)
        weight = np.nan_to_num(weights[:, place]) * held
        columns |= {name: weight * score, f"{name}_weight": weight, f"{name}_items": held}
    return columns


def _weighted(name: str) -> Measure:
    return Measure(
        name, lambda s: ratio(s[name], s[f"{name}_weight"]), lambda c: c[f"{name}_items"], bounds=lambda _: (-0.5, 1.0)
    )


def _share(place: int, name: str) -> Measure:
    def value(sums: Columns) -> Floats:
        return ratio(sums["categories"][..., place], sums["stated"])

    return Measure(f"share_{name}", value, lambda c: c["stated"])


def _percent(score: Score) -> Score:
    value, low, high = (None if v is None else 100 * v for v in (score.value, score.low, score.high))
    return replace(score, value=value, low=low, high=high)


MEASURES = (
    *map(_weighted, ("uas", "uas_unit", "uas_flat", "uas_worst")),
    *(_share(place, name) for place, name in enumerate(CATEGORIES)),
)
"""``uas`` and its variants as fractions, in [-0.5, 1], and the shares of the categories."""
