"""Net benefit of acting on a model's probabilities, beside treating all and none: scores, figure, section."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from lmod_train.core.tables import INTERVAL, Cell, Column, Heads, Table, table
from lmod_train.core.types import Score
from lmod_train.extensions.clinical.chosen_on import ClassProbabilities, Evaluated, evaluated, of_runs
from lmod_train.report.canvas import COLOURS, LINES
from lmod_train.report.contents import Figure, Part, Remark, Text, heads, texts
from lmod_train.report.figures.lines import Line, distinct, interval, lines, number, parts
from lmod_train.report.figures.sheet import LINE, MOST, sheet
from lmod_train.report.figures.wrapped import wrapped
from lmod_train.report.origin import counted
from lmod_train.report.results import Outcomes, Results
from lmod_train.report.section import Section
from lmod_train.scoring.calibration import calibration_columns, calibration_measures
from lmod_train.scoring.intervals import Columns, Floats, Measure, compute_scores, items_in, ratio
from lmod_train.scoring.items import Item
from lmod_train.scoring.probability import curve_classes
from lmod_train.scoring.seeds import mean_over_runs

_TEXTS, _HEADS = texts(__file__), heads(__file__)

FEW = "Of more than {} models, the table has the numbers, and the curves are not drawn."

NONE = "{}: no net benefit of {}, as none of its records have likelihoods, or not the same records for all its seeds"

ALT = "Net benefit of each model for {} against the threshold, with treating all and none, and 95 % intervals."

SPREAD: Heads = [Column("seeds", "count"), Column("sd of net benefit over seeds", "number")]

PANELS = 4
"""Largest number of classes in one figure."""


class DecisionCurves(Section):
    """Net benefit at stated thresholds, with a figure per task."""

    title: ClassVar[str] = "Decision curves"
    name: ClassVar[str] = "decision_curves"

    def parts(self, results: Results) -> Iterator[Part]:
        """Yield the table, remarks on distorted probabilities, and the figures; nothing if no run has likelihoods."""
        found = {task: evaluated(results, task) for task in results.choices}
        models = [(task, own, list(_rows(results, task, own))) for task, every in found.items() for own in every]
        rows = [row for _, _, several in models for row in several]
        if rows:
            heads = [*_HEADS["heads"], *(SPREAD if any(row[len(_HEADS["heads"])] for row in rows) else [])]
            yield Text(_TEXTS["note"])
            yield Text(_TEXTS["calibrated"])
            yield table("decision_curves", heads, [row[: len(heads)] for row in rows])
            yield from (
                Remark(text) for text in dict.fromkeys(_distorted(results, own) for _, own, _ in models) if text
            )
        yield from (Remark(NONE.format(own.name, task)) for task, own, several in models if not several)
        for task, every in found.items():
            yield from _figures(results, task, every)


def used(own: Evaluated) -> list[list[Item]]:
    """Return the items that the net benefit of a model is computed on: those of the test split, or else all."""
    test = own.test
    return test if all(test) else list(own.items)


def _rows(results: Results, task: str, own: Evaluated) -> Iterator[list[Cell]]:
    """Yield the rows of one model, with the cells of `SPREAD`, which are empty for a single run."""
    items, classes = used(own), results.choices[task]
    error = calibration_error_of(task, items, classes)
    splits, seeds = counted(Counter(i.split for i in items[0])), len(own.runs) if len(own.runs) > 1 else None
    for b in net_benefits(task, items, classes):
        first: list[Cell] = [task, own.name, splits, b.label, b.threshold, b.model.n, b.model.value]
        ends: list[Cell] = [(b.model.low, b.model.high), b.treat_all.value, b.gain.value, (b.gain.low, b.gain.high)]
        sd = float(np.std(b.each, ddof=1)) if seeds else None
        yield [*first, *ends, error.value if error else None, seeds, sd]


def _distorted(results: Results, own: Evaluated) -> str:
    """Return a sentence if the configuration of a model names something that distorts its probabilities."""
    found = distortions(results.outcomes[own.runs[0]])
    return f"{own.name}: its configuration has {', '.join(found)}, which distorts probabilities" if found else ""


def distortions(outcomes: Outcomes) -> list[str]:
    """Return the options in a run's configuration that distort probabilities, as text."""
    model, data = (_options(outcomes.config.get(part)) for part in ("model", "data"))
    found = []
    if smoothing := model.get("label_smoothing"):
        found.append(f"label smoothing {smoothing}")
    if model.get("class_weights", "none") != "none":
        found.append(f"class weights {model['class_weights']}")
    if data.get("balance", "none") not in ("none", None):
        found.append(f"balanced drawing by {data['balance']}")
    return found


