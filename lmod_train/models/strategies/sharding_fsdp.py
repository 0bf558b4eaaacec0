"""FSDP2 through Lightning's ModelParallelStrategy, with all devices in one data-parallel group."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any, cast

from lightning import Trainer
from lightning.pytorch.strategies import ModelParallelStrategy
from torch import nn
from torch.distributed.constants import default_pg_timeout
from torch.distributed.fsdp import FSDPModule, fully_shard, register_fsdp_forward_method

from lmod_train.models.strategies.saved import by_number, facts_of, is_deepspeed, read, refuse_to_continue, take_weights
from lmod_train.models.strategies.sharding import Sharded


class FullyShard(Sharded, ModelParallelStrategy):
    """FSDP2: each rank holds a shard of parameters, gradients and the optimiser's state.

    Every decoder layer is a unit, gathered when it is computed; the rest of the model (embeddings, head, projector,
    tower) is gathered for the whole forward and backward pass. Parameters keep their type: trained ones stay in
    float32, frozen ones may be bfloat16. Each rank first reads the whole base into host memory.

    Args:
        save_distributed_checkpoint: Each rank writes its shard, and the checkpoint is a folder; otherwise rank 0
            gathers all and writes one file.
        process_group_backend: ``gloo`` or ``nccl``; None selects it by device.
        timeout: Timeout of collective calls.
    """

    def __init__(
        self,
        save_distributed_checkpoint: bool = True,
        process_group_backend: str | None = None,
        timeout: timedelta | None = default_pg_timeout,
    ) -> None:
        super().__init__(
            save_distributed_checkpoint=save_distributed_checkpoint,
            process_group_backend=process_group_backend,
            timeout=timeout,
        )

    def setup_environment(self) -> None:
        """Put all devices of all nodes into one data-parallel group."""
        self._data_parallel_size, self._tensor_parallel_size = self.num_nodes * self.num_processes, 1
        super().setup_environment()

    def setup(self, trainer: Trainer) -> None:
        """Shard the model, then set up as `ModelParallelStrategy` does."""
        assert self.model is not None
        self.model = self.precision_plugin.convert_module(self.model)
        _shard(self.model, self.device_mesh["data_parallel"])
        super().setup(trainer)

    def _units(self) -> list[FSDPModule]:
        assert self.model is not None
        return [m for m in self.model.modules() if isinstance(m, FSDPModule)]

    def _gather(self) -> None:
        for unit in self._units():
            unit.set_reshard_after_forward(False, recurse=False)
            unit.unshard()

    def _scatter(self) -> None:
        for unit in self._units():
            unit.reshard()
            unit.set_reshard_after_forward(cast(Any, unit) is not self.model, recurse=False)

    def save_checkpoint(self, checkpoint: dict[str, Any], filepath: Any, storage_options: Any = None) -> None:
        """Write the shards into a folder, or one file; completely or not at all."""
        if self._save_distributed_checkpoint:
            with self.replacing(filepath) as beside:
                super().save_checkpoint(checkpoint, beside, storage_options)
        else:
            super().save_checkpoint(checkpoint, filepath, storage_options)

    def lightning_module_state_dict(self) -> dict[str, Any]:
        """Return the trained tensors: this rank's shards, or the full tensors on rank 0."""
        self.scatter()
        return super().lightning_module_state_dict()

    def load_checkpoint(self, checkpoint_path: Any, weights_only: bool | None = None) -> dict[str, Any]:
        """Load a folder of this strategy or one file; of a DeepSpeed folder only the weights, for an evaluation.

        Raises:
            WeightsMismatch: The checkpoint's tensors are not those that the module trains.
            UntrustedCheckpoint: A pickle of the folder asks for more than checkpoints need, see `vetting.vet`.
            LmodError: In `fit`, and the checkpoint is a DeepSpeed folder, or a file of one device or DDP, whose
                optimiser state names tensors by index and not by name.
        """
        path, module = Path(self.broadcast(checkpoint_path)), self.lightning_module
        assert module is not None
        if is_deepspeed(path):
            return take_weights(module, path, _load_whole, self.trusted)
        if path.is_dir():
            module.on_load_checkpoint(facts_of(path, self.trusted))
        elif by_number(read(path)):
            refuse_to_continue(module, path)
        return super().load_checkpoint(path, weights_only=True)


def _shard(module: nn.Module, mesh: Any) -> None:
    """Make each decoder layer of the language model one FSDP unit, and the rest of the module another."""
    for layer in decoder_layers(module):
        fully_shard(layer, mesh=mesh)
    fully_shard(module, mesh=mesh, reshard_after_forward=True)
    for method in ("training_step", "respond"):  # the module's `forward` is never called
        register_fsdp_forward_method(module, method)


def decoder_layers(module: nn.Module) -> list[nn.Module]:
    """Return the decoder layers of the language model in a module; layers of the vision tower are not included."""
    ends = ("language_model.layers", "text_model.layers")  # the second is of Idefics3
    return [layer for name, part in module.named_modules() if name.endswith(ends) for layer in part.children()]


def _load_whole(module: nn.Module, tensors: dict[str, Any]) -> None:
    """Set the sharded parameters of each rank from full tensors."""
    from torch.distributed.checkpoint.state_dict import StateDictOptions, set_model_state_dict

    set_model_state_dict(module, tensors, options=StateDictOptions(full_state_dict=True, strict=False))
