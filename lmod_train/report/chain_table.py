"""The table of a run's chains: a row per stage, then the scores of whole chains, levels and confidence."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from lmod_train.core.tables import INTERVAL, SCORE, Cell, Column, N, Table, table
from lmod_train.scoring.steps import in_order
from lmod_train.tasks.chain.stages.stage import stage_named
from lmod_train.tasks.run_scores import RunScores, read_run_scores

OF_STAGES = "swa"
"""Metric that the tasks of chains have for each stage (`lmod_train.scoring.chain`)."""
BESIDE = ("chance", "majority", "share_unparsed")
"""Metrics beside those of each stage."""
WHOLE = {
    "swa_mean": "SWA, mean of the stages",
    "ccr": "CCR, complete chains",
    "ccr_strict": "CCR, incomplete chains wrong",
    "ccr_expected": "CCR, mean over one question a stage",
    "ccr_all": "CCR, every question right",
    "ccr_drawn": "CCR, one drawn question a stage",
    "ccr_product": "product of SWA, complete chains",
    "ccr_minus_product": "CCR minus this product",
    "esa=R": "ESA resident",
    "esa=A": "ESA attending",
    "esa=S": "ESA specialist",
    "esa_mean": "ESA, mean of the levels",
    "uas": "UAS, points",
    "uas_unit": "UAS, unit scales, points",
    "uas_flat": "UAS, equal weights, points",
    "uas_worst": "UAS, no confidence as the worst, points",
    "uas_sum": "UAS, plain sum of equation 6",
    "ece_4": "ECE, 4 bins",
    "ece_4_debiased": "ECE, 4 bins, debiased",
    "ece_10": "ECE, 10 bins",
    "ece_10_debiased": "ECE, 10 bins, debiased",
    "auroc_confidence": "AUROC of confidence",
    "share_without_confidence": "without confidence",
    "ece_4_likelihood": "ECE of likelihood, 4 bins",
    "ece_10_likelihood": "ECE of likelihood, 10 bins",
    "ece_10_debiased_likelihood": "ECE of likelihood, 10 bins, debiased",
    "auroc_likelihood": "AUROC of likelihood",
}
"""Metric of `lmod_train.scoring.chain`, with the level of ESA -> name of its row."""
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
        from lmod_train.report.other_regimes import compared  # it reads whole runs

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
    for key, name in WHOLE.items():
        metric, _, level = key.partition("=")
        if several or metric not in OF_SEVERAL:
            yield from _row(run, task, name, metric, f"level={level}" if level else "all")


def _row(
    run: RunScores, task: str, name: str, metric: str, subset: str, beside: Sequence[str] = ()
) -> Iterator[list[Cell]]:
    score = run.find(task, metric, subset)
    if score is not None and score.value is not None:
        found = [run.find(task, other, subset) for other in beside] or [None] * len(BESIDE)
        interval = _interval(score.low, score.high)
        yield [name, score.n, score.value, interval, *(s.value if s else None for s in found)]


def _interval(low: float | None, high: float | None) -> Cell:
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
