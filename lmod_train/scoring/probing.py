"""Scores of questions asked without the image they are about: is there an abstention, and what is said without one?"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence

import numpy as np

from lmod_train.scoring.account import ACCOUNT, CHANCE, account_columns
from lmod_train.scoring.intervals import Columns, Figure, Floats, items_in, measure, ratio
from lmod_train.scoring.items import Item
from lmod_train.scoring.subsets import subsets_of
from lmod_train.types import Answer, Score, Unparsed


def probe_scores(task: str, items: Sequence[Item], kind_of: Callable[[Item], str]) -> list[Score]:
    """Return the figures of a probe, over all items and each ``kind=...``, the rejection rate first.

    ``share_refused`` is the rejection rate, refusals over items (LMOD v1, section 3.2.2); abstention is what is hoped
    for. The account follows. ``share_most_frequent`` is the share of the most frequent answer among the answered: what
    a model says whatever it is shown, its language prior. ``accuracy_own_image``, for the kinds ``none`` and
    ``another``, is how often the reply names the truth of the image that was not shown; more than ``chance`` would mean
    that the words give it away.

    Args:
        task: Name of the task.
        items: One per record id; none give no scores.
        kind_of: ``none``, ``another`` or ``foreign``: what an item showed in the image's place.

    Example:
        >>> items = [Item("a", "refused", Unparsed("refused"), "yes", ("yes", "no"), group="a"),
        ...          Item("b", "answered", "yes", "no", ("yes", "no"), group="b")]
        >>> scores = probe_scores("demo", items, lambda item: "none")
        >>> [(s.metric, s.n, s.value) for s in scores if s.subset == "kind=none"][:2]
        [('share_refused', 2, 0.5), ('share_answered', 2, 0.5)]
    """
    scores = []
    for subset, members in subsets_of(items, {"kind": kind_of}).items():
        figures = [*_ACCOUNT, _FREQUENT, CHANCE]
        if {kind_of(item) for item in members} <= {"none", "another"}:
            figures.insert(-1, _OWN)
        scores += measure(task, subset, _columns(members), [item.group for item in members], figures)
    return scores


def _columns(items: Sequence[Item]) -> dict[str, Floats]:
    """Return the account's columns, ``right`` (n) and ``said`` (n, different answers)."""
    said = [None if isinstance(item.answer, Unparsed) else _spelled(item.answer) for item in items]
    place = {answer: i for i, answer in enumerate(sorted({a for a in said if a is not None}))}
    answers = np.zeros((len(items), max(1, len(place))))
    for i, answer in enumerate(said):
        if answer is not None:
            answers[i, place[answer]] = 1
    right = np.array([item.answer == item.truth for item in items], dtype=np.float64)
    return account_columns(items) | {"said": answers, "right": right}


def _spelled(answer: Answer) -> str:
    """Return one text for one answer, also where it names regions."""
    return json.dumps(answer if isinstance(answer, str | float) else sorted(answer.items()))


def _most_frequent(sums: Columns) -> Floats:
    return ratio(sums["said"].max(axis=-1), sums["answered"])


_REFUSED = next(figure for figure in ACCOUNT if figure.name == "share_refused")
_ACCOUNT = (_REFUSED, *(figure for figure in ACCOUNT if figure is not _REFUSED))
_FREQUENT = Figure("share_most_frequent", _most_frequent, lambda c: c["answered"])
_OWN = Figure("accuracy_own_image", lambda s: ratio(s["right"], s["items"]), items_in)
