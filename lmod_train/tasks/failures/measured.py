"""Precision and recall of the rules on the labelled replies, as measured by ``scripts/benchmarks/error_rules.py``."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

MEASURED = Path(__file__).parent / "measured.csv"


@dataclass(frozen=True, slots=True)
class Measured:
    """The figures of one rule on one half of the labelled replies.

    Attributes:
        rule: Name of the rule.
        half: ``develop``, on which the rules were tuned, or ``held_out``.
        replies: Number of replies of the half.
        found: Number of replies on which the rule fired.
        precision: Share of them with the label, with its 95 % interval; None if the rule never fired.
        precision_low: Lower end.
        precision_high: Upper end.
        labelled: Number of replies with the label.
        recall: Share of them on which the rule fired, with its 95 % interval.
        recall_low: Lower end.
        recall_high: Upper end.
    """

    rule: str
    half: Literal["develop", "held_out"] | str
    replies: int
    found: int
    precision: float | None
    precision_low: float | None
    precision_high: float | None
    labelled: int
    recall: float | None
    recall_low: float | None
    recall_high: float | None

    def line(self) -> str:
        """Return the figures as one line of text."""
        precision = _written(self.precision, self.precision_low, self.precision_high)
        recall = _written(self.recall, self.recall_low, self.recall_high)
        return f"{self.half:9}{self.rule:18}{self.found:4} {precision}   {self.labelled:4} {recall}"


def _written(value: float | None, low: float | None, high: float | None) -> str:
    if value is None:
        return "-".ljust(19)
    return f"{value:.3f} {'' if low is None or high is None else f'[{low:.3f}, {high:.3f}]'}".ljust(19)


def read_measured() -> list[Measured]:
    """Return the figures of every rule on both halves.

    Example:
        >>> {row.half for row in read_measured()} == {"develop", "held_out"}
        True
    """
    with MEASURED.open(encoding="utf-8", newline="") as file:
        return [_row(row) for row in csv.DictReader(file)]


def _row(row: dict[str, str]) -> Measured:
    whole = {name: int(row[name]) for name in ("replies", "found", "labelled")}
    names = [f"{kind}{end}" for kind in ("precision", "recall") for end in ("", "_low", "_high")]
    shares = {name: float(row[name]) if row[name] else None for name in names}
    return Measured(rule=row["rule"], half=row["half"], **whole, **shares)  # type: ignore[arg-type]
