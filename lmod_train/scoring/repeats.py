"""Several replies to the same question: the vote over their answers, and pass@k."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from math import comb

import numpy as np

from lmod_train.core.types import Answer, Score, Unparsed
from lmod_train.scoring.intervals import compute_scores, share_measure
from lmod_train.scoring.item_score import item_score
from lmod_train.scoring.items import Item
from lmod_train.scoring.text import words_of

VOTE, TIED, PASS_AT = "accuracy_vote_over_repeat", "share_tied_over_repeat", "pass_at_"
"""Names of the metrics; the last one ends with k."""


def repeat_scores(task: str, repeats: Sequence[Sequence[Item]]) -> list[Score]:
    """Return the accuracy of the vote, the share of ties, and pass@k for k = 1, 2, 4 ... and the number of replies.

    The answer of a vote is that of most replies to a question; replies without an answer do not vote, and without any
    vote the question is wrong. Tied answers are drawn with equal chances, so that the question counts as the share of
    them that are right. A reply is right if its whole answer is, of regions every one.

    ``pass_at_<k>`` is the probability that at least one of k replies is right, by the unbiased estimator of Chen et al.
    (2021, arXiv:2107.03374): 1 - C(n - c, k) / C(n, k) for c right ones of n. It is no accuracy: somebody would have to
    know which reply is right. Of two choices, guessing twice passes three quarters of the questions.

    Args:
        task: Name of the task.
        repeats: The replies to each question, equally many.

    Returns:
        Scores with intervals clustered by patient; none without questions, or with one reply each.

    Example:
        >>> right, wrong = [Item("a", "answered", answer, "yes", ("yes", "no")) for answer in ("yes", "no")]
        >>> found = repeat_scores("demo", [[right, wrong, wrong]])
        >>> [(s.metric, round(s.value, 3)) for s in found]
        [('accuracy_vote_over_repeat', 0.0), ('share_tied_over_repeat', 0.0), ('pass_at_1', 0.333), \
('pass_at_2', 0.667), ('pass_at_3', 1.0)]
    """
    n = len(repeats[0]) if repeats else 0
    if n < 2:
        return []
    votes = [vote(own) for own in repeats]
    right = [sum(item_score(item) == 1 for item in own) for own in repeats]
    held = {VOTE: [share for share, _ in votes], TIED: [float(tied) for _, tied in votes]}
    held |= {f"{PASS_AT}{k}": [pass_at(k, n, c) for c in right] for k in drawn(n)}
    columns = {name: np.array(values, float) for name, values in held.items()} | {"items": np.ones(len(repeats))}
    groups = [own[0].group or own[0].id for own in repeats]
    return compute_scores(task, "all", columns, groups, [share_measure(name, name) for name in held])


def drawn(n: int) -> list[int]:
    """Return the numbers of replies of which pass@k is told: the powers of two up to n, and n.

    Example:
        >>> drawn(8), drawn(5)
        ([1, 2, 4, 8], [1, 2, 4, 5])
    """
    return sorted({*(2**i for i in range(n.bit_length()) if 2**i <= n), n})


def pass_at(k: int, n: int, c: int) -> float:
    """Return the probability that k replies, drawn from n without replacement of which c are right, have a right one.

    Example:
        >>> pass_at(2, 4, 1), pass_at(3, 4, 2)
        (0.5, 1.0)
    """
    return 1.0 - comb(n - c, k) / comb(n, k)


def vote(items: Sequence[Item]) -> tuple[float, bool]:
    """Return how right the answer of most replies is, and whether several answers have equally many.

    Example:
        >>> [yes, no] = [Item("a", "answered", answer, "yes", ("yes", "no")) for answer in ("yes", "no")]
        >>> vote([yes, yes, no]), vote([yes, no])
        ((1.0, False), (0.5, True))
    """
    named = {_key(item.answer, item): item for item in items if not isinstance(item.answer, Unparsed)}
    counts = Counter(_key(item.answer, item) for item in items if not isinstance(item.answer, Unparsed))
    most = [key for key, count in counts.items() if count == max(counts.values())]
    right = [float(item_score(named[key]) == 1) for key in most]
    return (sum(right) / len(right) if right else 0.0), len(most) > 1


def _key(answer: Answer, item: Item) -> object:
    """Return what equal answers share: regions by their numbers; words alone where there are no choices."""
    if isinstance(answer, Mapping):
        return tuple(sorted(answer.items()))
    return tuple(words_of(answer)) if isinstance(answer, str) and not item.choices else answer
