"""Versions of code and weights of a run, in its ``config.yaml``."""

from __future__ import annotations

import subprocess
import warnings
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from lmod_train import __version__
from lmod_train.core.artifacts.run import NETWORK, NOT_ASKED, Run
from lmod_train.core.errors import BadArgument, RunConflict
from lmod_train.core.extension import PACKAGE
from lmod_train.core.lock import is_first
from lmod_train.core.types import class_path
from lmod_train.core.weight_values import known_by, zero_matrices
from lmod_train.data.curation.journal import differing
from lmod_train.models.chat.pictures import input_of
from lmod_train.tasks.base import Task
from lmod_train.tasks.building import rebuilt, task_arguments
from lmod_train.tasks.trust import Trust

KEY = "provenance"


def write_provenance(
    run: Path, weights: Iterable[Path | str], continues: bool = False, trained: Mapping[str, Any] | None = None
) -> None:
    """Write the versions of code and weights to the ``config.yaml`` of a run, replacing those of an earlier command.

    Only the first process of a run on several devices writes.

    Args:
        run: Folder of the run.
        weights: Files and folders the model is loaded from; names of remote models.
        continues: Whether a training is continued, which must use the weights it started from.
        trained: What an evaluated checkpoint was trained on (`lmod_train.core.artifacts.training_set.training_of`).

    Raises:
        RunConflict: A continued training would use other weights than at its start.
        WeightsNotFound: A file holds impossible values, see `lmod_train.core.weight_values`.
    """
    if not is_first():
        return
    config, weights = Run(run).read_config(), list(weights)
    known = {_name(w): known_by(w) for w in weights}
    empty = {_name(w): names for w in weights if (names := zero_matrices(w))}
    for name, names in empty.items():
        warnings.warn(
            f"{name}: {len(names)} weight matrices contain only zeros, e.g. {names[0]}. Next: unless its authors state "
            "so, fetch the file again: a hole in a file reads like this",
            stacklevel=2,
        )
    before = (config.get(KEY) or {}).get("weights")
    if continues and before is not None and before != known:
        raise RunConflict(run, differing({"weights": before}, {"weights": known}))
    config[KEY] = {"lmod_train": __version__, "git": revision(PACKAGE), "weights": known}
    config[KEY] |= {"trained_on": dict(trained)} if trained else {}
    config[KEY] |= {"zero_matrices": empty} if empty else {}
    Run(run).write_config(config)


def write_trained(run: Path, epochs: int, steps: int, trained: Mapping[str, Any] | None = None) -> None:
    """Write to the ``config.yaml`` of a run how long its weights were trained.

    Only the first process of a run on several devices writes.

    Args:
        run: Folder of the run, after `write_provenance`.
        epochs: Complete epochs.
        steps: Optimiser steps.
        trained: What they were trained on; None leaves what is known.
    """
    if not is_first():
        return
    config = Run(run).read_config()
    on = {"trained_on": dict(trained)} if trained else {}
    config[KEY] = {**(config.get(KEY) or {}), "epochs": epochs, "steps": steps, **on}
    Run(run).write_config(config)


def write_loaded(run: Path, report: str) -> None:
    """Write to the ``config.yaml`` of a run what was loaded of a weights file, and what it also holds.

    Only the first process of a run on several devices writes, and nothing where there is no report.
    """
    if not report or not is_first():
        return
    config = Run(run).read_config()
    config[KEY] = {**(config.get(KEY) or {}), "loaded": report}
    Run(run).write_config(config)


def write_network(run: Path, module: Any) -> None:
    """Write to the ``config.yaml`` of a run the number of parameters of its network, and the input of its images.

    Only the first process of a run on several devices writes, and nothing for a model of a server.

    Args:
        run: Folder of the run.
        module: Its `LmodModule`, after the command.
    """
    backend, collate = getattr(module, "backend", None), module.collate
    network = backend.opened()[0] if backend is not None else module
    count = sum(getattr(p, "ds_numel", p.numel()) for p in network.parameters()) if network is not None else 0
    if not is_first() or not count:
        return
    side, processor = getattr(collate, "size", getattr(collate, "side", None)), getattr(collate, "processor", None)
    image = input_of(processor.image_processor) if processor else {"resolution": f"{side} x {side}"} if side else {}
    config = Run(run).read_config()
    config[KEY] = {**(config.get(KEY) or {}), NETWORK: {"parameters": count, **image}}
    Run(run).write_config(config)


def write_not_asked(run: Path, tasks: Sequence[str]) -> None:
    """Write to the ``config.yaml`` of a run which tasks of its config have no records to ask.

    Only the first process of a run on several devices writes, and nothing if there are none.

    Args:
        run: Folder of the run, after `write_provenance`.
        tasks: Names of the tasks.
    """
    if not tasks or not is_first():
        return
    config = Run(run).read_config()
    config[KEY] = {**(config.get(KEY) or {}), NOT_ASKED: list(tasks)}
    Run(run).write_config(config)


def write_tasks(run: Path, tasks: Mapping[str, Task]) -> None:
    """Write to the ``config.yaml`` of a run the tasks of a user's datamodule, which `rescore` builds again.

    Only the first process of a run on several devices writes.

    Args:
        run: Folder of the run, after `write_provenance`.
        tasks: The tasks by name.

    Raises:
        BadArgument: A task cannot be built again from its settings.
    """
    if not tasks or not is_first():
        return
    config, built = Run(run).read_config(), []
    if task_arguments(config):
        return
    for name, task in tasks.items():
        path = class_path(type(task))
        found = rebuilt({"class": path, "settings": task.settings()}, Trust((path.rpartition(".")[0],)))
        if found is None:
            raise BadArgument("data.tasks", name, "a task whose settings are arguments of its class", f"correct {path}")
        built.append({"class_path": path, "init_args": found[1]})
    config[KEY] = {**(config.get(KEY) or {}), "tasks": built}
    Run(run).write_config(config)


def revision(folder: Path) -> str | None:
    """Return the commit of a checkout, with ``-dirty`` if files were changed; None outside a checkout."""
    if not (folder.parent / ".git").exists():
        return None
    command = ["git", "-C", str(folder), "describe", "--always", "--dirty", "--abbrev=40", "--exclude", "*"]
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True, timeout=10).stdout.strip() or None
    except (OSError, subprocess.SubprocessError):
        return None


def _name(weights: Path | str) -> str:
    """Return a file's name with that of its folder; a remote model's name unchanged."""
    return "/".join(weights.parts[-2:]) if isinstance(weights, Path) else weights
