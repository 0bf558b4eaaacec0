"""Energy of the replies of a run: a line for each batch, in a file for each process."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from lmod_train.core.files import append_to, make_folder, write_through
from lmod_train.core.links import check_file
from lmod_train.core.raw import json_of_line, lines_of


class Energy(NamedTuple):
    """Energy that a GPU used for one reply: that of its batch divided by the number of records.

    Attributes:
        joules: The energy.
        gpu: Name of the GPU.
    """

    joules: float
    gpu: str


def append_energy(path: Path, ids: Sequence[str], joules: float, gpu: str) -> None:
    """Append what a batch of records used; an incomplete line before it, left by a kill, is ended."""
    make_folder(path.parent)
    with append_to(path) as file:
        write_through(file, "\n" + json.dumps({"gpu": gpu, "joules": round(joules, 3), "ids": list(ids)}))


def read_energy(folder: Path) -> dict[str, Energy]:
    """Return record id -> energy of its last reply; records without a measurement, or a whole line of it, are absent.

    Args:
        folder: Folder ``energy`` of a run, which need not exist.
    """
    found: dict[str, Energy] = {}
    for file in sorted(folder.glob("*.jsonl")):
        check_file(folder.parent, file)
        for line in lines_of(file):
            try:
                row = json_of_line(line)
                each = Energy(float(row["joules"]) / len(row["ids"]), str(row["gpu"]))
                found |= dict.fromkeys(map(str, row["ids"]), each)
            except (ValueError, TypeError, KeyError, ZeroDivisionError):
                continue
    return found
