"""Metrics of single-choice tasks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from lmod_train.core.errors import BadArgument
from lmod_train.core.types import Answer, Score, Unparsed
from lmod_train.scoring.intervals import Columns, Floats, Measure, compute_scores, items_in, mean_measure, ratio
from lmod_train.scoring.items import Item
from lmod_train.scoring.probability import probability_scores
from lmod_train.scoring.retfound import healthy_class, retfound_scores
from lmod_train.scoring.status import CHANCE, STATUS_SHARES, status_columns
from lmod_train.scoring.subsets import Keys, subsets_of


def classification_scores(
    task: str,
    items: Sequence[Item],
    choices: Sequence[str],
    positive: str | None = None,
    own: Keys | None = None,
    healthy: str | None = None,
) -> list[Score]:
    """Return all metrics of a single-choice task, over all items and each subset.

    ``accuracy_strict`` counts items without an answer as wrong, ``accuracy_answered`` excludes them (the protocol of
    LMOD v1: 66 right of 122 answered in 336 items is 54.09 %), and ``accuracy_chance_filled`` counts them as
    1 / number of choices. ``balanced_accuracy`` is the mean recall over the classes that occur; ``macro_f1`` the mean
    F1 over the classes that occur as truth or answer; in both, as in ``sensitivity`` and ``specificity``, a missing
    answer is wrong. ``kappa`` is Cohen's (1960), with missing answers as an extra class. ``chance`` is the mean of 1 /
    number of choices, ``majority`` the share of the most frequent class among these items (the best score of a constant
    answer). ``share_<status>`` are the shares of the reply statuses. If replies have likelihoods, `probability_scores`
    follow; if all have and the healthy class is known, `retfound_scores` follow for the subset ``all``.

    Args:
        task: Name of the task.
        items: One per record id; an empty sequence gives no scores.
        choices: The classes; numbers in Python's ``g`` format (``2`` for 2.0).
        positive: The class of sensitivity, specificity and the curves; None leaves sensitivity and specificity out.
        own: Additional subset keys of the task (see `subsets_of`).
        healthy: The class that the RETFound measures leave out; None for that of `healthy_class`.

    Raises:
        BadArgument: `positive`, `healthy`, a truth or an answer is not among `choices`.

    Example:
        >>> rows = [("a", "yes", "yes"), ("b", "no", "yes"), ("c", "no", "no"), ("d", "no", "no")]
        >>> items = [Item(i, "answered", answer, truth, ("yes", "no"), group=i) for i, answer, truth in rows]
        >>> scores = {s.metric: s.value for s in classification_scores("demo", items, ("yes", "no"), positive="yes")}
        >>> scores["accuracy_strict"], scores["sensitivity"], scores["specificity"], scores["majority"]
        (0.75, 0.5, 1.0, 0.5)
    """
    if positive is not None and positive not in choices:
        raise BadArgument("positive", positive, f"one of {tuple(choices)}", "name a choice of the task")
    if healthy is not None and healthy not in choices:
        raise BadArgument("healthy", healthy, f"one of {tuple(choices)}", "name a choice of the task")
    healthy = healthy_class(choices, positive) if healthy is None else healthy
    measures = MEASURES if positive is None else (*MEASURES, *detection(list(choices).index(positive)))
    scores = []
    for subset, members in subsets_of(items, own).items():
        columns = classification_columns(members, choices)
        scores += compute_scores(task, subset, columns, [item.group for item in members], (*measures, *STATUS_SHARES))
        truths = columns["truths"].argmax(axis=1)
        scores += probability_scores(task, subset, members, truths, choices, positive)
        if subset == "all":
            scores += retfound_scores(task, members, truths, choices, healthy)
    return scores


def label_of(answer: Answer) -> str:
    """Return the class of an answer, numbers in ``g`` format.

    Example:
        >>> label_of("GLAUCOMA"), label_of(2.0)
        ('GLAUCOMA', '2')
    """
    if isinstance(answer, Mapping):
        raise BadArgument("answer", answer, "a word or a number", "score region answers with `region_scores`")
    return answer if isinstance(answer, str) else f"{answer:g}"


def classification_columns(items: Sequence[Item], choices: Sequence[str]) -> dict[str, Floats]:
    """Return the status columns, ``truths`` (n, classes) and ``confusion`` (n, classes, classes + 1).

    Rows of the confusion matrix are truths, columns answers; the last column holds items without an answer.

    Raises:
        BadArgument: A truth or an answer is not among `choices`.
    """
    index = {choice: i for i, choice in enumerate(choices)}
    truths = np.array([_index(item, item.truth, index) for item in items], dtype=np.intp)
    answers = np.array(
        [len(index) if isinstance(i.answer, Unparsed) else _index(i, i.answer, index) for i in items], dtype=np.intp
    )
    one = np.arange(len(items))
    confusion = np.zeros((len(items), len(index), len(index) + 1))
    confusion[one, truths, answers] = 1
    return status_columns(items) | {"confusion": confusion, "truths": confusion.sum(axis=2)}


def _index(item: Item, answer: Answer, index: Mapping[str, int]) -> int:
    try:
        return index[label_of(answer)]
    except KeyError:
        cure = "let the parser return Unparsed('out_of_range') for what is no choice"
        raise BadArgument(f"answer of {item.id}", answer, f"one of {tuple(index)}", cure) from None


def _right(sums: Columns) -> Floats:
    right: Floats = np.diagonal(sums["confusion"][..., :-1], axis1=-2, axis2=-1)
    return right


def _correct(sums: Columns) -> Floats:
    correct: Floats = _right(sums).sum(axis=-1)
    return correct


def _recalls(sums: Columns) -> Floats:
    return ratio(_right(sums), sums["confusion"].sum(axis=-1))


def _f1s(sums: Columns) -> Floats:
    confusion = sums["confusion"]
    true, answered = confusion.sum(axis=-1), confusion[..., :-1].sum(axis=-2)
    return ratio(2 * _right(sums), true + answered)


def _kappa(sums: Columns) -> Floats:
    differing = 1 - ratio(_correct(sums), sums["items"])
    kappa: Floats = 1 - ratio(differing, _differing_by_chance(sums))
    return kappa


def _differing_by_chance(sums: Columns) -> Floats:
    """Return the share of disagreement expected of independent answers and truths."""
    confusion = sums["confusion"]
    same = (confusion.sum(axis=-1) * confusion[..., :-1].sum(axis=-2)).sum(axis=-1)
    differing: Floats = 1 - ratio(same, sums["items"] ** 2)
    return differing


def detection(positive: int) -> tuple[Measure, Measure]:
    """Return sensitivity and specificity for the class at a place of `classification_columns`."""

    def sensitivity(sums: Columns) -> Floats:
        return _recalls(sums)[..., positive]

    def specificity(sums: Columns) -> Floats:
        confusion = np.delete(sums["confusion"], positive, axis=-2)
        return ratio(np.delete(confusion[..., :-1], positive, axis=-1).sum(axis=(-2, -1)), confusion.sum(axis=(-2, -1)))

    return (
        Measure("sensitivity", sensitivity, lambda c: c["truths"][..., positive]),
        Measure("specificity", specificity, lambda c: np.delete(c["truths"], positive, axis=-1).sum(axis=-1)),
    )


ACCURACY = Measure("accuracy_strict", lambda s: ratio(_correct(s), s["items"]), items_in)
KAPPA = Measure("kappa", _kappa, items_in, bounds=lambda sums: (1 - 1 / float(_differing_by_chance(sums)), 1.0))
MEASURES = (
    ACCURACY,
    Measure("accuracy_answered", lambda s: ratio(_correct(s), s["answered"]), lambda c: c["answered"]),
    Measure("accuracy_chance_filled", lambda s: ratio(_correct(s) + s["chance_filled"], s["items"]), items_in),
    mean_measure("balanced_accuracy", _recalls, lambda c: c["truths"]),
    mean_measure("macro_f1", _f1s, lambda c: c["truths"]),
    KAPPA,
    CHANCE,
    Measure("majority", lambda s: ratio(s["truths"].max(axis=-1), s["items"]), items_in, interval=False),
)
