"""What a dissected run keeps beside its replies: the folder ``dissection`` of a run."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from lmod_train.core.cache import SUFFIX, mapped
from lmod_train.core.csv_files import read_csv, read_rows
from lmod_train.core.errors import BadArgument
from lmod_train.core.escaping import for_csv
from lmod_train.core.files import append_to, write_durably
from lmod_train.core.raw import read_json

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, slots=True)
class Dissected:
    """The folder of a dissected run.

    Attributes:
        run: Folder of the run.
    """

    run: Path

    @property
    def folder(self) -> Path:
        """Folder of the dissection."""
        return self.run / "dissection"

    @property
    def features(self) -> Path:
        """Folder of the states, a file a record, named by what was asked."""
        return self.folder / "features"

    @property
    def interchange(self) -> Path:
        """Outcomes of the exchanges of images, CSV."""
        return self.folder / "interchange.csv"

    @property
    def reference(self) -> Path:
        """The same of the model that it is compared with, and the patient of each, CSV."""
        return self.folder / "reference.csv"

    @property
    def tower(self) -> Path:
        """Hashes of the matrices of the tower, CSV."""
        return self.folder / "tower.csv"

    @property
    def ceiling(self) -> Path:
        """Folder of the cheap ceiling: its training and its replies."""
        return self.folder / "ceiling"

    @property
    def answers(self) -> Path:
        """What was read at each place for each record, Parquet."""
        return self.folder / "answers.parquet"

    @property
    def controls(self) -> Path:
        """Balanced accuracies of the probes of permuted labels, and the layer chosen in each fold, CSV."""
        return self.folder / "controls.csv"

    def lay_out(self, lengths: Mapping[str, int], choices: Sequence[str]) -> None:
        """Keep how the places follow one another in a file of states; all records of a run have the same.

        Raises:
            BadArgument: Those of an earlier record were others.
        """
        now = {"places": dict(lengths), "choices": list(choices)}
        file = self.folder / "places.json"
        if not file.exists():
            with write_durably(file) as beside:
                beside.write_text(json.dumps(now), encoding="utf-8")
        elif (then := read_json(file)) != now:
            differing = [p for p, n in lengths.items() if then["places"].get(p) != n]
            differing += [] if list(choices) == then["choices"] else ["choices"]
            expected = f"records with the same states and choices; they differ at {', '.join(differing)}"
            cure = "name one task with one list of choices: `--task glaucoma`"
            raise BadArgument("--task", str(self.run), expected, cure)

    def places(self) -> dict[str, slice]:
        """Return the part of a file of states at each place, in the order in which an image passes through them."""
        lengths = read_json(self.folder / "places.json")["places"]
        ends = np.cumsum([0, *lengths.values()]).tolist()
        return {place: slice(*both) for place, both in zip(lengths, pairwise(ends), strict=True)}

    def states(self, asked: Sequence[str], part: slice) -> NDArray[np.float32]:
        """Return the states of records at one place, (records, values); only this part of the files is read.

        Args:
            asked: What was asked of each record, the name of its file.
            part: The place, as `places` returns it.
        """
        return np.stack([self._file(name)[part] for name in asked])

    def has(self, asked: str) -> bool:
        """Return whether there are states of a record."""
        return mapped(self.features / f"{asked}{SUFFIX}") is not None

    def _file(self, asked: str) -> NDArray[Any]:
        found = mapped(self.features / f"{asked}{SUFFIX}")
        if found is None:
            raise FileNotFoundError(self.features / f"{asked}{SUFFIX}")
        return found

    def list_left_out(self, reasons: Mapping[str, str], rank: int) -> None:
        """Append the records that cannot be dissected with the reason to ``left_out/rank-<r>.csv``, each once."""
        known = self.left_out() if reasons else {}
        rows = [[for_csv(record), for_csv(why)] for record, why in reasons.items() if known.get(record) != why]
        if rows:
            with append_to(self.folder / "left_out" / f"rank-{rank}.csv", newline="") as text:
                csv.writer(text).writerows(rows)

    def left_out(self) -> dict[str, str]:
        """Return the record ids that cannot be dissected -> why, the last reason if there are several."""
        return dict(row for file in sorted(self.folder.glob("left_out/*.csv")) for row in _rows(file))

    def exchanged(self) -> str:
        """Return of which records the images have been exchanged, a hash of what was asked; empty if of none."""
        if not self.interchange.exists():
            return ""
        return next((row.get("of") or "" for row in read_csv(self.interchange)), "")

    def keep(self, file: Path, rows: pd.DataFrame) -> None:
        """Write rows to a file of this folder, CSV or Parquet by its name."""
        with write_durably(file) as beside:
            rows.to_csv(beside, index=False) if file.suffix == ".csv" else rows.to_parquet(beside, index=False)


def _rows(file: Path) -> Iterator[tuple[str, str]]:
    yield from ((row[0], row[1]) for row in read_rows(file) if len(row) == 2)
