"""The share of items that something holds of."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from lmod_train.core.types import Score
from lmod_train.scoring.intervals import compute_scores, share_measure


def share_score(metric: str, held: Sequence[bool], groups: Sequence[str]) -> Score:
    """Return the share of items that something holds of, with n and a 95 % interval clustered by group.

    Example:
        >>> score = share_score("loop", [True, False, False, False], list("abcd"))
        >>> (score.n, score.value)
        (4, 0.25)
    """
    columns = {"items": np.ones(len(held)), "held": np.array(held, dtype=np.float64)}
    return compute_scores("", "all", columns, groups, [share_measure(metric, "held")])[0]
