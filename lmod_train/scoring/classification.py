"""Metrics of single-choice tasks, and those of RETFound's program."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lmod_train.core.errors import BadArgument
from lmod_train.core.types import Answer, Score, Unparsed
from lmod_train.scoring.intervals import Columns, Floats, Measure, compute_scores, items_in, mean_measure, ratio
from lmod_train.scoring.items import Item
from lmod_train.scoring.probability import probabilities_of, probability_scores
from lmod_train.scoring.status import BASELINES, STATUS_SHARES, majority_of, status_columns
from lmod_train.scoring.subset_names import Keys, subsets_of


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
    number of choices, ``majority`` the share that the best constant answers get (`majority_of`). ``share_<status>`` are
    the shares of the reply statuses. If replies have likelihoods, `probability_scores` follow; if all have and the
    healthy class is known, `retfound_scores` follow for the subset ``all``.

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
    """Return the status columns, ``majority``, ``truths`` (n, classes) and ``confusion`` (n, classes, classes + 1).

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
    columns = {"confusion": confusion, "truths": confusion.sum(axis=2), "majority": majority_of(items)}
    return status_columns(items) | columns


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
    *BASELINES,
)


# The measures of the original RETFound program, for comparison with its published results.


def retfound_scores(
    task: str, items: Sequence[Item], truths: NDArray[np.intp], choices: Sequence[str], healthy: str | None
) -> list[Score]:
    """Return all nine measures as scores of the subset ``all``, with the healthy class as class 0.

    Args:
        task: Name of the task.
        items: All items of the task.
        truths: Index of each item's true class among `choices`, (items).
        choices: The classes; those other than the healthy one keep their order.
        healthy: The choice that becomes class 0; None if unknown.

    Returns:
        Nine scores without an interval, each over all items; an undefined one has no value and n = 0. An empty list
        without a healthy class, or if an item lacks likelihoods, as the original program had them for all items.

    Example:
        >>> sure = {"a": {"ill": -0.1, "well": -3.0}, "b": {"ill": -2.0, "well": -0.2}}
        >>> items = [Item(i, "answered", "ill", "ill", likelihoods=given) for i, given in sure.items()]
        >>> scores = retfound_scores("demo", items, np.array([0, 1]), ("ill", "well"), "well")
        >>> [(s.metric, s.n, s.value) for s in scores[:2]]
        [('retfound_accuracy', 2, 1.0), ('retfound_sensitivity', 2, 1.0)]
    """
    if healthy is None:
        return []
    rows, probabilities = probabilities_of(items, choices)
    if len(rows) < len(items) or not items:
        return []
    first = list(choices).index(healthy)
    order = [first, *(i for i in range(len(choices)) if i != first)]
    measures = retfound_measures(np.argsort(order)[truths], probabilities[:, order])
    return [
        Score(task, "all", name, 0, None) if np.isnan(value) else Score(task, "all", name, len(items), value)
        for name, value in measures.items()
    ]


def healthy_class(choices: Sequence[str], positive: str | None = None) -> str | None:
    """Return the healthy class: the negative one of two with a known positive one, otherwise "normal", else None.

    Example:
        >>> healthy_class(("GLAUCOMA", "NON-GLAUCOMA"), "GLAUCOMA"), healthy_class(("cataract", "glaucoma", "normal"))
        ('NON-GLAUCOMA', 'normal')
        >>> healthy_class(("MALE", "FEMALE")) is None
        True
    """
    if positive is not None and len(choices) == 2:
        return next(choice for choice in choices if choice != positive)
    return next((choice for choice in choices if choice.lower() == "normal" and len(choices) > 1), None)


