"""The headline metric of a task, by which runs, subsets and ways of asking are compared."""

from __future__ import annotations

from collections.abc import Sequence

from lmod_train.core.types import Score

HEADLINES = ("accuracy_strict", "f1_lmod_plus")
"""The headline metric of a task is the first of these that it has, otherwise its first metric."""


def headline_metric(scores: Sequence[Score], task: str) -> str:
    """Return the headline metric of a task.

    Example:
        >>> headline_metric([Score("anatomy", "all", m, 9, 0.5) for m in ("precision", "f1_lmod_plus")], "anatomy")
        'f1_lmod_plus'
    """
    own = [s.metric for s in scores if s.task == task and s.subset == "all"]
    return next((m for m in HEADLINES if m in own), own[0])
