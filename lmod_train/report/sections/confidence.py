"""Confidence in the answers of chains: stated in the reply, and the likelihood of the chosen option."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import ClassVar

from lmod_train.core.tables import Cell, Column, Estimate, Heads, N, table
from lmod_train.core.types import Score
from lmod_train.report.chains import ChainRun, every_chain
from lmod_train.report.confidences import (
    SIGNALS,
    at_stage,
    both,
    given,
    reliability_rows,
    scores_at,
    selective_rows,
)
from lmod_train.report.contents import Figure, Part, Text
from lmod_train.report.figures.confidences import COLUMNS, draw_confidences
from lmod_train.report.figures.curves import COLUMNS as CURVES
from lmod_train.report.figures.curves import LIKELIHOOD, STATED, draw_curves
from lmod_train.report.figures.heat import draw_heat
from lmod_train.report.figures.sheet import MOST
from lmod_train.report.results import Results
from lmod_train.report.section import Section
from lmod_train.scoring.steps import in_order

NOTE = """Two confidences in the same answers: the one that the reply states, and the likelihood of the answer among the
options, if it was recorded. n: answers with this confidence; a reply without an answer is wrong with the confidence
that it states, and has no likelihood. ECE: calibration error in 4 bins (lower ends included) and in 10 (upper ends
included), without an interval, as few answers make it too large; debiased: less the bias that is expected. AUROC: how
well the confidence separates right from wrong answers, 0.5 is by chance. Kept: mean accuracy when the answers with the
least confidence are withheld, over all shares of kept answers; at best 1, and the accuracy if the confidence says
nothing."""
WHICH = """Which knows when it is wrong? Areas of both confidences on the same answers, which have both. Difference:
stated minus likelihood, with an interval from a bootstrap over patients; above 0, the stated confidence separates right
from wrong answers better."""
RELIABILITY = "Share of right answers against the confidence in them for {}, a panel per stage, stated and likelihood."
SELECTIVE = (
    "Accuracy of the answers with the most confidence against their share of all answers for {}, a line per run."
)
HEADS: Heads = [
    "model", "stage", "confidence", N, Column("without", "percent"), Column("ECE 4", "number"),
    Column("debiased 4", "number"), Column("ECE 10", "number"), Column("debiased 10", "number"),
    Column("Brier", "estimate"), Column("AUROC", "estimate"), Column("kept", "number"),
]  # fmt: skip
BOTH: Heads = [
    "model", "stage", N, Column("accuracy", "number"), Column("AUROC stated", "number"),
    Column("AUROC likelihood", "number"), Column("difference", "signed"), Column("95 % interval", "signed_interval"),
]  # fmt: skip


class Confidence(Section):
    """Calibration and discrimination of both confidences, stage by stage, and which of them knows wrong answers."""

    title: ClassVar[str] = "Chains: confidence"

    def parts(self, results: Results) -> Iterator[Part]:
        """Yield the tables and figures of each task; nothing without any confidence."""
        for task, every in every_chain(results):
            runs = [run for run in every if any(given(run, signal) for signal in SIGNALS)]
            if runs:
                yield Text(NOTE)
                yield table(f"confidence-{task}", HEADS, [row for run in runs for row in _rows(run)])
                rows = [row for run in runs for row in _both(run)]
                if rows:
                    yield Text(WHICH)
                    yield table(f"confidence_both-{task}", BOTH, rows)
                yield from _figures(task, runs)


def _rows(run: ChainRun) -> Iterator[list[Cell]]:
    for stage in ("all", *run.stages):
        items = at_stage(run, stage)
        for signal, confidence in SIGNALS.items():
            found = scores_at(run, stage, signal)
            if given(run, signal) and (brier := found["brier"]) is not None:
                without = sum(confidence(item) is None for item in items) / len(items)
                errors = [_value(found[f"{m}{end}"]) for m in ("ece_4", "ece_10") for end in ("", "_debiased")]
                areas = [_estimate(found[m]) for m in ("brier", "auroc")]
                yield [run.label, stage, signal, brier.n, without, *errors, *areas, _value(found["selective_accuracy"])]


def _value(score: Score | None) -> float | None:
    return None if score is None else score.value


def _estimate(score: Score | None) -> Cell:
    return None if score is None else Estimate(score.value, score.low, score.high)


def _both(run: ChainRun) -> Iterator[list[Cell]]:
    for stage in ("all", *run.stages):
        if (found := both(at_stage(run, stage))) is not None:
            gap = found.difference
            yield [run.label, stage, gap.n, found.accuracy, *found.areas, gap.value, (gap.low, gap.high)]


def _figures(task: str, runs: Sequence[ChainRun]) -> Iterator[Figure]:
    """Yield a reliability diagram per run and the curves of all; of more than six runs, a heat map of the errors."""
    if len(runs) > MOST:
        yield _errors(task, runs)
        return
    for number, run in enumerate(runs, 1):
        rows = [row for stage in run.stages for row in reliability_rows(run, stage)]
        title = f"{task}, {run.label}: reliability by stage"
        drawn = table(f"reliability-{task}-{number}", COLUMNS, rows, title)
        yield Figure(drawn.name, title, RELIABILITY.format(run.label), drawn, draw_confidences)
    curves = [row for signal in SIGNALS for run in runs for row in selective_rows(run, signal)]
    name, title = f"selective-{task}", f"{task}: accuracy when the least confident answers are withheld"
    yield Figure(name, title, SELECTIVE.format(task), table(name, CURVES, curves, title), draw_curves)


def _errors(task: str, runs: Sequence[ChainRun]) -> Figure:
    heads: Heads = ["panel", "model", "group", N, Column("debiased ECE", "number")]
    rows = [
        [f"{task}: debiased ECE of {signal}, 10 bins", run.label, stage, score.n, score.value]
        for signal in (STATED, LIKELIHOOD)
        for run in runs
        for stage in in_order(run.stages)
        if (score := scores_at(run, stage, signal)["ece_10_debiased"]) is not None
    ]
    name = f"reliability-{task}"
    alt = f"Heat maps of the debiased calibration error for {task}, by run (rows) and stage (columns)."
    return Figure(name, f"{task}: calibration by stage", alt, table(name, heads, rows), draw_heat)
