"""What every module promises: a dialect before any network exists, networks born late, replies from every loop."""

from __future__ import annotations

from abc import ABC, abstractmethod
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np
import torch
from lightning import LightningModule
from lightning_utilities.core.rank_zero import rank_zero_warn
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _NormBase

from lmod_train import __version__
from lmod_train.errors import LmodError, WeightsMismatch
from lmod_train.strategies.saved import refuse_to_continue
from lmod_train.strategies.sharding import Sharded, shape_of
from lmod_train.types import Batch, Collate, Identity, Reply


class LmodModule(LightningModule, ABC):
    """A LightningModule that answers records.

    One whose replies depend on more than its class, its choices and its checkpoint (files it is loaded from, a
    template, settings) says so in `identity`, so that replies of another are not taken for its own.

    Checkpoints hold what is trained and what is needed to use it; frozen weights come from where the configuration
    says. Modules never call `save_hyperparameters`: a checkpoint would then silently override the command line.

    Attributes:
        collate: The model's dialect, from its processor alone.
        choices: Classes of a classifier, in their order; empty for a model that writes.
        checkpoint_step: Optimiser steps behind the loaded checkpoint, 0 without one.
        checkpoint_epochs: Whole epochs behind it, 0 without one.
        trained: Whether a classifier's head has learned anything: in `fit`, or in a checkpoint or file that was loaded.
            Outside `fit` a classifier whose head has not is refused.
    """

    collate: Collate
    choices: tuple[str, ...] = ()

    def __init__(self) -> None:
        super().__init__()
        self.trained = False
        self.strict_loading = False  # frozen tensors are not in our checkpoints; `on_load_checkpoint` checks the rest
        self.checkpoint_step = 0
        self.checkpoint_epochs = 0

    @abstractmethod
    def respond(self, batch: Batch) -> list[Reply]:
        """Return one reply per record, carrying its id."""

    def identity(self) -> Identity:
        """Return what decides its replies, besides the checkpoint that is loaded."""
        return Identity(settings={"module": f"{type(self).__module__}.{type(self).__qualname__}", **self._settings()})

    def _settings(self) -> dict[str, Any]:
        """Return what of its configuration decides its replies."""
        return {"choices": list(self.choices)}

    def whole(self) -> AbstractContextManager[None]:
        """Return a context in which parameters are whole, whatever the strategy; all ranks enter it together."""
        strategy = self._trainer.strategy if self._trainer is not None else None
        return strategy.whole() if isinstance(strategy, Sharded) else nullcontext()

    @property
    def step(self) -> int:
        """Optimiser steps the present weights have seen."""
        fitting = self._trainer is not None and self._trainer.state.fn == "fit"
        return self.global_step if fitting else self.checkpoint_step

    def validation_step(self, batch: Batch, batch_idx: int) -> Any:
        """Answer the batch; the evaluation callback takes the replies."""
        return self.respond(batch)

    test_step = predict_step = validation_step

    def weighed(self, loss: Tensor, batch_idx: int) -> Tensor:
        """Return the mean loss of a batch times its weight in the optimiser's step that it is accumulated for.

        Lightning divides each by `accumulate_grad_batches`, which is right for that many batches of one size. The last
        step of an epoch may hold fewer, and its last batch may be smaller: with these weights its gradient too is that
        of one batch of all its records.

        Args:
            loss: Mean over the records of the batch.
            batch_idx: Its place in the epoch, from 0.
        """
        at_once = self.trainer.accumulate_grad_batches if self._trainer is not None else 1
        loader: Any = self.trainer.train_dataloader if at_once > 1 else None
        if not hasattr(loader, "sizes"):  # a loader of one's own does not tell them: Lightning's average stands
            return loss
        sizes: list[int] = loader.sizes()[: int(self.trainer.num_training_batches)]
        begin = batch_idx - batch_idx % at_once
        return loss * (sizes[batch_idx] * at_once / sum(sizes[begin : begin + at_once]))

    def state_dict(self, *args: Any, **kwargs: Any) -> dict[str, Any]:  # type: ignore[override]
        """Return the trained tensors, and what training has counted beside them, such as a batch norm's statistics."""
        kept = {name for name, p in self.named_parameters() if p.requires_grad} | set(_counted(self))
        return {k: v for k, v in super().state_dict(*args, **kwargs).items() if k in kept}

    def on_save_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        """Say what is trained, with which version, and of a classifier what its classes mean."""
        checkpoint["lmod_version"] = __version__
        checkpoint["trained"] = sorted(self._trained_shapes())
        if self.choices:
            checkpoint["choices"] = list(self.choices)

    def _trained_shapes(self) -> set[str]:
        own = dict(self.named_parameters())  # which know their whole shape where the rank holds a share
        return {f"{name} {shape_of(own.get(name, tensor))}" for name, tensor in self.state_dict().items()}

    def on_load_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        """Refuse a checkpoint whose classes or trained tensors are not exactly ours.

        Raises:
            WeightsMismatch: Its classes are others or in another order; or a trained tensor is missing, left over, or
                of another shape.
        """
        theirs_say = checkpoint.get("choices")
        if theirs_say is not None and list(theirs_say) != list(self.choices):
            raise WeightsMismatch(
                "ckpt_path",
                [f"choices {list(self.choices)}"],
                [f"choices {list(theirs_say)}"],
                "name a checkpoint of this task, or the task (data.tasks, data.variant) that it was trained on",
            )
        ours = self._trained_shapes()
        if "state_dict" in checkpoint:
            theirs = {f"{name} {tuple(tensor.shape)}" for name, tensor in checkpoint["state_dict"].items()}
        else:  # the strategy loads the shares itself
            theirs = set(checkpoint.get("trained", ours))
        if ours != theirs:
            raise WeightsMismatch(
                "ckpt_path",
                sorted(ours - theirs),
                sorted(theirs - ours),
                "use the configuration the checkpoint was trained with (config.yaml in its run folder)",
            )
        if self.choices and theirs_say is None:
            rank_zero_warn(
                f"the checkpoint does not say its classes; taken to be {', '.join(self.choices)}, in this order"
            )
        if "of_shares" in checkpoint:
            refuse_to_continue(self, self.trainer.ckpt_path)
        self.checkpoint_step = int(checkpoint["global_step"])
        self.checkpoint_epochs = int(checkpoint.get("epoch", 0))  # Lightning counts from 0: the whole ones before
        self.trained = True

    @property
    def weights_origin(self) -> str:
        """What was loaded, in words, where no checkpoint was; empty for a model that has nothing to tell."""
        return ""

    def on_validation_start(self) -> None:
        """Say what answers, see `_answering`."""
        self._answering()

    on_test_start = on_validation_start

    def _answering(self) -> None:
        """Say what answers, outside `fit`, and refuse a classifier that has learned nothing.

        Raises:
            LmodError: Its head is as it was born: no checkpoint was loaded. One that has no weights to learn, such as
                the nearest neighbours, is not refused.
        """
        if self.trainer.state.fn == "fit":
            return
        checkpoint = self.trainer.ckpt_path
        if checkpoint:
            self.print(f"weights: {checkpoint}, after {self.checkpoint_step} optimiser steps")
        elif self.weights_origin:
            self.print(f"weights: {self.weights_origin}")
        if self.choices and not self.trained and any(p.requires_grad for p in self.parameters()):
            raise LmodError(
                f"ckpt_path=None: expected a checkpoint, as the head of {type(self).__name__} is new: its answers "
                "would be chance.\nNext: add `--ckpt_path RUN/checkpoints/best.ckpt` (or last.ckpt) of a run of `fit`"
            )

    def on_predict_start(self) -> None:
        """As `on_validation_start`; and keep no replies in memory.

        The evaluation callback has written them, and Lightning cannot walk into them.
        """
        self._answering()
        self.trainer.predict_loop.return_predictions = False

    def on_fit_start(self) -> None:
        """Say what is trained."""
        self.trained = True
        trained = sum(p.numel() for p in self.parameters() if p.requires_grad)
        everything = sum(p.numel() for p in self.parameters())
        self.print(f"training {trained:,} of {everything:,} parameters")
        self._seed = torch.initial_seed()

    def on_train_batch_start(self, batch: Batch, batch_idx: int) -> None:
        """Seed dropout from (seed, batches since the start of training, rank): a resumed run draws the same."""
        place = [self._seed, self.trainer.fit_loop.total_batch_idx, self.global_rank]
        torch.manual_seed(int(np.random.SeedSequence(place).generate_state(1, np.uint64)[0]))


def _counted(module: nn.Module) -> dict[str, Tensor]:
    """Return the buffers that training changes: those of batch norms that learn, or that have nothing to learn."""
    found = {}
    for path, part in module.named_modules():
        if isinstance(part, _NormBase) and all(p.requires_grad for p in part.parameters(recurse=False)):
            prefix = f"{path}." if path else ""
            found.update({f"{prefix}{name}": buffer for name, buffer in part.named_buffers(recurse=False)})
    return found