def retfound_measures(truths: ArrayLike, probabilities: ArrayLike) -> dict[str, float]:
    """Return all nine measures by name.

    All but the last two are means over the classes 1 ... K - 1, each against the others; with many classes the accuracy
    is so higher than top-1 accuracy, as most items are correctly "not this class". ``retfound_g_mean`` is the geometric
    mean of sensitivity and specificity, ``retfound_mcc`` the Matthews correlation, which differs from scikit-learn's
    multi-class one. ``retfound_auroc``, by which the original picked its best checkpoint, and ``retfound_auprc``, the
    average precision, are means over all classes.

    Args:
        truths: Index of the true class of each item, shape (n,), 0 being the healthy one.
        probabilities: Probability of each class for each item, shape (n, classes), at least two classes. The largest is
            the answer, the first of equals.

    Returns:
        Name -> value: ``retfound_accuracy``, ``retfound_sensitivity``, ``retfound_specificity``,
        ``retfound_precision``, ``retfound_g_mean``, ``retfound_f1``, ``retfound_mcc`` (in [-1, 1], the others in
        [0, 1]), ``retfound_auroc`` and ``retfound_auprc``. NaN everywhere without items, and where one of the classes
        has a zero denominator, as a class without items or that is never the answer; the F1 also where a class has no
        true positive (other definitions give 0), and the areas where the original stopped with an error.

    Raises:
        BadArgument: The shapes do not match, a truth is no class, or a probability is NaN or infinite.

    Example:
        >>> truths, one_hot = [0, 1, 2, 3], [[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 0, 1], [0, 0, 1, 0]]
        >>> retfound_measures(truths, one_hot)["retfound_accuracy"]  # half of the answers are right
        0.666...
        >>> truths, probabilities = [0, 0, 1, 1], [[0.9, 0.1], [0.4, 0.6], [0.2, 0.8], [0.3, 0.7]]
        >>> measures = retfound_measures(truths, probabilities)
        >>> measures["retfound_sensitivity"], measures["retfound_specificity"], measures["retfound_auroc"]
        (1.0, 0.5, 1.0)
    """
    from sklearn.metrics import average_precision_score, roc_auc_score  # take a second to import

    labels, shares = _checked(truths, probabilities)
    classes = np.arange(1, shares.shape[1])
    true, said = labels[:, None] == classes, shares.argmax(axis=1)[:, None] == classes
    cells = (true & said, ~true & said, true & ~said, ~true & ~said)
    hits, alarms, misses, rejections = (cell.sum(axis=0).astype(np.float64) for cell in cells)
    precision, recall = ratio(hits, hits + alarms), ratio(hits, hits + misses)
    specificity = ratio(rejections, rejections + alarms)
    margins = (hits + alarms) * (hits + misses) * (rejections + alarms) * (rejections + misses)
    by_class = {
        "accuracy": ratio(hits + rejections, hits + alarms + misses + rejections),
        "sensitivity": recall,
        "specificity": specificity,
        "precision": precision,
        "g_mean": np.sqrt(recall * specificity),
        "f1": ratio(2 * precision * recall, precision + recall),
        "mcc": ratio(hits * rejections - alarms * misses, np.sqrt(margins)),
    }
    one_hot = np.eye(shares.shape[1], dtype=np.intp)[labels]
    curves = {"auroc": roc_auc_score, "auprc": average_precision_score} if one_hot.any(axis=0).all() else {}
    areas = {name: area(one_hot, shares, average="macro") for name, area in curves.items()}
    means = {name: values.mean() for name, values in by_class.items()} | {"auroc": np.nan, "auprc": np.nan} | areas
    return {f"retfound_{name}": float(value) for name, value in means.items()}


def _checked(truths: ArrayLike, probabilities: ArrayLike) -> tuple[NDArray[np.intp], Floats]:
    shares = np.asarray(probabilities, dtype=np.float64)
    if shares.ndim != 2 or shares.shape[1] < 2:
        raise BadArgument("probabilities", f"shape {shares.shape}", "(items, classes)", "give one column per class")
    true = np.asarray(truths)
    if true.shape != shares.shape[:1]:
        raise BadArgument("truths", f"shape {true.shape}", f"({len(shares)},)", "give one truth per item")
    if not np.isin(true, np.arange(shares.shape[1])).all():
        odd = next(value for value in true.tolist() if value not in range(shares.shape[1]))
        raise BadArgument("truths", odd, f"a class from 0 to {shares.shape[1] - 1}", "give the index of the class")
    if not np.isfinite(shares).all():
        raise BadArgument("probabilities", "NaN or infinity", "numbers", "leave items without probabilities out")
    return true.astype(np.intp), shares
