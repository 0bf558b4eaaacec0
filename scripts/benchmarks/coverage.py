"""Coverage of the 95 % confidence intervals in simulation, beside that of the percentile bootstrap used before.

    python scripts/benchmarks/coverage.py --out coverage.csv      # about half an hour on one core
    python scripts/benchmarks/coverage.py --small                 # a minute

Patients differ: each has a skill drawn from a beta distribution whose mean is the accuracy, and whose spread makes the
items of a patient correlate by `icc` (beta-binomial, Skellam 1948). All items of a patient have one true class; classes
are equally frequent and wrong answers equally likely, so that recall, precision and F1 of each class all equal the
accuracy, and the true value of every measure is known.
"""

from __future__ import annotations

import argparse
import csv
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path

import numpy as np
from scipy.special import ndtr, ndtri

from lmod_train.core.types import Score
from lmod_train.scoring.calibration import calibration_columns, calibration_measures
from lmod_train.scoring.classification import MEASURES, detection
from lmod_train.scoring.comparison import paired_difference
from lmod_train.scoring.grading import ordered
from lmod_train.scoring.intervals import Floats, Measure, compute_scores, items_in, ratio
from lmod_train.scoring.ranking import area_scores
from lmod_train.scoring.shares import beta_interval

LEVELS = 5
LOSS = 0.1
"""On this share of the items the second of two models is wrong where the first is right, or right where it is wrong."""


@dataclass(frozen=True, slots=True)
class Cell:
    """One design: patients, items per patient (0 for 1 to 8 at random), accuracy and correlation within a patient."""

    patients: int
    items: int
    accuracy: float
    icc: float


@dataclass(frozen=True, slots=True)
class Coverage:
    """Coverage of one metric in one cell: share of the intervals that contain the truth, and their mean width."""

    measure: str
    patients: int
    items_a_patient: str
    accuracy: float
    icc: float
    n: float
    wrong: float  # expected effective number of right or of wrong items, the smaller one
    rounds: int
    before: float
    after: float
    width_before: float
    width_after: float
    none_after: float


def answers(rng: np.random.Generator, cell: Cell, classes: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, Floats]:
    """Return one random set of items: patient, true class, answered class and skill of each."""
    sizes = np.full(cell.patients, cell.items) if cell.items else rng.integers(1, 9, size=cell.patients)
    place = np.repeat(np.arange(cell.patients), sizes)
    skill = _skills(rng, cell)[place]
    truth = rng.permutation(np.arange(cell.patients) % classes)[place]
    wrong = (truth + rng.integers(1, classes, size=len(place))) % classes
    return place, truth, np.where(rng.random(len(place)) < skill, truth, wrong), skill


def _skills(rng: np.random.Generator, cell: Cell) -> Floats:
    if cell.icc == 0 or cell.accuracy == 1:
        return np.full(cell.patients, cell.accuracy)
    scale = 1 / cell.icc - 1
    return rng.beta(cell.accuracy * scale, (1 - cell.accuracy) * scale, size=cell.patients)


def confusion(truth: np.ndarray, answer: np.ndarray, classes: int) -> dict[str, Floats]:
    """Return the columns of a single-choice question with every item answered."""
    n = len(truth)
    table = np.zeros((n, classes, classes + 1))
    table[np.arange(n), truth, answer] = 1
    ones = np.ones(n)
    columns = {"items": ones, "answered": ones, "chance_filled": 0 * ones, "chance": ones / classes}
    return columns | {"confusion": table, "truths": table.sum(axis=2)}


def measures_named(measures: Sequence[Measure], *names: str) -> list[Measure]:
    """Return the measures of these names."""
    return [measure for measure in measures if measure.name in names]


BINARY = [*measures_named(MEASURES, "accuracy_strict", "balanced_accuracy"), *detection(0)]
SEVERAL = measures_named(MEASURES, "macro_f1", "balanced_accuracy")
GRADES = measures_named(ordered(LEVELS), "kappa_quadratic", "mean_absolute_error")
IMAGES = [Measure("mean_f1_of_an_image", lambda s: ratio(s["f1"], s["items"]), items_in)]
CALIBRATION = list(calibration_measures(2))
DIFFERENCE = [Measure("difference", lambda s: ratio(s["lead"], s["items"]), items_in)]


