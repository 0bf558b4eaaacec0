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
from lmod_train.modules.saved import read
from lmod_train.modules.sharding import shape_of, whole_tensors

FLOAT32 = 4


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
            LmodError: A tensor that learns is missing in it, or another.
        """
        path = Path(getattr(trainer.checkpoint_callback, "last_model_path", ""))
        if self._looked or path == Path() or not path.exists():
            return
        self._looked = True
        learning = [(name, p) for name, p in pl_module.named_parameters() if p.requires_grad]
        size = FLOAT32 * sum(prod(shape_of(p)) for _, p in learning) / 1e9
        if size > self._at_most:
            rank_zero_info(f"{path} was not read back: {size:.1f} GB learn, and read_back.at_most={self._at_most:g}")
            return
        saved = read(path) if trainer.is_global_zero else {}
        if trainer.strategy.broadcast(saved.get("global_step")) != trainer.global_step:
            return  # of another moment of the run
        held: dict[str, Tensor] = saved.get("state_dict", {})
        lost = [name for name, p in learning if not _holds(held, name, whole_tensors([(name, p)]))]
        if lost := trainer.strategy.broadcast(lost):
            raise LmodError(
                f"{path}: {len(lost)} of {len(learning)} tensors that learn are missing in it or are others, e.g. "
                f"{lost[0]}; what is learnt would be lost.\n"
                "Next: train with another strategy (--trainer configs/trainer/ddp.yaml), and report this as a bug; "
                "`--read_back.at_most 0` trains on regardless"
            )
        self.compared = len(learning)


def _holds(saved: dict[str, Tensor], name: str, whole: dict[str, Tensor]) -> bool:
    """Return whether a tensor was saved as it is; a copy in float32 may stand for one of 16 bits."""
    return name in saved and torch.equal(saved[name].to(whole[name].dtype), whole[name])
