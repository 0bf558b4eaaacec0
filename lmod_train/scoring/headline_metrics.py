"""The headline metric of a task, by which runs, subsets and ways of asking are compared."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal

from lmod_train.core.package_data import package_data
from lmod_train.core.types import Score

HEADLINES = ("accuracy_strict", "f1_lmod_plus")
"""The headline metric of a task is the first of these that it has, otherwise its first metric."""

_WORDS = package_data(__file__, "words.yaml")["headline_metrics"]
ERRORS = frozenset(_WORDS["errors"])
"""Metrics of this package of which a smaller value is better."""

SCORES = frozenset({*HEADLINES, *_WORDS["scores"]})
"""Metrics of this package of which a larger value is better."""


def direction(metric: str) -> Literal[-1, 0, 1]:
    """Return 1 if a larger value is better, -1 if a smaller one is, and 0 if that is not known of a metric.

    Endings such as ``_answered`` leave it as it is.

    Example:
        >>> direction("f1_lmod_plus_answered"), direction("mean_absolute_error"), direction("my_metric")
        (1, -1, 0)
    """
    names = {metric, re.sub(f"(_({'|'.join(_WORDS['endings'])}))+$", "", metric)}
    return 1 if names & SCORES else -1 if names & ERRORS else 0


def headline_metric(scores: Sequence[Score], task: str) -> str:
    """Return the headline metric of a task.

    Example:
        >>> headline_metric([Score("anatomy", "all", m, 9, 0.5) for m in ("precision", "f1_lmod_plus")], "anatomy")
        'f1_lmod_plus'
    """
    own = [s.metric for s in scores if s.task == task and s.subset == "all"]
    return next((m for m in HEADLINES if m in own), own[0])


def has_baseline(metric: str) -> bool:
    """Return whether the scores of random answers and of the most frequent one are those of a metric.

    They are accuracies, and no shares of the account: a model that refuses no question is not below chance.

    Example:
        >>> has_baseline("accuracy_strict"), has_baseline("share_refused")
        (True, False)
    """
    return not metric.startswith("share_")
