"""The leaderboard: a row per run and a column per task."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from lmod_train.report.headline import Row, headline_rows
from lmod_train.report.results import Results
from lmod_train.report.warned import warned


@dataclass(frozen=True, slots=True)
class Place:
    """The score of a run in a task, and what a reader must know of it."""

    value: float | None
    low: float | None
    high: float | None
    n: int
    warnings: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Line:
    """The scores of a run by task."""

    label: str
    scores: Mapping[str, Place]


@dataclass(frozen=True, slots=True)
class Leaderboard:
    """Tasks with their metrics, and a line per run."""

    tasks: tuple[str, ...]
    metrics: Mapping[str, str]
    rows: tuple[Line, ...]


def leaderboard(results: Results) -> Leaderboard:
    """Return the leaderboard of runs, in the order of the runs."""
    about = warned(results)
    every = {name: headline_rows([run], about) for name, run in zip(results.names, results.runs, strict=True)}
    metrics = {row.task: row.metric for rows in every.values() for row in rows}
    lines = (Line(name, {row.task: _place(row) for row in rows}) for name, rows in every.items())
    return Leaderboard(tuple(metrics), metrics, tuple(lines))


def _place(row: Row) -> Place:
    return Place(row.value, row.low, row.high, row.n, tuple(row.warnings))
