"""General conversations mixed into training against forgetting: what the base could do stays in its sight."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from lmod_train.artifacts.manifest import read_manifest
from lmod_train.artifacts.records import read_records
from lmod_train.datamodules.unfilled import refuse_unfilled
from lmod_train.errors import BadArgument
from lmod_train.types import Record

TASK = "conversation"
"""Name of the task whose records are general conversations."""

IMPORT = (
    "`python -m lmod_train import FILE --images DIR --out CURATED` makes such a folder of a file of LLaVA conversations"
)


def read_conversations(folder: Path) -> list[Record]:
    """Return the training conversations of a folder, in id order; paths of their images are absolute.

    Raises:
        ArtifactError: The folder is not curated.
        BadArgument: There is no conversation in its training split, or one that holds answers to earlier questions.
    """
    read_manifest(folder)
    root = folder.absolute()
    found = [
        replace(r, image=_below(root, r.image), image_plain=_below(root, r.image_plain))
        for r in read_records(folder / "records")
        if r.task == TASK and r.split == "train"
    ]
    if not found:
        expected = f"a folder with records of the task {TASK} in the split train"
        raise BadArgument("data.replay_from", str(folder), expected, f"name one; {IMPORT}")
    refuse_unfilled(found)
    return sorted(found, key=lambda r: r.id)


def _below(root: Path, paths: Sequence[str]) -> tuple[str, ...]:
    return tuple(str(root / path) for path in paths)


def replayed(own: int, share: float) -> int:
    """Return how many conversations an epoch of `own` other questions takes so that they are `share` of it.

    At least one, where anything is to be replayed.

    Args:
        own: Questions of the tasks, all of which stay in the epoch.
        share: From 0 for none to below 1.

    Raises:
        BadArgument: `share` is no such share.

    Example:
        >>> replayed(95, 0.05), replayed(80, 0.2), replayed(10, 0.0)
        (5, 20, 0)
    """
    if not 0 <= share < 1:
        raise BadArgument("data.replay", share, "a share from 0 to below 1", "0.05 to 0.2 is usual against forgetting")
    return max(1, round(own * share / (1 - share))) if share and own else 0
