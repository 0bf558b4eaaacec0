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
from collections.abc import Iterator
from pathlib import Path

from lmod_train.core.types import Score
from lmod_train.scoring.detection import detection_scores
from lmod_train.tasks.failures.measured import MEASURED, Measured
from lmod_train.tasks.failures.rules import RULES, failures_of

sys.path.insert(0, str(Path(__file__).resolve().parent.parent.parent))
from tests.tasks.failures.asked import prediction_of
from tests.tasks.failures.labelled import labelled

HALVES = ("develop", "held_out")


def measured(half: str) -> Iterator[Measured]:
    """Yield the figures of each rule on one half of the labelled replies."""
    rows = [row for row in labelled() if row.split == half]
    found = [{failure.rule for failure in failures_of(prediction_of(row))} for row in rows]
    groups = [str(i) for i in range(len(rows))]
    for rule in RULES:
        ours, theirs = [rule in one for one in found], [rule in row.labels for row in rows]
        precision, recall = detection_scores(rule, ours, theirs, groups)
        yield Measured(rule, half, len(rows), *_figures(precision), *_figures(recall))


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
