"""Coverage and width of the 95 % intervals over a grid of designs, with 3,000 simulated data sets per cell.

    python scripts/benchmarks/coverage_grid.py --out shares.csv                      # accuracy: minutes on one core
    python scripts/benchmarks/coverage_grid.py --measures means --out means.csv      # others: hours
    python scripts/benchmarks/coverage_grid.py --out shares.csv --figure shares.png  # draws the rows of shares.csv

Each patient has a skill drawn from a distribution whose mean is the true share and whose spread makes the items of a
patient correlate by `icc`: a beta distribution (beta-binomial, Skellam 1948) or, with ``--model copula``, the normal
distribution of a latent variable. The accuracy of all data sets of a cell is computed at once by `share_intervals`,
which a test compares with `compute_scores`; the other measures are computed by `compute_scores`, one set after another.
The oracle is the estimate +- 1.96 times its true standard deviation. Rows are written after each cell, and cells that
are in the file already are not computed again.

Accuracy with 20 to 500 patients, 1 to 40 items each, correlations up to 0.7 and true shares from 0.03 to 0.97: the
intervals contain the true value in 93.0 % of 4,000 simulations or more in each of 1,155 cells (Monte Carlo error at
most 0.4 points). At shares from 0.1 to 0.9 it is above 97 % in 84 cells: 42 of them have 20 patients and a share of
0.1 or 0.9, 35 have 20 to 100 patients with 1 to 40 items each, most of them 1 or 2, and 7 are at most 97.4 %. The
width is 1.015 times the oracle's in the median cell, and 2.6 times with 20 patients of 1 to 40 independent items.

Balanced accuracy and macro F1 over four classes, the mean F1 of images and a paired difference: 94 % of 2,500
simulations or more, in 36 cells each, but for a macro F1 of 0.9 with 1 to 40 items a patient: 91.9 % with 20 patients,
92.9 % with 200. With 20 patients they are 0.9 to 5 times as wide as the oracle's, with 200 patients of 2 items 1.0 to
1.1 times.
"""

from __future__ import annotations

import argparse
import csv
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, fields
from functools import cache
from itertools import product
from pathlib import Path

import numpy as np
from scipy.optimize import brentq
from scipy.special import betaincinv, ndtr, ndtri, stdtrit

from lmod_train.scoring import shares
from lmod_train.scoring.classification import MEASURES
from lmod_train.scoring.comparison import _DIFFERENCE
from lmod_train.scoring.intervals import Columns, Floats, compute_scores
from lmod_train.scoring.region_scores import OVERALL
from lmod_train.scoring.shares import EDGE, LEVEL, MIDDLE
from lmod_train.scoring.variance import between_patients

UNEVEN = 0
"""Stands for 1 to 40 items a patient, m items with a probability proportional to m^-1.5: most have 1 or 2."""
CLASSES, REGIONS, CHANGED = 4, 4, 0.1
"""Classes of the macro measures, regions of an image, and share of the items on which the second model differs."""


@dataclass(frozen=True, slots=True)
class Cell:
    """One design: patients, items per patient, correlation within a patient, true share, distribution of the skills."""

    patients: int
    items: int
    icc: float
    share: float
    model: str = "beta"


@dataclass(frozen=True, slots=True)
class Row:
    """Coverage of one measure in one cell; the shares of intervals below and above the truth; mean and oracle width."""

    measure: str
    patients: int
    items: int
    icc: float
    share: float
    model: str
    rounds: int
    none: float
    coverage: float
    error: float
    below: float
    above: float
    width: float
    oracle: float
    ratio: float


def counts(rng: np.random.Generator, cell: Cell, rounds: int) -> tuple[Floats, Floats, Floats]:
    """Return items, right items and skill of each patient, (rounds, patients)."""
    size = (rounds, cell.patients)
    many = np.arange(1, 41)
    held = np.full(size, cell.items) if cell.items else rng.choice(many, size, p=many**-1.5 / np.sum(many**-1.5))
    skill = _skills(rng, cell, size)
    return held.astype(np.float64), rng.binomial(held, skill).astype(np.float64), skill


def _skills(rng: np.random.Generator, cell: Cell, size: tuple[int, int]) -> Floats:
    if cell.icc == 0 or cell.items == 1:
        return np.full(size, cell.share)
    if cell.model == "copula":
        return _latent(rng.normal(size=size), cell.share, latent_correlation(cell.share, cell.icc))
    scale = 1 / cell.icc - 1
    return rng.beta(cell.share * scale, (1 - cell.share) * scale, size=size)


