"""The leaderboard: a row per run and a column per task, the best model of the first task on top."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from lmod_train.scoring.headline import direction
from lmod_train.tasks.display_names import metric_name, task_name
from lmod_train.tasks.headline import Row


@dataclass(frozen=True, slots=True)
class Dot:
    """Places of a score, the ends of its interval and of chance in a drawing that is 100 wide."""

    value: float
    low: float
    high: float
    chance: float | None


@dataclass(frozen=True, slots=True)
class Place:
    """The score of a run in a task, and what a reader must know of it.

    Attributes:
        row: Its row of the headline table.
        dot: Its drawing; None without an interval, or if the score is not between 0 and 1.
        replied: How many records have a reply; empty if all have.
        warnings: Warnings about the score, in one line.
    """

    row: Row
    dot: Dot | None
    replied: str
    warnings: str


@dataclass(frozen=True, slots=True)
class Head:
    """A task and its metric, with the names that a person reads."""

    task: str
    name: str
    metric: str
    metric_name: str


@dataclass(frozen=True, slots=True)
class Line:
    """The scores of a run by task."""

    label: str
    scores: Mapping[str, Place]


@dataclass(frozen=True, slots=True)
class Leaderboard:
    """Tasks, and a line per run."""

    heads: tuple[Head, ...]
    rows: tuple[Line, ...]


def leaderboard(scores: Mapping[str, Sequence[Row]], tasks: Sequence[str]) -> Leaderboard:
    """Return the leaderboard of runs, the best score of the first task, or of the next one, on top.

    By a metric of which it is not known whether a larger value is better, runs keep their order.

    Args:
        scores: Label of each run -> its rows of the headline table.
        tasks: Tasks in the order of their columns.
    """
    metrics = {row.task: row.metric for rows in scores.values() for row in rows}
    heads = (Head(task, task_name(task), metrics[task], metric_name(metrics[task])) for task in tasks)
    lines = [Line(label, {row.task: _place(row) for row in rows}) for label, rows in scores.items()]
    return Leaderboard(tuple(heads), tuple(sorted(lines, key=lambda line: [_order(line, task) for task in tasks])))


def _order(line: Line, task: str) -> float:
    """Return what sorts the lines by the score of a task; those without it are last."""
    row = line.scores[task].row if task in line.scores else None
    return float("inf") if row is None or row.value is None else -direction(row.metric) * row.value


def _place(row: Row) -> Place:
    replied = "" if row.account is None or row.account.complete else str(row.account)
    return Place(row, _dot(row), replied, "; ".join(row.warnings))


def _dot(row: Row) -> Dot | None:
    known = [row.value, row.low, row.high]
    drawn = [100 * one for one in known if one is not None and 0 <= one <= 1]
    if len(drawn) < len(known):
        return None
    chance = row.chance if row.chance is not None and 0 <= row.chance <= 1 else None
    return Dot(drawn[0], drawn[1], drawn[2], None if chance is None else 100 * chance)
