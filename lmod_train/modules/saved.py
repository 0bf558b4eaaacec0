"""Checkpoints as they lie on disk: one file of Lightning's, or a folder of FSDP2's or DeepSpeed's shares.

Folders of DeepSpeed are pickles, and reading them can execute code: only those of runs of your own should be read.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from lightning.fabric.plugins.io.torch_io import TorchCheckpointIO
from torch import Tensor, nn

from lmod_train.errors import ArtifactError, LmodError
from lmod_train.modules.sharding import FACTS


def is_deepspeed(path: Path) -> bool:
    """Return whether a checkpoint is a folder that DeepSpeed wrote."""
    return (path / "latest").is_file()


def read(path: Path) -> dict[str, Any]:
    """Return a checkpoint with its trained tensors whole, on the CPU, whatever strategy wrote it.

    Args:
        path: A checkpoint file, or the folder that is one.

    Returns:
        What the module saved, `state_dict` among it; of a folder without the state of the optimiser. DeepSpeed's
        tensors are the float32 ones that its optimiser steps on.

    Raises:
        ArtifactError: There is no checkpoint, the folder is none of ours, or the file is cut off.
    """
    cure = "name RUN/checkpoints/last.ckpt of a run of `fit`, a file or a folder"
    if path.is_file():
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


def take_weights(module: Any, path: Path, load: Callable[[nn.Module, dict[str, Tensor]], None]) -> dict[str, Any]:
    """Give a module the trained tensors of any checkpoint, for an evaluation, and return the rest of it.

    Args:
        module: Its parameters may be spread over ranks; all call it together.
        path: Of the checkpoint, file or folder.
        load: How the strategy gives its parameters whole values.

    Raises:
        WeightsMismatch: The trained tensors are others.
        LmodError: A training is to go on from what another strategy wrote.
    """
    refuse_to_continue(module, path)
    saved = read(path)
    module.on_load_checkpoint(dict(saved))
    load(module, saved["state_dict"])
    return {k: v for k, v in saved.items() if k != "state_dict"}


class AnyCheckpoint(TorchCheckpointIO):
    """Reads files and folders, for strategies that keep whole parameters on each device; writes files.

    Nothing is unpickled from a file but tensors and plain values.
    """

    def load_checkpoint(
        self, path: Any, map_location: Any = lambda storage, loc: storage, weights_only: bool | None = None
    ) -> dict[str, Any]:
        """Load a file, or the tensors of a folder made whole."""
        return read(Path(path)) if Path(path).is_dir() else super().load_checkpoint(path, map_location, True)
