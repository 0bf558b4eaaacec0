"""The spread of a score over the ways of asking the same questions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from lmod_train.core.types import Answer, Score, Unparsed
from lmod_train.scoring.share import share_score


def spread_scores(task: str, metric: str, factor: str, values: Sequence[float], n: int) -> list[Score]:
    """Return the least and the largest score of the ways of asking, and their standard deviation.

    ``<metric>_over_<factor>_min``, ``_max`` and ``_sd`` (with n - 1), without intervals. They describe the ways that
    were asked. With few questions, scores also differ by chance.

    Args:
        task: Name of the task.
        metric: The compared metric.
        factor: What the ways differ in, e.g. ``wording``.
        values: The score of each way on the same questions; empty for none.
        n: Number of records behind each.

    Example:
        >>> [(s.metric, round(s.value, 3)) for s in spread_scores("demo", "accuracy_strict", "wording", [0.5, 0.7], 9)]
        [('accuracy_strict_over_wording_min', 0.5), ('accuracy_strict_over_wording_max', 0.7), \
('accuracy_strict_over_wording_sd', 0.141)]
    """
    if len(values) < 2:
        return []
    sd = float(np.std(values, ddof=1)) if min(values) < max(values) else 0.0  # equal scores differ by rounding
    found = {"min": min(values), "max": max(values), "sd": sd}
    return [Score(task, "all", f"{metric}_over_{factor}_{name}", n, value) for name, value in found.items()]


def same_answer(
    task: str, factor: str, answers: Sequence[Sequence[Answer | Unparsed]], groups: Sequence[str]
) -> list[Score]:
    """Return ``same_answer_over_<factor>``: the share of questions with one and the same answer in every way.

    A question without an answer in any of its ways is not among them.

    Args:
        task: Name of the task.
        factor: What the ways differ in.
        answers: The answer to each question in each way; empty for no score.
        groups: Patient of each question; the interval is clustered by it.

    Example:
        >>> same_answer("demo", "wording", [["yes", "yes"], ["yes", "no"]], ["a", "b"])[0].value
        0.5
    """
    if not answers:
        return []
    same = [not isinstance(own[0], Unparsed) and all(answer == own[0] for answer in own) for own in answers]
    return [replace(share_score(f"same_answer_over_{factor}", same, groups), task=task)]
