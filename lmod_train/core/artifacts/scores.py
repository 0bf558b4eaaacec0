"""Figures of a run as a table: ``scores.csv``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from lmod_train.core.csv_files import read_rows, write_csv
from lmod_train.core.errors import NotScored, refuse_folder
from lmod_train.core.types import Score

SCORE_COLUMNS = ("run", "model", "task", "subset", "metric", "n", "value", "low", "high")
SETTINGS = "settings"
"""Last column, written if a score has settings (`lmod_train.core.types.Score`)."""


def write_scores(path: Path, run: str, model: str, scores: Sequence[Score]) -> None:
    """Write ``scores.csv``: one row a figure; no value and no interval are empty cells."""
    last = [SETTINGS] if any(s.settings for s in scores) else []
    rows = (
        (
            *(run, model, s.task, s.subset, s.metric, s.n),
            *(None if v is None else round(float(v), 6) for v in (s.value, s.low, s.high)),
            *([s.settings] if last else []),
        )
        for s in scores
    )
    write_csv(path, [*SCORE_COLUMNS, *last], rows, end="\r\n")


def read_scores(path: Path) -> list[tuple[str, str, Score]]:
    """Read ``scores.csv`` as (run, model, score).

    Raises:
        BadArgument: The path is that of the run's folder.
        ArtifactError: It is missing, damaged, or has other columns.
    """
    refuse_folder(path, "scores.csv")
    if not path.exists():
        raise NotScored(path, "no scores here")
    try:
        header, *rows = read_rows(path) or [[]]
        if tuple(header) not in (SCORE_COLUMNS, (*SCORE_COLUMNS, SETTINGS)):
            raise NotScored(path, "has other columns")
        named = [dict(zip(header, row, strict=True)) for row in rows if row]
        return [(r["run"], r["model"], _score_of(r)) for r in named]
    except ValueError as error:
        raise NotScored(path, f"cannot be read ({str(error).splitlines()[0]})") from error


def _score_of(row: Mapping[str, str]) -> Score:
    value, low, high = (float(row[c]) if row[c] else None for c in ("value", "low", "high"))
    return Score(row["task"], row["subset"], row["metric"], int(row["n"]), value, low, high, row.get(SETTINGS, ""))