def _latent(normal: Floats, share: float, correlation: float) -> Floats:
    skill: Floats = ndtr((ndtri(share) - np.sqrt(correlation) * normal) / np.sqrt(1 - correlation))
    return skill


@cache
def latent_correlation(share: float, icc: float) -> float:
    """Return the correlation of normal variables whose signs, `share` of them positive, correlate by `icc`."""
    normal, weight = np.polynomial.hermite_e.hermegauss(200)
    weight = weight / weight.sum()

    def excess(correlation: float) -> float:
        skill = _latent(normal, share, correlation)
        return float(weight @ skill**2 - (weight @ skill) ** 2) - icc * share * (1 - share)

    return float(brentq(excess, 1e-6, 0.999))


def share_intervals(held: Floats, right: Floats) -> tuple[Floats, Floats]:
    """Return the ends of the intervals of `compute_scores` for many shares at once, (rounds); NaN for none.

    Args:
        held: Items of each patient, (rounds, patients).
        right: Right items of each patient, (rounds, patients).
    """
    items, patients = held.sum(axis=1), held.shape[1]
    share = right.sum(axis=1) / items
    left = (right.sum(axis=1, keepdims=True) - right) / (items[:, None] - held)
    deviations = (patients - 1) * (left.mean(axis=1, keepdims=True) - left)
    size = held / held.mean(axis=1, keepdims=True)
    short = np.where(share > 0.5, 1 - share, share)[:, None] * size + np.where(share > 0.5, -1, 1)[:, None] * deviations
    short = np.where((short > 1e-16).any(axis=1)[:, None], short.clip(0), 0.0)
    wrong = _over(short.sum(axis=1) ** 2, (short**2).sum(axis=1))
    variance = between_patients(share, deviations, held, wrong)
    at_edge = items / (1 + ((held**2).sum(axis=1) / items - 1).clip(0) * shares.ASSUMED_CORRELATION)
    own = np.minimum(1.0, short / size)
    prior = np.exp(-np.minimum(wrong / shares._FADE + (4 * own * (1 - own)).sum(axis=1), 50))
    spread = variance * (items - 1) / items
    effective = (share * (1 - share) + prior / at_edge) / (spread + prior / at_edge**2)
    tail = (1 + LEVEL) / 2
    factor = (stdtrit(np.maximum(items, patients) - 1, tail) / stdtrit(patients - 1, tail)) ** 2
    extreme = np.minimum(share, 1 - share) < 1e-12
    low, high = _beta(np.where(extreme, share.round(), share), factor * effective)
    perfect, _ = _beta(np.ones_like(share), factor * np.minimum(np.maximum(items, at_edge), at_edge / prior))
    none = (variance < 1e-16) & ~extreme
    return np.where(none, np.nan, np.minimum(low, perfect)), np.where(none, np.nan, np.maximum(high, 1 - perfect))


def _beta(share: Floats, size: Floats) -> tuple[Floats, Floats]:
    right, wrong, tail = share * size, (1 - share) * size, (1 - LEVEL) / 2
    inward = ((np.minimum(right, wrong) - EDGE) / (MIDDLE - EDGE)).clip(0, 1) / 2
    low = np.where(right <= 0, 0.0, betaincinv(np.maximum(right + inward, 1e-12), wrong + 1 - inward, tail))
    high = np.where(wrong <= 0, 1.0, betaincinv(right + 1 - inward, np.maximum(wrong + inward, 1e-12), 1 - tail))
    return low, high


def _over(numerator: Floats, denominator: Floats) -> Floats:
    return np.divide(numerator, denominator, out=np.zeros_like(numerator), where=denominator > 0)


