"""Commands with ``--seeds`` or ``--folds``: one run for each seed and fold, in folders below that of the command.

``fit --seeds 5 --run RUN`` is the five commands ``fit --seed_everything K --data.seed K --run RUN/seed_K``, which run
one after another in one process. Typed again, it continues the interrupted run and leaves the finished ones. With both
options, each seed has its folds: ``RUN/seed_0/fold_1of5``.
"""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from lmod_train.cli.defaults import default_run
from lmod_train.cli.short_names import by_short_name
from lmod_train.cli.typed import taken, values_of
from lmod_train.core.artifacts.run import Run
from lmod_train.core.artifacts.series import (
    FEWEST_FOLDS,
    checkpoint_of,
    fold_name,
    is_member,
    is_pooled,
    is_trained,
    members,
    seed_name,
)
from lmod_train.core.errors import BadArgument
from lmod_train.core.lock import is_first

SEEDS, FOLDS = "--seeds", "--folds"

LARGEST_SEED, MOST = 2**32 - 1, 999
"""Largest seed that numpy takes, and largest number of seeds or folds."""

SEED_OPTIONS = ("--seed_everything", "--data.seed")
"""Options of a single run that a seed sets: of weights, dropout and crops, and of order and augmentation."""

FOLD_OPTION = "--data.fold"

Member = tuple[str, list[str]]
"""Folder of a run within the series, and its options."""


@dataclass(frozen=True, slots=True)
class Series:
    """The runs of one command.

    Attributes:
        folder: Folder that holds the folders of the runs.
        commands: Arguments of each run, the command first.
        pooled: Folders whose folds are evaluated, each to be scored as one run.
    """

    folder: Path
    commands: tuple[list[str], ...]
    pooled: tuple[Path, ...] = ()


def series_of(arguments: Sequence[str]) -> Series | None:
    """Return the runs of a command with ``--seeds`` or ``--folds``; None for a command of a single run.

    Args:
        arguments: The command and its options.

    Raises:
        BadArgument: Seeds or folds are not numbers, an option that they set is given too, the folder is that of a
            single run or of other files, or a run has no trained checkpoint to evaluate.
    """
    command, *options = arguments
    seeds, options = taken(options, SEEDS)
    folds, options = taken(options, FOLDS)
    if seeds is None and folds is None:
        return None
    several = _product(_of_seeds(seeds, options), _of_folds(folds, options))
    run, options = taken(options, "--run")
    folder = Path(run or default_run(values_of(options, "--config"), command))
    checkpoint, options = taken(options, "--ckpt_path")
    _check_folders(folder, [Path(member) for member, _ in several])
    commands = []
    for member, own in several:
        place = ["--run", str(folder / member)]
        weights = ["--ckpt_path", str(_checkpoint(command, Path(checkpoint), member))] if checkpoint else []
        commands.append([command, *options, *own, *place, *weights])
    parents = {(folder / member).parent for member, _ in several} if folds and command in ("validate", "test") else ()
    return Series(folder, tuple(commands), tuple(sorted(parents)))


def _product(outer: list[Member], inner: list[Member]) -> list[Member]:
    """Return each fold of each seed; an empty list has no effect."""
    pairs = [(one, two) for one in outer or [("", [])] for two in inner or [("", [])]]
    return [("/".join(filter(None, (one[0], two[0]))), one[1] + two[1]) for one, two in pairs]


def _of_seeds(typed: str | None, options: Sequence[str]) -> list[Member]:
    """Return the run of each seed; none without the option."""
    if typed is None:
        return []
    _refuse_both(SEEDS, SEED_OPTIONS, options)
    return [(seed_name(s), [w for name in SEED_OPTIONS for w in (name, str(s))]) for s in _seeds(typed)]


def _of_folds(typed: str | None, options: Sequence[str]) -> list[Member]:
    """Return the run of each fold; none without the option."""
    if typed is None:
        return []
    _refuse_both(FOLDS, (FOLD_OPTION,), options)
    if not (typed.isascii() and typed.isdigit() and FEWEST_FOLDS <= int(typed) <= MOST):
        expected = (
            f"a number from {FEWEST_FOLDS} to {MOST}: one fold is tested, one validates, the others are trained on"
        )
        raise BadArgument(FOLDS, typed, expected, f"e.g. `{FOLDS} 5`")
    folds = [f"{number}/{int(typed)}" for number in range(1, int(typed) + 1)]
    return [(fold_name(fold), [FOLD_OPTION, fold]) for fold in folds]


def _refuse_both(option: str, names: Sequence[str], options: Sequence[str]) -> None:
    """Refuse options of a single run that an option of several sets."""
    for name in names:
        if (value := taken(options, name)[0]) is not None:
            raise BadArgument(name, value, f"one of {name} and {option}", f"leave {name} out")


