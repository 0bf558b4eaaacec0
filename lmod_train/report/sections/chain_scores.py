"""Scores of chains: each stage, whole chains, levels and confidence, with a staircase of the stages."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import ClassVar

from lmod_train.core.tables import Cell, Column, table
from lmod_train.report.chain_table import COLUMNS, chain_rows
from lmod_train.report.chains import ChainRun, every_chain
from lmod_train.report.contents import Figure, Part, Text
from lmod_train.report.figures.groups import COLUMNS as GROUPS
from lmod_train.report.figures.heat import draw_heat
from lmod_train.report.figures.sheet import MOST
from lmod_train.report.figures.staircase import draw_staircase
from lmod_train.report.results import Results
from lmod_train.report.section import Section
from lmod_train.scoring.steps import in_order

NOTE = """SWA: share of right answers at a stage, a missing answer wrong. CCR: share of the complete chains, those with
a question at every stage, with every stage right; beside it the product of the SWA of these chains, which CCR would be
if errors at different stages were independent. ESA: share of right answers at a level of expertise. UAS: mean of 100
(right, stated confidence at least 0.70), 70 (right, below), 30 (wrong, below 0.50) and -50 (wrong, 0.50 or more),
weighted by 0.6 level + 0.4 impact; X-PCR prints the plain sum (equation 6), which grows with the number of
questions. Intervals are clustered by patient. A calibration error of few answers is too large
by chance, so that it has no interval."""
ALT = "Staircases of the share of right answers at each stage for {}, a line per run with 95 % intervals, and chance."
_MANY = f" (a heat map, as staircases of more than {MOST} runs could not be told apart)"


class ChainScores(Section):
    """The table of stages and whole chains of each run, and the staircase of the stages."""

    title: ClassVar[str] = "Chains: stages and whole chains"

    def parts(self, results: Results) -> Iterator[Part]:
        """Yield a table and a figure per task; nothing without chains."""
        for place, (task, runs) in enumerate(every_chain(results)):
            if not place:
                yield Text(NOTE)
            rows = [[run.label, *row] for run in runs for row in chain_rows(run.scores, task)]
            yield table(f"chain_scores-{task}", ["model", *COLUMNS], rows, f"{task}: stages and whole chains")
            yield _staircase(task, runs)


def _staircase(task: str, runs: Sequence[ChainRun]) -> Figure:
    name, title = f"staircase-{task}", f"{task}: share of right answers at each stage"
    many = len(runs) > MOST
    rows = by_stage([row for run in runs for row in stage_rows(run, "swa", title)])
    columns = [*GROUPS[:4], Column("SWA", "number"), *GROUPS[5:]]
    drawn = table(name, columns, rows)
    return Figure(name, title, ALT.format(task) + _MANY * many, drawn, draw_heat if many else draw_staircase)


def stage_rows(run: ChainRun, metric: str, panel: str) -> Iterator[list[Cell]]:
    """Yield a row per stage with a score of a metric, with the columns of `lmod_train.report.figures.groups`."""
    for stage in run.stages:
        subset = f"stage={stage}"
        if (score := run.find(metric, subset)) is not None:
            chance = run.find("chance", subset) if metric == "swa" else None
            level = None if chance is None else chance.value
            yield [panel, run.label, stage, score.n, score.value, (score.low, score.high), level]


def by_stage(rows: Sequence[list[Cell]]) -> list[list[Cell]]:
    """Return rows with the columns of `lmod_train.report.figures.groups` in the order of the stages."""
    stages = in_order(str(row[2]) for row in rows)
    return sorted(rows, key=lambda row: stages.index(str(row[2])))
