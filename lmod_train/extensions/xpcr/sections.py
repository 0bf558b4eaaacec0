"""Sections about chains: X-PCR's table, whole chains, first errors, regimes, modalities, confidence, and all in one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, ClassVar

from lmod_train.core.tables import Cell, Column, Estimate, Heads, N, Table, cell_text, table
from lmod_train.core.types import Score
from lmod_train.extensions.xpcr.account import ChainAccount, ImageOfChains
from lmod_train.extensions.xpcr.results import (
    SIGNALS,
    ChainRun,
    Effect,
    at_stage,
    both,
    effect_heads,
    effect_rows,
    effects,
    every_chain,
    given,
    reliability_rows,
    scores_at,
    selective_rows,
)
from lmod_train.extensions.xpcr.scores import COLUMNS, WHOLE, chain_rows
from lmod_train.report.canvas import COLOURS, LINES, MARKERS
from lmod_train.report.contents import Figure, Part, Text, heads, texts
from lmod_train.report.figures.curves import COLUMNS as CURVES
from lmod_train.report.figures.curves import LIKELIHOOD, STATED, draw_curves
from lmod_train.report.figures.differences import COLUMNS as COLUMNS_DIFFERENCES
from lmod_train.report.figures.differences import draw_differences
from lmod_train.report.figures.grid import panels_in_grid
from lmod_train.report.figures.groups import COLUMNS as COLUMNS_GROUPS
from lmod_train.report.figures.groups import COLUMNS as GROUPS
from lmod_train.report.figures.groups import group_figure
from lmod_train.report.figures.heat import draw_heat
from lmod_train.report.figures.lines import Line, distinct, lines, number, parts
from lmod_train.report.figures.sheet import MOST, SMALL, TEXT
from lmod_train.report.figures.staircase import draw_staircase
from lmod_train.report.figures.wrapped import wrapped
from lmod_train.report.results import Results
from lmod_train.report.section import Section, added
from lmod_train.scoring.comparison import FEWEST_DISCORDANT, holm
from lmod_train.scoring.modality import Contribution, contributions
from lmod_train.scoring.steps import in_order

_TEXTS = texts(__file__)
_HEADS = heads(__file__)


class ChainScores(Section):
    """The table of stages and whole chains of each run, and the staircase of the stages."""

    title: ClassVar[str] = "Chains: stages and whole chains"
    name: ClassVar[str] = "chain_scores"

    def parts(self, results: Results) -> Iterator[Part]:
        """Yield a table and a figure per task; nothing without chains."""
        for place, (task, runs) in enumerate(every_chain(results)):
            if not place:
                yield Text(_TEXTS["note"])
            rows = [[run.label, *row] for run in runs for row in chain_rows(run.scores, task)]
            yield table(f"chain_scores-{task}", ["model", *COLUMNS], rows, f"{task}: stages and whole chains")
            yield _staircase(task, runs)


class FirstErrors(Section):
    """The first wrong stage, survival, and the accuracy after right and after wrong answers."""

    title: ClassVar[str] = "Where chains break"
    name: ClassVar[str] = "first_errors"

    def parts(self, results: Results) -> Iterator[Part]:
        """Yield a table and two figures per task; nothing without complete chains."""
        for task, runs in every_chain(results):
            rows = [row for run in runs for row in _rows(run)]
            if rows:
                yield Text(_TEXTS["note_first_errors"])
                yield table(f"first_errors-{task}", _HEADS["heads"], rows, f"{task}: first errors and survival")
                yield _first(task, runs)
                yield _survival(task, runs)


class Regimes(Section):
    """Paired differences between the regimes of each model, stage by stage."""

    title: ClassVar[str] = "Chains: effect of earlier answers"
    name: ClassVar[str] = "regimes"

    def parts(self, results: Results) -> Iterator[Part]:
        """Yield a table and a figure per task; nothing unless a model was asked in two regimes."""
        for task, runs in every_chain(results):
            found = list(effects(runs))
            if found:
                yield Text(NOTE_REGIMES)
                rows = [[e.model, e.kind, e.first, e.second, *row] for e in found for row in effect_rows(e)]
                yield table(f"regimes-{task}", HEADS, rows, f"{task}: regimes on the same questions")
                yield _figure(task, found)


class XpcrTable(Section):
    """The printed rows of X-PCR's Table 2 and of Tables 3 to 8 of its supplement with their states, and runs."""

    title: ClassVar[str] = "X-PCR, Tables 2 to 8"
    name: ClassVar[str] = "xpcr_table"

    def parts(self, results: Results) -> Iterator[Part]:
        """Yield the tables; a sentence instead beside phantoms, and nothing without chains."""
        tables = added("PaperTables")
        if tables and any(every_chain(results)):
            yield from tables(tables=TABLES).parts(results)


