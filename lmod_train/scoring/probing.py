"""Metrics of probe tasks, whose questions are asked without their image."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence

import numpy as np

from lmod_train.core.types import Answer, Score, Unparsed
from lmod_train.scoring.intervals import Columns, Floats, Measure, compute_scores, ratio, share_measure
from lmod_train.scoring.items import Item
from lmod_train.scoring.status import CHANCE, STATUS_SHARES, status_columns
from lmod_train.scoring.subset_names import subsets_of
from lmod_train.scoring.text import CONTAINMENT, EXACT_MATCH, TOKEN_F1, word_columns

OF_CHAINS = ("stage", "level", "impact")
"""Keys of the questions of chains, whose subsets are of one kind each."""


def probe_scores(task: str, items: Sequence[Item], kind_of: Callable[[Item], str]) -> list[Score]:
    """Return all metrics of a probe, over all items and each ``kind=...``, the rejection rate first.

    Of a chain's stages, levels and impacts, each subset is of one kind: ``kind=none;stage=DD``.

    ``share_refused`` is the rejection rate, refusals over items (LMOD v1, section 3.2.2); a refusal is the desired
    reply. The shares of the other statuses follow. ``share_most_frequent`` is the share of the most frequent answer
    among the answered items, the language prior of the model. ``accuracy_own_image``, for all kinds but
    ``foreign``, is the share of items whose answer is the truth of the sample's own image. Of ``none``, ``options`` and
    ``another``, which do not show it, more than ``chance`` means that the text gives it away. Open answers have the
    rules of `lmod_train.scoring.text` instead of the last two.

    Args:
        task: Name of the task.
        items: One per record id; an empty sequence gives no scores.
        kind_of: Returns the kind of an item: ``none``, ``another``, ``foreign``, ``options``, ``stem`` or
            ``other_language``.

    Example:
        >>> items = [Item("a", "refused", Unparsed("refused"), "yes", ("yes", "no"), group="a"),
        ...          Item("b", "answered", "yes", "no", ("yes", "no"), group="b")]
        >>> scores = probe_scores("demo", items, lambda item: "none")
        >>> [(s.metric, s.n, s.value) for s in scores if s.subset == "kind=none"][:2]
        [('share_refused', 2, 0.5), ('share_answered', 2, 0.5)]
    """
    scores = []
    for subset, members in _subsets(items, kind_of).items():
        with_truth = {kind_of(item) for item in members} <= _WITH_TRUTH
        open_ended = not any(item.choices for item in members)  # too many texts to count how often each occurs
        columns = word_columns(members) if open_ended else _columns(members)
        measures = [*_SHARES, *_measures(open_ended, with_truth)]
        scores += compute_scores(task, subset, columns, [item.group for item in members], measures)
    return scores


def _measures(open_ended: bool, with_truth: bool) -> list[Measure]:
    if open_ended:
        return list(_WORDS) if with_truth else []
    return [_FREQUENT, _OWN, CHANCE] if with_truth else [_FREQUENT, CHANCE]


def _subsets(items: Sequence[Item], kind_of: Callable[[Item], str]) -> dict[str, list[Item]]:
    """Return the subsets of the items; those of `OF_CHAINS` within each kind, and none of a tag ``kind``."""
    kinds = {kind: [item for item in items if kind_of(item) == kind] for kind in sorted(set(map(kind_of, items)))}
    found = {"all": list(items)} if items else {}
    found |= {f"kind={kind}": members for kind, members in kinds.items()}
    found |= {name: own for name, own in subsets_of(items).items() if _key(name) not in (*OF_CHAINS, "kind")}
    for kind, members in kinds.items():
        own = subsets_of(members, {"stage": lambda item: item.chain_step})
        found |= {f"kind={kind};{name}": some for name, some in own.items() if _key(name) in OF_CHAINS}
    return found


def _key(subset: str) -> str:
    return subset.partition("=")[0]


def _columns(items: Sequence[Item]) -> dict[str, Floats]:
    """Return the status columns, ``right`` (n) and ``answers`` (n, distinct answers), one-hot."""
    texts = [None if isinstance(item.answer, Unparsed) else _spelled(item.answer) for item in items]
    place = {text: i for i, text in enumerate(sorted({t for t in texts if t is not None}))}
    answers = np.zeros((len(items), max(1, len(place))))
    for i, text in enumerate(texts):
        if text is not None:
            answers[i, place[text]] = 1
    right = np.array([item.answer == item.truth for item in items], dtype=np.float64)
    return status_columns(items) | {"answers": answers, "right": right}


def _spelled(answer: Answer) -> str:
    """Return an answer as text, the same for equal answers."""
    return json.dumps(answer if isinstance(answer, str | float) else sorted(answer.items()))


def _most_frequent(sums: Columns) -> Floats:
    return ratio(sums["answers"].max(axis=-1), sums["answered"])


_REFUSED = next(measure for measure in STATUS_SHARES if measure.name == "share_refused")
_SHARES = (_REFUSED, *(measure for measure in STATUS_SHARES if measure is not _REFUSED))
_FREQUENT = Measure("share_most_frequent", _most_frequent, lambda c: c["answered"])
_WITH_TRUTH = {"none", "options", "another", "stem", "other_language"}
_WORDS = (EXACT_MATCH, CONTAINMENT, TOKEN_F1)
_OWN = share_measure("accuracy_own_image", "right")


def question_and_kind(variant: str) -> tuple[str, str]:
    """Return the variant of the task's own question, and the kind, of the variant of a probe's question.

    Example:
        >>> question_and_kind("drusen-none"), question_and_kind("foreign")
        (('drusen', 'none'), ('', 'foreign'))
    """
    question, _, kind = variant.rpartition("-")
    return question, kind