def _seeds(typed: str) -> list[int]:
    """Return the seeds: a number of them from 0, or those of a list.

    Example:
        >>> _seeds("3"), _seeds("4,7"), _seeds("4,")
        ([0, 1, 2], [4, 7], [4])
    """
    words = [word.strip() for word in typed.split(",")]
    numbers = [int(word) for word in words if word.isascii() and word.isdigit()]
    if len(numbers) < len([word for word in words if word]) or not numbers or len(set(numbers)) < len(numbers):
        raise BadArgument(SEEDS, typed, "a number of seeds, or different seeds such as 3,4", f"e.g. `{SEEDS} 5`")
    if len(words) == 1 and not numbers[0]:
        raise BadArgument(SEEDS, typed, "at least 1; the seed 0 alone is `0,`", f"e.g. `{SEEDS} 5`")
    if max(numbers) > (MOST if len(words) == 1 else LARGEST_SEED):
        expected = f"at most {MOST} seeds, or a list of seeds up to {LARGEST_SEED}"
        raise BadArgument(SEEDS, typed, expected, f"e.g. `{SEEDS} 5`")
    return list(range(numbers[0])) if len(words) == 1 else numbers


def evaluation_of(folder: Path, arguments: Sequence[str]) -> str:
    """Return the command that evaluates the runs of a series of trainings, by their best weights if all have them.

    Args:
        folder: Folder of the series.
        arguments: The command that trained them, and its options.

    Example:
        >>> evaluation_of(Path("CV"), ["fit", "--config", "cnn_four_way", "--folds", "5", "--run", "CV"])
        'python -m lmod_train test --config cnn_four_way --folds 5 --ckpt_path CV/checkpoints/last.ckpt --run CV_test'
    """
    _, options = taken(arguments[1:], "--run")
    made = list(folder.rglob("checkpoints/last.ckpt"))
    best = made and all(last.with_name("best.ckpt").exists() for last in made)
    checkpoint = folder / "checkpoints" / ("best.ckpt" if best else "last.ckpt")
    words = ["test", *by_short_name("test", options), "--ckpt_path", str(checkpoint), "--run", f"{folder}_test"]
    return shlex.join(["python", "-m", "lmod_train", *words])


def _check_folders(folder: Path, several: Sequence[Path]) -> None:
    """Check the folder of a series, and with seeds and folds those of the seeds, which hold the folds."""
    for path in dict.fromkeys(path for member in several for path in (*member.parents[-2::-1], member)):
        _check_folder((folder / path).parent)
        _refuse_other_members((folder / path).parent, path.name)


def _refuse_other_members(folder: Path, name: str) -> None:
    """Refuse a folder with the runs of another series, e.g. of another number of folds, which would be mixed."""
    other = [p.name for p in members(folder) if _kind(p.name) != _kind(name)]
    if other:
        expected = f"a folder of one series; this one holds {other[0]}, which does not belong with {name}"
        raise BadArgument("--run", str(folder), expected, "name another folder: `--run RUN`")


def _kind(name: str) -> str:
    """Return the name of a run without its number: seeds belong together, and so do folds of one number of folds.

    Example:
        >>> _kind("seed_3"), _kind("fold_2of5")
        ('seed_', 'fold_of5')
    """
    return re.sub(r"\d+", "", name, count=1)


def _check_folder(folder: Path) -> None:
    """Refuse the folder of a single run, whose files the runs of a series would stand among."""
    entries = list(folder.iterdir()) if folder.is_dir() else []
    strange = [p.name for p in entries if not is_member(p) and not p.name.startswith(".")]
    if strange and is_first() and not is_pooled(folder):
        kind = "a single run" if Run(folder).has_begun() else f"other files ({strange[0]})"
        expected = f"a new folder, or one of the same command with {SEEDS} or {FOLDS}; this is one of {kind}"
        raise BadArgument("--run", str(folder), expected, "name another folder: `--run RUN`")


def _checkpoint(command: str, typed: Path, member: str) -> Path:
    """Return the checkpoint of a run: its own of a series of trainings, or one that all runs start from."""
    own, trainings = checkpoint_of(typed, Path(member)), members(typed.parent.parent)
    if typed.exists() and not trainings:
        return typed
    if not trainings:
        expected = f"a checkpoint; there is neither this file nor one of a series, {own}"
        cure = (
            f"after `python -m lmod_train fit --config CONFIG {SEEDS} N --run FIT` it is "
            "`--ckpt_path FIT/checkpoints/best.ckpt`, as of a single run"
        )
        raise BadArgument("--ckpt_path", str(typed), expected, cure)
    if not own.exists():
        expected = f"a checkpoint of each run; {own} is missing"
        raise BadArgument("--ckpt_path", str(typed), expected, "name last.ckpt or best.ckpt, or train this run first")
    if command != "fit" and not is_trained(own.parent.parent):
        expected = f"checkpoints of complete trainings; that of {own.parent.parent} was interrupted"
        raise BadArgument("--ckpt_path", str(typed), expected, "type the command of `fit` again, which continues it")
    return own


def release() -> None:
    """Free what a run leaves in the process: its wandb run, which the next would continue, and its memory."""
    import gc

    if (wandb := sys.modules.get("wandb")) is not None and wandb.run is not None:
        wandb.finish()
    gc.collect()
    if (torch := sys.modules.get("torch")) is not None and torch.cuda.is_available():
        torch.cuda.empty_cache()
