"""Base class of the modules: collation, networks built in `configure_model`, replies from all evaluation loops."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any, ClassVar, TypeVar

import numpy as np
import torch
from lightning import LightningModule
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _NormBase

from lmod_train import __version__
from lmod_train.core.errors import BadArgument, LmodError, WeightsMismatch, WeightsNotFound
from lmod_train.core.types import Batch, Collate, Identity, Reply, class_path
from lmod_train.core.weight_values import HUGE
from lmod_train.models.strategies.saved import refuse_to_continue
from lmod_train.models.strategies.sharding import Sharded, own_shard, shape_of

Network = TypeVar("Network", bound=nn.Module)


class LmodModule(LightningModule, ABC):
    """A LightningModule that answers records.

    A module whose replies depend on more than its class, choices and checkpoint (weights files, a template, settings)
    must return that in `identity`, so that replies of a differently configured module are not reused.

    Checkpoints hold the trained tensors and what is needed to use them; frozen weights are loaded as configured.
    Modules never call `save_hyperparameters`: a checkpoint would then silently override the command line.

    A training stops before a step with a loss or gradient that is NaN or infinite, and saves no such tensor
    (`lmod_train.models.modules.base`).

    Attributes:
        collate: The model's dialect, which needs its processor only.
        choices: Classes of a classifier, in order; empty for a model that generates text.
        checkpoint_step: Optimiser steps of the loaded checkpoint, 0 without one.
        checkpoint_epochs: Whole epochs of the loaded checkpoint, 0 without one.
        trained: Whether a classifier's head is trained: in `fit`, or by a loaded checkpoint or weights file. Outside
            `fit` a classifier with an untrained head is refused.
        rate_option: Path of the option of the learning rate, which error messages name.
        origin: Which run, data and settings its checkpoints are of (`lmod_train.cli.run_provenance.origin_of`).
    """

    collate: Collate
    choices: tuple[str, ...] = ()
    rate_option: ClassVar[str] = "lr"

    def __init__(self) -> None:
        super().__init__()
        self.trained = False
        self.strict_loading = False  # frozen tensors are not in our checkpoints; `on_load_checkpoint` checks the rest
        self.checkpoint_step = 0
        self.checkpoint_epochs = 0
        self._seed = torch.initial_seed()  # a search for a rate or a batch size trains before `on_fit_start`
        self.origin: Mapping[str, Any] = {}
        self._rate_was_set = False
        self._finite = Finite()

    @abstractmethod
    def respond(self, batch: Batch) -> list[Reply]:
        """Return one reply for each record, with its id."""

    def identity(self) -> Identity:
        """Return everything that its replies depend on, beside the loaded checkpoint."""
        return Identity(settings={"module": class_path(type(self)), **self._settings()})

    def _settings(self) -> dict[str, Any]:
        """Return the settings that its replies depend on."""
        return {"choices": list(self.choices)}

    def whole(self) -> AbstractContextManager[None]:
        """Return a context in which sharded parameters are gathered; all ranks must enter it together."""
        strategy = self._trainer.strategy if self._trainer is not None else None
        return strategy.whole() if isinstance(strategy, Sharded) else nullcontext()

    @property
    def step(self) -> int:
        """Optimiser steps of the current weights."""
        fitting = self._trainer is not None and self._trainer.state.fn == "fit"
        return self.global_step if fitting else self.checkpoint_step

    def validation_step(self, batch: Batch, batch_idx: int) -> Any:
        """Return the replies to a batch, which the evaluation callback stores; in `fit`, log ``val/loss``."""
        replies = self.respond(batch)
        fitting = self._trainer is not None and self._trainer.state.fn == "fit"
        if fitting and (found := self.validation_loss(batch, replies)) is not None:
            self.log("val/loss", found[0], batch_size=found[1], on_step=False, on_epoch=True, sync_dist=True)
        return replies

    def validation_loss(self, batch: Batch, replies: Sequence[Reply]) -> tuple[Tensor, int] | None:
        """Return the mean loss of a batch in nats and over how much it is a mean; None without such a loss.

        All ranks call it equally often, for empty batches too.
        """
        return None

    test_step = predict_step = validation_step

    def weighed(self, loss: Tensor, batch_idx: int) -> Tensor:
        """Return the mean loss of a batch times its weight in its optimiser step.

        Lightning divides each loss by `accumulate_grad_batches`, and the strategies by the number of ranks, which is
        correct for that many batches of equal size. The last step of an epoch may have fewer batches of other sizes;
        with these weights its gradient, too, is that of one batch of all its records.

        Args:
            loss: Mean loss over the records of the batch.
            batch_idx: Index of the batch in the epoch, from 0.
        """
        at_once = self.trainer.accumulate_grad_batches if self._trainer is not None else 1
        ranks = self.trainer.world_size if self._trainer is not None else 1
        loader: Any = self.trainer.train_dataloader if at_once * ranks > 1 else None
        if not hasattr(loader, "sizes"):  # unknown for a user's own loader: keep Lightning's average
            return loss
        sizes: list[tuple[int, int]] = loader.sizes()[: int(self.trainer.num_training_batches)]
        begin = batch_idx - batch_idx % at_once
        together = sum(over_ranks for _, over_ranks in sizes[begin : begin + at_once])
        return loss * (sizes[batch_idx][0] * at_once * ranks / together)

    def state_dict(self, *args: Any, **kwargs: Any) -> dict[str, Any]:  # type: ignore[override]
        """Return the trained tensors and the buffers that training changes, such as batch norm statistics."""
        kept = {name for name, p in self.named_parameters() if p.requires_grad} | set(counted(self))
        return {k: v for k, v in super().state_dict(*args, **kwargs).items() if k in kept}

    def on_save_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        """Add names of the trained tensors, package version, origin, and a classifier's choices and input.

        Raises:
            LmodError: A tensor is NaN or infinite; nothing is then written.
        """
        if self._trainer is not None:
            refuse_non_finite(self, checkpoint)
        checkpoint["lmod_version"] = __version__
        checkpoint["trained"] = sorted(self._trained_shapes())
        if self.origin:
            checkpoint["origin"] = dict(self.origin)
        if self.choices:
            checkpoint["choices"] = list(self.choices)
        if own := self._input():
            checkpoint["input"] = own

    def _input(self) -> dict[str, Any]:
        """Return the settings of the input that fit its tensors and no others, though the shapes do not show it."""
        return {}

    def _trained_shapes(self) -> set[str]:
        own = dict(self.named_parameters())  # their full shape is known even if the rank holds a shard
        return {f"{name} {shape_of(own.get(name, tensor))}" for name, tensor in self.state_dict().items()}

    def on_load_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        """Refuse a checkpoint whose classes or trained tensors differ from those of this module, or are impossible.

        Raises:
            WeightsNotFound: A trained tensor holds NaN, infinity or huge values.
            WeightsMismatch: Its classes or their order differ; a trained tensor is missing, unexpected, or of another
                shape; or its images were prepared otherwise.
        """
        choices = list(checkpoint.get("choices", ()))
        if choices != list(self.choices):
            cure = "name a checkpoint of this task, or the task (data.tasks, data.variant) that it was trained on"
            raise WeightsMismatch("ckpt_path", [f"choices {list(self.choices)}"], [f"choices {choices}"], cure)
        self._refuse_other_input(checkpoint.get("input", {}))
        ours = self._trained_shapes()
        if "state_dict" in checkpoint:
            refuse_impossible(checkpoint["state_dict"])
            theirs = {f"{name} {tuple(tensor.shape)}" for name, tensor in checkpoint["state_dict"].items()}
        else:  # the strategy loads the shards itself
            theirs = set(checkpoint.get("trained", ours))
        if ours != theirs:
            raise WeightsMismatch(
                "ckpt_path",
                sorted(ours - theirs),
                sorted(theirs - ours),
                "use the configuration the checkpoint was trained with (config.yaml in its run folder)",
            )
        if "of_shares" in checkpoint:
            refuse_to_continue(self, self.trainer.ckpt_path)
        self.checkpoint_step = int(checkpoint["global_step"])
        self.checkpoint_epochs = int(checkpoint.get("epoch", 0))  # counted from 0: the completed epochs
        self.trained = True

    def _refuse_other_input(self, theirs: dict[str, Any]) -> None:
        """Refuse a checkpoint that was trained on otherwise prepared images.

        Raises:
            WeightsMismatch: A setting differs.
        """
        ours = self._input()
        other = [name for name in ours if theirs.get(name) != ours[name]]
        if other:
            unexpected = [f"{name} {theirs.get(name)}" for name in other]
            cure = (
                "set under model.init_args the values the checkpoint was trained with (config.yaml in its run folder)"
            )
            raise WeightsMismatch("ckpt_path", [f"{name} {ours[name]}" for name in other], unexpected, cure)

    @property
    def weights_origin(self) -> str:
        """Description of the loaded weights without a checkpoint; empty if there is nothing to report."""
        return ""

    def on_validation_start(self) -> None:
        """Print the origin of the weights, see `_answering`."""
        self._answering()

    on_test_start = on_validation_start

    def _answering(self) -> None:
        """Print the origin of the weights outside `fit`, and refuse an untrained classifier.

        Raises:
            LmodError: The head is newly initialised, as no checkpoint was loaded. A classifier without trained weights,
                such as nearest neighbours, is not refused.
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
                f"ckpt_path=None: expected a checkpoint, as the head of {type(self).__name__} is untrained: its "
                "replies would be random.\nNext: add `--ckpt_path RUN/checkpoints/best.ckpt` (or "
                "last.ckpt) of a run of `fit`"
            )

    def on_predict_start(self) -> None:
        """As `on_validation_start`, without keeping replies in memory.

        The evaluation callback writes them, and Lightning cannot traverse them.
        """
        self._answering()
        self.trainer.predict_loop.return_predictions = False

    def on_fit_start(self) -> None:
        """Print the number of trained parameters."""
        self.trained = True
        trained = sum(p.numel() for p in self.parameters() if p.requires_grad)
        everything = sum(getattr(p, "quant_state", p).shape.numel() for p in self.parameters())  # 4-bit ones are packed
        self.print(f"training {trained:,} of {everything:,} parameters")
        self._seed = torch.initial_seed()

    @property
    def lr(self) -> float:
        """Peak learning rate. Setting it scales the rates of all parts, those of a running training too.

        Lightning's LearningRateFinder reads and sets it.
        """
        return self._peak_rate()

    @lr.setter
    def lr(self, value: float) -> None:
        scale = value / self._peak_rate()
        self._set_peak_rate(value)
        for config in self._trainer.lr_scheduler_configs if self._trainer is not None else ():
            config.scheduler.base_lrs = [rate * scale for rate in config.scheduler.base_lrs]
            for group in config.scheduler.optimizer.param_groups:
                group["initial_lr"] *= scale
        self._rate_was_set = True

    def _peak_rate(self) -> float:
        raise LmodError(f"{type(self).__name__} has no learning rate. Next: leave out the search for one")

    def _set_peak_rate(self, value: float) -> None:
        raise NotImplementedError

    def on_train_start(self) -> None:
        """Begin the schedule anew if the rate was set since it was made, where Lightning sets the peak itself."""
        if not self._rate_was_set:
            return
        for config in self.trainer.lr_scheduler_configs:
            schedule: Any = config.scheduler
            factors = [factor(schedule.last_epoch) for factor in schedule.lr_lambdas]
            for group, rate, factor in zip(schedule.optimizer.param_groups, schedule.base_lrs, factors, strict=True):
                group["lr"] = rate * factor

    def on_train_batch_start(self, batch: Batch, batch_idx: int) -> None:
        """Seed dropout from (seed, batches since the start of training, rank), so that a resumed run draws the same.

        The loop's counts are corrected too, so that a run can be resumed several times.
        """
        self._finite.begin(batch)
        correct_counts(self.trainer.fit_loop)
        place = [self._seed, self.trainer.fit_loop.total_batch_idx, self.global_rank]
        torch.manual_seed(int(np.random.SeedSequence(place).generate_state(1, np.uint64)[0]))

    def on_before_backward(self, loss: Tensor) -> None:
        """Note the loss of the batch for the check of its step."""
        self._finite.add(loss)

    def on_before_optimizer_step(self, optimizer: Any) -> None:
        """Stop before a step with a loss or gradient that is NaN or infinite, in any process.

        Raises:
            LmodError: There is one; it names the step's records.
        """
        self._finite.check(self, optimizer, self.rate_option)


