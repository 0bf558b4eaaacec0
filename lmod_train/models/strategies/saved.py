"""Reading and writing of checkpoints: one file of Lightning, or a folder of shards of FSDP2 or DeepSpeed.

Folders contain pickles, which can execute code when they are loaded: each is vetted first (`vetting`).
"""

from __future__ import annotations

import pickle
import shlex
import time
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import torch
from lightning.fabric.plugins.io.torch_io import TorchCheckpointIO
from torch import Tensor, nn

from lmod_train.core import zipped
from lmod_train.core.artifacts.run import Run
from lmod_train.core.errors import ArtifactError, LmodError
from lmod_train.core.files import SETTLED, state_of
from lmod_train.models.strategies.checksums import damage_of
from lmod_train.models.strategies.keeping import FACTS, make_room, put_in_place, set_aside, writing
from lmod_train.models.strategies.vetting import refused, vet

OURS = "name RUN/checkpoints/last.ckpt of a run of `fit`, a file or a folder"
"""What to do where a path is not a checkpoint."""


def is_deepspeed(path: Path) -> bool:
    """Return whether a checkpoint is a folder that DeepSpeed wrote."""
    return (path / "latest").is_file()


def damage(path: Path) -> str:
    """Return why a checkpoint cannot be read, by the checksums of all its bytes; empty for an undamaged one.

    A process reads the bytes once, until a file changes.
    """
    states = tuple(tuple(state_of(file)) for file in (path, *sorted(path.rglob("*"))) if file.is_file())
    settled = time.time() - max((state[-1] for state in states), default=0) / 1e9 > SETTLED
    return (_damage if settled else _damage.__wrapped__)(path, states)


@lru_cache(maxsize=8)
def _damage(path: Path, states: object) -> str:
    if path.is_file():
        return zipped.damage(path) or _unopened(path)
    return damage_of(path) if (path / FACTS).is_file() else f"a folder without {FACTS}"


def _unopened(path: Path) -> str:
    """Return why PyTorch, which is stricter with a directory than Python, cannot open a file."""
    try:
        torch._C.PyTorchFileReader(str(path))
    except RuntimeError as error:
        return str(error).partition(". ")[0]
    return ""


def check(path: Path) -> None:
    """Refuse a checkpoint that does not exist, is damaged, or is none; every reader calls this first.

    Raises:
        ArtifactError: See above; it names an undamaged checkpoint of the same run, if there is one.
    """
    if not path.exists():
        raise ArtifactError(path, "no such checkpoint", OURS)
    if lost := damage(path):
        raise ArtifactError(path, f"cannot be read, it may be truncated or damaged ({lost})", _instead(path))


def _refuse_strayed(path: Path, saved: Mapping[str, Any]) -> None:
    """Refuse a checkpoint of another run than the one in whose folder it lies, as that says what it was trained on.

    Raises:
        ArtifactError: Its run is another one; it is not refused elsewhere.
    """
    run = path.absolute().parent.parent
    own = (Run(run).known_config().get("provenance") or {}).get("run")
    theirs = (saved.get("origin") or {}).get("run")
    if own is None or own == theirs:
        return
    elsewhere = run.with_name(f"{run.name}-other.ckpt")
    then = f"continues from {set_aside(path)}" if set_aside(path).exists() else "trains from the start"
    raise ArtifactError(
        path,
        f"is a checkpoint of another run (id {theirs or 'none'}) than that of its folder {run} (id {own}), whose list "
        "of training images would be false of it",
        f"`mv {shlex.quote(str(path))} {shlex.quote(str(elsewhere))}`; `fit` then {then}, and that file can be named "
        "by --ckpt_path",
    )


def _instead(path: Path) -> str:
    """Return what to do in the place of reading a damaged checkpoint."""
    own, kept = path.with_name(path.name.removesuffix(".before")), sorted(path.parent.glob("*.ckpt"))
    beside = [other for other in (set_aside(path), own, *kept) if other != path and other.exists()]
    good = next((other for other in beside if not damage(other)), None)
    return f"name an undamaged one, {good}" if good else f"copy it again from an undamaged copy, or {OURS}"


