"""Callback that reads a checkpoint of a run back and compares it with the trainable weights in memory."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from pathlib import Path
from typing import Any

import torch
from lightning import Callback, LightningModule, Trainer
from lightning_utilities.core.rank_zero import rank_zero_info
from torch import Tensor

from lmod_train.core.errors import LmodError
from lmod_train.models.strategies.saved import read
from lmod_train.models.strategies.sharding import shape_of, whole_tensors

FLOAT32 = 4
CURE = (
    "Next: train with another strategy (--trainer configs/trainer/ddp.yaml), and report this as a bug; "
    "`--read_back.at_most 0` trains without this check"
)


class ReadBack(Callback):
    """Compares a checkpoint with the trainable weights: of a new run the first that it writes, before the next step.

    The check `round_trip` runs in one process, before the strategy is started. This one runs under the strategy: rank 0
    reads the checkpoint that all ranks have written. A resumed run compares the checkpoint that it was resumed from.

    Args:
        at_most: Largest size of the trainable tensors in gigabytes (10^9 bytes, as float32) that is compared, as rank 0
            holds them all in memory; 0 turns the comparison off.

    Attributes:
        compared: Number of tensors that were compared and equal.
    """

    def __init__(self, at_most: float = 4.0) -> None:
        self._at_most, self._done = at_most, False
        self.compared = 0

    def on_train_batch_start(self, trainer: Trainer, pl_module: LightningModule, batch: Any, batch_idx: int) -> None:
        """Compare the checkpoint as soon as it exists.

        Raises:
            LmodError: A trainable tensor is missing in the checkpoint or differs, or the checkpoint cannot be read.
        """
        if self._done:
            return
        # in a resumed run `last_model_path` is restored: a path, at which there may be no file or a damaged one
        kept = (getattr(callback, "last_model_path", "") for callback in trainer.checkpoint_callbacks)
        last = trainer.ckpt_path or next(filter(None, kept), "")
        if not last or Path(last).name.startswith((".lr_find", ".scale_batch_size")):  # which Lightning has removed
            return
        self._done, path = True, Path(last)
        trainable = [(name, p) for name, p in pl_module.named_parameters() if p.requires_grad]
        size = FLOAT32 * sum(prod(shape_of(p)) for _, p in trainable) / 1e9
        if size > self._at_most:
            rank_zero_info(
                f"{path} was not read back: {size:.1f} GB of trainable weights, read_back.at_most={self._at_most:g}"
            )
            return
        trusted = getattr(trainer.strategy, "trusted", ())
        saved, problem = _saved(path, trainer.global_step, trusted) if trainer.is_global_zero else ({}, "")
        if problem := trainer.strategy.broadcast(problem):  # all ranks must stop, or the others wait for rank 0
            raise LmodError(f"{path}: cannot be read back: {problem}.\n{CURE}")
        if not trainer.strategy.broadcast(bool(saved)):
            return
        lost = [name for name, p in trainable if not _equal(saved, name, whole_tensors([(name, p)]))]
        if lost := trainer.strategy.broadcast(lost):
            raise LmodError(
                f"{path}: {len(lost)} of {len(trainable)} trainable tensors are missing or differ from the model's, "
                f"e.g. {lost[0]}; the training would be lost.\n{CURE}"
            )
        self.compared = len(trainable)


def _saved(path: Path, step: int, trusted: Sequence[Path]) -> tuple[dict[str, Tensor], str]:
    """Return the tensors of a checkpoint ({} if it is of another step), and the reason if it cannot be read."""
    try:
        saved = read(path, trusted)
    except Exception as error:  # each strategy's reader raises its own types
        return {}, str(error).partition("\n")[0] or type(error).__name__
    # a callback that averages weights saves the current weights beside their averages
    tensors: dict[str, Tensor] = saved.get("current_model_state", saved["state_dict"])
    return (tensors if saved.get("global_step") == step else {}), ""


def _equal(saved: dict[str, Tensor], name: str, current: dict[str, Tensor]) -> bool:
    """Return whether a tensor was saved with its current values; a 16-bit tensor may be saved as float32."""
    return name in saved and torch.allclose(saved[name].to(current[name].dtype), current[name], 0, 0, equal_nan=True)