def _options(part: Any) -> Mapping[str, Any]:
    part = part if isinstance(part, Mapping) else {}
    own = part.get("init_args") or part
    return own if isinstance(own, Mapping) else {}


def _figures(results: Results, task: str, every: Sequence[Evaluated]) -> Iterator[Part]:
    """Yield the curves of a task, `PANELS` classes in a figure."""
    if len(every) > MOST:
        yield Text(FEW.format(MOST))
        return
    classes = results.choices[task]
    scored = {own.name: net_benefits(task, used(own), classes) for own in every}
    drawn = [own for own in every if scored[own.name]]
    places = curve_classes(classes) if drawn else []
    for start in range(0, len(places), PANELS):
        rows = [row for place in places[start : start + PANELS] for row in _curves(task, classes, place, drawn, scored)]
        name = f"decision-{task}" + (f"-{start // PANELS + 1}" if start else "")
        title = f"{task}: decision curves"
        yield Figure(name, title, ALT.format(task), table(name, COLUMNS, rows, title), draw_decision)


def _curves(
    task: str, classes: Sequence[str], place: int, every: Sequence[Evaluated], scored: Mapping[str, list[NetBenefit]]
) -> Iterator[list[Cell]]:
    """Yield the points of one class; of a series, the mean over its seeds."""
    of_all: dict[tuple[str, ...], tuple[str, list[float]]] = {}
    for own in every:
        runs = of_runs(used(own), classes)
        model, treat_all = np.array([decision_curve(*run.of_class(place)) for run in runs]).mean(axis=0)
        ends = {b.threshold: (b.model.low, b.model.high) for b in scored[own.name] if b.label == classes[place]}
        for t, value in zip(GRID, model.tolist(), strict=True):
            yield [classes[place], own.name, t, value, ends.get(t)]
        of_all.setdefault(runs[0].ids, (own.name, treat_all.tolist()))
    for name, values in of_all.values():
        label = TREAT_ALL if len(of_all) == 1 else f"{TREAT_ALL}, records of {name}"
        for t, value in zip(GRID, values, strict=True):
            yield [classes[place], label, t, value, None]


# Decision curves: net benefit against the threshold, with treating all and treating none.
COLUMNS: Heads = _HEADS["columns"]
"""Columns of the table, a row per threshold of a line; intervals are at a few of them."""

TREAT_ALL, TREAT_NONE = "treat all", "treat none"

WIDTH = 4.2
"""Width in inches: one panel, so that its text can be read on a telephone."""


def draw_decision(table: Table, out: Path) -> None:
    """Draw a panel for each class, one below the other: a line per model, intervals, and both default lines.

    Args:
        table: Columns as `COLUMNS`; models that begin with `TREAT_ALL` are drawn as defaults.
        out: Folder to write to.
    """
    rows = lines(table)
    panels, models = list(parts(rows, "class")), distinct(rows, "model")
    models.sort(key=lambda name: name.startswith(TREAT_ALL))  # stable: the lines of treating all come last
    labels = {name: wrapped(name, 50, 2) for name in models}
    foot = 0.45 + LINE * 1.35 * (1 + sum(1 + text.count("\n") for text in labels.values()))
    with sheet(table, out, 2.6 * max(1, len(panels)) + foot, max(1, len(panels)), 1, WIDTH) as axes:
        for axis, (name, own) in zip(axes[:, 0], panels, strict=False):
            _panel(axis, own, models, labels)
            axis.set_title(wrapped(f"{name} against the rest", 50, 2), fontsize=9)
        if panels:
            axes[-1, 0].set_xlabel("threshold: probability from which on one acts")
            handles = axes[0, 0].get_legend_handles_labels()
            axes[0, 0].figure.legend(*handles, loc="outside lower center", ncols=1, frameon=False)


