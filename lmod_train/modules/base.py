"""What every module promises: a dialect before any network exists, networks born late, replies from every loop."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from lightning import LightningModule
from torch import Tensor

from lmod_train.errors import WeightsMismatch
from lmod_train.types import Batch, Collate, Reply


class LmodModule(LightningModule, ABC):
    """A LightningModule that answers records.

    Checkpoints hold what is trained and nothing else; frozen weights come from where the configuration says. Modules
    never call `save_hyperparameters`: a checkpoint would then silently override the command line.

    Attributes:
        collate: The model's dialect, from its processor alone.
        checkpoint_step: Optimiser steps behind the loaded checkpoint, 0 without one.
    """

    collate: Collate

    def __init__(self) -> None:
        super().__init__()
        self.strict_loading = False  # frozen tensors are not in our checkpoints; `on_load_checkpoint` checks the rest
        self.checkpoint_step = 0

    @abstractmethod
    def respond(self, batch: Batch) -> list[Reply]:
        """Return one reply per record, carrying its id."""

    @property
    def step(self) -> int:
        """Optimiser steps the present weights have seen."""
        fitting = self._trainer is not None and self._trainer.state.fn == "fit"
        return self.global_step if fitting else self.checkpoint_step

    def validation_step(self, batch: Batch, batch_idx: int) -> Any:
        """Answer the batch; the evaluation callback takes the replies."""
        return self.respond(batch)

    test_step = predict_step = validation_step

    def state_dict(self, *args: Any, **kwargs: Any) -> dict[str, Any]:  # type: ignore[override]
        """Return the trained tensors only."""
        trained = {name for name, p in self.named_parameters() if p.requires_grad}
        return {k: v for k, v in super().state_dict(*args, **kwargs).items() if k in trained}

    def on_load_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        """Refuse a checkpoint whose trained tensors are not exactly ours.

        Raises:
            WeightsMismatch: A trained tensor is missing, left over, or of another shape.
        """
        ours = _shapes(self.state_dict())
        theirs = _shapes(checkpoint["state_dict"]) if "state_dict" in checkpoint else ours  # DeepSpeed loads its own
        if ours != theirs:
            raise WeightsMismatch(
                "ckpt_path",
                sorted(ours - theirs),
                sorted(theirs - ours),
                "use the configuration the checkpoint was trained with (config.yaml in its run folder)",
            )
        self.checkpoint_step = int(checkpoint["global_step"])

    def on_predict_start(self) -> None:
        """Keep no replies in memory: the evaluation callback has written them, and Lightning cannot walk into them."""
        self.trainer.predict_loop.return_predictions = False

    def on_fit_start(self) -> None:
        """Say what is trained."""
        trained = sum(p.numel() for p in self.parameters() if p.requires_grad)
        everything = sum(p.numel() for p in self.parameters())
        self.print(f"training {trained:,} of {everything:,} parameters")
        self._seed = torch.initial_seed()

    def on_train_batch_start(self, batch: Batch, batch_idx: int) -> None:
        """Seed dropout from (seed, batches since the start of training, rank): a resumed run draws the same."""
        place = [self._seed, self.trainer.fit_loop.total_batch_idx, self.global_rank]
        torch.manual_seed(int(np.random.SeedSequence(place).generate_state(1, np.uint64)[0]))


def _shapes(tensors: Mapping[str, Tensor]) -> set[str]:
    return {f"{name} {tuple(tensor.shape)}" for name, tensor in tensors.items()}