def before(
    columns: dict[str, Floats], place: np.ndarray, measures: Sequence[Measure], draws: int
) -> list[tuple[float, float]]:
    """Return percentile intervals of a bootstrap over patients, with exact intervals over patients at 0 and 1."""
    count = int(place.max()) + 1
    rng = np.random.default_rng(0)
    times = rng.multinomial(count, np.full(count, 1 / count), size=draws).astype(np.float64)
    drawn, totals = {}, {}
    for name, column in columns.items():
        flat = np.zeros((count, column[0].size))
        np.add.at(flat, place, column.reshape(len(column), -1))
        drawn[name] = (times @ flat).reshape(draws, *column.shape[1:])
        totals[name] = column.sum(axis=0)
    found = []
    for measure in measures:
        own = measure.value(drawn)
        own = own[~np.isnan(own)]
        value = float(measure.value(totals))
        if len(own) and np.ptp(own) == 0 and value in (0.0, 1.0) and measure.bounded:
            found.append(beta_interval(value, count))
        else:
            found.append(tuple(np.percentile(own, [2.5, 97.5])) if len(own) else (np.nan, np.nan))
    return found


Round = list[tuple[str, float, tuple[float, float], Score]]


def one_round(rng: np.random.Generator, cell: Cell, draws: int) -> Round:
    """Return (metric, truth, previous interval, current score) for one random data set of each kind."""
    p = cell.accuracy
    found: Round = []

    def world(
        prefix: str, columns: dict[str, Floats], place: np.ndarray, measures: list[Measure], truths: list[float]
    ) -> None:
        old = before(columns, place, measures, draws)
        new = compute_scores("t", "all", columns, [f"{g:05d}" for g in place], measures)
        found.extend((prefix + f.name, t, o, s) for f, t, o, s in zip(measures, truths, old, new, strict=True))

    place, truth, answer, _ = answers(rng, cell, 2)
    world("", confusion(truth, answer, 2), place, BINARY, [p] * 4)
    place, truth, answer, _ = answers(rng, cell, 4)
    world("4 classes: ", confusion(truth, answer, 4), place, SEVERAL, [p] * 2)
    place, truth, answer, _ = answers(rng, cell, LEVELS)
    world("5 levels: ", confusion(truth, answer, LEVELS), place, GRADES, [1 - (1 - p) * 5 / 4, (1 - p) * 2])
    place, truth, answer, skill = answers(rng, cell, 2)
    ones = np.ones(len(place))
    world("", {"items": ones, "f1": rng.binomial(4, skill) / 4}, place, IMAGES, [p])
    right = truth == answer
    second = right ^ (rng.random(len(right)) < LOSS)
    lead = right.astype(np.float64) - second
    old = before({"items": ones, "lead": lead}, place, DIFFERENCE, draws)
    new = paired_difference("t", right.tolist(), second.tolist(), [f"{g:05d}" for g in place])
    found.append(("difference", LOSS * (2 * p - 1), old[0], new))
    found += _probabilities(rng, cell, place, truth, draws)
    return found


def _probabilities(
    rng: np.random.Generator, cell: Cell, place: np.ndarray, truth: np.ndarray, draws: int
) -> Iterator[tuple[str, float, tuple[float, float], Score]]:
    """Return calibrated probabilities (calibration error 0), and scores whose area under the curve is the accuracy."""
    chance = rng.random(len(place))
    drawn = (rng.random(len(place)) < chance).astype(np.intp)
    columns = calibration_columns(drawn, np.stack([1 - chance, chance], axis=1))
    old = before(columns, place, CALIBRATION, draws)
    new = compute_scores("t", "all", columns, [f"{g:05d}" for g in place], CALIBRATION)
    yield from (
        (f.name, t, o, s) for f, t, o, s in zip(CALIBRATION, [1 / 6, 0.0], old, new, strict=True) if f.name == "ece"
    )
    if cell.accuracy == 1:
        return
    noise = np.sqrt(cell.icc) * rng.normal(size=cell.patients)[place] + np.sqrt(1 - cell.icc) * rng.normal(
        size=len(place)
    )
    likely = ndtr(np.sqrt(2) * ndtri(cell.accuracy) * truth + noise)
    scores = area_scores("t", "all", truth, np.stack([1 - likely, likely], axis=1), [str(g) for g in place], [1])
    yield "auroc_macro", cell.accuracy, (np.nan, np.nan), scores[0]