def counted(module: nn.Module) -> dict[str, Tensor]:
    """Return the buffers that training changes: those of batch norms without frozen parameters."""
    found = {}
    for path, part in module.named_modules():
        if isinstance(part, _NormBase) and all(p.requires_grad for p in part.parameters(recurse=False)):
            prefix = f"{path}." if path else ""
            found.update({f"{prefix}{name}": buffer for name, buffer in part.named_buffers(recurse=False)})
    return found


NAMED = 32
"""Number of records that an error names."""

LEAST_SCALE = 1.0
"""Loss scale of fp16 below which a gradient overflows by itself, not by its scale; DeepSpeed stops there, too."""


class Finite:
    """Checks the losses and gradients of each optimiser step before it changes a weight.

    The values stay on the device until the step, so that it costs one synchronisation a step. All ranks stop together,
    whichever of them has found something.
    """

    def __init__(self) -> None:
        self._records: tuple[str, ...] = ()
        self._losses: list[tuple[tuple[str, ...], Tensor]] = []

    def begin(self, batch: Any) -> None:
        """Note the records of the batch that is computed next."""
        self._records = tuple(record.id for record in getattr(batch, "records", ()))

    def add(self, loss: Tensor) -> None:
        """Note the loss of the batch."""
        self._losses.append((self._records, loss.detach()))

    def check(self, module: Any, optimiser: Any, learning_rate: str) -> None:
        """Check the step whose gradients are complete. All ranks call it together.

        Under a gradient scaler (fp16) an infinite gradient is not an error, nor is an infinite loss, as it is scaled:
        the scaler leaves the step out and lowers its scale. It is one where that has fallen below `LEAST_SCALE`.

        Args:
            module: The module.
            optimiser: Its optimiser.
            learning_rate: Option of the learning rate, for the error.

        Raises:
            LmodError: A loss or a gradient of any rank is NaN or infinite; it names the step's records.
        """
        losses, self._losses = self._losses, []
        trainer = module.trainer
        scaled = getattr(trainer.precision_plugin, "scaler", None) is not None
        values = [loss.nan_to_num(torch.nan, 0.0, 0.0) if scaled else loss for _, loss in losses]
        bad = [ids for (ids, _), good in zip(losses, _each_finite(values), strict=True) if not good]
        what = "loss" if bad else "" if _usable(module, optimiser) else "gradient"
        if trainer.strategy.reduce_boolean_decision(not what, all=True):
            return
        own = (what, [i for ids in bad or [ids for ids, _ in losses] for i in ids])
        found = [trainer.strategy.broadcast(own, src=rank) for rank in range(trainer.world_size)]
        kind = "loss" if any(what == "loss" for what, _ in found) else "gradient"
        raise _diverged(kind, module, [i for what, ids in found if what == kind for i in ids], learning_rate)


