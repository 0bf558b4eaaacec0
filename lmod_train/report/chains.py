"""Chains of questions in the runs of a report: their stages, and the regimes in which they were asked."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

from lmod_train.core.types import REGIME, Score
from lmod_train.report.chain_table import is_chain, stages_of
from lmod_train.report.origin import origin_of
from lmod_train.report.results import Outcomes, Results
from lmod_train.report.sorted_errors import PROBES
from lmod_train.scoring.items import Item
from lmod_train.tasks.run_scores import RunScores

ALONE = "independent"
"""Regime in which each question is asked without earlier answers."""


@dataclass(frozen=True, slots=True)
class ChainRun:
    """One run's questions of chains.

    Attributes:
        task: Name of the task.
        label: Name in tables and figures: that of the model, with the regime if the runs of a report have several.
        regime: Regime in which the questions were asked (`lmod_train.tasks.regimes`).
        weights: What identifies the model beside its name: its weights and training, as the run records them.
        scores: Scores of the run.
        outcomes: Predictions of the run.
        items: Items of the task.
    """

    task: str
    label: str
    regime: str
    weights: tuple[str, ...]
    scores: RunScores
    outcomes: Outcomes
    items: tuple[Item, ...]

    def find(self, metric: str, subset: str = "all") -> Score | None:
        """Return one score, None if the run does not have it or it has no value."""
        found = self.scores.find(self.task, metric, subset)
        return None if found is None or found.value is None else found

    @property
    def stages(self) -> list[str]:
        """Stages with questions, in the order of the chain."""
        return stages_of(self.scores, self.task)


def chain_runs(results: Results, task: str) -> list[ChainRun]:
    """Return the runs of a task that asks chains, in their order; an empty list for another task."""
    return _runs_of(results, task, [(name, run) for name, run in results.named(task) if is_chain(run, task)])


def probe_runs(results: Results, task: str) -> list[ChainRun]:
    """Return the runs of the probe of a task that asks chains, in their order."""
    probe = task + PROBES
    return _runs_of(results, probe, list(results.named(probe)))


def _runs_of(results: Results, task: str, asked: Sequence[tuple[str, RunScores]]) -> list[ChainRun]:
    regimes = {name: regime_of(results.outcomes[name], task) for name, _ in asked}
    labels = _labels([(name, run.called, regimes[name]) for name, run in asked])
    found = []
    for (name, run), label in zip(asked, labels, strict=True):
        outcomes = results.outcomes[name]
        origin = origin_of(outcomes)
        weights = (run.model, origin.weights, origin.trained)
        items = tuple(outcomes.items.get(task, ()))
        found.append(ChainRun(task, label, regimes[name], weights, run, outcomes, items))
    return found


def every_chain(results: Results) -> Iterator[tuple[str, list[ChainRun]]]:
    """Yield the name and the runs of each task that asks chains."""
    for task in results.tasks:
        if runs := chain_runs(results, task):
            yield task, runs


def regime_of(outcomes: Outcomes, task: str) -> str:
    """Return the regime in which a run asked a task: that of its records, otherwise that of its configuration."""
    tagged = {p.record.tags[REGIME] for p in outcomes.predictions if p.record.task == task and REGIME in p.record.tags}
    data: Mapping[str, Any] = outcomes.config.get("data") or {}
    stated = (data.get("init_args") or data).get("regime")
    return " and ".join(sorted(tagged)) or str(stated or ALONE)


def _labels(named: Sequence[tuple[str, str, str]]) -> list[str]:
    """Return a label for each run, given by its unique name, its model and its regime."""
    if len({regime for *_, regime in named}) < 2:
        return [name for name, *_ in named]
    short = [f"{model}, {regime}" for _, model, regime in named]
    return short if len(set(short)) == len(short) else [f"{name}, {regime}" for name, _, regime in named]


def of_one_model(runs: Sequence[ChainRun], first: str, second: str) -> Iterator[tuple[ChainRun, ChainRun]]:
    """Yield each pair of a run in one regime and one of the same model and weights in another regime.

    Args:
        runs: Runs of one task.
        first: Regime of the first run.
        second: Regime of the second run.
    """
    for one, other in product(runs, runs):
        if (one.regime, other.regime) == (first, second) and one.weights == other.weights:
            yield one, other