def _panel(axis: Any, own: Sequence[Line], models: Sequence[str], labels: dict[str, str]) -> None:
    for place, model in enumerate(models):
        points = [row for row in own if row["model"] == model]
        style = _style(place, model)
        values = [number(row["net benefit"]) for row in points]
        axis.plot([row["threshold"] for row in points], values, label=labels[model], zorder=2, **style)
        for row in points:
            if isinstance(row[INTERVAL.head], tuple):
                at = row["threshold"] + 0.008 * (place - (len(models) - 2) / 2)  # side by side
                axis.plot([at, at], interval(row, INTERVAL.head), color=style["color"], lw=1.3, zorder=3)
    axis.axhline(0, color="#000000", lw=1.3, ls=(0, (1, 1)), label=TREAT_NONE, zorder=1)
    axis.set(xlim=(0, 1), ylim=_limits(own), ylabel="net benefit, 95 % intervals")
    axis.grid(color="#e5e5e5", zorder=0)


def _style(place: int, model: str) -> dict[str, Any]:
    if model.startswith(TREAT_ALL):
        return {"color": "#777777", "lw": 1.2, "ls": "-"}
    return {"color": COLOURS[place % len(COLOURS)], "ls": LINES[place % len(LINES)], "lw": 1.7}


def _limits(own: Sequence[Line]) -> tuple[float, float]:
    """Return the limits of the vertical axis: all that is above 0, and a quarter of that below."""
    ends = [interval(row, INTERVAL.head)[1] for row in own if isinstance(row[INTERVAL.head], tuple)]
    values = [number(row["net benefit"]) for row in own]
    top = max((value for value in (*values, *ends) if value > 0), default=0.05)  # False for NaN
    return -0.25 * top, 1.05 * top


# Net benefit of acting on a probability, beside that of acting on all patients, or on none (decision curves).
THRESHOLDS = (0.1, 0.2, 0.3, 0.5)
"""Thresholds of the scores."""

GRID: tuple[float, ...] = tuple(round(0.01 * step, 2) for step in range(1, 100))
"""Thresholds of the curves."""


@dataclass(frozen=True, slots=True)
class NetBenefit:
    """Net benefit of one class against the rest at one threshold, each with an interval over patients.

    Attributes:
        label: The class that is acted on.
        threshold: Probability from which on a patient is acted on, in (0, 1).
        model: Net benefit of acting on the model's probability, the mean over runs; treating none has 0.
        treat_all: Net benefit of acting on all.
        gain: `model` minus `treat_all`, paired.
        each: Net benefit of each run, (runs).
    """

    label: str
    threshold: float
    model: Score
    treat_all: Score
    gain: Score
    each: Floats


def net_benefits(task: str, runs: Sequence[Sequence[Item]], choices: Sequence[str]) -> list[NetBenefit]:
    """Return the net benefit of each class against the rest at each of `THRESHOLDS`; of several runs, their mean.

    Args:
        task: Name of the task.
        runs: Items of each run, the same ones in the same order, with likelihoods in the same ones.
        choices: The classes.

    Returns:
        An empty list if no item has likelihoods, or if the items of the runs differ. A net benefit has no interval if
        it does not vary between patients, e.g. if no item is flagged.

    Example:
        >>> alike = {"likelihoods": {"yes": np.log(0.35), "no": np.log(0.65)}}
        >>> truths = ("yes", "no", "no", "no", "no")
        >>> run = [Item(str(i), "answered", "no", t, group=str(i), **alike) for i, t in enumerate(truths)]
        >>> [(b.threshold, round(b.model.value, 3), b.gain.value) for b in net_benefits("demo", [run], ("yes", "no"))]
        [(0.1, 0.111, 0.0), (0.2, 0.0, 0.0), (0.3, -0.143, 0.0), (0.5, 0.0, 0.6)]
    """
    found = of_runs(runs, choices)
    places = curve_classes(choices) if found else []
    return [_net_benefit(task, found, (choices[place], place), at) for place in places for at in THRESHOLDS]


