"""Two confidences in each answer of a chain: the stated one, and the likelihood of the chosen option."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from lmod_train.core.tables import Cell, Estimate
from lmod_train.core.types import Score
from lmod_train.report.chains import ChainRun
from lmod_train.report.figures.curves import LIKELIHOOD, STATED
from lmod_train.scoring.confidence import known, likelihood_of_answer, selective_accuracy, stated_confidence
from lmod_train.scoring.items import Item
from lmod_train.scoring.ranking import area_difference, areas, rank
from lmod_train.scoring.reliability import TENTHS, ece, reliability_points

SIGNALS: dict[str, Callable[[Item], float | None]] = {STATED: stated_confidence, LIKELIHOOD: likelihood_of_answer}
"""Name of a confidence -> function that returns it for an item, None if it is not known."""
SUFFIXES = {STATED: "", LIKELIHOOD: "_likelihood"}
"""Name of a confidence -> ending of its metrics in `lmod_train.scoring.confidence`."""


def given(run: ChainRun, signal: str) -> bool:
    """Return whether any answer of a run has a confidence."""
    return any(SIGNALS[signal](item) is not None for item in run.items)


def at_stage(run: ChainRun, stage: str) -> list[Item]:
    """Return the items of a stage, all for ``all``."""
    return [item for item in run.items if stage in ("all", item.chain_step)]


def scores_at(run: ChainRun, stage: str, signal: str) -> dict[str, Score | None]:
    """Return the metrics of a confidence at a stage, or of all: ``ece_4``, ``brier``, ``auroc`` and so on."""
    subset, end = "all" if stage == "all" else f"stage={stage}", SUFFIXES[signal]
    names = {metric: f"{metric}{end}" for metric in ("ece_4", "ece_10", "selective_accuracy")}
    names |= {f"{metric}_debiased": f"{metric}_debiased{end}" for metric in ("ece_4", "ece_10")}
    names |= {metric: f"{metric}_{end.strip('_') or 'confidence'}" for metric in ("brier", "auroc")}
    return {metric: run.find(name, subset) for metric, name in names.items()}


@dataclass(frozen=True, slots=True)
class Both:
    """Both confidences on the same answers.

    Attributes:
        accuracy: Share of right answers.
        areas: Areas under the ROC curves of the stated confidence and of the likelihood.
        difference: First area minus second, with an interval over patients.
    """

    accuracy: float
    areas: tuple[float, float]
    difference: Score


def both(items: Sequence[Item]) -> Both | None:
    """Return both confidences on the answers that have both; None unless some are right and some are wrong."""
    held = [item for item in items if all(signal(item) is not None for signal in SIGNALS.values())]
    (_, stated, right), (_, likelihood, _) = (known(held, signal) for signal in SIGNALS.values())
    gap = area_difference(right, stated, likelihood, [item.group for item in held])
    if gap.value is None:
        return None
    one = np.ones((1, len(held)))
    first, second = (float(areas(rank(values, right), one)[0][0]) for values in (stated, likelihood))
    return Both(float(right.mean()), (first, second), gap)


def reliability_rows(run: ChainRun, stage: str) -> Iterator[list[Cell]]:
    """Yield the bins of both confidences, with the columns of `lmod_train.report.figures.confidences`."""
    for signal, confidence in SIGNALS.items():
        items, values, right = known(at_stage(run, stage), confidence)
        if not items:
            continue
        curve, ends = reliability_points(values, right, TENTHS), TENTHS.ends.round(6).tolist()
        error = ece(values, right, TENTHS)
        for low, high, n, mean, share in zip(ends, ends[1:], curve.items, curve.confidence, curve.right, strict=False):
            means = [float(mean), float(share)] if n else [None, None]
            yield [stage, signal, len(items), error, low, high, int(n), *means]


def selective_rows(run: ChainRun, signal: str) -> Iterator[list[Cell]]:
    """Yield the points of accuracy against coverage, with the columns of `lmod_train.report.figures.curves`."""
    items, values, right = known(run.items, SIGNALS[signal])
    if not items:
        return
    curve = selective_accuracy(values, right)
    area = run.find(f"selective_accuracy{SUFFIXES[signal]}")
    points = zip([0.0, *curve.coverage.tolist()], [float(curve.accuracy[0]), *curve.accuracy.tolist()], strict=True)
    for i, (x, y) in enumerate(points):
        yield [signal, run.label, None if i or area is None else Estimate(area.value, n=area.n), x, y]
