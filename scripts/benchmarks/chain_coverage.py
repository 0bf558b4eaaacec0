"""Coverage of the 95 % intervals of chain scores in simulation, with chains clustered by patient.

    python scripts/benchmarks/chain_coverage.py --out chain_coverage.csv    # about ten minutes on one core
    python scripts/benchmarks/chain_coverage.py --small                     # half a minute

A question of stage i is answered rightly if a + sqrt(r) u + sqrt(s) v + sqrt(1 - r - s) e > 0, with standard normal u
of the patient, v of the chain and e of the question, and a such that the accuracy of the stage is as wanted. So the
correlation of latent skill is r between chains of a patient, and r + s within a chain, and the true complete-chain rate
is one integral over a normal variable. Confidence is normal, too, with a part of its own from the patient, higher for
right answers, and missing for every tenth; the true uncertainty-aware score follows from the shares of its categories.
"""

from __future__ import annotations

import argparse
import csv
from collections.abc import Sequence
from dataclasses import asdict, astuple, dataclass, fields, replace
from pathlib import Path

import numpy as np
from numpy.polynomial.hermite_e import hermegauss
from scipy.special import ndtr, ndtri

from lmod_train.core.types import Score
from lmod_train.extensions.xpcr.scores import CHAIN_MEASURES, MEASURES, chain_columns, columns_of
from lmod_train.scoring.chain_steps import STEPS, Chains
from lmod_train.scoring.intervals import Floats, Measure, compute_scores

SKILLS: dict[str, tuple[float, ...]] = {
    "easy": (0.99, 0.98, 0.97, 0.96, 0.95, 0.94),
    "published": (0.91, 0.81, 0.70, 0.64, 0.54, 0.47),
    "even": (0.80,) * 6,
    "chance": (0.25,) * 6,
}
"""Accuracies of the six stages; ``published`` is that of the residents in Table 2 of X-PCR, rounded."""
WITHIN = 0.2
"""Correlation of latent skill within a chain beyond that between chains of a patient."""
MISSING, SURE, SURER, OF_PATIENT = 0.1, 0.3, 0.5, 0.4
"""Share without confidence; mean of its normal variable, gain of a right answer, and part that a patient shares."""
DIFFICULTIES, IMPACTS = (1, 1, 2, 2, 3, 3), (1, 2, 3, 4, 5)
CHAIN_NAMES = ("ccr", "ccr_expected", "ccr_minus_product")
UAS_NAMES = ("uas", "uas_unit", "uas_flat", "uas_worst")


@dataclass(frozen=True, slots=True)
class Cell:
    """One design: patients, chains of a patient (0 for 1 to 8 at random), skill, correlation, questions a stage."""

    patients: int
    chains: int
    skill: str
    correlation: float
    questions: int


@dataclass(frozen=True, slots=True)
class Coverage:
    """Coverage of one measure in one cell: share of the intervals that contain the truth, and their mean width."""

    measure: str
    patients: int
    chains_a_patient: str
    skill: str
    correlation: float
    questions: int
    rounds: int
    truth: float
    coverage: float
    width: float
    none: float


def true_rates(cell: Cell) -> dict[str, float]:
    """Return the true value of each chain measure."""
    nodes, weights = hermegauss(120)
    shared = cell.correlation + WITHIN
    points = np.array([ndtri(p) for p in SKILLS[cell.skill]])
    given = ndtr((points + np.sqrt(shared) * nodes[:, None]) / np.sqrt(1 - shared)).prod(axis=1)
    rate = float((weights * given).sum() / weights.sum())
    return {"ccr": rate, "ccr_expected": rate, "ccr_minus_product": rate - float(np.prod(SKILLS[cell.skill]))}


