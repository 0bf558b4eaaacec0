"""Scores of chains: accuracy of each step, whole chains, differences between regimes, and the table after a run."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from lmod_train.core.errors import BadArgument
from lmod_train.core.package_data import package_data
from lmod_train.core.tables import INTERVAL, SCORE, Cell, Column, N, Table, table
from lmod_train.core.types import REGIME, Score
from lmod_train.extensions.xpcr.stages import stage_named
from lmod_train.scoring.chain_steps import STEPS, Chains, chain_name, chains_of, in_order, is_right
from lmod_train.scoring.closed import answer_scores
from lmod_train.scoring.comparison import (
    Paired,
    by_question,
    holm,
    mcnemar,
    paired_difference,
    paired_items,
    paired_test,
)
from lmod_train.scoring.confidence import confidence_scores
from lmod_train.scoring.expertise import ESA, ESA_MEAN, expertise_columns, level_of
from lmod_train.scoring.intervals import Columns, Floats, Measure, compute_scores, mean_measure, ratio, share_measure
from lmod_train.scoring.items import Item
from lmod_train.scoring.reliability import Flags
from lmod_train.scoring.status import status_counts
from lmod_train.scoring.subset_names import subsets_of
from lmod_train.scoring.ways import once_each
from lmod_train.tasks.run_scores import RunScores, read_run_scores


def chain_scores(task: str, items: Sequence[Item], steps: Sequence[str] = STEPS) -> list[Score]:
    """Return all metrics of chains of single-choice questions, over all items and each subset.

    Every subset has the metrics of `answer_scores`, `confidence_scores` and `uncertainty_scores`.

    ``stage=X``: ``swa`` and ``swa_answered``, the stage-wise accuracy (supplement of X-PCR, equation 2) with missing
    answers wrong or left out; ``survival``, the share of complete chains that are right up to and with this step;
    ``first_wrong``, the share of them whose first error is here;
    ``right_after_right`` and ``right_after_wrong``, the accuracy of this step among complete chains of one question a
    step whose earlier steps are all right, and among the others. ``level=X``: ``esa`` (`lmod_train.scoring.expertise`).

    ``modality=M;stage=X``: ``swa`` of a step on images of a modality.

    ``all`` and subsets that cut no chain: ``swa_mean``, the unweighted mean of ``swa`` over the steps that occur;
    ``esa_mean``; and the measures of `chain_measures`.

    Args:
        task: Name of the task.
        items: One per record id, truths and answers as texts of options; an empty sequence gives no scores.
        steps: Names of the steps of a chain, in order.

    Raises:
        BadArgument: A step is none of `steps`, a level none of `LEVELS`, or an item has no choices.
    """
    sizes = Counter(map(chain_name, items))
    every = chains_of(items, steps)
    scores: list[Score] = []
    for subset, members in subsets_of(items, {"stage": lambda item: item.chain_step}).items():
        scores += answer_scores(task, subset, members)
        scores += confidence_scores(task, subset, members) + uncertainty_scores(task, subset, members)
        key, _, value = subset.partition("=")
        if key == "stage" and value in steps:
            scores += _stage_scores(task, subset, members, every, steps.index(value))
        elif key == "level" and value in ESA:
            groups = [item.group for item in members]
            scores += compute_scores(task, subset, expertise_columns(members), groups, [ESA[value]])
        own = Counter(map(chain_name, members))
        if all(sizes[name] == n for name, n in own.items()):
            scores += _whole_scores(task, subset, members, steps)
    for modality, step in sorted({(item.modality, item.chain_step) for item in items if item.modality}):
        members = [item for item in items if (item.modality, item.chain_step) == (modality, step)]
        scores += _accuracy_of_step(task, f"modality={modality};stage={step}", members)[:1]
    return scores


def _stage_scores(task: str, subset: str, items: Sequence[Item], chains: Chains, place: int) -> list[Score]:
    scores = _accuracy_of_step(task, subset, items)
    return scores + compute_scores(task, subset, chain_columns(chains), chains.groups, _flow_measures(place))


def _accuracy_of_step(task: str, subset: str, items: Sequence[Item]) -> list[Score]:
    """Return ``swa`` and ``swa_answered``."""
    columns = {**status_counts(items), "right": np.array([is_right(item) for item in items], dtype=np.float64)}
    return compute_scores(task, subset, columns, [item.group for item in items], _ACCURACIES)


def _whole_scores(task: str, subset: str, items: Sequence[Item], steps: Sequence[str]) -> list[Score]:
    asked = np.array([[item.chain_step == step for step in steps] for item in items], dtype=np.float64)
    right = np.array([is_right(item) for item in items], dtype=np.float64)
    columns = {"step_items": asked, "step_right": asked * right[:, None], **expertise_columns(items)}
    groups = [item.group for item in items]
    scores = compute_scores(task, subset, columns, groups, [SWA_MEAN, ESA_MEAN])
    chains = chains_of(items, steps)
    return scores + compute_scores(task, subset, chain_columns(chains), chains.groups, CHAIN_MEASURES)


_ACCURACIES = (share_measure("swa", "right"), share_measure("swa_answered", "right", "answered"))
SWA_MEAN = mean_measure("swa_mean", lambda s: ratio(s["step_right"], s["step_items"]), lambda c: c["step_items"])


def chain_columns(chains: Chains) -> dict[str, Floats]:
    """Return the columns of `CHAIN_MEASURES`, one row per chain.

    ``chains`` is ones; ``complete`` 1 for complete chains; ``single`` 1 for those with at most one question a step,
    ``both`` for those that are both. The others are 0 for incomplete chains: ``expected``, ``whole``, ``drawn`` and
    ``chance``, the probability that one question of each step, all questions, the drawn ones, or guesses are right;
    ``shares``, ``survived`` and ``before``, the share of right questions of each step, their product up to and with
    it, and their product before it, (chains, steps); and of chains with one question a step ``clean`` where all earlier
    steps are right, ``broken`` where one is wrong, and ``clean_right`` and ``broken_right`` where this step is right
    then.
    """
    complete, single = chains.complete.astype(np.float64), chains.single.astype(np.float64)
    shares = chains.shares * complete[:, None]
    survived = np.cumprod(shares, axis=1)
    before = np.concatenate([complete[:, None], survived[:, :-1]], axis=1)
    both = complete * single
    clean, broken = both[:, None] * before, both[:, None] * (1 - before)
    return {
        "chains": np.ones(len(complete)),
        "complete": complete,
        "single": single,
        "both": both,
        "expected": survived[:, -1],
        "right": survived[:, -1] * single,
        "whole": complete * (chains.right == chains.asked).all(axis=1),
        "drawn": complete * chains.drawn.all(axis=1),
        "chance": complete * chains.chance.prod(axis=1),
        "shares": shares,
        "survived": survived,
        "before": before,
        "clean": clean,
        "clean_right": clean * shares,
        "broken": broken,
        "broken_right": broken * shares,
    }


def _product(sums: Columns) -> Floats:
    product: Floats = np.prod(ratio(sums["shares"], sums["complete"][..., None]), axis=-1)
    return product


def _sides(sums: Columns) -> Floats:
    """Return the expected rate of complete chains and the product, (..., 2)."""
    return np.stack([ratio(sums["expected"], sums["complete"]), _product(sums)], axis=-1)


_SIGNS = np.array([1.0, -1.0])


CHAIN_MEASURES = (
    share_measure("ccr", "right", "both"),
    share_measure("ccr_strict", "right", "single"),
    share_measure("ccr_expected", "expected", "complete"),
    share_measure("ccr_all", "whole", "complete"),
    share_measure("ccr_drawn", "drawn", "complete"),
    Measure("ccr_product", _product, lambda c: c["complete"], interval=False),
    Measure(
        "ccr_minus_product", lambda s: _sides(s) @ _SIGNS, lambda c: c["complete"], parts=_sides, signs=tuple(_SIGNS)
    ),
    share_measure("ccr_chance", "chance", "complete", interval=False),
    share_measure("share_complete", "complete", "chains"),
)
"""Whether whole chains are right; a missing answer is wrong.

