"""What the collapse lab says after its controls: which explanations of a failure from delta weights are left."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean

from lmod_train.core.types import Score
from lmod_train.training.lab.collapse import ANSWERS, Answers, Result
from lmod_train.training.lab.starts import Start


def remains(results: Sequence[Result]) -> str:
    """Return what is left of the claim that a start from delta weights, and nothing else, makes replies collapse.

    Shares of right answers differ here if their intervals do not overlap, which is stricter than a test of the
    difference. Nothing is said without controls, as then no other explanation was tried.

    Args:
        results: Results of all arms; of two arms of the delta the one with more steps comes second.
    """
    held = {answers: _arms(results, answers) for answers in ANSWERS}
    held = {
        answers: arms for answers, arms in held.items() if {"merged", "delta", "longer", "base", "random"} <= {*arms}
    }
    if not held:
        return ""
    kinds = list(held)
    behind = [k for k in kinds if _below(held[k]["delta"], held[k]["merged"])]
    still = [k for k in behind if _below(held[k]["longer"], held[k]["merged"])]
    empty_handed = [k for k in kinds if not _apart(held[k]["delta"], held[k]["random"])]
    enough = [k for k in kinds if not _apart(held[k]["base"], held[k]["merged"])]
    lines = [
        f"Each start at its own rate: {_each(held, 'merged', 'delta')} are right from complete weights and from their "
        f"delta. {_said('The delta is behind', behind, kinds, 'The delta is not shown to be behind')}.",
        f"With {_times(results)} times the steps the delta reaches {_each(held, 'longer')}. "
        f"{_said('It is still behind', still, kinds, 'It is then not shown to be behind')}.",
        f"A language model with random weights reaches {_each(held, 'random')}. "
        f"{_said('The delta is not shown to differ from it', empty_handed, kinds, 'The delta differs from it')}.",
        f"The base before its tuning reaches {_each(held, 'base')}. "
        f"{_said('It is not shown to differ from the complete weights', enough, kinds, 'It differs from them')}.",
        f"At its own rate, the delta's replies are {_symptoms(results)}.",
        f"What remains: {_verdict(kinds, still, empty_handed)}.",
    ]
    return "\n\n".join(lines)


def _arms(results: Sequence[Result], answers: Answers) -> dict[Start | str, Score]:
    """Return the share of right answers of each start; ``longer`` is the delta with more steps."""
    found: dict[Start | str, Score] = {}
    for result in results:
        if result.arm.answers == answers:
            found["longer" if result.arm.start in found else result.arm.start] = result.right
    return found


def _times(results: Sequence[Result]) -> int:
    steps = {result.arm.recipe.steps for result in results}
    return max(steps) // min(steps)


def _below(one: Score, other: Score) -> bool:
    return one.high is not None and other.low is not None and one.high < other.low


def _apart(one: Score, other: Score) -> bool:
    return _below(one, other) or _below(other, one)


def _each(held: dict[Answers, dict[Start | str, Score]], *arms: str) -> str:
    """Return the shares of arms by kind of answers, e.g. ``100 % and 3 % of short answers``."""
    return ", ".join(
        f"{' and '.join(percent(own[arm]) for arm in arms)} of {kind} answers" for kind, own in held.items()
    )


def percent(score: Score) -> str:
    """Return a share with its interval, e.g. ``98 % (95-99)``."""
    if score.value is None:
        return "-"
    bounds = (
        f" ({100 * score.low:.0f}-{100 * score.high:.0f})" if score.low is not None and score.high is not None else ""
    )
    return f"{100 * score.value:.0f} %{bounds}"


def _said(statement: str, of: Sequence[Answers], kinds: Sequence[Answers], otherwise: str) -> str:
    """Return a statement for the kinds of answers that it holds for, and its opposite for the others."""
    left = [kind for kind in kinds if kind not in of]
    said = [f"{words} for {_listed(own)}" for words, own in ((statement, of), (otherwise, left)) if own]
    return ". ".join(said)


def _listed(kinds: Sequence[Answers]) -> str:
    return f"{' and '.join(filter(None, (', '.join(kinds[:-1]), kinds[-1])))} answers"


def _symptoms(results: Sequence[Result]) -> str:
    told = []
    for answers in ANSWERS:
        own = next((r.outcomes for r in results if (r.arm.start, r.arm.answers) == ("delta", answers)), [])
        if own:
            empty, looping = fmean(o.empty for o in own), fmean(max(o.repetitive, o.at_limit) for o in own)
            told.append(
                f"to {100 * empty:.0f} % empty and to {100 * looping:.0f} % repetitive or cut off for {answers} answers"
            )
    return ", ".join(told)


def _verdict(kinds: Sequence[Answers], still: Sequence[Answers], empty_handed: Sequence[Answers]) -> str:
    """Return the conclusion: for which kinds no other rate and no further steps make up for the start."""
    told = []
    if still:
        told.append(f"for {_listed(still)} neither another rate nor more steps make up for the start from the delta")
    if both := [kind for kind in still if kind in empty_handed]:
        told.append(f"for {_listed(both)} it is not shown to be better than a language model that was never trained")
    if left := [kind for kind in kinds if kind not in still]:
        told.append(
            f"for {_listed(left)} the delta learns too, at its own rate or with more steps: there the collapse is one "
            "of the rate and the steps together with the start"
        )
    return "; ".join(told)
