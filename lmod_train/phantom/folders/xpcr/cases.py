"""Cases of X-PCR drawn as phantoms: a fundus photograph and a B-scan of one eye, with cross-modality questions."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from lmod_train.core.files import write_beside
from lmod_train.phantom.folders.xpcr.drawing import Drawn
from lmod_train.phantom.folders.xpcr.questions import pair_questions
from lmod_train.phantom.pair import SPOTS, Pair, draw_pair, photograph, section
from lmod_train.phantom.shots import draw_all, eye_seed

_SOURCE = "xpcr"
PHOTOGRAPH, SECTION, TABLE = "cfp.jpg", "oct.png", "case.json"
_TRUTHS = tuple(product(SPOTS, (False, True), (False, True), (False, True), (False, True)))


@dataclass(frozen=True, slots=True)
class Case:
    """One case: id, number and truth."""

    id: str
    number: int
    pair: Pair

    @property
    def questions(self) -> list[Drawn]:
        """Questions with their truth."""
        return list(pair_questions(self.pair))

    @property
    def table(self) -> dict[str, Any]:
        """Content of the case's file."""
        images = [{"modality": "CFP", "file": PHOTOGRAPH}, {"modality": "OCT", "file": SECTION}]
        pairs = [q.row(10_000_000 + 100 * self.number + place) for place, q in enumerate(self.questions)]
        return {"id": self.id, "images": images, "qa_pairs": pairs}


def cases(n: int, seed: int) -> list[Case]:
    """Return `n` cases; of each 64, every combination of the five truths occurs once, in random order.

    Example:
        >>> [case.id for case in cases(2, seed=0)]
        ['case_001', 'case_002']
    """
    found = []
    for number in range(n):
        order = np.random.default_rng([seed, 22, number // len(_TRUTHS)]).permutation(len(_TRUTHS))
        raised, sick, hole, dark, dim = _TRUTHS[order[number % len(_TRUTHS)]]
        eye = eye_seed(f"{_SOURCE} case", seed, number)
        pair = draw_pair(eye, raised, retinopathy=sick, hole=hole, dark_photograph=dark, dark_scan=dim)
        found.append(Case(f"case_{number + 1:03d}", number, pair))
    return found


@dataclass(frozen=True, slots=True)
class _Folder:
    """A case to write."""

    case: Case
    path: Path
    size: int

    @property
    def files(self) -> tuple[Path, ...]:
        """Files to write; the table last."""
        return tuple(self.path / name for name in (PHOTOGRAPH, SECTION, TABLE))


def write_cases(folder: Path, drawn: Sequence[Case], size: int, workers: int = 0) -> None:
    """Write each case to ``<folder>/<id>/``; existing ones are kept.

    Args:
        folder: Folder of all cases.
        drawn: The cases; may be empty.
        size: Side of the images in pixels, from 16.
        workers: Number of processes to start; 0 works in this one.
    """
    draw_all([_Folder(case, folder / case.id, size) for case in drawn], _write, f"{_SOURCE} cases", workers)


def _write(folder: _Folder) -> None:
    pair, (first, second, table) = folder.case.pair, folder.files
    with write_beside(first) as beside:
        photograph(pair, folder.size).save(beside, format="JPEG", quality=92)
    with write_beside(second) as beside:
        section(pair, folder.size).save(beside, format="PNG")
    with write_beside(table) as beside:
        beside.write_text(json.dumps(folder.case.table, indent=1), encoding="utf-8")