def to_continue(last: Path) -> Path | None:
    """Return the checkpoint that a run resumes from: the last one, or the previous one if the last is damaged.

    Args:
        last: Path of the run's last checkpoint.

    Returns:
        None if the run has no checkpoint yet.

    Raises:
        ArtifactError: There are checkpoints, and none can be read.
    """
    found = [path for path in (last, set_aside(last)) if path.exists()]
    readable = next((path for path in found if not damage(path)), None)
    if found and readable is None:
        problem = f"cannot be read ({damage(found[0])}), and no other checkpoint of this run can be read either"
        cure = f"copy it again from an undamaged copy; or train from the start: remove {last.parent}"
        raise ArtifactError(found[0], problem, cure)
    return readable


def read(path: Path, trusted: Sequence[Path] = ()) -> dict[str, Any]:
    """Return a checkpoint with full (unsharded) trained tensors on the CPU, whatever strategy wrote it.

    Args:
        path: A checkpoint file or a checkpoint folder.
        trusted: Folders whose pickles may load any class, see `vetting.vet`.

    Returns:
        What the module saved, with the key `state_dict`; of a folder without the state of the optimiser. DeepSpeed's
        tensors are the float32 copies of its optimiser.

    Raises:
        ArtifactError: There is no checkpoint, file or folder are not a checkpoint of this package, or are damaged.
        UntrustedCheckpoint: A pickle asks for more than checkpoints need.
    """
    if not path.is_dir():
        return _of_file(path, "cpu", mmap=True)
    facts = facts_of(path, trusted)
    tensors = _of_deepspeed(path) if is_deepspeed(path) else _of_fsdp(path)
    return {**facts, "state_dict": tensors, "of_shares": True}


def facts_of(path: Path, trusted: Sequence[Path] = ()) -> dict[str, Any]:
    """Return what a checkpoint holds beside tensors, once it is found to be undamaged; of a file also its tensors.

    Arguments and errors are those of `read`.
    """
    if not path.is_dir():
        return _of_file(path, "cpu", mmap=True)
    check(path)
    vet(path, trusted)
    facts: dict[str, Any] = torch.load(path / FACTS, map_location="cpu", weights_only=True)
    _refuse_strayed(path, facts)
    return facts


def _of_file(path: Path, place: Any, mmap: bool = False) -> dict[str, Any]:
    """Return the content of an undamaged file that Lightning wrote; only tensors and plain values are unpickled.

    Args:
        path: The file.
        place: Device of the tensors, see `torch.load`.
        mmap: Whether tensors are read when they are used.
    """
    check(path)
    try:
        loaded: Any = torch.load(path, map_location=place, weights_only=True, mmap=mmap)
    except pickle.UnpicklingError as error:
        raise refused(path, path, error) from error
    except (OSError, EOFError, RuntimeError) as error:  # raised by torch for a truncated file
        problem = f"cannot be read, it may be truncated ({type(error).__name__}: {str(error).partition('. ')[0]})"
        raise ArtifactError(path, problem, _instead(path)) from error
    if not (isinstance(loaded, dict) and isinstance(loaded.get("state_dict"), dict)):
        keys = ", ".join(map(str, list(loaded)[:6])) if isinstance(loaded, dict) else type(loaded).__name__
        problem = f"is not a checkpoint of `fit`, which has a `state_dict`; it holds {keys}"
        raise ArtifactError(path, problem, f"weights of other programs are options of the model; {OURS}")
    _refuse_strayed(path, loaded)
    return loaded


def _of_deepspeed(path: Path) -> dict[str, Tensor]:
    """Return the full tensors of DeepSpeed's shards, by its own converter."""
    from deepspeed.utils.zero_to_fp32 import get_fp32_state_dict_from_zero_checkpoint

    made: dict[str, Tensor] = get_fp32_state_dict_from_zero_checkpoint(str(path), exclude_frozen_parameters=True)
    return dict(made)


