"""Scores that give away single truths, which a pack leaves out."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from lmod_train.types import Score

LEAST = 10
"""Number of items below which a score is not published for a source that must not be redistributed."""


def published(scores: Sequence[Score], withheld: Iterable[str]) -> list[Score]:
    """Return the scores without those of few items, of tasks with records that must not be redistributed.

    A score of one item is its truth if the reply is known. If one value of a subset's key has few items, or all of one
    class, all values of this key are left out, as one of them would follow from the others and the total. This is no
    guarantee: what remains are sums over published replies.

    Args:
        scores: Of a run.
        withheld: Names of these tasks.
    """
    closed, sizes = set(withheld), dict[tuple[str, str], int]()
    for s in scores:
        sizes[s.task, s.subset] = max(s.n, sizes.get((s.task, s.subset), 0))
    alike = {(s.task, s.subset) for s in scores if s.metric == "majority" and s.value == 1}
    given = {place for place, n in sizes.items() if 0 < n < LEAST} | alike
    keys = {(task, _keys(subset)) for task, subset in given if subset != "all"}
    return [s for s in scores if s.task not in closed or not (0 < s.n < LEAST or (s.task, _keys(s.subset)) in keys)]


def _keys(subset: str) -> str:
    """Return the keys of a subset without their values.

    Example:
        >>> _keys("modality=CFP;sex=male")
        'modality;sex'
    """
    return re.sub(r"=[^;]*", "", subset)
