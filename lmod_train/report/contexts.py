"""Effect of earlier answers in the words: runs of one model in two regimes, compared on the same questions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from lmod_train.core.tables import Cell, Column, Heads, N
from lmod_train.core.types import Score
from lmod_train.report.chains import ALONE, ChainRun, of_one_model
from lmod_train.scoring.regimes import WHOLE, StageDifference, chain_differences, stage_differences

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
            yield from effect_of(one, other, kind, _name(one, other, pairs))


def effect_of(one: ChainRun, other: ChainRun, kind: str, model: str) -> Iterator[Effect]:
    """Yield the difference of two runs; nothing if they have no question in common.

    Args:
        one: First run.
        other: Second run, whose items have the ids of those of the first.
        kind: What the difference is called.
        model: Name of the model.
    """
    stages = stage_differences(one.task, one.items, other.items)
    whole = [s for s in chain_differences(one.task, one.items, other.items) if s.value is not None]
    if stages:
        yield Effect(model, kind, one.regime, other.regime, tuple(stages), tuple(whole))


def effect_rows(e: Effect) -> Iterator[list[Cell]]:
    """Yield a row per stage, and for the mean and CCR, with the cells of `effect_heads`."""
    for stage in e.stages:
        test, gap = stage.test, stage.score
        counts: list[Cell] = [test.only_first, test.only_second, stage.p, stage.adjusted]
        counts = [None] * 4 if stage.why else counts
        yield [stage.step, gap.n, stage.first, stage.second, gap.value, (gap.low, gap.high), *counts]
    for score in e.whole:
        yield [WHOLE[score.metric], score.n, None, None, score.value, (score.low, score.high), *[None] * 4]


def effect_heads(first: str, second: str) -> Heads:
    """Return the heads of the rows of differences.

    Args:
        first: Name of the first of the two runs in the heads.
        second: Name of the second.
    """
    return [
        "stage", N, Column(f"{first} right", "number"), Column(f"{second} right", "number"),
        Column("difference", "signed"), Column("95 % interval", "signed_interval"), Column(f"{first} only", "count"),
        Column(f"{second} only", "count"), Column("p", "p"), Column("Holm", "p"),
    ]  # fmt: skip


def _name(one: ChainRun, other: ChainRun, pairs: Sequence[tuple[ChainRun, ChainRun]]) -> str:
    """Return the name of the model, or of both runs if other runs have this name."""
    named = [a.scores.called for a, _ in pairs]
    return one.scores.called if named.count(one.scores.called) == 1 else f"{one.scores.run} - {other.scores.run}"