def _usable(module: Any, optimiser: Any) -> bool:
    """Return whether the optimiser can take a step with this rank's gradients, or its scaler leaves the step out."""
    scaler = getattr(module.trainer.precision_plugin, "scaler", None)
    if scaler is not None:
        return float(scaler.get_scale()) >= LEAST_SCALE
    if getattr(optimiser, "dynamic_loss_scale", False):  # DeepSpeed's own scaler
        return True
    shards = getattr(optimiser, "averaged_gradients", None)  # DeepSpeed keeps the gradients of its shards there
    held = [g for group in shards.values() for g in group or ()] if isinstance(shards, dict) else []
    held += [own_shard(p.grad) for p in module.parameters() if p.grad is not None]
    return all(_each_finite([gradient for gradient in held if gradient is not None]))


def _each_finite(tensors: Sequence[Tensor]) -> list[bool]:
    """Return for each tensor whether all its values are finite, after one transfer from each device."""
    flags = [_finite(tensor.detach()) for tensor in tensors]
    made: dict[torch.device, Iterator[bool]] = {}
    for device in {flag.device for flag in flags}:
        made[device] = iter(torch.stack([flag for flag in flags if flag.device == device]).tolist())
    return [next(made[flag.device]) for flag in flags]


def _finite(tensor: Tensor) -> Tensor:
    """Return whether all values are finite, without a copy; a norm of squares could overflow."""
    return (
        torch.linalg.vector_norm(tensor, torch.inf).isfinite()
        if tensor.numel()
        else tensor.new_ones((), dtype=torch.bool)
    )


