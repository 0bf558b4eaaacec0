"""Checkpoints as they lie on disk: one file of Lightning's, or a folder of FSDP2's or DeepSpeed's shares.

Folders are pickles, whose readers would execute what is in them: each is vetted first (`vetting`).
"""

from __future__ import annotations

import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch
from lightning.fabric.plugins.io.torch_io import TorchCheckpointIO
from torch import Tensor, nn

from lmod_train import zipped
from lmod_train.errors import ArtifactError, LmodError
from lmod_train.strategies.keeping import FACTS, make_room, put_in_place, set_aside, writing
from lmod_train.strategies.vetting import UntrustedCheckpoint, storage, vet


def is_deepspeed(path: Path) -> bool:
    """Return whether a checkpoint is a folder that DeepSpeed wrote."""
    return (path / "latest").is_file()


def damage(path: Path) -> str:
    """Return why a checkpoint cannot be read, empty where it is as it was written.

    Of a file all bytes are compared with their check sums; of a folder, whether each file is there to its end.
    """
    if path.is_file():
        return zipped.damage(path)
    if not (path / FACTS).is_file():
        return f"a folder without {FACTS}"
    if cut := [file.name for file in sorted(path.rglob("*.pt")) if not zipfile.is_zipfile(file)]:
        return f"{cut[0]} is cut off"
    return "" if is_deepspeed(path) else _damage_of_fsdp(path)


def _damage_of_fsdp(path: Path) -> str:
    if not any(path.glob("*.metadata")):
        return "its .metadata is missing"
    try:
        pieces = storage(path)
    except UntrustedCheckpoint:  # it may be whole; it is refused where it is loaded
        return ""
    except ArtifactError as error:
        return str(error).partition("\n")[0].removeprefix(f"{path}: ")
    cut = [info.relative_path for _, info in pieces if _size(path, info) < info.offset + info.length]
    return f"{cut[0]} is cut off" if cut else ""


def _size(path: Path, info: Any) -> int:
    file = path / info.relative_path
    return file.stat().st_size if file.is_file() else -1


def to_continue(last: Path) -> Path | None:
    """Return the checkpoint that a run goes on from: its last, or the one before where that cannot be read.

    Args:
        last: Where the run's last checkpoint lies.

    Returns:
        None where the run has no checkpoint yet.

    Raises:
        ArtifactError: There are checkpoints, and none can be read.
    """
    found = [path for path in (last, set_aside(last)) if path.exists()]
    whole = next((path for path in found if not damage(path)), None)
    if found and whole is None:
        raise ArtifactError(
            found[0],
            f"cannot be read ({damage(found[0])}), and no other checkpoint of this run can",
            f"copy it again from where it was whole; or begin anew: remove {last.parent}",
        )
    return whole


def read(path: Path, trusted: Sequence[Path] = ()) -> dict[str, Any]:
    """Return a checkpoint with its trained tensors whole, on the CPU, whatever strategy wrote it.

    Args:
        path: A checkpoint file, or the folder that is one.
        trusted: Folders whose pickles may ask for anything, see `vetting.vet`.

    Returns:
        What the module saved, `state_dict` among it; of a folder without the state of the optimiser. DeepSpeed's
        tensors are the float32 ones that its optimiser steps on.

    Raises:
        ArtifactError: There is no checkpoint, the folder is none of ours or asks for more than checkpoints hold, or the
            file is cut off or damaged.
    """
    cure = "name RUN/checkpoints/last.ckpt of a run of `fit`, a file or a folder"
    if path.is_file():
        if lost := zipped.damage(path):
            raise ArtifactError(path, f"cannot be read, it may be cut off ({lost})", f"copy it again, or {cure}")
        try:
            loaded: dict[str, Any] = torch.load(path, map_location="cpu", weights_only=True, mmap=True)
        except (OSError, RuntimeError) as error:  # what torch says of a file that was not copied to its end
            said = f"cannot be read, it may be cut off ({type(error).__name__}: {str(error).partition('. ')[0]})"
            raise ArtifactError(path, said, f"copy it again, or {cure}") from error
        return loaded
    if not path.is_dir():
        raise ArtifactError(path, "no such checkpoint", cure)
    if not (path / FACTS).is_file():
        raise ArtifactError(path, f"a folder without {FACTS}: not a checkpoint, or one that was never finished", cure)
    vet(path, trusted)
    facts: dict[str, Any] = torch.load(path / FACTS, map_location="cpu", weights_only=True)
    tensors = _of_deepspeed(path) if is_deepspeed(path) else _of_fsdp(path)
    return {**facts, "state_dict": tensors, "of_shares": True}


