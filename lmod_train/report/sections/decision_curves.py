"""Net benefit of acting on the probabilities of each model, beside treating all and treating none."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from lmod_train.core.tables import INTERVAL, Cell, Column, Heads, N, table
from lmod_train.report.chosen_on import Evaluated, evaluated
from lmod_train.report.contents import Figure, Part, Remark, Text
from lmod_train.report.figures.decision import COLUMNS, TREAT_ALL, draw_decision
from lmod_train.report.figures.sheet import MOST
from lmod_train.report.origin import counted
from lmod_train.report.results import Outcomes, Results
from lmod_train.report.section import Section
from lmod_train.scoring.items import Item

if TYPE_CHECKING:
    from lmod_train.scoring.net_benefit import NetBenefit

NOTE = """Net benefit (Vickers & Elkin 2006): the share of true positives minus that of false positives times
t / (1 - t), where t is the probability from which on one acts, chosen by what a needless action costs beside a missed
one. A model is of use at t where it is above both treating none, which has 0, and treating all. Each class against the
rest; of two choices, the first. Intervals are 95 % intervals over patients."""
CALIBRATED = """Net benefit takes the probabilities at their word. Class weights, balanced drawing and label smoothing
distort them, so that t is no longer what it says, though areas under curves stay as they are. ECE, the calibration
error of the likeliest class on the same records, shows how far they are from the frequencies."""
FEW = "Of more than {} models, the table has the numbers, and the curves are not drawn."
NONE = "{}: no net benefit of {}, as none of its records have likelihoods, or not the same records for all its seeds"
ALT = "Net benefit of each model for {} against the threshold, with treating all and none, and 95 % intervals."
HEADS: Heads = [
    "task", "model", "records", "class", Column("threshold", "number"), N, Column("net benefit", "signed"),
    Column(INTERVAL.head, "signed_interval"), Column("treat all", "signed"), Column("minus treat all", "signed"),
    Column("95 % interval of the difference", "signed_interval"), Column("ECE", "number"),
]  # fmt: skip
SPREAD: Heads = [Column("seeds", "count"), Column("sd of net benefit over seeds", "number")]
PANELS = 4
"""Largest number of classes in one figure."""


class DecisionCurves(Section):
    """Net benefit at stated thresholds, with a figure per task."""

    title: ClassVar[str] = "Decision curves"

    def parts(self, results: Results) -> Iterator[Part]:
        """Yield the table, remarks on distorted probabilities, and the figures; nothing if no run has likelihoods."""
        found = {task: evaluated(results, task) for task in results.choices}
        models = [(task, own, list(_rows(results, task, own))) for task, every in found.items() for own in every]
        rows = [row for _, _, several in models for row in several]
        if rows:
            heads = [*HEADS, *(SPREAD if any(row[len(HEADS)] for row in rows) else [])]
            yield Text(NOTE)
            yield Text(CALIBRATED)
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
    from lmod_train.scoring.net_benefit import calibration_error_of, net_benefits  # scipy: not for `--help`

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
    from lmod_train.scoring.net_benefit import net_benefits
    from lmod_train.scoring.probability import curve_classes

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
    from lmod_train.scoring.class_probabilities import of_runs
    from lmod_train.scoring.net_benefit import GRID, decision_curve

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
