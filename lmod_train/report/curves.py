"""ROC curves, precision-recall curves and calibration, from the likelihoods of the choices."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from lmod_train.report.canvas import COLOURS, LINES, MARKERS, canvas, hide_from
from lmod_train.report.results import RunScores
from lmod_train.report.writers.cells import cell_text
from lmod_train.scoring.calibration import reliability
from lmod_train.scoring.classification import classification_columns
from lmod_train.scoring.items import Item
from lmod_train.scoring.probability import curve_classes, probabilities_of
from lmod_train.scoring.ranking import precision_recall_points, roc_points
from lmod_train.types import Score

_MEAN = "mean over {} classes, each against the rest"


@dataclass(frozen=True, slots=True)
class Ranking:
    """One run's probabilities for one task.

    Attributes:
        task: Name of the task.
        place: Index of the run among all runs, which determines its colour.
        name: Label of the run.
        run: Scores of the run.
        truths: Index of the true class, (items).
        probabilities: (items, classes).
    """

    task: str
    place: int
    name: str
    run: RunScores
    truths: Any
    probabilities: Any

    def find(self, metric: str) -> Score:
        """Return a score of the run over all items of the task."""
        score = self.run.find(self.task, metric)
        assert score is not None
        return score


def rankings(
    runs: Sequence[RunScores],
    names: Sequence[str],
    outcomes: Sequence[Mapping[str, Sequence[Item]]],
    task: str,
    classes: Sequence[str],
) -> list[Ranking]:
    """Return the runs with likelihoods for the task; items without are left out, as in the scores."""
    found = []
    for place, (run, name, items) in enumerate(zip(runs, names, outcomes, strict=True)):
        score = run.find(task, "auroc_macro")
        if score is None or score.value is None:
            continue
        rows, probabilities = probabilities_of(items[task], classes)
        truths = classification_columns(items[task], classes)["truths"].argmax(axis=1)
        found.append(Ranking(task, place, name, run, truths[rows], probabilities))
    return found


def draw_curves(
    runs: Sequence[RunScores],
    names: Sequence[str],
    outcomes: Sequence[Mapping[str, Sequence[Item]]],
    choices: Mapping[str, Sequence[str]],
    out: Path,
) -> list[str]:
    """Draw both curves of each task, with all runs in one figure and the areas of ``scores.csv`` in the legend.

    With two choices, the first is the positive class. With more, the curves are means over the classes, each against
    the rest, and enclose exactly these areas. Tasks without likelihoods have no figure.

    Returns:
        The file names.
    """
    drawn = []
    for task, classes in choices.items():
        ranked = rankings(runs, names, outcomes, task, classes)
        if not ranked:
            continue
        about = curve_classes(classes)
        drawn.append(f"curves-{task}")
        with canvas(out, drawn[-1], 1, 2, (9.6, 5.9 + 0.25 * len(ranked))) as axes:
            of = f"{classes[about[0]]} is positive" if len(about) == 1 else _MEAN.format(len(about))
            axes[0, 0].figure.suptitle(f"{task}: {of}", fontsize=11)
            _roc_panel(axes[0, 0], ranked, about)
            _precision_panel(axes[0, 1], ranked, about)
    return drawn


def _roc_panel(axis: Any, ranked: Sequence[Ranking], about: Sequence[int]) -> None:
    axis.plot([0, 1], [0, 1], color="#999999", lw=1, ls=":", label="chance: 0.500")
    for one in ranked:
        points = roc_points(one.truths, one.probabilities, about)
        assert points is not None
        axis.plot(*points, label=_legend(one, "auroc_macro"), **_line(one.place))
    _frame(axis, "false positive rate", "true positive rate", "ROC curve, area under it")


def _precision_panel(axis: Any, ranked: Sequence[Ranking], about: Sequence[int]) -> None:
    shares = [np.mean([np.mean(one.truths == c) for c in about if np.any(one.truths == c)]) for one in ranked]
    if np.ptp(shares) < 0.0005:  # otherwise the runs have different items, and no common chance level
        axis.axhline(shares[0], color="#999999", lw=1, ls=":", label=f"chance: {shares[0]:.3f}")
    for one in ranked:
        points = precision_recall_points(one.truths, one.probabilities, about)
        assert points is not None
        recalls, precision = points
        steps = np.append(0, recalls), np.append(precision[0], precision)
        axis.plot(*steps, drawstyle="steps-pre", label=_legend(one, "auprc_macro"), **_line(one.place))
    _frame(axis, "recall", "precision", "Precision-recall curve, average precision")


def _frame(axis: Any, x: str, y: str, title: str) -> None:
    axis.set(xlabel=x, ylabel=y, xlim=(-0.01, 1.01), ylim=(-0.01, 1.02), aspect="equal")
    axis.set_title(title, fontsize=10, pad=8)
    axis.grid(color="#e5e5e5", zorder=0)
    axis.legend(loc="upper center", bbox_to_anchor=(0.5, -0.14), frameon=False, fontsize=8.5)


def _line(place: int) -> dict[str, Any]:
    return {"color": COLOURS[place % len(COLOURS)], "ls": LINES[place % len(LINES)], "lw": 1.9}


def _legend(one: Ranking, metric: str) -> str:
    score = one.find(metric)
    return f"{one.name}: {_numbers(score)}, n = {score.n}"


def _numbers(score: Score) -> str:
    return f"{cell_text(score.value, 'number')} ({cell_text((score.low, score.high), 'interval')})"


def draw_calibration(
    runs: Sequence[RunScores],
    names: Sequence[str],
    outcomes: Sequence[Mapping[str, Sequence[Item]]],
    choices: Mapping[str, Sequence[str]],
    out: Path,
) -> list[str]:
    """Draw reliability diagrams, a pair of panels per run, and return the names of the files.

    The upper panel shows the share of correct predictions against the probability of the likeliest class, the lower one
    the number of items per bin. Tasks without likelihoods have no figure.
    """
    drawn = []
    for task, classes in choices.items():
        ranked = rankings(runs, names, outcomes, task, classes)
        if not ranked:
            continue
        across = min(3, len(ranked))
        down = math.ceil(len(ranked) / across)
        drawn.append(f"calibration-{task}")
        ratios: Any = {"gridspec_kw": {"height_ratios": [3, 1.1] * down}}
        with canvas(out, drawn[-1], 2 * down, across, (3.7 * across, 0.4 + 4.6 * down), **ratios) as axes:
            axes[0, 0].figure.suptitle(f"{task}: calibration", fontsize=11)
            for k, one in enumerate(ranked):
                row, column = 2 * (k // across), k % across
                _reliability_panels(axes[row, column], axes[row + 1, column], one)
            for row in (2 * down - 2, 2 * down - 1):
                hide_from(axes[row], len(ranked) - (down - 1) * across)
    return drawn


def _reliability_panels(above: Any, below: Any, one: Ranking) -> None:
    curve = reliability(one.truths, one.probabilities)
    colour, filled = COLOURS[one.place % len(COLOURS)], curve.items > 0
    above.plot([0, 1], [0, 1], color="#999999", lw=1, ls=":")
    marks = {
        "marker": MARKERS[one.place % len(MARKERS)],
        "color": colour,
        "lw": 1.6,
        "ms": 6,
        "clip_on": False,
        "zorder": 3,
    }
    above.plot(curve.confidence[filled], curve.right[filled], **marks)
    above.set(ylabel="share correct", xlim=(0, 1), ylim=(-0.02, 1.02))
    error, brier = one.find("ece"), one.find("brier")
    figures = f"ECE {_numbers(error)}, Brier {cell_text(brier.value, 'number')}"
    above.set_title(f"{one.name}\n{figures}", fontsize=9)
    above.grid(color="#e5e5e5", zorder=0)
    edges = np.linspace(0, 1, len(curve.items) + 1)
    below.bar(edges[:-1], curve.items, np.diff(edges), align="edge", color=colour, edgecolor="white", alpha=0.75)
    for left, count in zip(edges, curve.items, strict=False):
        if count:
            below.text(left + 0.05, count, f"{count:.0f}", ha="center", va="bottom", fontsize=7.5)
    below.set(xlabel="probability of the likeliest class", ylabel="items", xlim=(0, 1))
    below.set_ylim(0, 1.25 * max(1, curve.items.max()))