def _diverged(kind: str, module: Any, records: Sequence[str], learning_rate: str) -> LmodError:
    more = f" and {len(records) - NAMED} more" if len(records) > NAMED else ""
    return LmodError(
        f"the {kind} at step {module.global_step} is NaN or infinite: the step was not taken, and no "
        f"checkpoint was written. Records: {', '.join(records[:NAMED]) or 'unknown'}{more}.\n"
        "Next: look at these records and their images; or start a new run (`--run NEW`) with a lower "
        f"`--model.init_args.{learning_rate}`, `--trainer.gradient_clip_val 1.0` and, instead of fp16, "
        "`--trainer.precision bf16-mixed`. After a fault of the machine the same command continues the run"
    )


def refuse_non_finite(module: Any, checkpoint: Mapping[str, Any]) -> None:
    """Refuse to save a tensor with NaN or infinity, so that it replaces no checkpoint. All ranks call it together.

    Checked are the tensors of the checkpoint, and this rank's shards of the trained parameters and of the optimiser's
    state: a step with an infinite moment would change nothing, or give NaN.

    Raises:
        LmodError: A value is not finite in any rank.
    """
    named = list(_saved(module, checkpoint))
    bad = [name for (name, _), good in zip(named, _each_finite([t for _, t in named]), strict=True) if not good]
    strategy = module.trainer.strategy
    if strategy.reduce_boolean_decision(not bad, all=True):
        return
    found = [name for rank in range(module.trainer.world_size) for name in strategy.broadcast(bad, src=rank)]
    raise LmodError(
        f"the checkpoint of step {module.trainer.global_step} was not written, and the previous one is unchanged: "
        f"{len(set(found))} of {len(named)} tensors hold NaN or infinity, e.g. {found[0]}.\n"
        "Next: start a new run (`--run NEW`) with a lower learning rate and `--trainer.gradient_clip_val 1.0`. After a "
        "fault of the machine the same command continues from the previous checkpoint"
    )


