"""Effect of earlier answers in the words: runs of one model in two regimes, compared on the same questions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from lmod_train.report.chains import ALONE, ChainRun, of_one_model
from lmod_train.scoring.regimes import StageDifference, chain_differences, stage_differences
from lmod_train.types import Score

COMPARED = (
    ("cas_last", ALONE, "effect of context"),
    ("cas_all", ALONE, "effect of context"),
    ("oracle", "cas_last", "error propagation"),
    ("oracle", "cas_all", "error propagation"),
    ("oracle", ALONE, "effect of true answers"),
    ("planted", ALONE, "effect of a wrong answer"),
    ("planted", "oracle", "a wrong answer instead of true ones"),
)
"""First and second regime, and what their difference is called."""


@dataclass(frozen=True, slots=True)
class Effect:
    """Difference of two regimes of one model, on the same questions.

    Attributes:
        model: Name of the model; of several runs in one regime, those of both runs.
        kind: What the difference is called.
        first: Regime of the first run.
        second: Regime of the second run.
        stages: Difference at each stage, p values Holm-adjusted over the stages.
        whole: Difference of the mean of the stages, and of CCR.
    """

    model: str
    kind: str
    first: str
    second: str
    stages: tuple[StageDifference, ...]
    whole: tuple[Score, ...]


def effects(runs: Sequence[ChainRun]) -> Iterator[Effect]:
    """Yield the difference of each two regimes of one model that were asked the same questions.

    Args:
        runs: Runs of one task.
    """
    for first, second, kind in COMPARED:
        pairs = list(of_one_model(runs, first, second))
        for one, other in pairs:
            stages = stage_differences(one.task, one.items, other.items)
            whole = [s for s in chain_differences(one.task, one.items, other.items) if s.value is not None]
            if stages:
                yield Effect(_name(one, other, pairs), kind, first, second, tuple(stages), tuple(whole))


def _name(one: ChainRun, other: ChainRun, pairs: Sequence[tuple[ChainRun, ChainRun]]) -> str:
    """Return the name of the model, or of both runs if other runs have this name."""
    named = [a.scores.called for a, _ in pairs]
    return one.scores.called if named.count(one.scores.called) == 1 else f"{one.scores.run} - {other.scores.run}"
