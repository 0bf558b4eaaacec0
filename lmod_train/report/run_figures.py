"""Figures of scores, scores by modality and confusion matrices, from ``scores.csv`` and the outcomes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from lmod_train.report.canvas import COLOURS, MARKERS, canvas, hide_from
from lmod_train.report.results import RunScores
from lmod_train.scoring.classification import classification_columns
from lmod_train.scoring.headline import headline_metric
from lmod_train.scoring.items import Item
from lmod_train.types import Score


def draw_scores(runs: Sequence[RunScores], names: Sequence[str], out: Path) -> list[str]:
    """Draw the headline score of every task with interval, chance and majority class; return the file names."""
    tasks = list(dict.fromkeys(task for run in runs for task in run.tasks()))
    height = 0.9 + sum(0.75 + 0.34 * sum(task in r.tasks() for r in runs) for task in tasks)
    ratios = {"height_ratios": [1 + 0.45 * sum(task in r.tasks() for r in runs) for task in tasks]}
    with canvas(out, "scores", len(tasks), 1, (7.2, height), sharex=True, gridspec_kw=ratios) as axes:
        for axis, task in zip(axes[:, 0], tasks, strict=True):
            _score_panel(axis, task, [(i, r) for i, r in enumerate(runs) if task in r.tasks()], names)
        axes[-1, 0].set_xlabel("score with 95 % interval")
        handles = axes[0, 0].get_legend_handles_labels()
        axes[0, 0].figure.legend(*handles, loc="outside upper right", ncols=2, frameon=False, fontsize=9)
    return ["scores"]


def _score_panel(axis: Any, task: str, having: Sequence[tuple[int, RunScores]], names: Sequence[str]) -> None:
    metric = headline_metric(having[0][1].scores, task)
    for row, (i, run) in enumerate(having):
        score = run.find(task, headline_metric(run.scores, task))
        for baseline, mark in (("chance", "|"), ("majority", "d")):
            found = run.find(task, baseline)
            if found and found.value is not None:
                named = f"{baseline} class" if baseline == "majority" else baseline
                style = {"color": "#777777", "ms": 13 if mark == "|" else 6, "mfc": "none", "mew": 1.6}
                axis.plot(found.value, row, mark, label=named if row == 0 else "_", zorder=1, **style)
        if score and score.value is not None:
            _with_interval(axis, score, row, i)
    axis.set_yticks(range(len(having)), [f"{names[i]}\nn = {_n(run, task)}" for i, run in having], fontsize=9)
    axis.set_ylim(len(having) - 0.4, -0.6)
    axis.set_xlim(-0.02, 1.02)
    axis.grid(axis="x", color="#dddddd", zorder=0)
    axis.set_title(f"{task} ({metric})", loc="left", fontsize=10, fontweight="bold")


def _n(run: RunScores, task: str) -> int:
    score = run.find(task, headline_metric(run.scores, task))
    return score.n if score else 0


def _with_interval(axis: Any, score: Score, row: float, i: int) -> None:
    style = {"color": COLOURS[i % len(COLOURS)], "marker": MARKERS[i % len(MARKERS)]}
    if score.low is not None and score.high is not None:
        axis.plot([score.low, score.high], [row, row], color=style["color"], lw=2.2, solid_capstyle="butt", zorder=2)
    axis.plot(score.value, row, ms=7, ls="", zorder=3, **style)


def modality_kinds(runs: Sequence[RunScores], outcomes: Sequence[Mapping[str, Sequence[Item]]]) -> list[str]:
    """Return the figures of scores by modality: ``radar`` for tasks of three or more, ``modalities`` for others."""
    return list(_kinds(_parted(runs, outcomes)))


def _parted(
    runs: Sequence[RunScores], outcomes: Sequence[Mapping[str, Sequence[Item]]]
) -> dict[str, list[dict[str, Score]]]:
    tasks = dict.fromkeys(task for run in runs for task in run.tasks())
    return {t: [_by_modality(r, o, t) for r, o in zip(runs, outcomes, strict=True)] for t in tasks}


def draw_modalities(
    runs: Sequence[RunScores],
    names: Sequence[str],
    outcomes: Sequence[Mapping[str, Sequence[Item]]],
    out: Path,
    name: str,
) -> None:
    """Draw the headline score by modality: a radar chart for three or more modalities, otherwise bars."""
    parted = _parted(runs, outcomes)
    chosen = _kinds(parted)[name]
    polar = {"subplot_kw": {"projection": "polar"}} if name == "radar" else {"sharey": True}
    across = min(3, len(chosen))
    down = math.ceil(len(chosen) / across)
    size = max(5.0, 3.7 * across), 1.0 + (4.2 if name == "radar" else 3.4) * down
    with canvas(out, name, down, across, size, **polar) as axes:
        if name == "radar":  # the layout leaves the padding of a title above a round axis out of its sums
            axes.flat[0].figure.get_layout_engine().set(h_pad=0.3)
        for axis, task in zip(axes.flat, chosen, strict=False):
            spokes = sorted({m for values in parted[task] for m in values})
            (_radar_panel if name == "radar" else _bar_panel)(axis, spokes, parted[task], names)
            axis.set_title(f"{task}\n({headline_metric(_having(runs, task).scores, task)})", fontsize=10, pad=16)
        hide_from(axes, len(chosen))
        handles = _one_each(axes)
        columns = min(3, len(handles))
        axes.flat[0].figure.legend(
            handles.values(), handles.keys(), loc="outside lower center", ncols=columns, frameon=False
        )


def _having(runs: Sequence[RunScores], task: str) -> RunScores:
    return next(run for run in runs if task in run.tasks())


def _kinds(parted: Mapping[str, Sequence[Mapping[str, Score]]]) -> dict[str, list[str]]:
    kinds: dict[str, list[str]] = {"radar": [], "modalities": []}
    for task, values in parted.items():
        kinds["radar" if len({m for v in values for m in v}) > 2 else "modalities"].append(task)
    return {kind: tasks for kind, tasks in kinds.items() if tasks}


def _one_each(axes: Any) -> dict[str, Any]:
    """Return label -> handle of the legend for all panels."""
    found: dict[str, Any] = {}
    for axis in axes.flat:
        for handle, label in zip(*axis.get_legend_handles_labels(), strict=True):
            found.setdefault(label, handle)
    return found


def _by_modality(run: RunScores, items: Mapping[str, Sequence[Item]], task: str) -> dict[str, Score]:
    """Return modality -> headline score; for a run of a single modality, the score over all items."""
    if task not in run.tasks():
        return {}
    metric = headline_metric(run.scores, task)
    found = {
        s.subset.removeprefix("modality="): s
        for s in run.scores
        if s.task == task and s.metric == metric and s.subset.startswith("modality=") and ";" not in s.subset
    }
    overall, only = run.find(task, metric), {i.modality for i in items.get(task, ())}
    return found or ({only.pop(): overall} if overall and len(only) == 1 else {})


def _radar_panel(axis: Any, spokes: Sequence[str], parted: Sequence[Mapping[str, Score]], names: Sequence[str]) -> None:
    angles = np.linspace(0, 2 * np.pi, len(spokes), endpoint=False)
    for i, values in enumerate(parted):
        found = [values[m].value if m in values else None for m in spokes]
        radii = [math.nan if v is None else v for v in found]  # NaN leaves a gap for modalities without items
        if values:
            style = {"color": COLOURS[i % len(COLOURS)], "marker": MARKERS[i % len(MARKERS)]}
            axis.plot([*angles, angles[0]], [*radii, radii[0]], lw=1.8, ms=5, label=names[i], clip_on=False, **style)
    axis.set_xticks(angles, spokes)
    axis.set_theta_zero_location("N")
    axis.set_ylim(0, 1)
    axis.set_yticks([0.25, 0.5, 0.75, 1.0], ["", "0.5", "", "1"], fontsize=8, color="#555555")


def _bar_panel(axis: Any, spokes: Sequence[str], parted: Sequence[Mapping[str, Score]], names: Sequence[str]) -> None:
    width = 0.8 / len(parted)
    for i, values in enumerate(parted):
        for place, m in enumerate(spokes):
            if m not in values or values[m].value is None:
                continue
            x, s = place + (i - (len(parted) - 1) / 2) * width, values[m]
            axis.bar(x, s.value, 0.9 * width, color=COLOURS[i % len(COLOURS)], label=names[i] if place == 0 else "_")
            if s.low is not None and s.high is not None:
                axis.plot([x, x], [s.low, s.high], color="#222222", lw=1.2)
    axis.set_xticks(range(len(spokes)), spokes)
    axis.set_xlim(-0.6, len(spokes) - 0.4)
    axis.set_ylim(0, 1.02)


def draw_confusions(
    names: Sequence[str],
    outcomes: Sequence[Mapping[str, Sequence[Item]]],
    choices: Mapping[str, Sequence[str]],
    out: Path,
) -> list[str]:
    """Draw confusion matrices of each task with fixed choices, a panel per run; return the file names.

    The last column counts replies without an answer. Shades are shares of the row, numbers are items. Levels of a
    scale are in order, so that errors of one stage are next to the diagonal.
    """
    drawn = []
    for task, classes in choices.items():
        counted = [(n, confusion_counts(o.get(task, []), classes)) for n, o in zip(names, outcomes, strict=True)]
        having = [(name, counts) for name, counts in counted if counts is not None]
        if not having:
            continue
        across = min(3, len(having))
        down, side = math.ceil(len(having) / across), 1.9 + 0.62 * len(classes)
        drawn.append(f"confusion-{task}")
        with canvas(out, drawn[-1], down, across, ((side + 0.7) * across, (side + 0.8) * down)) as axes:
            for axis, (name, counts) in zip(axes.flat, having, strict=False):
                _confusion_panel(axis, counts, classes)
                axis.set_title(f"{task}: {name}", fontsize=10)
            hide_from(axes, len(having))
    return drawn


def confusion_counts(items: Sequence[Item], classes: Sequence[str]) -> Any:
    """Return the number of items by truth and answer, (classes, classes + 1); the last column is without an answer.

    None for no items, for tasks without fixed choices, and for regions.
    """
    if not items or not classes or any(isinstance(i.truth, Mapping) for i in items):
        return None
    return classification_columns(items, classes)["confusion"].sum(axis=0)


def _confusion_panel(axis: Any, counts: Any, classes: Sequence[str]) -> None:
    shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    axis.imshow(shares, cmap="Blues", vmin=0, vmax=1)
    for (row, column), count in np.ndenumerate(counts):
        dark = shares[row, column] > 0.55
        axis.text(column, row, f"{count:.0f}", ha="center", va="center", color="white" if dark else "#222222")
    axis.axvline(len(classes) - 0.5, color="#222222", lw=1.2)
    axis.set_xticks(range(len(classes) + 1), [*classes, "no answer"], rotation=35, ha="right", fontsize=8)
    axis.set_yticks(range(len(classes)), list(classes), fontsize=8)
    staged = all(name.isdigit() for name in classes)
    axis.set_xlabel("stage answered" if staged else "answer")
    axis.set_ylabel("true stage" if staged else "truth")
