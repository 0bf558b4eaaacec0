"""Whether the image is read at each stage of a chain: the same questions with and without it, after earlier answers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from lmod_train.core.types import REGIME
from lmod_train.report.chains import ChainRun, chain_runs, probe_runs
from lmod_train.report.contexts import Effect, effect_of
from lmod_train.report.probes import named_as_asked, own_ids
from lmod_train.report.results import Outcomes, Results
from lmod_train.tasks.filled import filled_texts

CONTEXTS = ("oracle", "cas_last", "cas_all")
"""Regimes that give the image and earlier answers, or these alone."""
KIND = "none"
"""Kind of the probes that ask a question word for word, without its image."""


@dataclass(frozen=True, slots=True)
class ImageUse:
    """Difference of a run with the image and one without, in the same regime.

    Attributes:
        effect: With the image minus without, stage by stage.
        same: Stage -> share of its questions that both runs asked after the same earlier answers; no stage without
            earlier answers.
    """

    effect: Effect
    same: Mapping[str, float]


def image_uses(results: Results, task: str) -> Iterator[ImageUse]:
    """Yield the use of the image by each model in each regime of `CONTEXTS` that asked a task's probe too.

    The probe is that of the same run; without one, those of other runs of the same model, weights and regime.

    Args:
        results: Results of the runs.
        task: Name of a task that asks chains.
    """
    probes = probe_runs(results, task)
    runs = [run for run in chain_runs(results, task) if run.regime in CONTEXTS]
    pairs = [(run, probe) for run in runs for probe in _probes_of(run, probes)]
    for run, probe in pairs:
        alike = [one for one, _ in pairs if (one.regime, one.scores.called) == (run.regime, run.scores.called)]
        without = replace(probe, items=tuple(named_as_asked(probe.outcomes, task, KIND, run.outcomes)))
        for effect in effect_of(run, without, "image", _name(run, probe, alone=len(alike) == 1)):
            yield ImageUse(effect, _same_answers(run, probe))


def _probes_of(run: ChainRun, probes: Sequence[ChainRun]) -> list[ChainRun]:
    alike = [p for p in probes if (p.regime, p.weights) == (run.regime, run.weights)]
    return [p for p in alike if p.outcomes is run.outcomes] or alike


def _name(run: ChainRun, probe: ChainRun, *, alone: bool) -> str:
    """Return the name of the model, or of its runs where several of them have this name in one regime."""
    if alone:
        return run.scores.called
    return " - ".join(dict.fromkeys((run.scores.run, probe.scores.run)))


def _same_answers(run: ChainRun, probe: ChainRun) -> Mapping[str, float]:
    """Return stage -> share of the paired questions whose prompts state the same earlier answers in both runs."""
    mine, other = _earlier(run.outcomes), _earlier(probe.outcomes)
    steps = {item.id: item.chain_step for item in run.items if REGIME in item.tags}
    same: dict[str, list[bool]] = {}
    for id, own in own_ids(probe.outcomes, run.task, KIND, run.outcomes).items():
        if own in steps:
            same.setdefault(steps[own], []).append(mine[own] == other[id])
    return {step: sum(found) / len(found) for step, found in same.items()}


def _earlier(outcomes: Outcomes) -> dict[str, list[str]]:
    """Return record id -> the model's earlier answers in its prompt; none where these are the true ones."""
    answers = {p.record.id: p.answer for p in outcomes.predictions}
    return {p.record.id: filled_texts(p.record, answers) for p in outcomes.predictions}
