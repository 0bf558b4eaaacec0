"""Sections about chains: X-PCR's tables, whole chains, first errors, confidence, regimes; and modalities."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import ClassVar

from lmod_train.core.tables import Cell, Column, Estimate, Heads, N, table
from lmod_train.core.types import Score
from lmod_train.extensions.xpcr.account import account, image_use
from lmod_train.extensions.xpcr.questions import table_of
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
from lmod_train.report.contents import Figure, Part, Text, heads, noted, texts
from lmod_train.report.figures.curves import COLUMNS as CURVES
from lmod_train.report.figures.curves import LIKELIHOOD, STATED, draw_curves
from lmod_train.report.figures.differences import COLUMNS as DIFFERENCES
from lmod_train.report.figures.differences import draw_differences
from lmod_train.report.figures.groups import group_figure
from lmod_train.report.figures.heat import draw_heat
from lmod_train.report.figures.reliability_diagram import COLUMNS as RELIABILITY
from lmod_train.report.figures.reliability_diagram import draw_reliability
from lmod_train.report.figures.sheet import MOST
from lmod_train.report.origin import phantom_tasks
from lmod_train.report.results import Results
from lmod_train.report.section import Section, added
from lmod_train.scoring.chain_steps import in_order
from lmod_train.scoring.comparison import holm
from lmod_train.scoring.items import Item
from lmod_train.scoring.modality import contributions

_TEXTS, _HEADS = texts(__file__), heads(__file__)

TABLES = [f"xpcr_table_{number}" for number in range(2, 9)]
"""Table 2 of X-PCR, and the tables of its supplement by modality."""

NO_ERROR = "none"


class Chains(Section):
    """X-PCR's tables, whole chains, first errors, confidence, regimes, the image's share, and what was asked."""

    title: ClassVar[str] = "Chains"
    name: ClassVar[str] = "chains"

    def parts(self, results: Results) -> Iterator[Part]:
        """Yield the printed tables with rows of the runs, and what each task that asks chains shows."""
        chains, printed = every_chain(results), added("PaperTables")
        if chains and printed:
            yield from printed(tables=TABLES).parts(results)
        for task, runs in chains.items():
            yield from whole_chains(task, runs)
            yield from first_errors(task, runs)
            yield from confidence(task, runs)
            yield from regimes(task, runs)
            yield from image_use(results, task)
            yield from account(task, runs)


class SourcesAndDiseases(Section):
    """Tables 1 and 2 of X-PCR's supplement, with the images and questions of the runs by the tags of their records."""

    title: ClassVar[str] = "Data sets and diseases"
    name: ClassVar[str] = "sources_and_diseases"

    def parts(self, results: Results) -> Iterator[Part]:
        """Yield both tables; without runs the printed columns, of phantoms the others; nothing for runs of no chain."""
        chains = every_chain(results)
        items = {item.id: item for runs in chains.values() for run in runs for item in run.items}
        drawn = bool(phantom_tasks(results.outcomes) & chains.keys())
        if results.runs and not items:
            return
        yield Text(_TEXTS["drawn_sources" if drawn else "sources_and_diseases"])
        sources: dict[tuple[str, ...], list[Cell]] = {
            (f"{r['index']} {r['dataset']}",): [int(r["size"]), r["source"], r["description"]]
            for r in table_of("sources")
        }
        diseases: dict[tuple[str, ...], list[Cell]] = {
            (r["category"], r["full_name"]): [int(r["images"]), int(r["qa_pairs"])] for r in table_of("taxonomy")
        }
        for number, tags, printed in ((1, ("dataset",), sources), (2, ("category", "disease"), diseases)):
            rows, columns = list(_beside(items.values(), tags, printed)), _HEADS[f"table_{number}"]
            if drawn:  # the numbers of the paper, between names and counts, are left out
                columns = [*columns[: len(tags)], *columns[-2:]]
                rows = [[*row[: len(tags)], *row[-2:]] for row in rows if row[-1]]
            yield table(f"xpcr_supplement_{number}", columns, rows, f"X-PCR, supplement, Table {number}")


def _beside(
    items: Iterable[Item], tags: Sequence[str], printed: Mapping[tuple[str, ...], list[Cell]]
) -> Iterator[list[Cell]]:
    """Yield the printed rows by their values of tags, and those of other values, each with its images and questions."""
    found: dict[tuple[str, ...], list[str]] = {}
    for item in items:
        found.setdefault(tuple(item.tags.get(tag, "") for tag in tags), []).append(item.image)
    blank: list[Cell] = [None] * len(next(iter(printed.values())))
    for key in (*printed, *sorted(found.keys() - printed.keys(), key=lambda key: ("" in key, key))):
        images = found.get(key, [])
        yield [*(value or "not known" for value in key), *printed.get(key, blank), len(set(images)), len(images)]


