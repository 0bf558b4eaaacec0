"""The headline table: a row per task and run, with the score, its interval and baselines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from lmod_train.core.tables import INTERVAL, SCORE, Cell, Column, N, Table, table
from lmod_train.core.types import Score
from lmod_train.scoring.completeness import Account
from lmod_train.scoring.headline_metrics import has_baseline, headline_metric
from lmod_train.scoring.warnings import MOST_UNPARSED, Warned
from lmod_train.scoring.ways import ways_in
from lmod_train.tasks.run_scores import RunScores, read_run_scores

LOST = ("truncated", "refused")
"""Statuses without an answer, beside *unparsed*, that have a column where a run has many."""


@dataclass(frozen=True, slots=True)
class Row:
    """One row of the headline table; None if a run does not have a value.

    `ways` is the number of ways in which each question was asked; `n` counts each of them. `no_interval` is why there
    is no interval, if that is known. `balanced` is the balanced accuracy beside an accuracy,
    `patients` the number of patients of the items, 0 if it is not known.
    """

    task: str
    run: str
    model: str
    metric: str
    n: int
    value: float | None
    low: float | None
    high: float | None
    chance: float | None
    majority: float | None
    unparsed: float | None
    account: Account | None = None
    warnings: tuple[str, ...] = ()
    ways: int = 1
    truncated: float | None = None
    refused: float | None = None
    no_interval: str = ""
    balanced: Score | None = None
    patients: int = 0


def headline(runs: Sequence[Path]) -> list[Row]:
    """Return the headline table: tasks in order of first appearance, runs in the given order.

    Raises:
        BadArgument: No run was given, or one twice.
        ArtifactError: A run has no scores.
    """
    return headline_rows(read_run_scores(runs))


def headline_rows(
    figures: Sequence[RunScores], warned: Mapping[tuple[Path, str], Sequence[Warned]] | None = None
) -> list[Row]:
    """Return the headline table of runs whose scores were read.

    Args:
        figures: Scores of the runs.
        warned: Folder and task -> warnings about the score; None if they are not known.
    """
    rows = []
    for task in dict.fromkeys(task for run in figures for task in run.tasks()):
        for run in figures:
            if task not in run.tasks():
                continue
            metric = headline_metric(run.scores, task)
            score = run.find(task, metric)
            assert score is not None
            beside = [run.find(task, name) for name in ("chance", "majority", "share_unparsed")]
            chance, majority, unparsed = (b.value if b else None for b in beside)
            chance, majority = (chance, majority) if has_baseline(metric) else (None, None)
            numbers = (score.n, score.value, score.low, score.high, chance, majority, unparsed)
            phrases = tuple(w.phrase for w in (warned or {}).get((run.path, task), ()))
            ways = ways_in(s.subset for s in run.scores if s.task == task)
            cut, refused = (b.value if (b := run.find(task, f"share_{status}")) else None for status in LOST)
            lost = (run.account(task), phrases, ways, cut, refused)
            balanced = run.find(task, "balanced_accuracy")
            rows.append(Row(task, run.run, run.called, metric, *numbers, *lost, balanced=balanced))
    return rows


def headline_table(rows: Sequence[Row]) -> Table:
    """Return the rows as a table.

    If a run has more than 5 % of replies that were cut off before an answer, or refused, these shares have columns.
    If a run is incomplete, columns count the records with a reply, which the score is over, those that failed and those
    that were not asked. If there are warnings, they have a column.

    Example:
        >>> from lmod_train.core.tables import markdown
        >>> row = Row("glaucoma", "tuned", "base", "accuracy_strict", 200, 0.9, 0.85, 0.94, 0.5, 0.5, 0.0)
        >>> print(markdown(headline_table([row])))
        | task     | model | run   | metric          |   n | score | 95 % interval | chance | majority | unparsed |
        | -------- | ----- | ----- | --------------- | --: | ----: | ------------- | -----: | -------: | -------: |
        | glaucoma | base  | tuned | accuracy_strict | 200 | 0.900 | 0.850-0.940   |  0.500 |    0.500 |    0.0 % |
    """
    baselines = [Column("chance", "number"), Column("majority", "number"), Column("unparsed", "percent")]
    lines: list[list[Cell]] = [
        [r.task, r.model, r.run, r.metric, r.n, r.value, (r.low, r.high), r.chance, r.majority, r.unparsed]
        for r in rows
    ]
    columns: list[str | Column] = ["task", "model", "run", "metric", N, SCORE, INTERVAL, *baselines]
    for status in LOST:
        shares = [getattr(r, status) for r in rows]
        if any(share is not None and share > MOST_UNPARSED for share in shares):
            columns.append(Column(status, "percent"))
            lines = [[*line, share] for line, share in zip(lines, shares, strict=True)]
    if any(r.account and not r.account.complete for r in rows):
        columns += [Column(head, "count") for head in ("replied", "failed", "not asked")]
        lines = [[*line, *_counts(r.account)] for line, r in zip(lines, rows, strict=True)]
    if any(r.warnings for r in rows):
        columns.append("warnings")
        lines = [[*line, "; ".join(r.warnings)] for line, r in zip(lines, rows, strict=True)]
    return table("scores", columns, lines)


def _counts(account: Account | None) -> list[Cell]:
    return [account.replied, account.failed, account.not_asked] if account else [None, None, None]
