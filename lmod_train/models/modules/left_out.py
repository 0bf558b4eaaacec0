"""The lists of records that were left out of training: too long ones, and those that cannot be trained on."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from pathlib import Path

from lightning_utilities.core.rank_zero import rank_zero_warn

from lmod_train.core.escaping import for_csv, from_csv


class _List:
    """A list of records in ``<name>/rank-<r>.csv`` of the run's folder; each record once, also by a continued run."""

    def __init__(self, name: str, columns: tuple[str, ...], warning: str) -> None:
        self._name, self._columns, self._warning = name, columns, warning
        self._listed: dict[Path, set[str]] = {}

    def append(self, rows: Mapping[str, tuple[object, ...]], folder: Path, rank: int) -> None:
        """Append records that are not in the list yet; warn at the first.

        Args:
            rows: Cells behind the id, by record id; may be empty.
            folder: Folder of the run.
            rank: Rank of this process.
        """
        file = folder / self._name / f"rank-{rank}.csv"
        if rows and file not in self._listed:
            self._listed[file] = _read(file)
        listed = self._listed.get(file, set())
        new = {record: cells for record, cells in rows.items() if record not in listed}
        if not new:
            return
        if not listed:
            rank_zero_warn(self._warning.format(place=file.parent))
        listed.update(new)
        file.parent.mkdir(parents=True, exist_ok=True)
        begins = not file.exists()
        with file.open("a", newline="", encoding="utf-8") as text:
            lines = csv.writer(text)
            if begins:
                lines.writerow(["id", *self._columns])
            lines.writerows([for_csv(record), *map(for_csv, cells)] for record, cells in new.items())


class TooLong:
    """Lists records that are too long in ``too_long/rank-<r>.csv`` (id, tokens, max_tokens) of the run's folder.

    Args:
        max_tokens: Maximum length of a training record in tokens.
    """

    def __init__(self, max_tokens: int) -> None:
        self._max_tokens = max_tokens
        warning = (
            f"records of more than max_tokens={max_tokens} tokens are left out of training, not cut; they are listed "
            "in {place}.\nNext: to train on them too, add `--model.init_args.max_tokens` with a larger number"
        )
        self._list = _List("too_long", ("tokens", "max_tokens"), warning)

    def list(self, lengths: Mapping[str, int], folder: Path, rank: int) -> None:
        """Append records with their number of tokens; arguments as of `_List.append`."""
        self._list.append({record: (n, self._max_tokens) for record, n in lengths.items()}, folder, rank)


class Refused:
    """Lists records that cannot be trained on in ``refused/rank-<r>.csv`` (id, reason) of the run's folder."""

    def __init__(self) -> None:
        warning = (
            "records that the model cannot be trained on are left out; they are listed with their reason in {place}.\n"
            "Next: correct or remove them in their source, and curate again"
        )
        self._list = _List("refused", ("reason",), warning)

    def list(self, reasons: Mapping[str, str], folder: Path, rank: int) -> None:
        """Append records with their reason; arguments as of `_List.append`."""
        self._list.append({record: (why,) for record, why in reasons.items()}, folder, rank)


def _read(file: Path) -> set[str]:
    if not file.exists():
        return set()
    with file.open(newline="", encoding="utf-8") as text:
        return {from_csv(row["id"]) for row in csv.DictReader(text)}
