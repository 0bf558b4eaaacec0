"""Precision and recall of a yes-or-no rule against labels."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from lmod_train.core.types import Score
from lmod_train.scoring.intervals import Columns, Floats, Measure, compute_scores, items_in, ratio

PRECISION = Measure("precision", lambda s: ratio(s["both"], s["found"]), lambda c: c["found"])
RECALL = Measure("recall", lambda s: ratio(s["both"], s["labelled"]), lambda c: c["labelled"])


def detection_scores(
    name: str, found: Sequence[bool], labelled: Sequence[bool], groups: Sequence[str]
) -> tuple[Score, Score]:
    """Return precision and recall of a rule, each with n and a 95 % interval clustered by group.

    Precision is the share of labelled items among those that the rule finds, recall the share that the rule finds among
    the labelled ones; each is without a value where its denominator is 0.

    Args:
        name: Name of the rule; the subset of the scores.
        found: Whether the rule finds it, one per item.
        labelled: Whether it is labelled, one per item.
        groups: Patient or other cluster of each item; all different for independent items.

    Example:
        >>> p, r = detection_scores("loop", [True, True, False], [True, False, False], ["a", "b", "c"])
        >>> (p.metric, p.n, p.value), (r.metric, r.n, r.value)
        (('precision', 2, 0.5), ('recall', 1, 1.0))
    """
    ours, theirs = np.array(found, dtype=np.float64), np.array(labelled, dtype=np.float64)
    columns = {"found": ours, "labelled": theirs, "both": ours * theirs}
    precision, recall = compute_scores("", name, columns, groups, [PRECISION, RECALL])
    return precision, recall


def share_score(metric: str, held: Sequence[bool], groups: Sequence[str]) -> Score:
    """Return the share of items that something holds of, with n and a 95 % interval clustered by group.

    Example:
        >>> score = share_score("loop", [True, False, False, False], list("abcd"))
        >>> (score.n, score.value)
        (4, 0.25)
    """
    columns = {"items": np.ones(len(held)), "held": np.array(held, dtype=np.float64)}
    return compute_scores("", "all", columns, groups, [Measure(metric, _share, items_in)])[0]


def _share(sums: Columns) -> Floats:
    return ratio(sums["held"], sums["items"])
