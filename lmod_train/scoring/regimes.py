"""Paired differences of two runs that were asked the same chains, e.g. with and without earlier answers as context."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from lmod_train.core.types import REGIME, Score
from lmod_train.scoring.comparison import (
    Paired,
    by_question,
    holm,
    mcnemar,
    p_by_patient,
    paired_difference,
    paired_items,
)
from lmod_train.scoring.intervals import Columns, Floats, Measure, compute_scores, ratio
from lmod_train.scoring.items import Item
from lmod_train.scoring.steps import STEPS, chains_of, is_right
from lmod_train.scoring.ways import once_each

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
        p: Its p value with patients as the independent units (`p_by_patient`).
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
    gap = paired_difference(task, first, second, [a.group for a, _ in pairs])
    once = set(once_each((a.id, a.tags) for a, _ in pairs))
    tested = [(is_right(a), is_right(b), a.group) for a, b in pairs if a.id in once]
    test = mcnemar([a for a, _, _ in tested], [b for _, b, _ in tested])
    p = p_by_patient(test, *zip(*tested, strict=True))
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
