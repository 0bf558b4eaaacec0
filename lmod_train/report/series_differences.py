"""Differences between series of seeds, paired on their common items."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations

import numpy as np

from lmod_train.core.artifacts.run import Run
from lmod_train.core.tables import Cell, Column, Heads, Table, table
from lmod_train.report.comparisons import by_question, comparable
from lmod_train.report.results import Results
from lmod_train.report.seeds import by_series
from lmod_train.scoring.comparison import paired_difference
from lmod_train.scoring.item_score import item_score
from lmod_train.scoring.items import Item

NOTE = """Difference of the mean scores (accuracy, or F1 per image) of two series on their common items; an item counts
by its mean over the seeds of a series. The interval is over patients, with these trainings: an interval that holds 0
means that these patients do not tell the two apart."""
HEADS: Heads = [
    "task", "first", "second", Column("n", "count"), Column("difference", "signed"),
    Column("95 % interval over patients", "signed_interval"),
]  # fmt: skip

Seeds = Sequence[Mapping[str, Sequence[Item]]]
"""Task -> items, of each seed of a series."""

Merits = Mapping[str, tuple[float, str]]
"""Id of an item -> its mean score over the runs of a series, and its patient."""


def differences_table(results: Results) -> Table | None:
    """Return a row for each task and pair of series of seeds; None without two series of one task."""
    items = comparable(results)
    series = {Run(folder).name: [items[name] for name, _ in runs] for folder, runs in by_series(results).items()}
    rows = [row for pair in combinations(series, 2) for row in _rows(*pair, *(series[name] for name in pair))]
    return table("seed_differences", HEADS, rows, "Differences between series") if rows else None


def _rows(first: str, second: str, ours: Seeds, theirs: Seeds) -> Iterator[list[Cell]]:
    for task in sorted(set.intersection(*(set(run) for run in (*ours, *theirs)))):
        one, two = (mean_merits([run[task] for run in runs]) for runs in (ours, theirs))
        if common := sorted(one.keys() & two.keys()):
            values, groups = zip(*(one[i] for i in common), strict=True)
            gap = paired_difference(task, values, [two[i][0] for i in common], groups)
            yield [task, first, second, gap.n, gap.value, (gap.low, gap.high)]


def mean_merits(runs: Sequence[Sequence[Item]]) -> Merits:
    """Return the mean score over runs of each item that all of them have.

    Args:
        runs: Items of each run.
    """
    asked = [by_question(items) for items in runs]
    common = set.intersection(*(set(items) for items in asked))
    return {i: (float(np.mean([item_score(items[i]) for items in asked])), asked[0][i].group) for i in common}
