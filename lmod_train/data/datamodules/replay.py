"""General conversations that are added to training against forgetting."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from lmod_train.core.artifacts.manifest import read_manifest
from lmod_train.core.artifacts.records import read_records
from lmod_train.core.errors import BadArgument
from lmod_train.core.types import Record
from lmod_train.tasks.regimes import in_regime

TASKS = ("conversation", "yes_no_conversation")
"""Names of the tasks whose records are general conversations."""

IMPORT = "`python -m lmod_train import FILE --images DIR --out CURATED` writes such a folder from LLaVA's conversations"


def read_conversations(folder: Path) -> list[Record]:
    """Return the training conversations of a folder in id order, with absolute image paths.

    Raises:
        ArtifactError: The folder is not curated.
        BadArgument: There are no conversations in its training split, or one contains answers to earlier questions.
    """
    read_manifest(folder)
    root = folder.absolute()
    found = [
        replace(r, image=_below(root, r.image), image_plain=_below(root, r.image_plain))
        for r in read_records(folder / "records")
        if r.task in TASKS and r.split == "train"
    ]
    if not found:
        expected = f"a folder with records of the task {TASKS[0]} in the split train"
        raise BadArgument("data.replay_from", str(folder), expected, f"name one; {IMPORT}")
    in_regime(found, {}, "independent", {})  # refuses questions that hold answers to others
    return sorted(found, key=lambda r: r.id)


def _below(root: Path, paths: Sequence[str]) -> tuple[str, ...]:
    return tuple(str(root / path) for path in paths)


def replayed(own: int, share: float) -> int:
    """Return the number of conversations whose share of an epoch with `own` other questions is `share`.

    It is at least 1 if `share` and `own` are above 0.

    Args:
        own: Number of questions of the tasks in the epoch.
        share: Share of the conversations, in [0, 1).

    Raises:
        BadArgument: `share` is out of its range.

    Example:
        >>> replayed(95, 0.05), replayed(80, 0.2), replayed(10, 0.0)
        (5, 20, 0)
    """
    if not 0 <= share < 1:
        raise BadArgument("data.replay", share, "a share from 0 to below 1", "0.05 to 0.2 is usual against forgetting")
    return max(1, round(own * share / (1 - share))) if share and own else 0