def share_row(cell: Cell, rounds: int) -> list[Row]:
    """Return the coverage of the accuracy in one cell."""
    rng = _generator(cell, 0)
    some = max(1, 1_000_000 // cell.patients)  # data sets in memory at once
    found = []
    for start in range(0, rounds, some):
        held, right, _ = counts(rng, cell, min(some, rounds - start))
        found.append((right.sum(axis=1) / held.sum(axis=1), *share_intervals(held, right)))
    return [_row("accuracy", cell, cell.share, *np.concatenate(found, axis=1))]


def mean_rows(cell: Cell, rounds: int) -> list[Row]:
    """Return the coverage of balanced accuracy, macro F1, mean F1 of images and a paired difference in one cell."""
    rng = _generator(cell, 1)
    groups = [f"{g:05d}" for g in range(cell.patients)]
    named = [m for m in MEASURES if m.name in ("balanced_accuracy", "macro_f1")]
    images = [m for m in OVERALL if m.name == "f1_lmod_plus"]
    truth = {"difference": CHANGED * (2 * cell.share - 1)}
    found: dict[str, list[tuple[float, float, float]]] = {}
    for held, right, skill in zip(*counts(rng, cell, rounds), strict=True):
        sets = ((classes(rng, held, right), named), (image_f1(rng, held, skill), images))
        for columns, measures in (*sets, (difference(rng, held, right), [_DIFFERENCE])):
            for s in compute_scores("t", "all", columns, groups, measures):
                ends = (np.nan, np.nan) if s.low is None or s.high is None else (s.low, s.high)
                found.setdefault(s.metric, []).append((np.nan if s.value is None else s.value, *ends))
    return [_row(name, cell, truth.get(name, cell.share), *np.array(own).T) for name, own in found.items()]


def classes(rng: np.random.Generator, held: Floats, right: Floats) -> Columns:
    """Return confusion matrices of patients with one true class each, all wrong answers equally likely."""
    true = rng.permutation(np.arange(len(held)) % CLASSES)
    wrong = rng.multinomial((held - right).astype(np.intp), np.full(CLASSES - 1, 1 / (CLASSES - 1)))
    table = np.zeros((len(held), CLASSES, CLASSES + 1))
    patient = np.arange(len(held))
    for k in range(CLASSES - 1):
        table[patient, true, (true + k + 1) % CLASSES] = wrong[:, k]
    table[patient, true, true] = right
    return {"items": held, "confusion": table, "truths": table.sum(axis=2)}


def image_f1(rng: np.random.Generator, held: Floats, skill: Floats) -> Columns:
    """Return the sums of images' F1, each the share of right names among `REGIONS` regions."""
    named = rng.binomial(REGIONS * held.astype(np.intp), skill) / REGIONS
    return {"items": held, "images": held[:, None], "f1": named[:, None]}


def difference(rng: np.random.Generator, held: Floats, right: Floats) -> Columns:
    """Return gains and losses of the first of two models, the second differing on `CHANGED` of the items."""
    gains = rng.binomial(right.astype(np.intp), CHANGED)
    losses = rng.binomial((held - right).astype(np.intp), CHANGED)
    return {"items": held, "sides": np.stack([gains, losses], axis=1).astype(np.float64)}


def _generator(cell: Cell, stream: int) -> np.random.Generator:
    model = int(cell.model == "copula")
    key = [stream, model, cell.patients, cell.items, round(1000 * cell.icc), round(1000 * cell.share)]
    return np.random.default_rng(key)


def _row(measure: str, cell: Cell, truth: float, value: Floats, low: Floats, high: Floats) -> Row:
    held = ~np.isnan(low)
    below, above = float((high[held] < truth - 1e-9).mean()), float((low[held] > truth + 1e-9).mean())
    covered, n = 1 - below - above, int(held.sum())
    oracle = float(2 * ndtri((1 + LEVEL) / 2) * np.nanstd(value))
    width = float((high - low)[held].mean())
    return Row(
        **{f.name: getattr(cell, f.name) for f in fields(Cell)},
        measure=measure,
        rounds=len(low),
        none=float(1 - held.mean()),
        coverage=round(covered, 5),
        error=round(max(covered * (1 - covered) / n, 1 / n**2) ** 0.5, 5),
        below=round(below, 5),
        above=round(above, 5),
        width=round(width, 5),
        oracle=round(oracle, 5),
        ratio=round(width / oracle, 5),
    )


def grid(
    patients: Sequence[int], items: Sequence[int], iccs: Sequence[float], values: Sequence[float], model: str
) -> Iterator[Cell]:
    """Yield the cells; with one item per patient there is no correlation."""
    for one in product(patients, items, iccs, values):
        if one[1] != 1 or one[2] == iccs[0]:
            yield Cell(*one, model=model)


def read(path: Path) -> list[Row]:
    """Return the rows of a table; none if it does not exist."""
    if not path.exists():
        return []
    kinds = {"measure": str, "model": str, "patients": int, "items": int, "rounds": int}
    with path.open(newline="", encoding="utf-8") as file:
        return [Row(**{k: kinds.get(k, float)(v) for k, v in line.items()}) for line in csv.DictReader(file)]


def add(path: Path, rows: Sequence[Row]) -> None:
    """Append rows to a table, and its header if it is new."""
    new = not path.exists()
    with path.open("a", newline="", encoding="utf-8") as file:
        table = csv.DictWriter(file, [f.name for f in fields(Row)])
        if new:
            table.writeheader()
        table.writerows(asdict(row) for row in rows)


def show(rows: Sequence[Row]) -> None:
    """Print per measure how many cells are inside 93 to 97 %, then each cell that is not."""
    for measure in dict.fromkeys(row.measure for row in rows):
        own = [row for row in rows if row.measure == measure]
        low, high = [row for row in own if row.coverage < 0.93], [row for row in own if too_high(row)]
        beyond = sum(row.coverage + 2 * row.error < 0.93 for row in low)
        print(f"\n{measure}: {len(own)} cells, largest Monte Carlo error {max(row.error for row in own):.4f}")
        print(f"below 93 %: {len(low)}, by more than 2 errors {beyond}, least {min(row.coverage for row in own):.3f}")
        print(f"above 97 % at shares from 0.1 to 0.9: {len(high)}, most {max(row.coverage for row in own):.3f}")
        print(f"width over the oracle's: median {np.median([row.ratio for row in own]):.3f}")
        print("| patients | items | icc | share | coverage | error | below | above | width | ratio |")
        print("|---|---|---|---|---|---|---|---|---|---|")
        for row in (*low, *high):
            cell = f"| {row.patients} | {row.items or '1-40'} | {row.icc:g} | {row.share:g} | {row.coverage:.3f} "
            print(cell + f"| {row.error:.3f} | {row.below:.3f} | {row.above:.3f} | {row.width:.3f} | {row.ratio:.2f} |")


def too_high(row: Row) -> bool:
    """Return whether the coverage of a share from 0.1 to 0.9 is above 97 %."""
    return 0.1 <= row.share <= 0.9 and row.coverage > 0.97


def draw(rows: Sequence[Row], out: Path) -> None:
    """Draw the coverage of each measure against the share, one panel per number of patients."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    measures, patients = (sorted({getattr(row, name) for row in rows}) for name in ("measure", "patients"))
    figure, axes = plt.subplots(len(measures), len(patients), sharex=True, sharey=True, squeeze=False)
    figure.set_size_inches(3 * len(patients), 2.4 * len(measures))
    for axis, (measure, count) in zip(axes.flat, product(measures, patients), strict=True):
        for icc, mark in zip((0.0, 0.1, 0.3, 0.7), "osD^", strict=True):
            own = [r for r in rows if (r.measure, r.patients, r.icc) == (measure, count, icc)]
            axis.plot([r.share for r in own], [r.coverage for r in own], mark, ms=3, alpha=0.6, label=f"ICC {icc:g}")
        axis.axhspan(0.93, 0.97, color="0.9")
        axis.set_title(f"{measure}, {count} patients", fontsize=8)
    axes[0, 0].legend(fontsize=6)
    figure.supxlabel("true share"), figure.supylabel("coverage")
    figure.tight_layout()
    figure.savefig(out, dpi=120)


def main() -> None:
    """Compute the cells that the table lacks, and print the cells outside 93 to 97 %."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--measures", choices=["share", "means"], default="share")
    parser.add_argument("--model", choices=["beta", "copula"], default="beta", help="distribution of patients' skills")
    parser.add_argument("--rounds", type=int, default=3000, help="simulated data sets a cell")
    parser.add_argument("--patients", type=int, nargs="+", default=[20, 50, 100, 200, 500])
    parser.add_argument("--items", type=int, nargs="+", default=[1, 2, 5, 10, 40, UNEVEN], help="a patient; 0: uneven")
    parser.add_argument("--icc", type=float, nargs="+", default=[0.0, 0.1, 0.3, 0.7])
    known = [0.03, 0.05, 0.1, 0.2, 0.35, 0.5, 0.65, 0.8, 0.9, 0.95, 0.97]
    parser.add_argument("--share", type=float, nargs="+", default=known)
    parser.add_argument("--out", type=Path, required=True, help="CSV file; continued if it exists")
    parser.add_argument("--figure", type=Path, help="PNG file to draw")
    options = parser.parse_args()
    rows = read(options.out)
    done = {(r.patients, r.items, r.icc, r.share, r.model) for r in rows}
    rows_of = share_row if options.measures == "share" else mean_rows
    for cell in grid(options.patients, options.items, options.icc, options.share, options.model):
        if (cell.patients, cell.items, cell.icc, cell.share, cell.model) not in done:
            new = rows_of(cell, options.rounds)
            add(options.out, new)
            rows += new
    show(rows)
    if options.figure:
        draw(rows, options.figure)


if __name__ == "__main__":
    main()
