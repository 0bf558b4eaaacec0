"""Coverage and width of intervals of rare classes, and the level of the paired test of patients who differ in size.

    python scripts/benchmarks/rare_classes.py              # some minutes on one core
    python scripts/benchmarks/rare_classes.py --rounds 200

Patients have 1 to 40 images, their number is lognormal (median 2.7). Scores have a normal part of the patient and one
of the image, `alike` is the share of the first; those of the rare class are higher. A share `overlooked` of its
patients has the scores of the others. Sensitivity has a threshold on the same scores. Width is over that of the
sampling distribution, 2.5 to 97.5 %. The models of the paired test are equally good on average in each design; how
patients differ is asymmetric in six of them. "Contradict" is the share of data sets in which p < 0.05 and the 95 %
interval do not agree.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from lmod_train.core.types import Score
from lmod_train.scoring.comparison import paired_test
from lmod_train.scoring.intervals import Floats
from lmod_train.scoring.ranking import area_scores
from lmod_train.scoring.share import share_score

Counts = NDArray[np.intp]


@dataclass(frozen=True, slots=True)
class Design:
    """Patients of the rare class and others; `mixed` patients of the rare class have images of both."""

    name: str
    rare: int
    rest: int
    alike: float
    auroc: float
    sensitivity: float
    mixed: bool = False
    overlooked: float = 0.0


DESIGNS = (
    Design("3 of 60", 3, 57, 0.5, 0.80, 0.70),
    Design("5 of 60", 5, 55, 0.3, 0.90, 0.80),
    Design("8 of 100, alike", 8, 92, 0.9, 0.60, 0.50),
    Design("10 of 100, independent", 10, 90, 0.0, 0.80, 0.80),
    Design("10 of 100", 10, 90, 0.5, 0.95, 0.90),
    Design("10 of 200, alike", 10, 190, 0.9, 0.90, 0.70),
    Design("12 of 60, near 1", 12, 48, 0.3, 0.99, 0.98),
    Design("15 of 150, alike", 15, 135, 0.7, 0.60, 0.50),
    Design("15 of 300", 15, 285, 0.3, 0.97, 0.95),
    Design("20 of 100, near 1", 20, 80, 0.0, 0.99, 0.98),
    Design("20 of 200, mixed, alike", 20, 180, 0.9, 0.85, 0.60, mixed=True),
    Design("20 of 100, mixed", 20, 80, 0.5, 0.95, 0.90, mixed=True),
    Design("10 of 100, 8 % overlooked", 10, 90, 0.5, 0.96, 0.90, overlooked=0.08),
    Design("20 of 200, 5 % overlooked", 20, 180, 0.2, 0.97, 0.90, overlooked=0.05),
)
"""Twelve designs, and two with a kind of patient that a sample may lack altogether, as no interval can know."""


def sizes(rng: np.random.Generator, patients: int, spread: float = 0.9) -> Counts:
    """Return a number of images for each patient."""
    found: Counts = np.clip(np.rint(np.exp(rng.normal(1.0, spread, patients))), 1, 40).astype(np.intp)
    return found


def drawn(rng: np.random.Generator, design: Design) -> dict[str, Score]:
    """Return area and sensitivity of one random data set."""
    patients = design.rare + design.rest
    place = np.repeat(np.arange(patients), sizes(rng, patients))
    true = place < design.rare
    if design.mixed:
        true &= rng.random(len(place)) < 0.5
        true[np.searchsorted(place, np.arange(design.rare))] = True
    own, image = rng.normal(size=patients)[place], rng.normal(size=len(place))
    noise = np.sqrt(design.alike) * own + np.sqrt(1 - design.alike) * image
    seen = (rng.random(patients) >= design.overlooked)[place]
    shift = np.sqrt(2) * ndtri((design.auroc - design.overlooked / 2) / (1 - design.overlooked))
    confidence = shift * (true & seen) + noise
    groups = np.array([f"{k:04d}" for k in range(patients)])[place]
    pair = np.stack([-confidence, confidence], axis=1)
    area = area_scores("t", "all", true.astype(np.intp), pair, groups.tolist(), [1], draws=2)[0]
    hit = (noise < ndtri(design.sensitivity))[true]
    return {"AUROC": area, "sensitivity": share_score("sensitivity", hit.tolist(), groups[true].tolist())}


def intervals(rounds: int) -> None:
    """Print coverage and width in each design."""
    print("| measure | design | alike | truth | coverage | below | above | width | median width | perfect | none |")
    print("|---|---|" + "--:|" * 9)
    for design in DESIGNS:
        rng = np.random.default_rng([design.rare, design.rest])
        found = [drawn(rng, design) for _ in range(rounds)]
        for name, truth in (("AUROC", design.auroc), ("sensitivity", design.sensitivity)):
            print(_row(name, design, truth, [own[name] for own in found]), flush=True)


def _row(name: str, design: Design, truth: float, found: list[Score]) -> str:
    ends = np.array([(s.value, s.low, s.high) for s in found], dtype=np.float64)
    value, low, high = ends[~np.isnan(ends).any(axis=1)].T
    whole = float(np.subtract(*np.quantile(value, [0.975, 0.025])))
    below, above = float(np.mean(high < truth)), float(np.mean(low > truth))
    shares = [1 - below - above, below, above]
    widths = [np.mean(high - low) / whole, np.median(high - low) / whole]
    rest = [np.mean(value == 1), 1 - len(value) / len(found)]
    numbers = [*(f"{v:.3f}" for v in shares), *(f"{v:.2f}" for v in widths), *(f"{v:.3f}" for v in rest)]
    return f"| {name} | {design.name} | {design.alike:g} | {truth:g} | {' | '.join(numbers)} |"


Sides = tuple[Counts, Counts, Counts]
"""Items, items that only the first model has right, and those that only the second has, of each patient."""


def leaning(rng: np.random.Generator, held: Counts, discordant: float, win: Floats, spread: float) -> Sides:
    """Return patients whose items differ at random, and lean towards one model each, strongly with a small `spread`."""
    differing = rng.binomial(held, discordant)
    gains = rng.binomial(differing, rng.beta(win * spread, (1 - win) * spread))
    return held, gains, differing - gains


def by_size(rng: np.random.Generator, discordant: float) -> Sides:
    """Return 60 patients of whom those with many items lean to the first model, and those with few to the second."""
    held = sizes(rng, 60)
    return leaning(rng, held, discordant, np.where(held >= LARGE, HIGH, LOW), 2.0)


LARGE = 8
_MANY = sizes(np.random.default_rng(0), 2_000_000)
_OF_LARGE = float(_MANY[_MANY >= LARGE].sum() / _MANY.sum())
HIGH, LOW = 0.5 + 0.35 * min(1.0, 1 / _OF_LARGE - 1), 0.5 - 0.35 * min(1.0, _OF_LARGE / (1 - _OF_LARGE))
"""Probabilities of a win of the first model that make both models equally good over all items."""


def in_bulk(rng: np.random.Generator) -> Sides:
    """Return 80 patients of whom 6 % lose nearly all items, and the others win few."""
    held = sizes(rng, 80, 0.6)
    bad = rng.random(80) < 0.06
    gains, losses = rng.binomial(held, 0.8 * 0.06 / 0.94), rng.binomial(held, 0.8)
    return held, np.where(bad, 0, gains), np.where(bad, losses, 0)


def fixed(rng: np.random.Generator, held: Counts, discordant: float, spread: float) -> Sides:
    """Return patients with leanings that do not depend on their number of items."""
    return leaning(rng, held, discordant, np.full(len(held), 0.5), spread)


PAIRED: Mapping[str, Callable[[np.random.Generator], Sides]] = {
    "40, one with 80 of 197 items": lambda rng: fixed(rng, np.array([80, *[3] * 39]), 0.25, 1.0),
    "60, wins grow with items": lambda rng: by_size(rng, 0.3),
    "60, the same, 4 % discordant": lambda rng: by_size(rng, 0.04),
    "10": lambda rng: fixed(rng, sizes(rng, 10), 0.4, 1.0),
    "80, losses in bulk": in_bulk,
    "30, items of a patient alike": lambda rng: fixed(rng, sizes(rng, 30), 0.3, 0.1),
    "40 of 4 items, independent": lambda rng: fixed(rng, np.full(40, 4), 0.2, 1e6),
    "200 of 1 item, 4 % discordant": lambda rng: fixed(rng, np.full(200, 1), 0.04, 1e6),
}


def levels(rounds: int) -> None:
    """Print how often the paired test rejects that two equally good models are equal."""
    print("\n| patients | p < 0.05 | p < 0.01 | p < 0.001 | interval above 0 | below 0 | contradict | width |")
    print("|---|" + "--:|" * 7)
    for name, world in PAIRED.items():
        rng, rows = np.random.default_rng(7), []
        for _ in range(rounds):
            held, gains, losses = world(rng)
            place = np.repeat(np.arange(len(held)), held)
            nth = np.arange(len(place)) - np.repeat(np.cumsum(held) - held, held)
            first, second = nth < gains[place], (nth >= gains[place]) & (nth < (gains + losses)[place])
            gap, p = paired_test("t", first.tolist(), second.tolist(), [f"{k:04d}" for k in place])
            rows.append((gap.value, gap.low, gap.high, 1.0 if p is None else p))
        value, low, high, p_values = np.array(rows, dtype=np.float64).T
        shares = [np.mean(p_values < level) for level in (0.05, 0.01, 0.001)]
        shares += [np.mean(low > 0), np.mean(high < 0), np.mean((p_values < 0.05) != ((low > 0) | (high < 0)))]
        width = np.nanmean(high - low) / np.subtract(*np.quantile(value, [0.975, 0.025]))
        print(f"| {name} | {' | '.join(f'{v:.4f}' for v in shares)} | {width:.2f} |", flush=True)


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=2000, help="simulated data sets a design")
    options = parser.parse_args()
    intervals(options.rounds)
    levels(options.rounds)


if __name__ == "__main__":
    main()
