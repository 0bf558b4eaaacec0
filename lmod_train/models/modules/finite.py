"""Guard of a training against NaN and infinity: in the loss and gradients of each step, and in each checkpoint."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from lmod_train.core.errors import LmodError, WeightsNotFound
from lmod_train.core.weight_values import HUGE
from lmod_train.models.strategies.sharding import own_shard

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