class Confidence(Section):
    """Calibration and discrimination of both confidences, stage by stage, and which of them knows wrong answers."""

    title: ClassVar[str] = "Chains: confidence"
    name: ClassVar[str] = "confidence"

    def parts(self, results: Results) -> Iterator[Part]:
        """Yield the tables and figures of each task; nothing without any confidence."""
        for task, every in every_chain(results):
            runs = [run for run in every if any(given(run, signal) for signal in SIGNALS)]
            if runs:
                yield Text(_TEXTS["note_confidence"])
                yield table(
                    f"confidence-{task}",
                    _HEADS["heads_confidence"],
                    [row for run in runs for row in _rows_confidence(run)],
                )
                rows = [row for run in runs for row in _both(run)]
                if rows:
                    yield Text(_TEXTS["which"])
                    yield table(f"confidence_both-{task}", _HEADS["both"], rows)
                yield from _figures(task, runs)


SECTIONS = (XpcrTable, ChainScores, FirstErrors, Confidence, Regimes, ImageOfChains, ChainAccount)


class Chains(Section):
    """X-PCR's table, whole chains, first errors, confidence, regimes, the image's share, and what was asked."""

    title: ClassVar[str] = "Chains"
    name: ClassVar[str] = "chains"

    def parts(self, results: Results) -> Iterator[Part]:
        """Yield the parts of the sections about chains; nothing without chains."""
        for section in SECTIONS:
            yield from section().parts(results)


# Scores of chains: each stage, whole chains, levels and confidence, with a staircase of the stages.
ALT = "Staircases of the share of right answers at each stage for {}, a line per run with 95 % intervals, and chance."

_MANY = f" (a heat map, as staircases of more than {MOST} runs could not be told apart)"


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


# Where chains break: the first wrong stage, and the share of chains that are right up to each stage.
FIRST = "Share of complete chains of {} by the stage of their first wrong answer, bars per run with 95 % intervals."

NO_ERROR = "none"


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
    drawn = table(name, [*COLUMNS_GROUPS[:4], Column("survival", "number"), *COLUMNS_GROUPS[5:]], rows)
    return Figure(
        name, title, _TEXTS["survival"].format(task), drawn, draw_heat if len(runs) > MOST else draw_staircase
    )


# Chains with and without earlier answers in the words: effect of context, and propagation of errors.
NOTE_REGIMES = _TEXTS["note_regimes"].format(fewest_discordant=FEWEST_DISCORDANT)

ALT_REGIMES = "Difference of the shares of right answers at each stage of {} between two regimes, with 95 % intervals."

HEADS: Heads = ["model", "effect", "first", "second", *effect_heads("first", "second")]


def _figure(task: str, found: Sequence[Effect]) -> Figure:
    rows = [
        [f"{e.kind}: {e.first} - {e.second}", e.model, stage, score.n, score.value, (score.low, score.high)]
        for e in found
        for stage, score in (*((s.step, s.score) for s in e.stages), *((WHOLE[s.metric], s) for s in e.whole))
    ]
    order = [*in_order(s.step for e in found for s in e.stages), *WHOLE.values()]
    panels = list(dict.fromkeys(str(row[0]) for row in rows))
    rows.sort(key=lambda row: (panels.index(str(row[0])), order.index(str(row[2]))))
    many = len({e.model for e in found}) > MOST
    name, title = f"regimes-{task}", f"{task}: effect of earlier answers at each stage"
    return Figure(
        name,
        title,
        ALT_REGIMES.format(task),
        table(name, COLUMNS_DIFFERENCES, rows),
        draw_heat if many else draw_differences,
    )


# What each imaging modality contributes: accuracy with all images of an eye, and without those of the modality.
class Contributions(Section):
    """Contribution of each modality to the accuracy on questions about several images (MCS)."""

    title: ClassVar[str] = "Contribution of each modality (MCS)"
    name: ClassVar[str] = "contributions"

    def parts(self, results: Results) -> Iterator[Part]:
        """Yield the table; nothing unless questions were also asked without a modality (`CrossModality.without`)."""
        rows = [
            row
            for task in results.tasks
            for name, _ in results.named(task)
            for row in _rows_contributions(task, name, list(contributions(task, results.items[name].get(task, ()))))
        ]
        if rows:
            yield Text(_TEXTS["note_contributions"].format(fewest_discordant=FEWEST_DISCORDANT))
            yield table(
                "contributions", _HEADS["heads_contributions"], rows, "accuracy with all modalities and without one"
            )