def _of_fsdp(path: Path) -> dict[str, Tensor]:
    """Return the full tensors of FSDP2's shards, by torch's reader; the optimiser's are not read."""
    from torch.distributed.checkpoint.filesystem import FileSystemReader
    from torch.distributed.checkpoint.metadata import TensorStorageMetadata
    from torch.distributed.checkpoint.state_dict_loader import load

    prefix = "state_dict."
    described = FileSystemReader(path).read_metadata().state_dict_metadata
    made = {
        name.removeprefix(prefix): torch.empty(about.size, dtype=about.properties.dtype)
        for name, about in described.items()
        if name.startswith(prefix) and isinstance(about, TensorStorageMetadata)
    }
    load({"state_dict": made}, checkpoint_id=path, no_dist=True)
    return made


def by_number(checkpoint: dict[str, Any]) -> bool:
    """Return whether the optimiser's state of a checkpoint names tensors by their index; FSDP2 names them by name."""
    states = checkpoint.get("optimizer_states") or []
    return any(isinstance(name, int) for state in states for name in state.get("state", {}))


def refuse_to_continue(module: Any, path: Path | str | None) -> None:
    """Raise an error in `fit`: the optimiser's state of another strategy's checkpoint cannot be loaded.

    Raises:
        LmodError: Always in `fit`; never elsewhere, as the weights alone can be loaded by every strategy.
    """
    if module.trainer.state.fn == "fit":
        raise LmodError(
            f"ckpt_path={str(path)!r}: expected a checkpoint of the configured strategy; the optimiser's state was "
            "written by another strategy, or for another number of devices, and cannot be loaded.\n"
            "Next: continue with the same trainer configuration and number of devices; or start a new training from "
            f"these weights (language models): `python -m lmod_train weights merge --ckpt {path} --out DIR`, then "
            "--model.init_args.checkpoint DIR"
        )


def take_weights(
    module: Any, path: Path, load: Callable[[nn.Module, dict[str, Tensor]], None], trusted: Sequence[Path] = ()
) -> dict[str, Any]:
    """Load the trained tensors of any checkpoint into a module for an evaluation, and return the other values.

    Args:
        module: The module; its parameters may be sharded. All ranks call this together.
        path: The checkpoint, a file or a folder.
        load: The strategy's function that sets parameters from full tensors.
        trusted: See `read`.

    Raises:
        WeightsMismatch: The checkpoint's tensors are not those that the module trains.
        LmodError: Called in `fit`, see `refuse_to_continue`.
    """
    refuse_to_continue(module, path)
    saved = read(path, trusted)
    module.on_load_checkpoint(dict(saved))
    load(module, saved["state_dict"])
    return {k: v for k, v in saved.items() if k != "state_dict"}


class AnyCheckpoint(TorchCheckpointIO):
    """Checkpoint IO of strategies with full parameters on each device: reads files and folders, writes files.

    Only tensors and plain values are unpickled from a file. A file is written beside the previous one, which stays
    until the new one is on disk. Lightning's own writer goes through the system's folder for temporary files, and a
    move from there to another file system overwrites the last checkpoint byte by byte.

    Args:
        trusted: Folders whose pickles may load any class, see `vetting.vet`.
    """

    def __init__(self, trusted: Sequence[Path] = ()) -> None:
        self._trusted = trusted

    def save_checkpoint(self, checkpoint: dict[str, Any], path: Any, storage_options: Any = None) -> None:
        """Write a file, completely or not at all.

        Raises:
            ArtifactError: The disk is full or cannot be written to.
        """
        place = Path(path)
        make_room(place)
        with writing(place) as beside:
            with beside.open("wb") as stream:
                torch.save(checkpoint, stream)
            put_in_place(place)

    def load_checkpoint(
        self, path: Any, map_location: Any = lambda storage, loc: storage, weights_only: bool | None = None
    ) -> dict[str, Any]:
        """Load a file, or the full tensors of a folder.

        Raises:
            ArtifactError, UntrustedCheckpoint: See `read`.
        """
        place = Path(path)
        return read(place, self._trusted) if place.is_dir() else _of_file(place, map_location)
