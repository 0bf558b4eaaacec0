"""Coverage of the intervals of readers' scores in simulation, with readers and patients drawn anew.

    python scripts/benchmarks/readers.py --out readers.csv      # minutes on one core
    python scripts/benchmarks/readers.py --small

A reader is right on an item if a threshold exceeds the sum of normal effects of patient, item, reader, and reader and
item (a probit model, as that of Roe and Metz 1997 for ratings), so that the mean over all readers and patients is
known. The model shares the effects of patient and item.
"""

from __future__ import annotations

import argparse
import csv
from collections.abc import Iterator
from dataclasses import asdict, dataclass, fields
from itertools import product
from pathlib import Path

import numpy as np
from scipy.special import ndtri

from lmod_train.extensions.readers.scores import against_readers, mean_reader

ITEM, PATIENT, BOTH = 0.6, 0.5, 0.6
"""Standard deviations of the effects of item, patient, and reader and item, in units of the remaining noise."""


@dataclass(frozen=True, slots=True)
class Design:
    """One design: readers, patients, items per patient, accuracy, spread of readers, and lead of the model."""

    readers: int
    patients: int
    items: int
    accuracy: float
    spread: float
    lead: float = 0.05


@dataclass(frozen=True, slots=True)
class Covered:
    """Coverage and mean width of the intervals of the mean reader and of the difference, in one design."""

    readers: int
    patients: int
    items: int
    accuracy: float
    spread: float
    rounds: int
    mean: float
    mean_width: float
    difference: float
    difference_width: float


def draw(rng: np.random.Generator, d: Design) -> tuple[np.ndarray, np.ndarray, list[str]]:
    """Return the item_scores of readers (items, readers), those of the model (items) and the patient of each item."""
    n = d.patients * d.items
    groups = np.repeat(np.arange(d.patients), d.items)
    shared = rng.normal(0, ITEM, n) + rng.normal(0, PATIENT, d.patients)[groups]
    skill, own = rng.normal(0, d.spread, d.readers), rng.normal(0, BOTH, (n, d.readers))
    noise = 1 + ITEM**2 + PATIENT**2
    reader = ndtri(d.accuracy) * np.sqrt(noise + BOTH**2 + d.spread**2)
    right = reader + shared[:, None] + skill + own + rng.normal(0, 1, (n, d.readers)) > 0
    model = ndtri(d.accuracy + d.lead) * np.sqrt(noise) + shared + rng.normal(0, 1, n) > 0
    return right.astype(np.float64), model.astype(np.float64), [str(g) for g in groups]


def covered(d: Design, rounds: int, seed: int = 0) -> Covered:
    """Return how often the intervals contain the true mean of readers and the true lead of the model."""
    rng = np.random.default_rng(seed)
    found = np.array([[*_one(rng, d)] for _ in range(rounds)])
    shares = found.mean(axis=0)
    return Covered(d.readers, d.patients, d.items, d.accuracy, d.spread, rounds, *(float(v) for v in shares))


def _one(rng: np.random.Generator, d: Design) -> Iterator[float]:
    item_scores, model, groups = draw(rng, d)
    truths = (
        (d.accuracy, mean_reader("demo", item_scores, groups)),
        (d.lead, against_readers("demo", list(model), item_scores, groups)),
    )
    for truth, score in truths:
        low, high = (np.nan if end is None else end for end in (score.low, score.high))
        yield float(low <= truth <= high)
        yield high - low


def designs(small: bool) -> list[Design]:
    """Return all combinations of the studied values; with `small` a few."""
    if small:
        return [Design(3, 40, 1, 0.8, 0.3), Design(5, 40, 2, 0.7, 0.0)]
    return [Design(*values) for values in product((2, 3, 5, 10), (20, 60, 200), (1, 3), (0.7, 0.9), (0.0, 0.3))]


def main() -> None:
    """Simulate every design, print a line each, and write them as CSV."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, help="CSV file to write.")
    parser.add_argument("--rounds", type=int, default=1000, help="Simulations per design.")
    parser.add_argument("--small", action="store_true", help="Two designs only.")
    given = parser.parse_args()
    rows = []
    for design in designs(given.small):
        rows.append(covered(design, given.rounds))
        print(rows[-1], flush=True)
    if given.out:
        with given.out.open("w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, [f.name for f in fields(Covered)])
            writer.writeheader()
            writer.writerows(asdict(row) for row in rows)


if __name__ == "__main__":
    main()
