"""Measure the rules of the error analysis against labelled replies, and write what the report shows of them.

    python scripts/benchmarks/error_rules.py [--write]

The replies and their labels (tests/tasks/failures/replies.jsonl) were written before the rules, by written definitions;
the rules were tuned on the half `develop` only. Each row is a rule on a half: how often it fired and how often that was
right (precision), how many replies have the label and how many of them it found (recall), with 95 % intervals.
`--write` replaces lmod_train/tasks/failures/measured.csv.
"""

from __future__ import annotations

import argparse
import csv
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from lmod_train.core.types import Score
from lmod_train.scoring.intervals import Measure, compute_scores, ratio
from lmod_train.tasks.failures.measured import MEASURED, Measured
from lmod_train.tasks.failures.rules import RULES, failures_of

sys.path.insert(0, str(Path(__file__).resolve().parent.parent.parent))
from tests.tasks.failures.asked import prediction_of
from tests.tasks.failures.labelled import labelled

HALVES = ("develop", "held_out")
PRECISION = Measure("precision", lambda s: ratio(s["both"], s["found"]), lambda c: c["found"])
RECALL = Measure("recall", lambda s: ratio(s["both"], s["labelled"]), lambda c: c["labelled"])


def measured(half: str) -> Iterator[Measured]:
    """Yield the figures of each rule on one half of the labelled replies."""
    rows = [row for row in labelled() if row.split == half]
    found = [{failure.rule for failure in failures_of(prediction_of(row))} for row in rows]
    groups = [str(i) for i in range(len(rows))]
    for rule in RULES:
        ours, theirs = [rule in one for one in found], [rule in row.labels for row in rows]
        precision, recall = detection_scores(rule, ours, theirs, groups)
        yield Measured(rule, half, len(rows), *_figures(precision), *_figures(recall))


def detection_scores(
    name: str, found: Sequence[bool], labelled: Sequence[bool], groups: Sequence[str]
) -> tuple[Score, Score]:
    """Return precision and recall of a rule, each with n and a 95 % interval clustered by group.

    Precision is the share of labelled items among those that the rule finds, recall the share that the rule finds among
    the labelled ones; each is without a value where its denominator is 0.

    Args:
        name: Name of the rule; the subset of the scores.
        found: Whether the rule finds it, one per item.
        labelled: Whether it is labelled, one per item.
        groups: Patient or other cluster of each item; all different for independent items.
    """
    ours, theirs = np.array(found, dtype=np.float64), np.array(labelled, dtype=np.float64)
    columns = {"found": ours, "labelled": theirs, "both": ours * theirs}
    precision, recall = compute_scores("", name, columns, groups, [PRECISION, RECALL])
    return precision, recall


def _figures(score: Score) -> tuple[int, float | None, float | None, float | None]:
    return score.n, _rounded(score.value), _rounded(score.low), _rounded(score.high)


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 4)


def main() -> None:
    """Print the table, and write it if asked to."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--write", action="store_true", help="replace the file that the report reads")
    write = parser.parse_args().write
    rows = [row for half in HALVES for row in measured(half)]
    for row in rows:
        print(row.line())
    if write:
        with MEASURED.open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(Measured.__slots__)
            writer.writerows([getattr(row, name) for name in Measured.__slots__] for row in rows)


if __name__ == "__main__":
    main()