def covered(cell: Cell, rounds: int, draws: int, seed: int = 0) -> list[Coverage]:
    """Return the coverage of every metric in one cell."""
    rng = np.random.default_rng([seed, cell.patients, cell.items, round(1000 * cell.accuracy), round(1000 * cell.icc)])
    rows: dict[str, list[tuple[bool, float, bool, float, bool, float]]] = {}
    for _ in range(rounds):
        for name, truth, (low, high), score in one_round(rng, cell, draws):
            none = score.low is None or score.high is None
            own = (score.low if score.low is not None else np.nan, score.high if score.high is not None else np.nan)
            held, holds = (a - 1e-9 <= truth <= b + 1e-9 for a, b in ((low, high), own))
            rows.setdefault(name, []).append((held, high - low, holds, own[1] - own[0], none, score.n))
    return [_row(cell, name, np.array(found, dtype=np.float64)) for name, found in rows.items()]


def _row(cell: Cell, name: str, found: Floats) -> Coverage:
    held = found[found[:, 4] == 0]
    size = float(cell.items or (204 / 8) / (36 / 8))  # mean number of items of an item's patient
    n = float(found[:, 5].mean())
    effective = n / (1 + (size - 1) * cell.icc)
    return Coverage(
        measure=name,
        patients=cell.patients,
        items_a_patient=str(cell.items or "1-8"),
        accuracy=cell.accuracy,
        icc=cell.icc,
        n=n,
        wrong=effective * min(cell.accuracy, 1 - cell.accuracy),
        rounds=len(found),
        before=float(found[:, 0].mean()) if not np.isnan(found[:, 1]).all() else np.nan,
        after=float(held[:, 2].mean()) if len(held) else np.nan,
        width_before=float(np.nanmean(found[:, 1])) if not np.isnan(found[:, 1]).all() else np.nan,
        width_after=float(held[:, 3].mean()) if len(held) else np.nan,
        none_after=float(found[:, 4].mean()),
    )


def cells(
    patients: Sequence[int], items: Sequence[int], accuracies: Sequence[float], iccs: Sequence[float]
) -> list[Cell]:
    """Return the grid of cells; with one item per patient there is no correlation."""
    return [
        Cell(g, k, p, icc)
        for g in patients
        for k in items
        for icc in (iccs if k != 1 else (0.0,))
        for p in accuracies
        if p < 1 or icc == iccs[0] or k == 1
    ]


def show(row: Coverage) -> str:
    """Return a line of the Markdown table."""
    values = [f"{row.n:.0f}", f"{row.wrong:.1f}", *(f"{v:.3f}" for v in (row.before, row.after))]
    values += [f"{v:.3f}" for v in (row.width_before, row.width_after, row.none_after)]
    named = [row.measure, str(row.patients), row.items_a_patient, f"{row.accuracy:g}", f"{row.icc:g}"]
    return "| " + " | ".join([*named, *values]) + " |"


def main() -> None:
    """Print the table and write it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=500, help="simulated sets a cell")
    parser.add_argument("--draws", type=int, default=400, help="bootstrap draws of the interval before")
    parser.add_argument("--patients", type=int, nargs="+", default=[20, 50, 200, 500])
    parser.add_argument("--items", type=int, nargs="+", default=[1, 4, 0], help="a patient; 0 for 1 to 8 at random")
    parser.add_argument("--accuracy", type=float, nargs="+", default=[0.5, 0.7, 0.8, 0.9, 0.95, 0.98, 1.0])
    parser.add_argument("--icc", type=float, nargs="+", default=[0.0, 0.3, 0.8])
    parser.add_argument("--out", help="CSV file to write")
    parser.add_argument("--small", action="store_true", help="few cells and rounds")
    options = parser.parse_args()
    if options.small:
        options.patients, options.accuracy, options.rounds, options.draws = [20, 50], [0.8, 0.98], 100, 200
    heads = ["measure", "patients", "items", "accuracy", "icc", "n", "effective wrong"]
    heads += ["before", "after", "width before", "width after", "none after"]
    print("| " + " | ".join(heads) + " |\n|" + "---|" * len(heads))
    rows = []
    for cell in cells(options.patients, options.items, options.accuracy, options.icc):
        rows += (new := covered(cell, options.rounds, options.draws))
        print("\n".join(map(show, new)), flush=True)
    if options.out:
        with Path(options.out).open("w", newline="", encoding="utf-8") as file:
            table = csv.DictWriter(file, [f.name for f in fields(Coverage)])
            table.writeheader()
            table.writerows(asdict(row) for row in rows)


if __name__ == "__main__":
    main()
