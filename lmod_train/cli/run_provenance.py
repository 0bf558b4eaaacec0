"""Versions of code and weights of a run, in its ``config.yaml``."""

from __future__ import annotations

import hashlib
import subprocess
import uuid
import warnings
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from lightning_utilities.core.rank_zero import rank_zero_info

from lmod_train import __version__
from lmod_train.core.artifacts.run import Run
from lmod_train.core.errors import BadArgument, RunConflict
from lmod_train.core.extension import PACKAGE
from lmod_train.core.lock import is_first
from lmod_train.core.types import class_path
from lmod_train.core.weight_values import known_by, zero_matrices
from lmod_train.data.curation.journal import differing
from lmod_train.models.chat.pictures import input_of
from lmod_train.tasks.base import Task
from lmod_train.tasks.building import rebuilt
from lmod_train.tasks.trust import Trust

KEY = "provenance"


def write_provenance(
    run: Path, weights: Iterable[Path | str], continues: bool | None = None, trained: Mapping[str, Any] | None = None
) -> None:
    """Write the versions of code and weights to the ``config.yaml`` of a run, replacing those of an earlier command.

    Only the first process of a run on several devices writes.

    Args:
        run: Folder of the run.
        weights: Files and folders the model is loaded from; names of remote models.
        continues: Whether a training is continued, which must use the weights it started from; a new one gets an id
            under ``run``, by which its checkpoints are known. None for an evaluation.
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
    identifier = (config.get(KEY) or {}).get("run") if continues else None if continues is None else uuid.uuid4().hex
    if continues and before is not None and before != known:
        raise RunConflict(run, differing({"weights": before}, {"weights": known}))
    config[KEY] = {"lmod_train": __version__, "git": revision(PACKAGE), "weights": known}
    config[KEY] |= {"run": identifier} if identifier else {}
    config[KEY] |= {"trained_on": dict(trained)} if trained else {}
    config[KEY] |= {"zero_matrices": empty} if empty else {}
    Run(run).write_config(config)


def note(run: Path, **entries: Any) -> None:
    """Write entries to the provenance of a run, which `write_provenance` has written; empty ones are left out.

    Only the first process of a run on several devices writes.

    Args:
        run: Folder of the run.
        **entries: ``epochs`` and ``steps`` of its training, ``trained_on`` what that was on, ``loaded`` what was
            read of a weights file, ``network`` (`network_of`), ``tasks_not_asked`` names of tasks without records,
            ``tasks`` those of a user's datamodule (`built_again`).
    """
    known = {name: value for name, value in entries.items() if value not in ("", [], {}, None)}
    if known and is_first():
        config = Run(run).read_config()
        Run(run).write_config({**config, KEY: {**(config.get(KEY) or {}), **known}})


def origin_of(run: Path, settings: Mapping[str, Any], data: Any) -> dict[str, Any]:
    """Return which run, training records and settings the checkpoints of a training are of.

    Args:
        run: Folder of the run, whose provenance has been written.
        settings: `lmod_train.cli.run_config.training_settings`.
        data: The datamodule; the records of a user's own are not known.
    """
    digest = hashlib.sha256()
    for r in data.training() if hasattr(data, "training") else ():
        digest.update(repr((r.id, r.messages, r.choices, r.answer, r.regions, r.image_sha256)).encode())
    identifier = (Run(run).read_config().get(KEY) or {}).get("run")
    return {"run": identifier, "data": digest.hexdigest(), "settings": dict(settings)}


def compare_origin(ckpt: Path, theirs: Mapping[str, Any], ours: Mapping[str, Any], continues: bool) -> None:
    """Refuse to continue a run from a checkpoint of other data or settings; say what differs where one is named.

    Args:
        ckpt: The checkpoint.
        theirs: Its `origin_of`; empty if it has none.
        ours: That of the training.
        continues: Whether the checkpoint is the run's own.

    Raises:
        RunConflict: They differ.
    """
    if not is_first():
        return
    if not theirs:
        rank_zero_info(f"{ckpt} does not state its run: data and settings of its training are not compared")
        return
    differences = differing(
        {"training records": theirs["data"][:12], **theirs["settings"]},
        {"training records": ours["data"][:12], **ours["settings"]},
    )
    if continues and differences:
        raise RunConflict(ckpt.parent.parent, differences)
    if not continues:
        listed = "".join(f"\n  {line}" for line in differences) or " nothing"
        rank_zero_info(f"starting from {ckpt}, a checkpoint of another run; of its data and settings differ:{listed}")


def network_of(module: Any) -> dict[str, Any]:
    """Return the number of parameters of a module's network, and the input of its images; empty for a server's model.

    Args:
        module: An `LmodModule`, after the command.
    """
    backend, collate = getattr(module, "backend", None), module.collate
    network = backend.opened()[0] if backend is not None else module
    count = sum(getattr(p, "ds_numel", p.numel()) for p in network.parameters()) if network is not None else 0
    if not count:
        return {}
    side, processor = getattr(collate, "size", getattr(collate, "side", None)), getattr(collate, "processor", None)
    image = input_of(processor.image_processor) if processor else {"resolution": f"{side} x {side}"} if side else {}
    return {"parameters": count, **image}


def built_again(tasks: Iterable[Task]) -> list[dict[str, Any]]:
    """Return classes and arguments of tasks, by which `rescore` builds them again.

    Raises:
        BadArgument: A task cannot be built again from its settings.
    """
    found = []
    for task in tasks:
        path = class_path(type(task))
        built = rebuilt({"class": path, "settings": task.settings()}, Trust((path.rpartition(".")[0],)))
        if built is None:
            expected = "a task whose settings are arguments of its class"
            raise BadArgument("data.tasks", task.name, expected, f"correct {path}")
        found.append({"class_path": path, "init_args": built[1]})
    return found


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