def whole_chains(task: str, runs: Sequence[ChainRun]) -> Iterator[Part]:
    """Yield the scores of stages, whole chains, levels and confidence, and bars of the stages."""
    title = f"{task}: stages and whole chains"
    rows = [[run.label, *row] for run in runs for row in chain_rows(run.scores, task)]
    yield from noted(_TEXTS["whole_chains"], table(f"chain_scores-{task}", ["model", *COLUMNS], rows, title))
    yield _steps(task, runs, "stages", "swa", "share of right answers at each stage")


def first_errors(task: str, runs: Sequence[ChainRun]) -> Iterator[Part]:
    """Yield where chains break: first wrong stage, survival, and the accuracy after right and after wrong answers."""
    if rows := [row for run in runs for row in _broken(run)]:
        title = f"{task}: first errors and survival"
        yield from noted(_TEXTS["first_errors"], table(f"first_errors-{task}", _HEADS["first_errors"], rows, title))
        yield _first(task, runs)
        about = "share of the complete chains right up to and with each stage"
        yield _steps(task, runs, "survival", "survival", about)


def _steps(task: str, runs: Sequence[ChainRun], name: str, metric: str, about: str) -> Figure:
    """Return bars of a metric of the stages; of more than six runs, a heat map."""
    title = f"{task}: {about}"
    rows = _by_stage([row for run in runs for row in _stage_rows(run, metric, title)])
    return group_figure(f"{name}-{task}", title, _TEXTS["steps"].format(about, task), rows, round=False)


def _stage_rows(run: ChainRun, metric: str, panel: str) -> Iterator[list[Cell]]:
    """Yield a row per stage with a score of a metric, with the columns of `lmod_train.report.figures.groups`."""
    for stage in run.stages:
        if (score := run.find(metric, f"stage={stage}")) is not None:
            chance = run.find("chance", f"stage={stage}") if metric == "swa" else None
            level = None if chance is None else chance.value
            yield [panel, run.label, stage, score.n, score.value, (score.low, score.high), level]


def _by_stage(rows: Sequence[list[Cell]]) -> list[list[Cell]]:
    stages = in_order(str(row[2]) for row in rows)
    return sorted(rows, key=lambda row: stages.index(str(row[2])))


def _broken(run: ChainRun) -> Iterator[list[Cell]]:
    for stage in run.stages:
        first, alive, *after = (
            run.find(metric, f"stage={stage}")
            for metric in ("first_wrong", "survival", "right_after_right", "right_after_wrong")
        )
        if first is not None and alive is not None:
            cells: list[Cell] = [run.label, stage, first.n, first.value, (first.low, first.high)]
            counted = [cell for s in after for cell in (s.n if s else 0, _estimate(s))]
            yield [*cells, alive.value, (alive.low, alive.high), *counted]


def _first(task: str, runs: Sequence[ChainRun]) -> Figure:
    """Return the figure of the first wrong stage, with the chains without a wrong answer."""
    whole = [(run, score) for run in runs if (score := run.find("ccr_expected")) is not None]
    sizes = sorted({score.n for _, score in whole})
    panel = f"share of the complete chains, n {'-'.join(map(str, dict.fromkeys((*sizes[:1], *sizes[-1:]))))}"
    rows = _by_stage([row for run in runs for row in _stage_rows(run, "first_wrong", panel)])
    rows += [[panel, run.label, NO_ERROR, s.n, s.value, (s.low, s.high), None] for run, s in whole if run.stages]
    title = f"{task}: stage of the first error"
    return group_figure(f"first_errors-{task}", title, _TEXTS["first"].format(task), rows, round=False)


def regimes(task: str, runs: Sequence[ChainRun]) -> Iterator[Part]:
    """Yield the differences between the regimes of each model; nothing unless one was asked in two regimes."""
    if found := list(effects(runs)):
        columns: Heads = ["model", "effect", "first", "second", *effect_heads("first", "second")]
        rows = [[e.model, e.kind, e.first, e.second, *row] for e in found for row in effect_rows(e)]
        shown = table(f"regimes-{task}", columns, rows, f"{task}: regimes on the same questions")
        yield from noted(_TEXTS["regimes"], shown)
        yield _effects(task, found)


