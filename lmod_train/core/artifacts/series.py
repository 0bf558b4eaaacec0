"""A series: runs that differ in their seed or fold only, in one folder, ``RUN/seed_0`` and ``RUN/fold_1of5``."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from lmod_train.core.artifacts.run import MEMBER, Run
from lmod_train.core.links import check_link

FEWEST_FOLDS = 3
"""One fold is the test split and one the validation split; training needs another."""
FOLDS = "folds"
"""Key of the ``config.yaml`` of a run that pools the predictions of folds: their number."""


def seed_name(seed: int) -> str:
    """Return the name of the folder of a run with a seed.

    Example:
        >>> seed_name(3)
        'seed_3'
    """
    return f"seed_{seed}"


def fold_name(fold: str) -> str:
    """Return the name of the folder of a run that is tested on a fold ``i/n``.

    Example:
        >>> fold_name("2/5")
        'fold_2of5'
    """
    return f"fold_{fold.replace('/', 'of')}"


def is_member(run: Path) -> bool:
    """Return whether a folder is named as a run of a series.

    Example:
        >>> is_member(Path("RUN/seed_0")), is_member(Path("RUN"))
        (True, False)
    """
    return MEMBER.fullmatch(run.name) is not None


def members(folder: Path) -> list[Path]:
    """Return the runs of a series in the order of their seeds or folds; none if the folder is not one.

    Raises:
        LeavesFolder: One is a link that leads out of the folder.
    """
    named = [path for path in folder.iterdir() if is_member(path)] if folder.is_dir() else []
    for path in named:
        check_link(folder, path)
    found = [path for path in named if path.is_dir()]
    return sorted(found, key=lambda path: [int(digits) for digits in re.findall(r"\d+", path.name)])


def runs_of(folders: Iterable[Path]) -> tuple[list[Path], list[Path]]:
    """Return the runs that folders stand for: a run itself, or the runs of a series that have scores, and the others.

    Args:
        folders: Folders of runs, and of series without scores of their own.

    Returns:
        The runs in order, and the runs of series that have no scores yet; a series of these only is kept as it is.
    """
    runs, unscored = [], []
    for folder in folders:
        own = [] if Run(folder).scores.exists() else members(folder)
        scored = [run for run in own if Run(run).scores.exists()]
        runs += scored or [folder]
        unscored += [run for run in own if run not in scored] if scored else []
    return runs, unscored


def checkpoint_of(checkpoint: Path, member: Path) -> Path:
    """Return the checkpoint of one run of a series, from its path in a single run.

    Args:
        checkpoint: Path as of a single run, ``FIT/checkpoints/best.ckpt``.
        member: Name of the run in the series, or path below it (``seed_0/fold_1of5``).

    Example:
        >>> checkpoint_of(Path("FIT/checkpoints/best.ckpt"), Path("seed_0")).as_posix()
        'FIT/seed_0/checkpoints/best.ckpt'
    """
    return checkpoint.parent.parent / member / checkpoint.parent.name / checkpoint.name


def is_pooled(run: Path) -> bool:
    """Return whether a run pools the predictions of folds, whose folders it holds."""
    return FOLDS in Run(run).known_config()


def is_trained(run: Path) -> bool:
    """Return whether the training of a run is complete, as `fit` notes at its end."""
    known = Run(run).known_config().get("provenance") or {}
    return isinstance(known, dict) and "steps" in known
