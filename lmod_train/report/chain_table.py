"""The table of a run's chains: a row per stage, then the scores of whole chains, levels and confidence."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from lmod_train.report.chains import is_chain, stages_of
from lmod_train.report.contents import INTERVAL, SCORE, Cell, Column, N, Table, table
from lmod_train.report.results import RunScores
from lmod_train.tasks.chain.stages.stage import stage_named

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
