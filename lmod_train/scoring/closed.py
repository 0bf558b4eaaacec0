"""Metrics of questions with options that differ from question to question, in one or more languages."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from lmod_train.core.types import Score
from lmod_train.scoring.chain_steps import is_right
from lmod_train.scoring.confidence import likelihood_scores
from lmod_train.scoring.intervals import Measure, compute_scores, items_in, ratio, share_measure
from lmod_train.scoring.items import Item
from lmod_train.scoring.status import BASELINES, STATUS_SHARES, majority_of, status_columns
from lmod_train.scoring.subset_names import Keys, subsets_of

BY_LANGUAGE: Keys = {"language": lambda item: item.language}
"""Key of the subsets by language, which are given even if all questions are in one language."""


def closed_scores(task: str, items: Sequence[Item]) -> list[Score]:
    """Return the metrics of `answer_scores` over all items and each subset; ``language`` is always a subset.

    If replies have likelihoods of all their options, those of `likelihood_scores` follow.

    Args:
        task: Name of the task.
        items: One per record id, truths and answers among the choices of the item; an empty sequence gives no scores.

    Raises:
        BadArgument: An item has no choices.
    """
    return [
        score
        for subset, members in subsets_of(items, BY_LANGUAGE).items()
        for score in [*answer_scores(task, subset, members), *likelihood_scores(task, subset, members)]
    ]


def answer_scores(task: str, subset: str, items: Sequence[Item]) -> list[Score]:
    """Return the metrics of questions that differ in their options.

    ``accuracy_strict`` counts items without an answer as wrong, ``accuracy_answered`` excludes them, and
    ``accuracy_chance_filled`` counts them as 1 / number of choices. ``chance`` is the mean of 1 / number of choices;
    ``majority`` is the share that the best constant answers get (`majority_of`). ``share_<status>`` are the shares of
    the reply statuses.

    Args:
        task: Name of the task.
        subset: Name of the subset.
        items: One per record id, at least one, truths and answers as texts of options.
    """
    right = np.array([is_right(item) for item in items], dtype=np.float64)
    columns = status_columns(items) | {"right": right, "majority": majority_of(items)}
    groups = [item.group for item in items]
    return compute_scores(task, subset, columns, groups, [*_ACCURACIES, *BASELINES, *STATUS_SHARES])


_ACCURACIES = (
    share_measure("accuracy_strict", "right"),
    share_measure("accuracy_answered", "right", "answered"),
    Measure("accuracy_chance_filled", lambda s: ratio(s["right"] + s["chance_filled"], s["items"]), items_in),
)
