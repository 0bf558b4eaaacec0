"""The list of records that were left out of training because they are too long."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from pathlib import Path

from lightning_utilities.core.rank_zero import rank_zero_warn

from lmod_train.escaping import for_csv, from_csv


class TooLong:
    """Lists records that are too long in ``too_long/rank-<r>.csv`` (id, tokens, max_tokens) of the run's folder.

    Each record is listed once; a continued run appends to its list.

    Args:
        max_tokens: Maximum length of a training record in tokens.
    """

    def __init__(self, max_tokens: int) -> None:
        self._max_tokens = max_tokens
        self._listed: dict[Path, set[str]] = {}

    def list(self, lengths: Mapping[str, int], folder: Path, rank: int) -> None:
        """Append records that are not in the list yet; warn at the first.

        Args:
            lengths: Number of tokens of prompt and answer, by record id; may be empty.
            folder: Folder of the run.
            rank: Rank of this process.
        """
        file = folder / "too_long" / f"rank-{rank}.csv"
        if lengths and file not in self._listed:
            self._listed[file] = _read(file)
        listed = self._listed.get(file, set())
        new = {record: tokens for record, tokens in lengths.items() if record not in listed}
        if not new:
            return
        if not listed:
            rank_zero_warn(
                f"records of more than max_tokens={self._max_tokens} tokens are left out of training, not cut; they "
                f"are listed in {file.parent}.\n"
                "Next: to train on them too, add `--model.init_args.max_tokens` with a larger number"
            )
        listed.update(new)
        file.parent.mkdir(parents=True, exist_ok=True)
        begins = not file.exists()
        with file.open("a", newline="", encoding="utf-8") as text:
            lines = csv.writer(text)
            if begins:
                lines.writerow(["id", "tokens", "max_tokens"])
            lines.writerows([for_csv(record), tokens, self._max_tokens] for record, tokens in new.items())


def _read(file: Path) -> set[str]:
    if not file.exists():
        return set()
    with file.open(newline="", encoding="utf-8") as text:
        return {from_csv(row["id"]) for row in csv.DictReader(text)}