def refuse_impossible(tensors: Mapping[str, Tensor]) -> None:
    """Refuse the trained tensors of a checkpoint if one holds NaN, infinity or values above `weight_values.HUGE`.

    Raises:
        WeightsNotFound: One does.
    """
    bad = [
        name
        for name, tensor in tensors.items()
        if tensor.is_floating_point() and not (own_shard(tensor).abs() <= HUGE).all()
    ]
    if bad:
        what = f"{len(bad)} of {len(tensors)} tensors hold NaN, infinity or values above {HUGE:g}, e.g. {bad[0]}"
        cure = "name a checkpoint from before its training diverged (last.ckpt.before, best.ckpt), or copy it again"
        raise WeightsNotFound("ckpt_path", "the checkpoint", what, cure)


def _saved(module: Any, checkpoint: Mapping[str, Any]) -> Iterator[tuple[str, Tensor]]:
    """Yield name and values of each floating-point tensor that is saved, this rank's shard of a sharded one."""
    everything = dict(checkpoint.get("state_dict") or {})
    places = {own_shard(tensor).data_ptr() for tensor in everything.values() if isinstance(tensor, Tensor)}
    live = {name: p for name, p in module.named_parameters() if p.requires_grad}
    # a callback that averages weights saves others than those in memory
    everything |= {f"{name} in memory": p for name, p in live.items() if own_shard(p).data_ptr() not in places}
    if "optimizer_states" in checkpoint:
        for number, optimiser in enumerate(module.trainer.optimizers):
            for place, state in enumerate(getattr(optimiser, "state", {}).values()):
                values = state.items() if isinstance(state, Mapping) else ()
                everything |= {f"optimiser {number}, tensor {place}, {name}": value for name, value in values}
    for name, value in everything.items():
        if isinstance(value, Tensor) and (own := own_shard(value)).is_floating_point():
            yield name, own


# Counts of epochs and batches of a run that was continued, corrected where Lightning would repeat an epoch.


def correct_counts(fit_loop: Any) -> None:
    """Make the counts of Lightning's fit loop agree with each other at the start of a batch.

    A checkpoint that is saved after the last batch of an epoch belongs to that epoch. When Lightning (2.6) continues
    from it, it counts the next epoch neither as ready nor as started, in every later checkpoint. A run that is
    continued from one of these repeats an epoch, beyond ``max_epochs``.
    """
    for epochs in (fit_loop.epoch_progress.total, fit_loop.epoch_progress.current):
        epochs.ready = epochs.started = epochs.completed + 1
    batches = fit_loop.epoch_loop.batch_progress
    batches.total.completed = batches.total.processed - (batches.current.processed - batches.current.completed)


def classes_of_one_task(choices: Sequence[str]) -> tuple[str, ...]:
    """Return the classes of a classifier.

    Raises:
        BadArgument: There are none, because the datamodule has several tasks.
    """
    if not choices:
        expected = "exactly one task for a classifier, whose `choices` the datamodule states"
        raise BadArgument("data.tasks", "several tasks", expected, "give data.tasks one item")
    return tuple(choices)


def built(network: Network | None) -> Network:
    """Return a network.

    Raises:
        RuntimeError: It is not built yet.
    """
    if network is None:
        raise RuntimeError("call configure_model() first")
    return network
