"""One question in two languages: consistency of the answers, overall accuracy, and replies in another language."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from lmod_train.core.languages import in_other_language
from lmod_train.core.types import Score, Unparsed
from lmod_train.scoring.agreement import RIGHT, WRONG, pair_scores
from lmod_train.scoring.association import Independence, independence
from lmod_train.scoring.closed import BY_LANGUAGE
from lmod_train.scoring.comparison import Paired, mcnemar, paired_test
from lmod_train.scoring.intervals import compute_scores, mean_measure, ratio, share_measure
from lmod_train.scoring.items import Item
from lmod_train.scoring.status import scores_by_subset

LANGUAGES = ("zh", "en")
"""The two languages, in the order of comparisons."""

CELLS = ("right/right", "right/wrong", "wrong/right", "wrong/wrong")
"""Outcomes of a pair: of the question in Chinese / in English."""

_END = re.compile(rf"-(?:{'|'.join(LANGUAGES)})$")


def pair_of(record_id: str) -> str:
    """Return the part of a record id that both languages of a question share; empty if it has no language at its end.

    Example:
        >>> pair_of("binary_question/ophthalwechat/i1/17-zh"), pair_of("binary_question/ophthalwechat/i1/17-en")
        ('binary_question/ophthalwechat/i1/17', 'binary_question/ophthalwechat/i1/17')
        >>> pair_of("glaucoma/refuge/n01")
        ''
    """
    found = _END.search(record_id)
    return record_id[: found.start()] if found else ""


def language_pairs(items: Sequence[Item]) -> list[tuple[Item, Item]]:
    """Return the items of the questions that were asked in both languages, (Chinese, English), by question."""
    by_question: dict[str, dict[str, Item]] = {}
    for item in items:
        if question := pair_of(item.id):
            by_question.setdefault(question, {})[item.language] = item
    both = [by_question[question] for question in sorted(by_question) if set(LANGUAGES) <= set(by_question[question])]
    return [(found[LANGUAGES[0]], found[LANGUAGES[1]]) for found in both]


@dataclass(frozen=True, slots=True)
class Consistency:
    """Chinese against English on one kind of question.

    Attributes:
        cells: Outcome of `CELLS` -> share of the pairs, with interval.
        kappa: Cohen's kappa of the two answers (of right and wrong for questions without options).
        difference: Accuracy in Chinese minus that in English on the pairs, interval clustered by patient.
        paired: Exact McNemar test on the pairs.
        p_by_patient: P value of `difference`; None without an interval.
        right: Number of right items by language, all items.
        sizes: Number of items by language.
        unpaired: Chi-square and Fisher's test on all items, the languages taken as independent; None with one language.
        alone: Number of items whose question was not asked in the other language.
    """

    cells: Mapping[str, Score]
    kappa: Score
    difference: Score
    paired: Paired
    p_by_patient: float | None
    right: tuple[int, int]
    sizes: tuple[int, int]
    unpaired: Independence | None
    alone: int


def consistency(task: str, items: Sequence[Item], right: Mapping[str, bool] | None = None) -> Consistency:
    """Return how answers in the two languages agree.

    Questions are translations of each other, so the paired test is the appropriate one; the chi-square test, as in the
    paper, takes them as independent. A missing answer is wrong, and an answer of its own in kappa.

    Args:
        task: Name of the task.
        items: One per record id.
        right: Record id -> whether the reply is right, e.g. by a judge; items without one are left out. None compares
            answers with truths.

    Example:
        >>> def item(k, language, answer):
        ...     return Item(f"q/{k}-{language}", "answered", answer, "T", ("T", "F"), str(k), language=language)
        >>> answers = [("T", "T"), ("T", "F"), ("F", "F"), ("T", "T")]
        >>> found = consistency("q", [item(k, l, a) for k, two in enumerate(answers) for l, a in zip(LANGUAGES, two)])
        >>> [found.cells[cell].value for cell in CELLS], found.kappa.value, found.difference.value, found.paired.p
        ([0.5, 0.25, 0.0, 0.25], 0.5, 0.25, 1.0)
    """
    judged = {item.id: item.answer == item.truth for item in items} if right is None else right
    counted = [item for item in items if item.id in judged]
    pairs = language_pairs(counted)
    groups = [chinese.group for chinese, _ in pairs]
    first, second = ([judged[pair[k].id] for pair in pairs] for k in (0, 1))
    of = [[judged[item.id] for item in counted if item.language == language] for language in LANGUAGES]
    hits, sizes = (sum(of[0]), sum(of[1])), (len(of[0]), len(of[1]))
    gap, p = paired_test(task, first, second, groups)
    return Consistency(
        cells=_cells(task, first, second, groups),
        kappa=_kappa(task, pairs, judged),
        difference=gap,
        paired=mcnemar(first, second),
        p_by_patient=p,
        right=hits,
        sizes=sizes,
        unpaired=independence(hits, sizes),
        alone=sum(sizes) - 2 * len(pairs),
    )


def _cells(task: str, first: Sequence[bool], second: Sequence[bool], groups: Sequence[str]) -> dict[str, Score]:
    if not groups:
        return {name: Score(task, "all", name, 0, None) for name in CELLS}
    a, b = np.array(first, dtype=np.float64), np.array(second, dtype=np.float64)
    shares = (a * b, a * (1 - b), (1 - a) * b, (1 - a) * (1 - b))
    columns = {"items": np.ones(len(a)), **dict(zip(CELLS, shares, strict=True))}
    scores = compute_scores(task, "all", columns, groups, [share_measure(name, name) for name in CELLS])
    return {score.metric: score for score in scores}


def _kappa(task: str, pairs: Sequence[tuple[Item, Item]], right: Mapping[str, bool]) -> Score:
    """Return kappa of the answers' places among the options, where the right one has the same place in both languages;
    without options, kappa of right and wrong.
    """
    open_ended = not any(item.choices for pair in pairs for item in pair)
    same = pairs if open_ended else [(one, two) for one, two in pairs if _true_place(one) == _true_place(two)]
    labels = [[_verdict(right[i.id]) if open_ended else _place(i) for i in pair] for pair in same]
    groups = [chinese.group for chinese, _ in same]
    found = pair_scores(task, [a for a, _ in labels], [b for _, b in labels], groups)
    return next((replace(s, metric="kappa_languages") for s in found if s.metric == "kappa"),
                Score(task, "all", "kappa_languages", 0, None))  # fmt: skip


def _verdict(right: bool) -> str:
    return RIGHT if right else WRONG


def _place(item: Item) -> str:
    answered = not isinstance(item.answer, Unparsed) and item.answer in item.choices
    return str(item.choices.index(str(item.answer))) if answered else "none"


def _true_place(item: Item) -> int:
    return item.choices.index(str(item.truth)) if item.truth in item.choices else -1


def overall_scores(task: str, items: Sequence[Item], right: Sequence[bool], subsets: Sequence[str]) -> list[Score]:
    """Return the accuracy over the items of several subsets.

    ``accuracy_overall`` weighs all items equally, ``accuracy_overall_mean`` all subsets.

    Args:
        task: Name for the scores.
        items: Of all subsets; their groups cluster the intervals, also between subsets.
        right: Whether each item is right.
        subsets: Subset of each item.

    Returns:
        No scores without items.

    Example:
        >>> items = [Item(i, "answered", "x", "x", group=i) for i in "abc"]
        >>> scores = overall_scores("all", items, [True, True, False], ["binary zh", "binary zh", "open zh"])
        >>> [(s.metric, round(s.value, 3)) for s in scores]
        [('accuracy_overall', 0.667), ('accuracy_overall_mean', 0.5)]
    """
    if not items:
        return []
    names, place = np.unique(np.asarray(subsets, dtype=str), return_inverse=True)
    held = np.zeros((len(items), len(names)))
    held[np.arange(len(items)), place] = 1
    hits = held * np.asarray(right, dtype=np.float64)[:, None]
    columns = {"items": np.ones(len(items)), "right": hits.sum(axis=1), "held": held, "hits": hits}
    return compute_scores(task, "all", columns, [item.group for item in items], _OVERALL)


_OVERALL = (
    share_measure("accuracy_overall", "right"),
    mean_measure("accuracy_overall_mean", lambda s: ratio(s["hits"], s["held"]), lambda c: c["held"]),
)


def other_language_scores(task: str, items: Sequence[Item], replies: Mapping[str, str]) -> list[Score]:
    """Return ``share_other_language``, the share of replies that are not in the language of their question.

    Such a reply is not an error by itself: an answer that can be read counts like any other.

    Args:
        task: Name of the task.
        items: One per record id.
        replies: Record id -> text of the reply without thinking; items without a text are left out.

    Returns:
        Scores over all items with a text and each subset, ``language`` always; none without a text.

    Example:
        >>> items = [Item(i, "answered", "x", "x", group=i, language="zh") for i in "ab"]
        >>> [s.value for s in other_language_scores("q", items, {"a": "正确", "b": "It is true."}) if s.subset == "all"]
        [0.5]
    """
    written = [item for item in items if replies.get(item.id, "").strip()]
    other = {item.id: in_other_language(replies[item.id], item.language) for item in written}
    return scores_by_subset(
        task,
        written,
        lambda members: {"items": np.ones(len(members)), "other": np.array([float(other[i.id]) for i in members])},
        [_OTHER],
        BY_LANGUAGE,
    )


_OTHER = share_measure("share_other_language", "other")