def _rows_contributions(task: str, name: str, found: Sequence[Contribution]) -> Iterator[list[Cell]]:
    for one, adjusted in zip(found, holm([c.p for c in found]), strict=True):
        gap = one.score
        cells: list[Cell] = [gap.n, one.whole, one.rest, gap.value, (gap.low, gap.high)]
        yield [task, name, one.modality, *cells, one.test.only_first, one.test.only_second, one.p, adjusted]


# Table 2 of X-PCR, and the tables of its supplement by modality, with rows for runs of chains.
TABLES = [f"xpcr_table_{number}" for number in range(2, 9)]


# Confidence in the answers of chains: stated in the reply, and the likelihood of the chosen option.
RELIABILITY = "Share of right answers against the confidence in them for {}, a panel per stage, stated and likelihood."


def _rows_confidence(run: ChainRun) -> Iterator[list[Cell]]:
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
    for place, run in enumerate(runs, 1):
        rows = [row for stage in run.stages for row in reliability_rows(run, stage)]
        title = f"{task}, {run.label}: reliability by stage"
        drawn = table(f"reliability-{task}-{place}", COLUMNS_CONFIDENCES, rows, title)
        yield Figure(drawn.name, title, RELIABILITY.format(run.label), drawn, draw_confidences)
    curves = [row for signal in SIGNALS for run in runs for row in selective_rows(run, signal)]
    name, title = f"selective-{task}", f"{task}: accuracy when the least confident answers are withheld"
    yield Figure(name, title, _TEXTS["selective"].format(task), table(name, CURVES, curves, title), draw_curves)


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


# Reliability of two confidences, stage by stage: share of right answers against the confidence in them.
COLUMNS_CONFIDENCES: Heads = _HEADS["heads"]["columns_confidences"]
"""Columns of the table, a row per panel, kind of confidence and bin."""


def draw_confidences(table: Table, out: Path) -> None:
    """Draw a panel for each ``panel``: a line per kind of confidence, and as bars the shares of its answers.

    Args:
        table: Columns as `COLUMNS_CONFIDENCES`.
        out: Folder to write to.
    """
    rows = lines(table)
    panels, kinds = list(parts(rows, "panel")), distinct(rows, "confidence")
    with panels_in_grid(table, out, len(panels), 3, 2.35 + 0.13 * len(kinds), 0.7, sharex=True, sharey=True) as axes:
        for place, (axis, (name, own)) in enumerate(zip(axes, panels, strict=True)):
            _panel(axis, own, kinds)
            errors = [
                f"{kind.split()[0]}: n {o[0]['n']}, ECE {cell_text(o[0]['ECE'], 'number')}"
                for kind, o in parts(own, "confidence")
            ]
            axis.set_title("\n".join([wrapped(name), *errors]), fontsize=TEXT)
            if place % 3 == 0:
                axis.set_ylabel("share right")
            if place + 3 >= len(panels):
                axis.set_xlabel("confidence")
                axis.tick_params(labelbottom=True)


def _panel(axis: Any, own: Sequence[Line], kinds: Sequence[str]) -> None:
    axis.plot([0, 1], [0, 1], color="#555555", lw=1, ls=":", label="share right equal to confidence")
    for kind, rows in parts(own, "confidence"):
        place = kinds.index(kind)
        colour = COLOURS[place % len(COLOURS)]
        width = (rows[0]["to"] - rows[0]["from"]) / len(kinds)
        lefts = [row["from"] + place * width for row in rows]
        shares = [row["items"] / (rows[0]["n"] or 1) for row in rows]
        axis.bar(
            lefts,
            shares,
            width,
            align="edge",
            color=colour,
            alpha=0.25,
            label=f"share of the answers, {kind.split()[0]}",
        )
        held = [row for row in rows if row["items"]]
        points = [number(r["mean confidence"]) for r in held], [number(r["share right"]) for r in held]
        style = {"color": colour, "marker": MARKERS[place], "ls": LINES[place], "ms": 4, "lw": 1.3, "zorder": 3}
        axis.plot(*points, label=kind, **style)
    axis.set(xlim=(0, 1), ylim=(-0.02, 1.02))
    axis.tick_params(labelsize=SMALL)
    axis.grid(color="#e5e5e5")
    axis.set_axisbelow(True)
