"""Chains in the runs of a report: stages, regimes, effects of earlier answers, and two confidences in each answer."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, count, pairwise, product
from pathlib import Path
from typing import Any

import numpy as np

from lmod_train.core.artifacts.run import Run
from lmod_train.core.errors import LmodError
from lmod_train.core.package_data import package_data
from lmod_train.core.tables import Cell, Column, Estimate, Heads, N, Table, table
from lmod_train.core.types import REGIME, Score
from lmod_train.extensions.xpcr.scores import (
    WHOLE,
    StageDifference,
    chain_differences,
    is_chain,
    stage_differences,
    stages_of,
)
from lmod_train.report.contents import heads, texts
from lmod_train.report.figures.curves import LIKELIHOOD, STATED
from lmod_train.report.origin import origin_of
from lmod_train.report.results import Outcomes, Results, read_results
from lmod_train.report.sorted_errors import PROBES
from lmod_train.scoring.confidence import known, likelihood_of_answer, selective_accuracy, stated_confidence
from lmod_train.scoring.items import Item
from lmod_train.scoring.ranking import area_difference, areas, rank
from lmod_train.scoring.reliability import TENTHS, ece, reliability_points
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
        weights: What identifies the model beside its name: its weights and training, as the run records
            them, and whether its replies are constrained.
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
        form = "constrained" if task in outcomes.constrained else "free"
        weights = (run.model, origin.weights, origin.trained, form)
        items = tuple(outcomes.items.get(task, ()))
        found.append(ChainRun(task, label, regimes[name], weights, run, outcomes, items))
    return found


def every_chain(results: Results) -> dict[str, list[ChainRun]]:
    """Return the name of each task that asks chains -> its runs."""
    return {task: runs for task in results.tasks if (runs := chain_runs(results, task))}


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


# Runs of one model in other regimes that stand beside a run of chains, and what earlier answers changed.
APART = ("--run", "--data.regime", "--data.shard", "--against")
"""Options that another run has otherwise, or does not need."""

NOT_APPLICABLE = "not applicable: no earlier answer"


def regime_tables(run: Path, named: Sequence[Path] = (), trust: Sequence[str] = ()) -> Iterator[Table]:
    """Yield a table for each task of a run that asks chains: its differences from runs of the model in other regimes.

    Other runs are those named, and those in the same parent folder that asked the same curated folder in another
    regime and in the same ways (`data.asking`). Runs of other models or weights are not compared, nor unreadable ones.

    Args:
        run: Folder of the run, with scores.
        named: Folders of other runs to compare it with.
        trust: Modules outside this package whose task classes may be imported.

    Yields:
        Nothing for a task without chains; a table without rows if no other run can be compared.
    """
    own = read_results([run], trust=trust)
    chains = [(task, mine) for task, (mine,) in every_chain(own).items()]
    others = [results for path in _others(run, named) if (results := _readable(path, trust))] if chains else []
    for task, mine in chains:
        found = [other for results in others for other in chain_runs(results, task)]
        rows = [row for other in found for e in effects([mine, other]) for row in _rows(e, other)]
        title, note = f"{task}: what earlier answers changed", texts(__file__)["note"]
        yield table(f"other_regimes-{task}", heads(__file__)["regimes"], rows, title, note)


def _others(run: Path, named: Sequence[Path]) -> list[Path]:
    """Return the named runs, and those beside a run with scores of the same curated folder in another regime."""
    asked = _asked(run)
    beside = [path for path in sorted(run.parent.iterdir()) if Run(path).scores.is_file()]
    comparable = [path for path in beside if (other := _asked(path)) and asked and _differs(asked, other)]
    folders = {path.resolve(): path for path in (*named, *comparable)}
    folders.pop(run.resolve(), None)
    return list(folders.values())


def _differs(one: tuple[Path, Any, str], other: tuple[Path, Any, str]) -> bool:
    return one[:2] == other[:2] and one[2] != other[2]


def _asked(run: Path) -> tuple[Path, Any, str] | None:
    """Return curated folder, ways of asking and regime of a run; None if its configuration does not state them."""
    try:
        data: dict[str, Any] = Run(run).read_config().get("data") or {}
    except LmodError:
        return None
    data = data.get("init_args") or data
    if not data.get("curated"):
        return None
    return Path(data["curated"]).resolve(), data.get("asking"), str(data.get("regime", ""))


def _readable(run: Path, trust: Sequence[str]) -> Any:
    try:
        return read_results([run], trust=trust)
    except LmodError:
        return None


def _rows(e: Effect, other: ChainRun) -> Iterator[list[Cell]]:
    names: list[Cell] = [f"{e.first} - {e.second}", other.scores.run]
    for stage in e.stages:
        gap = stage.score
        difference = NOT_APPLICABLE if stage.why else gap.value
        yield [*names, stage.step, gap.n, difference, (gap.low, gap.high), stage.adjusted]
    for score in e.whole:
        yield [*names, WHOLE[score.metric], score.n, score.value, (score.low, score.high), None]


def compared(
    run: Path, against: Sequence[Path], trusted: Sequence[str], arguments: Sequence[str]
) -> Iterator[Table | str]:
    """Yield what earlier answers changed in chains, or the command of a run to compare with.

    Args:
        run: Folder of the run.
        against: Folders of runs to compare it with, beside those in its parent folder.
        trusted: Modules outside this package with task classes that the runs name.
        arguments: The command and its options, of which that of another run is made.
    """
    found = list(regime_tables(run, against, trusted))
    shown = [one for one in found if one.rows]
    for one in shown:
        yield f"{one.title}. {' '.join(one.note.split())}"
        yield one
    if found and not shown and (missing := in_another_regime(run, arguments)):
        yield f"no run in another regime to compare with; to make one type `{missing}`"
    names = {row[1] for one in found for row in one.rows}
    unlike = [str(other) for other in against if found and Run(other).name not in names]
    if unlike:
        yield f"not compared with {', '.join(unlike)}: of another model, other weights or other questions"


def in_another_regime(run: Path, arguments: Sequence[str]) -> str:
    """Return the command that asks the questions of a run without earlier answers.

    Args:
        run: Folder of the run, which was asked with earlier answers.
        arguments: The command of the run and its options.

    Returns:
        The command, with a run folder beside that of the run; empty if the run itself was asked in this way, as
        comparing it with a run with earlier answers is a choice.

    Example:
        >>> in_another_regime(Path("no/cas_all"), ["test", "--config", "xpcr", "--data.regime=cas_all"])
        'python -m lmod_train test --config xpcr --data.regime independent --run no/independent'
    """
    regime = _regime(run, arguments)
    if regime == ALONE:
        return ""
    words = zip(["", *arguments], arguments, strict=False)
    kept = [word for before, word in words if before not in APART and word.partition("=")[0] not in APART]
    return f"python -m lmod_train {shlex.join([*kept, '--data.regime', ALONE, '--run', str(_beside(run, regime))])}"


def _beside(run: Path, regime: str) -> Path:
    """Return a new folder beside that of a run, named after it."""
    name = run.name.replace(regime, ALONE) if regime in run.name else f"{run.name}_{ALONE}"
    names = chain([name], (f"{name}_{n}" for n in count(2)))
    return next(run.parent / n for n in names if not (run.parent / n).exists())


def _regime(run: Path, arguments: Sequence[str]) -> str:
    """Return the regime of a run: that of its configuration, of one without that of the command."""
    words = [word for argument in arguments for word in argument.split("=", 1)]
    typed = [word for before, word in pairwise(words) if before == "--data.regime"]
    data = Run(run).read_config().get("data") or {}
    return str((data.get("init_args") or data).get("regime") or (typed or [ALONE])[-1])


# Effect of earlier answers in the words: runs of one model in two regimes, compared on the same questions.
COMPARED: list[list[str]] = package_data(__file__, "words.yaml")["results"]["compared"]
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


# Two confidences in each answer of a chain: the stated one, and the likelihood of the chosen option.
SIGNALS: dict[str, Callable[[Item], float | None]] = {STATED: stated_confidence, LIKELIHOOD: likelihood_of_answer}
"""Name of a confidence -> function that returns it for an item, None if it is not known."""

SUFFIXES = {STATED: "", LIKELIHOOD: "_likelihood"}
"""Name of a confidence -> ending of its metrics in `lmod_train.scoring.confidence`."""


def given(run: ChainRun, signal: str) -> bool:
    """Return whether any answer of a run has a confidence."""
    return any(SIGNALS[signal](item) is not None for item in run.items)


def at_stage(run: ChainRun, stage: str) -> list[Item]:
    """Return the items of a stage, all for ``all``."""
    return [item for item in run.items if stage in ("all", item.chain_step)]


def scores_at(run: ChainRun, stage: str, signal: str) -> dict[str, Score | None]:
    """Return the metrics of a confidence at a stage, or of all: ``ece_4``, ``brier``, ``auroc`` and so on."""
    subset, end = "all" if stage == "all" else f"stage={stage}", SUFFIXES[signal]
    names = {metric: f"{metric}{end}" for metric in ("ece_4", "ece_10", "selective_accuracy")}
    names |= {f"{metric}_debiased": f"{metric}_debiased{end}" for metric in ("ece_4", "ece_10")}
    names |= {metric: f"{metric}_{end.strip('_') or 'confidence'}" for metric in ("brier", "auroc")}
    return {metric: run.find(name, subset) for metric, name in names.items()}


def both(items: Sequence[Item]) -> tuple[float, list[float], Score] | None:
    """Return accuracy, areas under the ROC curves of both confidences, and their difference, on answers with both.

    None unless some are right and some are wrong.
    """
    held = [item for item in items if all(signal(item) is not None for signal in SIGNALS.values())]
    (_, stated, right), (_, likelihood, _) = (known(held, signal) for signal in SIGNALS.values())
    gap = area_difference(right, stated, likelihood, [item.group for item in held])
    if gap.value is None:
        return None
    one = np.ones((1, len(held)))
    return float(right.mean()), [float(areas(rank(v, right), one)[0][0]) for v in (stated, likelihood)], gap


def reliability_rows(run: ChainRun, stage: str) -> Iterator[list[Cell]]:
    """Yield the bins of both confidences, with the columns of `lmod_train.extensions.xpcr.sections`."""
    for signal, confidence in SIGNALS.items():
        items, values, right = known(at_stage(run, stage), confidence)
        if not items:
            continue
        curve, ends = reliability_points(values, right, TENTHS), TENTHS.ends.round(6).tolist()
        error = ece(values, right, TENTHS)
        for low, high, n, mean, share in zip(ends, ends[1:], curve.items, curve.confidence, curve.right, strict=False):
            means = [float(mean), float(share)] if n else [None, None]
            yield [stage, signal, len(items), error, low, high, int(n), *means]


def selective_rows(run: ChainRun, signal: str) -> Iterator[list[Cell]]:
    """Yield the points of accuracy against coverage, with the columns of `lmod_train.report.figures.curves`."""
    items, values, right = known(run.items, SIGNALS[signal])
    if not items:
        return
    curve = selective_accuracy(values, right)
    area = run.find(f"selective_accuracy{SUFFIXES[signal]}")
    points = zip([0.0, *curve.coverage.tolist()], [float(curve.accuracy[0]), *curve.accuracy.tolist()], strict=True)
    for i, (x, y) in enumerate(points):
        yield [signal, run.label, None if i or area is None else Estimate(area.value, n=area.n), x, y]