def true_uas(cell: Cell) -> dict[str, float]:
    """Return the true value of each uncertainty-aware score."""
    right = np.array(SKILLS[cell.skill])
    sure = float(ndtr(SURE + SURER - ndtri(0.7))), float(ndtr(SURE - ndtri(0.5)))
    stated = right * (0.7 + 0.3 * sure[0]) + (1 - right) * (0.3 - 0.8 * sure[1])
    worst = right * 0.7 + (1 - right) * -0.5
    impact = float(np.mean(IMPACTS))
    raw = np.array([0.6 * d + 0.4 * impact for d in DIFFICULTIES])
    unit = np.array([0.6 * (d - 1) / 2 + 0.4 * (impact - 1) / 4 for d in DIFFICULTIES])
    means = {
        "uas": np.average(stated, weights=raw),
        "uas_unit": np.average(stated, weights=unit),
        "uas_flat": stated.mean(),
        "uas_worst": np.average((1 - MISSING) * stated + MISSING * worst, weights=raw),
    }
    return {name: 100 * float(value) for name, value in means.items()}


def one_round(rng: np.random.Generator, cell: Cell) -> list[Score]:
    """Return the scores of one random set of chains."""
    sizes = np.full(cell.patients, cell.chains) if cell.chains else rng.integers(1, 9, size=cell.patients)
    place = np.repeat(np.arange(cell.patients), sizes)
    shape = (len(place), len(STEPS), cell.questions)
    skill = np.sqrt(cell.correlation) * rng.normal(size=cell.patients)[place] + np.sqrt(WITHIN) * rng.normal(
        size=len(place)
    )
    own = np.sqrt(1 - cell.correlation - WITHIN) * rng.normal(size=shape)
    right = ndtri(np.array(SKILLS[cell.skill]))[None, :, None] + skill[:, None, None] + own > 0
    groups = [f"{patient:05d}" for patient in place]
    return [*_chain_scores(right, groups), *_uas_scores(rng, cell, right, place)]


def _chain_scores(right: np.ndarray, groups: Sequence[str]) -> list[Score]:
    n, steps, questions = right.shape
    asked = np.full((n, steps), float(questions))
    chains = Chains(tuple((f"{i:06d}",) for i in range(n)), tuple(groups), asked, right.sum(axis=2, dtype=np.float64),
                    right[..., 0], asked / asked / 4)  # fmt: skip
    return compute_scores("t", "all", chain_columns(chains), groups, named(CHAIN_MEASURES, CHAIN_NAMES))


def _uas_scores(rng: np.random.Generator, cell: Cell, right: np.ndarray, place: np.ndarray) -> list[Score]:
    of_patient = np.sqrt(OF_PATIENT) * rng.normal(size=cell.patients)[place]
    noise = of_patient[:, None, None] + np.sqrt(1 - OF_PATIENT) * rng.normal(size=right.shape)
    confidence = ndtr(SURE + SURER * right + noise)
    confidence[rng.random(right.shape) < MISSING] = np.nan
    impact = rng.choice(IMPACTS, size=len(place))[:, None, None].astype(np.float64)
    hard = np.array(DIFFICULTIES, dtype=np.float64)[None, :, None]
    raw = np.broadcast_to(0.6 * hard + 0.4 * impact, right.shape)
    unit = np.broadcast_to(0.6 * (hard - 1) / 2 + 0.4 * (impact - 1) / 4, right.shape)
    weights = np.stack([raw.ravel(), unit.ravel(), np.ones(right.size)], axis=1)
    columns = columns_of(right.ravel(), confidence.ravel(), weights)
    groups = np.repeat([f"{patient:05d}" for patient in place], right[0].size).tolist()
    return [_points(s) for s in compute_scores("t", "all", columns, groups, named(MEASURES, UAS_NAMES))]


def _points(score: Score) -> Score:
    value, low, high = (None if v is None else 100 * v for v in (score.value, score.low, score.high))
    return replace(score, value=value, low=low, high=high)


def named(measures: Sequence[Measure], names: Sequence[str]) -> list[Measure]:
    """Return the measures of these names."""
    return [measure for measure in measures if measure.name in names]