``ccr`` is the complete-chain rate (supplement of X-PCR, equation 3) of complete chains with one question a step;
``ccr_strict`` counts incomplete chains as wrong. With several questions a step, ``ccr_expected`` is the exact mean over
all choices of one question a step (the mean over chains of the product of the shares of right questions), ``ccr_all``
the share of chains with every question right, and ``ccr_drawn`` the rate of one drawn question a step. ``ccr_product``
is the product of the steps' accuracies over complete chains, each chain counting once: the rate if steps were
independent; ``ccr_minus_product`` is ``ccr_expected`` minus it. ``ccr_chance`` is the rate of guesses, and
``share_complete`` the share of complete chains."""


def _flow_measures(place: int) -> tuple[Measure, ...]:
    """Return the measures of one step of complete chains: how many survive it, and how earlier errors affect it."""

    def after(name: str, of: str) -> Measure:
        return Measure(name, lambda s: ratio(s[f"{of}_right"], s[of])[..., place], lambda c: c[of][..., place])

    def of_complete(name: str, share: Callable[[Columns], Floats]) -> Measure:
        return Measure(name, lambda s: ratio(share(s)[..., place], s["complete"]), lambda c: c["complete"])

    flow = (
        of_complete("survival", lambda s: s["survived"]),
        of_complete("first_wrong", lambda s: s["before"] - s["survived"]),
    )
    return (*flow, after("right_after_right", "clean"), after("right_after_wrong", "broken")) if place else flow


CATEGORIES = {"cc": 1.0, "cu": 0.7, "iu": 0.3, "ic": -0.5}
"""Category -> score (supplement of X-PCR, equation 5): right and confident, right and uncertain, wrong and uncertain,
wrong and confident."""

CONFIDENT_RIGHT, CONFIDENT_WRONG = 0.7, 0.5
"""Least confidence of a confident right answer and of a confident wrong one."""

DIFFICULTY = {"R": 1.0, "A": 2.0, "S": 3.0}
"""Level -> difficulty in the weight of a question."""

MEAN_IMPACT, LEAST_IMPACT, LARGEST_IMPACT = 3.0, 1.0, 5.0
"""Impact of a question without the tag ``impact``, and its range."""

OF_DIFFICULTY, OF_IMPACT = 0.6, 0.4
"""Weights of both in the weight of a question (supplement of X-PCR, equation 1)."""


def categories(right: Flags, confidence: Floats) -> Floats:
    """Return 1 in the category of each answer and 0 in the others, (n, categories) in the order of `CATEGORIES`.

    Without a confidence it is the worst possible category: a wrong answer is confident, a right one uncertain.

    Args:
        right: Whether each answer is right, (n).
        confidence: Its confidence in [0, 1], NaN without one, (n).

    Example:
        >>> categories(np.array([True, True, False, False]), np.array([0.7, 0.69, 0.49, 0.5])).argmax(axis=1).tolist()
        [0, 1, 2, 3]
    """
    sure = np.where(right, confidence >= CONFIDENT_RIGHT, ~(confidence < CONFIDENT_WRONG))
    return np.stack([right & sure, right & ~sure, ~right & ~sure, ~right & sure], axis=1).astype(np.float64)


def impact_of(item: Item) -> float:
    """Return the impact in an item's tag ``impact``, 1 to 5; `MEAN_IMPACT` without the tag.

    Raises:
        BadArgument: It is no number from 1 to 5.
    """
    text = item.tags.get("impact", "")
    if not text:
        return MEAN_IMPACT
    try:
        impact = float(text)
    except ValueError:
        impact = math.nan
    if not LEAST_IMPACT <= impact <= LARGEST_IMPACT:
        cure = "correct the impact in the source, or leave the tag out where it is not known"
        raise BadArgument(f"impact of {item.id}", text, "a number from 1 to 5", cure)
    return impact


def weights_of(item: Item) -> tuple[float, float, float]:
    """Return the weight of a question in ``uas``, ``uas_unit`` and ``uas_flat``; NaN twice and 1 without a level.

    Raises:
        BadArgument: Its level or impact is out of range.

    Example:
        >>> item = Item("a", "answered", "x", "x", tags={"level": "S", "impact": "3"})
        >>> [round(weight, 2) for weight in weights_of(item)]
        [3.0, 0.8, 1.0]
    """
    difficulty, impact = DIFFICULTY.get(level_of(item), math.nan), impact_of(item)
    unit = (impact - LEAST_IMPACT) / (LARGEST_IMPACT - LEAST_IMPACT)
    return (
        OF_DIFFICULTY * difficulty + OF_IMPACT * impact,
        OF_DIFFICULTY * (difficulty - 1) / 2 + OF_IMPACT * unit,
        1.0,
    )


def uncertainty_scores(task: str, subset: str, items: Sequence[Item]) -> list[Score]:
    """Return ``uas`` in three weightings, ``uas_worst``, ``uas_sum``, and the share of each category.

    ``uas`` is 100 times the weighted mean of the scores of `CATEGORIES`, from -50 to 100, with the weights 0.6
    difficulty + 0.4 impact of X-PCR (supplement, equations 1, 5 and 6), difficulty 1 to 3 by level and impact 1 to 5.
    ``uas_unit`` scales difficulty and impact to [0, 1] first, ``uas_flat`` has equal weights. They leave out items
    whose reply states no confidence, and all but ``uas_flat`` items without a level. ``uas_worst`` is ``uas`` with the
    former counted as the worst: a wrong one as confident, a right one as uncertain. A missing answer is wrong.
    ``uas_sum`` is the sum of equation 6 as it is printed, over the items of ``uas``: it grows with their number.

    ``share_cc``, ``share_cu``, ``share_iu`` and ``share_ic`` are the shares of the categories among the items with a
    confidence.

    Args:
        task: Name of the task.
        subset: Name of the subset.
        items: Items of the subset; an empty sequence gives empty scores.

    Raises:
        BadArgument: A level or an impact is out of range.
    """
    scores = compute_scores(task, subset, uncertainty_columns(items), [item.group for item in items], MEASURES)
    return [_percent(score) if score.metric in _MEANS else score for score in scores]


def uncertainty_columns(items: Sequence[Item]) -> dict[str, Floats]:
    """Return the columns of `MEASURES` for items; see `columns_of`."""
    stated = [math.nan if item.confidence is None else item.confidence for item in items]
    weights = np.array([weights_of(item) for item in items], dtype=np.float64).reshape(len(items), 3)
    right = np.array([item.answer == item.truth for item in items], dtype=np.bool_)
    return columns_of(right, np.array(stated, dtype=np.float64), weights)


def columns_of(right: Flags, confidence: Floats, weights: Floats) -> dict[str, Floats]:
    """Return the columns of `MEASURES`.

    For each weighting, ``<name>`` is the weighted score, ``<name>_weight`` the weight, and ``<name>_items`` 1, each
    (n); all are 0 for items that it leaves out. ``stated`` is 1 for items with a confidence, (n), and ``categories``
    their category, (n, categories).

    Args:
        right: Whether each answer is right, (n).
        confidence: Its confidence in [0, 1], NaN without one, (n).
        weights: Weights in ``uas``, ``uas_unit`` and ``uas_flat``, NaN where the item is left out, (n, 3).
    """
    stated, member = ~np.isnan(confidence), categories(right, confidence)
    score = member @ np.array(list(CATEGORIES.values()))
    columns = {"stated": stated.astype(np.float64), "categories": member * stated[:, None]}
    counted = {"uas": (0, stated), "uas_unit": (1, stated), "uas_flat": (2, stated), "uas_worst": (0, stated | True)}
    for name, (place, among) in counted.items():
        held = (among & ~np.isnan(weights[:, place])).astype(np.float64)
        weight = np.nan_to_num(weights[:, place]) * held
        columns |= {name: weight * score, f"{name}_weight": weight, f"{name}_items": held}
    return columns


def _weighted(name: str) -> Measure:
    return Measure(
        name, lambda s: ratio(s[name], s[f"{name}_weight"]), lambda c: c[f"{name}_items"], bounds=lambda _: (-0.5, 1.0)
    )


def _share_of_category(place: int, name: str) -> Measure:
    def value(sums: Columns) -> Floats:
        return ratio(sums["categories"][..., place], sums["stated"])

    return Measure(f"share_{name}", value, lambda c: c["stated"])


def _percent(score: Score) -> Score:
    value, low, high = (None if v is None else 100 * v for v in (score.value, score.low, score.high))
    return replace(score, value=value, low=low, high=high)


def _sum(sums: Columns) -> Floats:
    return np.where(sums["uas_items"] > 0, sums["uas"], np.nan)


_MEANS = ("uas", "uas_unit", "uas_flat", "uas_worst")

MEASURES = (
    *map(_weighted, _MEANS),
    Measure("uas_sum", _sum, lambda c: c["uas_items"], interval=False),
    *(_share_of_category(place, name) for place, name in enumerate(CATEGORIES)),
)
"""``uas`` and its variants as fractions, in [-0.5, 1], its plain sum, and the shares of the categories."""


# Paired differences of two runs that were asked the same chains, e.g. with and without earlier answers as context.
Pairs = Sequence[tuple[Item, Item]]

WHOLE = {"swa_mean_difference": "mean", "ccr_difference": "CCR"}
"""Metric over whole chains -> its name beside those of the steps."""

SAME_WORDS = "not applicable: both runs asked it in the same words"
"""Why a step has no difference."""


@dataclass(frozen=True, slots=True)
class StageDifference:
    """Difference of two runs at one step, on the questions that both were asked.

    With the runs CAS and IND it is the effect of context, with oracle and CAS the propagation of errors.

    Attributes:
        step: Name of the step.
        first: Accuracy of the first run on these questions, missing answers wrong.
        second: Accuracy of the second run.
        score: ``swa_difference``, first - second, with n and its interval clustered by patient; without a value and
            with n = 0 where it is not applicable.
        test: Exact McNemar test, each question in one way of asking it.
        p: P value of `score` (`paired_test`).
        adjusted: `p`, Holm-adjusted over the steps.
        why: Why there is no difference; empty if there is one.
    """

    step: str
    first: float
    second: float
    score: Score
    test: Paired
    p: float | None
    adjusted: float | None = None
    why: str = ""


def stage_differences(
    task: str, first: Sequence[Item], second: Sequence[Item], steps: Sequence[str] = STEPS
) -> list[StageDifference]:
    """Return the difference of two runs at each step with questions that both were asked; empty without any.

    Between two regimes, the questions of a chain without earlier answers (IQA) are asked in the same words. They are
    left out; a step with no others has no difference, and `StageDifference.why` states it.

    Args:
        task: Name of the task.
        first: Items of the first run, e.g. asked with earlier answers.
        second: Items of the second run, e.g. asked without.
        steps: Names of the steps, in order.
    """
    pairs, alike = same_questions(first, second), asked_alike(first, second)
    own = {step: [(a, b) for a, b in pairs if a.chain_step == step] for step in steps}
    found = [_difference(task, step, members, alike) for step, members in own.items() if members]
    adjusted = holm([one.p for one in found])
    return [replace(one, adjusted=p) for one, p in zip(found, adjusted, strict=True)]


def asked_alike(first: Sequence[Item], second: Sequence[Item]) -> set[str]:
    """Return the ids in the first run of the questions that two regimes asked in the same words; none of one regime.

    They are those with the same tag `REGIME`, or without it, in both runs.
    """
    mine, other = (by_question(items) for items in (first, second))
    both = {item.id: item.tags.get(REGIME) == other[key].tags.get(REGIME) for key, item in mine.items() if key in other}
    return set() if all(both.values()) else {id for id, same in both.items() if same}


def _difference(task: str, step: str, pairs: Pairs, alike: set[str]) -> StageDifference:
    differing = [(a, b) for a, b in pairs if a.id not in alike]
    if differing:
        return _at_step(task, step, differing)
    found = _at_step(task, step, pairs)
    empty = Score(task, f"stage={step}", "swa_difference", 0, None)
    return replace(found, score=empty, p=None, why=SAME_WORDS)


def _at_step(task: str, step: str, pairs: Pairs) -> StageDifference:
    first, second = ([is_right(pair[run]) for pair in pairs] for run in (0, 1))
    gap, p = paired_test(task, first, second, [a.group for a, _ in pairs])
    once = set(once_each((a.id, a.tags) for a, _ in pairs))
    tested = [(is_right(a), is_right(b)) for a, b in pairs if a.id in once]
    test = mcnemar([a for a, _ in tested], [b for _, b in tested])
    score = replace(gap, subset=f"stage={step}", metric="swa_difference")
    return StageDifference(step, float(np.mean(first)), float(np.mean(second)), score, test, p)


def chain_differences(
    task: str, first: Sequence[Item], second: Sequence[Item], steps: Sequence[str] = STEPS
) -> list[Score]:
    """Return the differences of two runs over whole chains, first - second, each with n and an interval.

    ``swa_mean_difference`` is the unweighted mean over the steps of the differences in accuracy, over the questions
    that both were asked (n); ``ccr_difference`` that of ``ccr_expected`` over the chains that are complete among these
    questions (n). Both have no value and n = 0 without such questions or chains.

    Args:
        task: Name of the task.
        first: Items of the first run.
        second: Items of the second run.
        steps: Names of the steps, in order.
    """
    pairs = same_questions(first, second)
    return [_swa_difference(task, pairs, steps), _ccr_difference(task, pairs, steps)]


def _swa_difference(task: str, pairs: Pairs, steps: Sequence[str]) -> Score:
    asked = [step for step in steps if any(a.chain_step == step for a, _ in pairs)]
    pairs = [(a, b) for a, b in pairs if a.chain_step in asked]
    at = np.array([[a.chain_step == step for step in asked] for a, _ in pairs], dtype=np.float64)
    at = at.reshape(len(pairs), len(asked))
    lead = np.array([float(is_right(a)) - is_right(b) for a, b in pairs])[:, None] * at
    columns = {"step_items": at, "gained": lead.clip(0), "lost": (-lead).clip(0)}
    signs = np.repeat([1.0, -1.0], len(asked)) / max(1, len(asked))

    def sides(sums: Columns) -> Floats:
        shares = [ratio(sums[name], sums["step_items"]) for name in ("gained", "lost")]
        return np.concatenate(shares, axis=-1)

    def support(columns: Columns) -> Floats:
        return np.concatenate([columns["step_items"]] * 2, axis=-1)

    measure = Measure("swa_mean_difference", lambda s: sides(s) @ signs, support, parts=sides, signs=tuple(signs))
    if not pairs:
        return Score(task, "all", "swa_mean_difference", 0, None)
    (score,) = compute_scores(task, "all", columns, [a.group for a, _ in pairs], [measure])
    return replace(score, n=len(pairs))  # both sides of a difference have its support


def _ccr_difference(task: str, pairs: Pairs, steps: Sequence[str]) -> Score:
    first, second = (chains_of([pair[run] for pair in pairs], steps) for run in (0, 1))
    one, other = (chains.shares[first.complete].prod(axis=1).tolist() for chains in (first, second))
    groups = [group for group, whole in zip(first.groups, first.complete, strict=True) if whole]
    return replace(paired_difference(task, one, other, groups), metric="ccr_difference")


def same_questions(first: Sequence[Item], second: Sequence[Item]) -> list[tuple[Item, Item]]:
    """Return `paired_items`, without questions whose truth or choices differ, as after curation with another seed."""
    pairs = paired_items(first, second)
    return [(a, b) for a, b in pairs if a.truth == b.truth and set(a.choices) == set(b.choices)]


# The table of a run's chains: a row per stage, then the scores of whole chains, levels and confidence.
OF_STAGES = "swa"
"""Metric that the tasks of chains have for each stage (`lmod_train.extensions.xpcr.scores`)."""

BESIDE = ("chance", "majority", "share_unparsed")
"""Metrics beside those of each stage."""

WHOLE_CHAINS: dict[str, str] = package_data(__file__, "words.yaml")["scores"]["whole_chains"]
"""Metric of `lmod_train.extensions.xpcr.scores`, with the level of ESA -> name of its row."""

OF_SEVERAL = ("ccr_expected", "ccr_all", "ccr_drawn")
"""Metrics that differ from ``ccr`` only where a stage of a chain has several questions."""

COLUMNS = (
    Column("measure"), N, SCORE, INTERVAL, Column("chance", "number"), Column("majority", "number"),
    Column("unparsed", "percent"),
)  # fmt: skip


def rows(run: Path, against: Sequence[Path], trusted: Sequence[str], arguments: Sequence[str]) -> Iterator[Table | str]:
    """Yield the tables of a run of chains, and what earlier answers changed (`lmod_train.core.extension.Extension`)."""
    found = list(chain_tables(read_run_scores([run])))
    yield from found
    if found:
        from lmod_train.extensions.xpcr.results import compared  # it reads the whole run

        yield from compared(run, against, trusted, arguments)


def chain_tables(runs: Sequence[RunScores]) -> Iterator[Table]:
    """Yield the table of each run and task that asks chains; none for other tasks."""
    for run in runs:
        for task in run.tasks():
            if is_chain(run, task):
                yield table(f"chains-{task}", COLUMNS, list(chain_rows(run, task)), f"{task}: stages and whole chains")


def chain_rows(run: RunScores, task: str) -> Iterator[list[Cell]]:
    """Yield a row per stage and measure that a run has a value of, with the columns of `COLUMNS`."""
    for stage in stages_of(run, task):
        known = stage_named(stage)
        name = f"SWA {stage}, {known.title}" if known else f"SWA {stage}"
        yield from _row(run, task, name, "swa", f"stage={stage}", BESIDE)
    several = _several(run, task)
    for key, name in WHOLE_CHAINS.items():
        metric, _, level = key.partition("=")
        if several or metric not in OF_SEVERAL:
            yield from _row(run, task, name, metric, f"level={level}" if level else "all")


def _row(
    run: RunScores, task: str, name: str, metric: str, subset: str, beside: Sequence[str] = ()
) -> Iterator[list[Cell]]:
    score = run.find(task, metric, subset)
    if score is not None and score.value is not None:
        found = [run.find(task, other, subset) for other in beside] or [None] * len(BESIDE)
        interval = _interval_of(score.low, score.high)
        yield [name, score.n, score.value, interval, *(s.value if s else None for s in found)]


def _interval_of(low: float | None, high: float | None) -> Cell:
    """Return an interval as a cell; one with a negative end, as of UAS, as text without a hyphen."""
    return f"{low:.3f} to {high:.3f}" if low is not None and high is not None and low < 0 else (low, high)


def _several(run: RunScores, task: str) -> bool:
    """Return whether a stage of a chain has several questions: then not all complete chains are in ``ccr``."""
    single, expected = run.find(task, "ccr"), run.find(task, "ccr_expected")
    return expected is not None and (single is None or single.n != expected.n)


def is_chain(run: RunScores, task: str) -> bool:
    """Return whether a task of a run asks chains."""
    return bool(stages_of(run, task))


def stages_of(run: RunScores, task: str) -> list[str]:
    """Return the stages that a run has scores of, in the order of the chain; stages of other names follow.

    Example:
        >>> from lmod_train.core.types import Score
        >>> scores = tuple(Score("chain", f"stage={stage}", "swa", 9, 0.5) for stage in ("CD", "AL", "IQA"))
        >>> stages_of(RunScores(Path("run"), "run", "model", scores), "chain")
        ['IQA', 'AL', 'CD']
    """
    found = (s.subset.partition("=") for s in run.scores if (s.task, s.metric) == (task, OF_STAGES))
    return in_order(stage for key, _, stage in found if key == "stage")
