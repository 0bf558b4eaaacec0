"""Where chains break: the first wrong stage, and the share of chains that are right up to each stage."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import ClassVar

from lmod_train.core.tables import INTERVAL, Cell, Column, Estimate, N, table
from lmod_train.core.types import Score
from lmod_train.report.chains import ChainRun, every_chain
from lmod_train.report.contents import Figure, Part, Text
from lmod_train.report.figures.groups import COLUMNS, group_figure
from lmod_train.report.figures.heat import draw_heat
from lmod_train.report.figures.sheet import MOST
from lmod_train.report.figures.staircase import draw_staircase
from lmod_train.report.results import Results
from lmod_train.report.section import Section
from lmod_train.report.sections.chain_scores import by_stage, stage_rows

NOTE = """Over complete chains, those with a question at every stage. First error: share of the chains whose first wrong
answer is at this stage; `none` is the share without a wrong answer. Survival: share that is right up to and with this
stage. With several questions a stage, both are means over all choices of one question a stage. The accuracy of a stage
after right and after wrong answers is over chains with one question a stage, whose earlier stages are all right, or
not: harder cases have more errors at every stage, so that their difference alone shows no propagation."""
SURVIVAL = (
    "Share of complete chains of {} that are right up to and with each stage, a line per run, with 95 % intervals."
)
FIRST = "Share of complete chains of {} by the stage of their first wrong answer, bars per run with 95 % intervals."
NO_ERROR = "none"


class FirstErrors(Section):
    """The first wrong stage, survival, and the accuracy after right and after wrong answers."""

    title: ClassVar[str] = "Where chains break"

    def parts(self, results: Results) -> Iterator[Part]:
        """Yield a table and two figures per task; nothing without complete chains."""
        for task, runs in every_chain(results):
            rows = [row for run in runs for row in _rows(run)]
            if rows:
                yield Text(NOTE)
                yield table(f"first_errors-{task}", _HEADS, rows, f"{task}: first errors and survival")
                yield _first(task, runs)
                yield _survival(task, runs)


_HEADS = (
    Column("model"), Column("stage"), N,
    Column("first error", "number"), INTERVAL,
    Column("survival", "number"), Column("95 % interval of survival", "interval"),
    Column("n after right", "count"), Column("after right", "estimate"),
    Column("n after wrong", "count"), Column("after wrong", "estimate"),
)  # fmt: skip


def _rows(run: ChainRun) -> Iterator[list[Cell]]:
    for stage in run.stages:
        subset = f"stage={stage}"
        first, alive = run.find("first_wrong", subset), run.find("survival", subset)
        if first is not None and alive is not None:
            cells: list[Cell] = [run.label, stage, first.n, first.value, (first.low, first.high)]
            after = [run.find(f"right_after_{kind}", subset) for kind in ("right", "wrong")]
            yield [*cells, alive.value, (alive.low, alive.high), *(c for s in after for c in _with_items(s))]


def _with_items(score: Score | None) -> list[Cell]:
    """Return n, and the value with its interval."""
    return [0, None] if score is None else [score.n, Estimate(score.value, score.low, score.high)]


def _first(task: str, runs: Sequence[ChainRun]) -> Figure:
    sizes = sorted({score.n for run in runs if (score := run.find("ccr_expected")) is not None})
    panel = f"share of the complete chains, n {'-'.join(map(str, dict.fromkeys((*sizes[:1], *sizes[-1:]))))}"
    rows = by_stage([row for run in runs for row in stage_rows(run, "first_wrong", panel)])
    rows += [row for run in runs for row in _none(run, panel)]
    name, title = f"first_errors-{task}", f"{task}: stage of the first error"
    return group_figure(name, title, FIRST.format(task), rows, round=False)


def _none(run: ChainRun, panel: str) -> Iterator[list[Cell]]:
    """Yield the row of the chains without a wrong answer, whose share is that of survival to the last stage."""
    if run.stages and (whole := run.find("ccr_expected")) is not None:
        yield [panel, run.label, NO_ERROR, whole.n, whole.value, (whole.low, whole.high), None]


def _survival(task: str, runs: Sequence[ChainRun]) -> Figure:
    name, title = f"survival-{task}", f"{task}: share of the complete chains right up to and with each stage"
    rows = by_stage([row for run in runs for row in stage_rows(run, "survival", title)])
    drawn = table(name, [*COLUMNS[:4], Column("survival", "number"), *COLUMNS[5:]], rows)
    return Figure(name, title, SURVIVAL.format(task), drawn, draw_heat if len(runs) > MOST else draw_staircase)