def covered(cell: Cell, rounds: int, seed: int = 0) -> list[Coverage]:
    """Return the coverage of every measure in one cell."""
    rng = np.random.default_rng([seed, *(sum(map(ord, str(value))) for value in astuple(cell))])
    truths = true_rates(cell) | true_uas(cell)
    ends: dict[str, list[tuple[float, float]]] = {}
    for _ in range(rounds):
        for score in one_round(rng, cell):
            pair = (np.nan, np.nan) if score.low is None or score.high is None else (score.low, score.high)
            ends.setdefault(score.metric, []).append(pair)
    return [_row(cell, name, truths[name], np.array(pairs)) for name, pairs in ends.items()]


def _row(cell: Cell, name: str, truth: float, ends: Floats) -> Coverage:
    held = ends[~np.isnan(ends[:, 0])]
    inside = (held[:, 0] - 1e-9 <= truth) & (truth <= held[:, 1] + 1e-9)
    return Coverage(
        measure=name,
        patients=cell.patients,
        chains_a_patient=str(cell.chains or "1-8"),
        skill=cell.skill,
        correlation=cell.correlation,
        questions=cell.questions,
        rounds=len(ends),
        truth=truth,
        coverage=float(inside.mean()) if len(held) else np.nan,
        width=float((held[:, 1] - held[:, 0]).mean()) if len(held) else np.nan,
        none=1 - len(held) / len(ends),
    )


def show(row: Coverage) -> str:
    """Return a line of the Markdown table."""
    names = [
        row.measure,
        str(row.patients),
        row.chains_a_patient,
        row.skill,
        f"{row.correlation:g}",
        str(row.questions),
    ]
    numbers = [f"{v:.3f}" for v in (row.truth, row.coverage, row.width, row.none)]
    return "| " + " | ".join([*names, *numbers]) + " |"


def summary(rows: Sequence[Coverage]) -> list[str]:
    """Return a line per measure: mean and least coverage over the cells, and the range of the widths."""
    lines = []
    held = [row for row in rows if not np.isnan(row.coverage)]  # `ccr` has no value with several questions a stage
    for name in dict.fromkeys(row.measure for row in held):
        own = [row for row in held if row.measure == name]
        coverage, width = ([getattr(row, field) for row in own] for field in ("coverage", "width"))
        below = sum(value < 0.93 for value in coverage)
        lines.append(
            f"{name}: {len(own)} cells, coverage {np.mean(coverage):.3f} on average, {min(coverage):.3f} at least, "
            f"below 0.93 in {below}; widths {min(width):.3f} to {max(width):.3f}"
        )
    return lines


def main() -> None:
    """Print the table and its summary, and write it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=500, help="simulated sets a cell")
    parser.add_argument("--patients", type=int, nargs="+", default=[20, 50, 200])
    parser.add_argument("--chains", type=int, nargs="+", default=[1, 4, 0], help="a patient; 0 for 1 to 8 at random")
    parser.add_argument("--skill", nargs="+", default=list(SKILLS), choices=list(SKILLS))
    parser.add_argument("--correlation", type=float, nargs="+", default=[0.0, 0.3, 0.6], help="between chains")
    parser.add_argument("--questions", type=int, nargs="+", default=[1, 3], help="a stage")
    parser.add_argument("--out", help="CSV file to write")
    parser.add_argument("--small", action="store_true", help="few cells and rounds")
    options = parser.parse_args()
    if options.small:
        options.patients, options.chains, options.skill, options.rounds = [50], [4], ["published"], 200
    print("| measure | patients | chains | skill | correlation | questions | truth | coverage | width | none |")
    print("|" + "---|" * 10)
    rows = []
    for cell in (
        Cell(p, k, s, c, q)
        for p in options.patients
        for k in options.chains
        for s in options.skill
        for c in options.correlation
        for q in options.questions
    ):
        rows += (new := covered(cell, options.rounds))
        print("\n".join(map(show, new)), flush=True)
    print("\n".join(summary(rows)))
    if options.out:
        with Path(options.out).open("w", newline="", encoding="utf-8") as file:
            table = csv.DictWriter(file, [f.name for f in fields(Coverage)])
            table.writeheader()
            table.writerows(asdict(row) for row in rows)


if __name__ == "__main__":
    main()