def _of_deepspeed(path: Path) -> dict[str, Tensor]:
    """Assemble the shares with DeepSpeed's own converter."""
    from deepspeed.utils.zero_to_fp32 import get_fp32_state_dict_from_zero_checkpoint

    made: dict[str, Tensor] = get_fp32_state_dict_from_zero_checkpoint(str(path), exclude_frozen_parameters=True)
    return dict(made)


def _of_fsdp(path: Path) -> dict[str, Tensor]:
    """Assemble the shares with torch's reader, leaving those of the optimiser where they are."""
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
    """Return whether an optimiser's state in a file names tensors by their place, as all but FSDP2 write it."""
    states = checkpoint.get("optimizer_states") or []
    return any(isinstance(name, int) for state in states for name in state.get("state", {}))


def refuse_to_continue(module: Any, path: Path | str | None) -> None:
    """Refuse to go on training from the shares of another strategy, whose optimiser state this one cannot take.

    Raises:
        LmodError: Always in `fit`; never elsewhere, as weights load anywhere.
    """
    if module.trainer.state.fn == "fit":
        raise LmodError(
            f"ckpt_path={str(path)!r}: expected a checkpoint of the strategy that now trains; the optimiser's state "
            "was written by another one, or for another number of devices, and cannot be taken over.\n"
            "Next: continue with the same trainer configuration and number of devices; or begin anew, a model that "
            f"writes from its weights: `python -m lmod_train merge --ckpt {path} --out DIR`, then "
            "--model.init_args.checkpoint DIR"
        )


def take_weights(
    module: Any, path: Path, load: Callable[[nn.Module, dict[str, Tensor]], None], trusted: Sequence[Path] = ()
) -> dict[str, Any]:
    """Give a module the trained tensors of any checkpoint, for an evaluation, and return the rest of it.

    Args:
        module: Its parameters may be spread over ranks; all call it together.
        path: Of the checkpoint, file or folder.
        load: How the strategy gives its parameters whole values.
        trusted: See `read`.

    Raises:
        WeightsMismatch: The trained tensors are others.
        LmodError: A training is to go on from what another strategy wrote.
    """
    refuse_to_continue(module, path)
    saved = read(path, trusted)
    module.on_load_checkpoint(dict(saved))
    load(module, saved["state_dict"])
    return {k: v for k, v in saved.items() if k != "state_dict"}


class AnyCheckpoint(TorchCheckpointIO):
    """Reads files and folders, for strategies that keep whole parameters on each device; writes files.

    Nothing is unpickled from a file but tensors and plain values. A file is written beside the one before, which stays
    until the new one is on the disk: Lightning's own writer goes through a file in the system's folder for temporary
    files, and a move from there to another file system is a copy over the last checkpoint.

    Args:
        trusted: Folders whose pickles may ask for anything, see `vetting.vet`.
    """

    def __init__(self, trusted: Sequence[Path] = ()) -> None:
        self._trusted = trusted

    def save_checkpoint(self, checkpoint: dict[str, Any], path: Any, storage_options: Any = None) -> None:
        """Write a file, whole or not at all.

        Raises:
            ArtifactError: The disk is full, or does not take it for another reason.
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
        """Load a file, or the tensors of a folder made whole."""
        place = Path(path)
        return read(place, self._trusted) if place.is_dir() else super().load_checkpoint(path, map_location, True)
