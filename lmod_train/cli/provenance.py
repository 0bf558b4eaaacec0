"""Which code and which weights made a run, as its ``config.yaml`` says."""

from __future__ import annotations

import subprocess
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from lmod_train import __version__
from lmod_train.artifacts.run import Run
from lmod_train.cli.listing import PACKAGE
from lmod_train.curation.journal import differing
from lmod_train.errors import RunConflict
from lmod_train.files import known_by
from lmod_train.lock import is_first

KEY = "provenance"


def write_provenance(run: Path, weights: Iterable[Path | str], continues: bool = False) -> None:
    """Write version, revision and weights into the ``config.yaml`` of a run, in place of those of the last command.

    The first process of a run on several devices writes for all.

    Args:
        run: Folder of the run.
        weights: Files and folders that the model is loaded from; names of what lies elsewhere.
        continues: Whether a training goes on; it must go on from what it began with.

    Raises:
        RunConflict: A training would go on from other weights than it began with.
    """
    if not is_first():
        return
    config = Run(run).read_config()
    known = {_name(w): known_by(w) for w in weights}
    before = (config.get(KEY) or {}).get("weights")
    if continues and before is not None and before != known:
        raise RunConflict(run, differing({"weights": before}, {"weights": known}))
    config[KEY] = {"lmod_train": __version__, "git": revision(PACKAGE), "weights": known}
    Run(run).write_config(config)


def write_trained(run: Path, epochs: int, steps: int) -> None:
    """Write into the ``config.yaml`` of a run how long the weights that answer, or that a `fit` made, were trained.

    The first process of a run on several devices writes for all.

    Args:
        run: Folder of the run, its provenance written.
        epochs: Whole epochs.
        steps: Optimiser steps.
    """
    if not is_first():
        return
    config = Run(run).read_config()
    config[KEY] = {**(config.get(KEY) or {}), "epochs": epochs, "steps": steps}
    Run(run).write_config(config)


def provenance_of(config: Mapping[str, Any]) -> tuple[str, str | None, dict[str, str]]:
    """Return package version, git revision and weights (name -> SHA-256) of a run's config; empty where it has none."""
    said = config.get(KEY) or {}
    return str(said.get("lmod_train") or ""), said.get("git"), dict(said.get("weights") or {})


def revision(folder: Path) -> str | None:
    """Return the commit that a folder's code is at, with ``-dirty`` where it was changed; None outside a checkout."""
    if not (folder.parent / ".git").exists():
        return None
    command = ["git", "-C", str(folder), "describe", "--always", "--dirty", "--abbrev=40", "--exclude", "*"]
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True, timeout=10).stdout.strip() or None
    except (OSError, subprocess.SubprocessError):
        return None


def _name(weights: Path | str) -> str:
    """Return a file's name with its folder's; what lies elsewhere is named as it is."""
    return "/".join(weights.parts[-2:]) if isinstance(weights, Path) else weights