def _net_benefit(task: str, runs: Sequence[ClassProbabilities], named: tuple[str, int], threshold: float) -> NetBenefit:
    label, place = named
    each = [_columns(*own.of_class(place), threshold) for own in runs]
    stacked = {name: np.stack([own[name] for own in each], axis=-1) for name in each[0]}
    measures = net_benefit_measures(threshold)
    averaged = [mean_over_runs(measure, len(runs)) for measure in measures]
    model, treat_all, gain = compute_scores(task, "all", stacked, runs[0].groups, averaged)
    own = measures[0].value({name: column.sum(axis=0) for name, column in stacked.items()})
    return NetBenefit(label, threshold, model, treat_all, gain, own)


def net_benefit_measures(threshold: float) -> tuple[Measure, Measure, Measure]:
    """Return net benefit of the model, of treating all, and the first minus the second, at one threshold.

    Each is a mean over items: of 1 for a true positive and -t / (1 - t) for a false one; of what treating all loses to
    the model, t / (1 - t) for a true negative and -1 for a false one.
    """
    weight = threshold / (1 - threshold)

    def model(sums: Columns) -> Floats:
        return ratio(sums["caught"] - weight * sums["alarms"], sums["items"])

    def treat_all(sums: Columns) -> Floats:
        return ratio(sums["positive"] - weight * (sums["items"] - sums["positive"]), sums["items"])

    def gain(sums: Columns) -> Floats:
        passed = sums["items"] - sums["positive"] - sums["alarms"]
        return ratio(weight * passed - (sums["positive"] - sums["caught"]), sums["items"])

    return (
        Measure("net_benefit", model, items_in, bounds=lambda _: (-weight, 1.0)),
        Measure("net_benefit_treat_all", treat_all, items_in, bounds=lambda _: (-weight, 1.0)),
        Measure("net_benefit_gain", gain, items_in, bounds=lambda _: (-1.0, weight)),
    )


def _columns(probabilities: Floats, true: NDArray[np.bool_], threshold: float) -> Columns:
    flagged = probabilities >= threshold
    columns = {"items": np.ones(len(true)), "positive": true, "caught": true & flagged, "alarms": ~true & flagged}
    return {name: np.asarray(column, dtype=np.float64) for name, column in columns.items()}


def decision_curve(
    probabilities: Floats, true: NDArray[np.bool_], thresholds: Sequence[float] = GRID
) -> tuple[Floats, Floats]:
    """Return the net benefit of the model and of treating all at each threshold, each (thresholds).

    Args:
        probabilities: Probability of the class, (items), at least one.
        true: Whether the item is of the class, (items).
        thresholds: In (0, 1).
    """
    at = np.asarray(thresholds, dtype=np.float64)
    flagged, all_of = [], []
    for kind in (true, ~true):
        own = np.sort(probabilities[kind])
        flagged.append((len(own) - np.searchsorted(own, at, side="left")) / len(true))
        all_of.append(len(own) / len(true))
    weight = at / (1 - at)
    return flagged[0] - weight * flagged[1], all_of[0] - weight * all_of[1]


def calibration_error_of(task: str, runs: Sequence[Sequence[Item]], choices: Sequence[str]) -> Score | None:
    """Return ``ece``, the mean over the runs, over the items of `net_benefits`; None where that is an empty list."""
    found = of_runs(runs, choices)
    if not found:
        return None
    each = [calibration_columns(own.truths, own.probabilities) for own in found]
    stacked = {name: np.stack([own[name] for own in each], axis=-1) for name in each[0]}
    errors = [mean_over_runs(m, len(found)) for m in calibration_measures(len(choices)) if m.name == "ece"]
    return compute_scores(task, "all", stacked, found[0].groups, errors)[0]