def _effects(task: str, found: Sequence[Effect]) -> Figure:
    rows: list[list[Cell]] = [
        [f"{e.kind}: {e.first} - {e.second}", e.model, stage, score.n, score.value, (score.low, score.high)]
        for e in found
        for stage, score in (*((s.step, s.score) for s in e.stages), *((WHOLE[s.metric], s) for s in e.whole))
    ]
    order: list[Cell] = [*in_order(s.step for e in found for s in e.stages), *WHOLE.values()]
    panels = list(dict.fromkeys(row[0] for row in rows))
    rows.sort(key=lambda row: (panels.index(row[0]), order.index(row[2])))
    drawn = table(f"regimes-{task}", DIFFERENCES, rows)
    draw = draw_heat if len({e.model for e in found}) > MOST else draw_differences
    title = f"{task}: effect of earlier answers at each stage"
    return Figure(drawn.name, title, _TEXTS["effects"].format(task), drawn, draw)


def confidence(task: str, every: Sequence[ChainRun]) -> Iterator[Part]:
    """Yield calibration and discrimination of stated confidence and likelihood; nothing without any confidence."""
    runs = [run for run in every if any(given(run, signal) for signal in SIGNALS)]
    rows = [row for run in runs for row in _signals(run)]
    yield from noted(_TEXTS["confidence"], table(f"confidence-{task}", _HEADS["confidence"], rows))
    rows = [row for run in runs for row in _both(run)]
    yield from noted(_TEXTS["which"], table(f"confidence_both-{task}", _HEADS["both"], rows))
    if len(runs) > MOST:
        yield _errors(task, runs)
    elif runs:
        yield from _curves(task, runs)


def _signals(run: ChainRun) -> Iterator[list[Cell]]:
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
            accuracy, areas, gap = found
            yield [run.label, stage, gap.n, accuracy, *areas, gap.value, (gap.low, gap.high)]


def _curves(task: str, runs: Sequence[ChainRun]) -> Iterator[Figure]:
    """Yield a reliability diagram per run, and the curves of accuracy against coverage of all."""
    for place, run in enumerate(runs, 1):
        rows = [row for stage in run.stages for row in reliability_rows(run, stage)]
        title = f"{task}, {run.label}: reliability by stage"
        drawn = table(f"reliability-{task}-{place}", RELIABILITY, rows, title)
        yield Figure(drawn.name, title, _TEXTS["reliability"].format(run.label), drawn, draw_reliability)
    curves = [row for signal in SIGNALS for run in runs for row in selective_rows(run, signal)]
    title = f"{task}: accuracy when the least confident answers are withheld"
    drawn = table(f"selective-{task}", CURVES, curves, title)
    yield Figure(drawn.name, title, _TEXTS["selective"].format(task), drawn, draw_curves)


def _errors(task: str, runs: Sequence[ChainRun]) -> Figure:
    """Return the heat map of the calibration errors of many runs."""
    columns: Heads = ["panel", "model", "group", N, Column("debiased ECE", "number")]
    rows = [
        [f"{task}: debiased ECE of {signal}, 10 bins", run.label, stage, score.n, score.value]
        for signal in (STATED, LIKELIHOOD)
        for run in runs
        for stage in in_order(run.stages)
        if (score := scores_at(run, stage, signal)["ece_10_debiased"]) is not None
    ]
    drawn = table(f"reliability-{task}", columns, rows)
    alt = f"Heat maps of the debiased calibration error for {task}, by run (rows) and stage (columns)."
    return Figure(drawn.name, f"{task}: calibration by stage", alt, drawn, draw_heat)


class Contributions(Section):
    """Contribution of each modality to the accuracy on questions about several images (MCS)."""

    title: ClassVar[str] = "Contribution of each modality (MCS)"
    name: ClassVar[str] = "contributions"

    def parts(self, results: Results) -> Iterator[Part]:
        """Yield the table; nothing unless questions were also asked without a modality (`CrossModality.without`)."""
        rows: list[list[Cell]] = []
        for task, name in ((t, name) for t in results.tasks for name, _ in results.named(t)):
            found = list(contributions(task, results.items[name].get(task, ())))
            for one, adjusted in zip(found, holm([c.p for c in found]), strict=True):
                gap, test = one.score, one.test
                cells: list[Cell] = [gap.n, one.whole, one.rest, gap.value, (gap.low, gap.high)]
                rows.append([task, name, one.modality, *cells, test.only_first, test.only_second, one.p, adjusted])
        title = "accuracy with all modalities and without one"
        shown = table("contributions", _HEADS["contributions"], rows, title)
        yield from noted(_TEXTS["contributions"], shown)
