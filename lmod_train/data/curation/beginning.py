"""What is checked before a curation begins: its arguments, and whether the folder holds a finished one."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tqdm import tqdm

from lmod_train.core.artifacts.manifest import read_manifest
from lmod_train.core.errors import BadArgument, CurationConflict
from lmod_train.core.lock import is_empty
from lmod_train.data.curation import manifest
from lmod_train.data.curation.accepted import Refusal
from lmod_train.data.curation.journal import NAME, differing
from lmod_train.tasks.base import Task


def check_arguments(
    tasks: Sequence[Task], out: Path, balance: Sequence[str] | None, over: str, copies: str, side: int | None
) -> None:
    """Check the arguments of `curate` before an hour of images.

    Raises:
        BadArgument: One of them cannot be used, or `out` holds what is not a curated folder.
    """
    if not tasks:
        raise BadArgument("tasks", list(tasks), "at least one task", "`python -m lmod_train list tasks` names them")
    names = [(t.name, t.language) for t in tasks]
    if len(set(names)) < len(names):
        raise BadArgument("tasks", names, "each task once a language", "remove the repeated one")
    unknown = sorted(set(balance or ()) - {t.name for t in tasks})
    if unknown:
        raise BadArgument("balance", unknown, f"names among {sorted({t.name for t in tasks})}", "use the tasks' names")
    if over not in ("split", "all", "source"):
        raise BadArgument("balance_over", over, "split, all or source", "`all` balances over the whole task")
    if copies not in ("report", "drop"):
        raise BadArgument("copies", copies, "report or drop", "`report` counts and lists them in the manifest")
    if side is not None and side < 1:
        raise BadArgument("longest_side", side, "at least 1 pixel, or null for originals", "the default is 1024")
    ours = (out / "manifest.json").exists() or (out / NAME).exists()
    if out.exists() and not ours and (not out.is_dir() or not is_empty(out)):
        expected = "a new or empty folder, or one begun by `curate`"  # images that no record shows are removed there
        raise BadArgument("out", str(out), expected, "name another folder with `--out DIR`")


def finished(out: Path, head: dict[str, Any], refusal: Refusal) -> dict[str, Any]:
    """Return the manifest of a finished folder, if it is what would be made again."""
    written = read_manifest(out)
    differences = differing(
        {k: written[k] for k in ("settings", "inputs")}, {k: head[k] for k in ("settings", "inputs")}
    )
    if differences:
        raise CurationConflict(out, differences)
    (out / NAME).unlink(missing_ok=True)  # a kill between the manifest and the journal's removal
    refusal.raise_for(manifest.read_dropped(out / "dropped.csv"), out / "dropped.csv")
    tqdm.write(f"{out} is finished: same settings and inputs, nothing to do", file=sys.stderr)
    return written
