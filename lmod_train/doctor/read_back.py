"""Read a training's first checkpoint back, under the strategy that wrote it: what learns must be in it, as it is."""

from __future__ import annotations

from math import prod
from pathlib import Path
from typing import Any

import torch
from lightning import Callback, LightningModule, Trainer
from lightning_utilities.core.rank_zero import rank_zero_info
from torch import Tensor

from lmod_train.errors import LmodError
from lmod_train.strategies.saved import read
from lmod_train.strategies.sharding import shape_of, whole_tensors

FLOAT32 = 4
CURE = (
    "Next: train with another strategy (--trainer configs/trainer/ddp.yaml), and report this as a bug; "
    "`--read_back.at_most 0` trains on regardless"
)


class ReadBack(Callback):
    """Compares the first checkpoint of a start with what learns, tensor by tensor, before the next step changes it.

    The doctor's round trip, before anything is started, is of one process. This one is of all: rank 0 reads what the
    ranks have written together. Where a run is gone on with, it shows that the weights are those of its checkpoint.

    Args:
        at_most: Gigabytes (10^9 bytes, in float32) of trained tensors up to which it is done, as rank 0 holds them all;
            0 for never.

    Attributes:
        compared: Tensors that were found to be equal.
    """

    def __init__(self, at_most: float = 4.0) -> None:
        self._at_most, self._looked = at_most, False
        self.compared = 0

    def on_train_batch_start(self, trainer: Trainer, pl_module: LightningModule, batch: Any, batch_idx: int) -> None:
        """Look at the first checkpoint as soon as there is one.

        Raises:
            LmodError: A tensor that learns is missing in it, or another, or it cannot be read.
        """
        if self._looked:
            return
        kept = (getattr(callback, "last_model_path", "") for callback in trainer.checkpoint_callbacks)
        if not (last := next(filter(None, kept), "")):
            return
        self._looked, path = True, Path(last)
        learning = [(name, p) for name, p in pl_module.named_parameters() if p.requires_grad]
        size = FLOAT32 * sum(prod(shape_of(p)) for _, p in learning) / 1e9
        if size > self._at_most:
            rank_zero_info(f"{path} was not read back: {size:.1f} GB learn, and read_back.at_most={self._at_most:g}")
            return
        held, said = _held(path, trainer.global_step) if trainer.is_global_zero else ({}, "")
        if said := trainer.strategy.broadcast(said):  # what the first rank sees goes for all, or they would wait
            raise LmodError(f"{path}: cannot be read back: {said}.\n{CURE}")
        if not trainer.strategy.broadcast(bool(held)):
            return  # of another moment of the run
        lost = [name for name, p in learning if not _holds(held, name, whole_tensors([(name, p)]))]
        if lost := trainer.strategy.broadcast(lost):
            raise LmodError(
                f"{path}: {len(lost)} of {len(learning)} tensors that learn are missing in it or are others, e.g. "
                f"{lost[0]}; what is learnt would be lost.\n{CURE}"
            )
        self.compared = len(learning)


def _held(path: Path, step: int) -> tuple[dict[str, Tensor], str]:
    """Return the tensors of a checkpoint, none where it is of another step, and why it cannot be read."""
    try:
        saved = read(path)
    except Exception as error:  # whatever a reader of shares says of them
        return {}, str(error).partition("\n")[0] or type(error).__name__
    # a callback that averages weights keeps those that learn beside their averages
    tensors: dict[str, Tensor] = saved.get("current_model_state", saved["state_dict"])
    return (tensors if saved.get("global_step") == step else {}), ""


def _holds(saved: dict[str, Tensor], name: str, whole: dict[str, Tensor]) -> bool:
    """Return whether a tensor was saved as it is; a copy in float32 may stand for one of 16 bits."""
    return name in saved and torch.allclose(saved[name].to(whole[name].dtype), whole[name], 0, 0, equal_nan=True)
