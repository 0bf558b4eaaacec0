"""Rows of ``audit.csv``: how far a task is answered by a classifier that does not look at the eye."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import astuple, dataclass, fields
from pathlib import Path

from lmod_train.core.csv_files import read_csv, write_csv
from lmod_train.core.errors import ArtifactError
from lmod_train.core.links import check_link

FILE = "audit.csv"


@dataclass(frozen=True, slots=True)
class Shortcut:
    """How far one shortcut answers one task.

    Attributes:
        task: Name of the task.
        shortcut: ``words``, ``names``, ``most_frequent``, ``chance``, ``source``, ``border_mask``, ``thumbnail``,
            ``thumbnail_forest`` or ``file_facts``.
        split: ``val``, ``test`` or ``val+test``; always fitted on train.
        metric: ``accuracy``; of words also ``p``, ``can_tell`` and ``leaks`` (1 or 0), the verdict of `blind`.
        n: Things asked.
        value: Of the metric; None where nothing can be tried.
        low: Lower end of the 95 % Clopper-Pearson interval, as if all things asked were independent.
        high: Upper end.
    """

    task: str
    shortcut: str
    split: str
    metric: str
    n: int
    value: float | None
    low: float | None = None
    high: float | None = None


COLUMNS = tuple(f.name for f in fields(Shortcut))


def write_shortcuts(path: Path, rows: Iterable[Shortcut]) -> None:
    """Write ``audit.csv``, whole or not at all; what cannot be tried is empty."""
    write_csv(path, COLUMNS, map(astuple, rows))


def read_shortcuts(curated: Path) -> list[Shortcut]:
    """Return the rows of a curated folder's ``audit.csv``, in its order; none where `blind` was not run.

    Raises:
        ArtifactError: The file has other columns, or a number in it is none.
    """
    file = curated / FILE
    check_link(curated, file)
    if not file.is_file():
        return []
    try:
        return [_row(row) for row in read_csv(file)]
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        cure = f"write it again: `python -m lmod_train blind {curated}`"
        raise ArtifactError(file, f"is no table of shortcuts ({str(error).splitlines()[0]})", cure) from error


def _row(row: dict[str, str]) -> Shortcut:
    value, low, high = (float(row[c]) if row[c] else None for c in ("value", "low", "high"))
    return Shortcut(row["task"], row["shortcut"], row["split"], row["metric"], int(row["n"]), value, low, high)
