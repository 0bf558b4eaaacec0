"""DeepSpeed's ZeRO as a Lightning strategy, on GPUs and, with gloo, on CPUs."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import torch
from lightning.fabric.utilities.seed import reset_seed
from lightning.pytorch.accelerators import CPUAccelerator
from lightning.pytorch.strategies import DeepSpeedStrategy
from lightning.pytorch.strategies.ddp import DDPStrategy
from torch import Tensor, nn
from torch.optim import Optimizer

from lmod_train.core.errors import BadArgument
from lmod_train.models.strategies.keeping import FACTS
from lmod_train.models.strategies.saved import facts_of, is_deepspeed, take_weights
from lmod_train.models.strategies.sharding import Sharded, load_whole

AT_ONCE = 200_000_000
"""Largest number of elements gathered in one call; all at once would briefly need twice the model's memory."""


class DeepSpeed(Sharded, DeepSpeedStrategy):
    """ZeRO: stage 1 shards the optimiser's state over ranks, stage 2 gradients too, stage 3 parameters too.

    With `precision: bf16-mixed` DeepSpeed casts every parameter to bfloat16, trained ones too, and its optimiser
    updates float32 copies of the trained ones, which are saved. With `32-true` parameters keep their types. Gradients
    are clipped by norm, at the Trainer's `gradient_clip_val`. At stage 3 each rank reads the whole base into host
    memory and shards it one parameter at a time, so that no device holds all of it.

    Also runs on CPUs, for trying a configuration; on a machine with a GPU this needs `DS_ACCELERATOR=cpu`.

    Args:
        stage: Stage of ZeRO, 1 to 3.
        offload_optimizer: Keep the optimiser's state on the CPU and update the weights there.
        offload_parameters: Stage 3: keep the shards of parameters on the CPU.
        **settings: Options of Lightning's `DeepSpeedStrategy`; its `config`, a DeepSpeed file, replaces stage and
            offloading.
    """

    def __init__(
        self, stage: int = 2, offload_optimizer: bool = False, offload_parameters: bool = False, **settings: Any
    ) -> None:
        if not torch.cuda.is_available():
            os.environ.setdefault("DS_ACCELERATOR", "cpu")  # read when deepspeed is imported, which happens next
        settings["exclude_frozen_parameters"] = True  # the base is read from its own folder
        super().__init__(
            stage=stage, offload_optimizer=offload_optimizer, offload_parameters=offload_parameters, **settings
        )
        self.steps_on_cpu = offload_optimizer
        self._gathered: ExitStack | None = None
        if isinstance(self.config, dict) and offload_optimizer:  # torch's fused AdamW needs nothing compiled
            self.config.setdefault("zero_force_ds_cpu_optimizer", False)

    @property
    def _on_cpu(self) -> bool:
        return isinstance(self.accelerator, CPUAccelerator)

    @property
    def root_device(self) -> torch.device:
        """This rank's device."""
        return torch.device("cpu", self.local_rank) if self._on_cpu else super().root_device

    def setup_environment(self) -> None:
        """Set up the processes; on CPUs too, which Lightning's strategy refuses.

        Raises:
            BadArgument: On CPU, and DeepSpeed has chosen another device.
        """
        if not self._on_cpu:
            super().setup_environment()
            return
        from deepspeed.accelerator import get_accelerator

        if get_accelerator().device_name() != "cpu":
            expected = f"{get_accelerator().device_name()!r}, the device that DeepSpeed selected"
            raise BadArgument("trainer.accelerator", "cpu", expected, "set the environment variable DS_ACCELERATOR=cpu")
        DDPStrategy.setup_environment(self)

    def setup_distributed(self) -> None:
        """Join the other processes."""
        if not self._on_cpu:
            super().setup_distributed()
            return
        import deepspeed

        # DeepSpeed would first compile its shared-memory collectives, which takes a minute on a new machine
        deepspeed.ops.__compatible_ops__["deepspeed_shm_comm"] = False
        reset_seed()
        self.set_world_ranks()
        self._init_deepspeed_distributed()

    @contextmanager
    def model_sharded_context(self) -> Iterator[None]:
        """Let the module load its full base, then, at stage 3, shard it.

        Checkpoints of transformers do not load into parameters that are sharded at construction.
        """
        self._init_config_if_needed()
        yield
        module = self.lightning_module
        if not self.zero_stage_3 or module is None or any(hasattr(p, "ds_id") for p in module.parameters()):
            return
        from deepspeed import zero

        dtype = torch.bfloat16 if self.precision_plugin.precision.startswith("bf16") else None
        if dtype is not None:
            for parameter in module.parameters():
                parameter.data = parameter.data.to(dtype)
        zero.Init(module=module, config_dict_or_path=self.config, remote_device=self.remote_device, dtype=dtype)

    @property
    def handles_gradient_accumulation(self) -> bool:
        """False: Lightning decides after which batches the optimiser steps, the last batch of an epoch among them.

        DeepSpeed counts batches over the ends of epochs, and would drop the gradients of a training's last batches.
        """
        return False

    def backward(self, closure_loss: Tensor, optimizer: Optimizer | None, *args: Any, **kwargs: Any) -> Tensor:
        """Run the backward pass of a loss that Lightning has divided by `accumulate_grad_batches`.

        DeepSpeed would divide it again: gradients would be too small for clipping and for AdamW's epsilon.
        """
        module = self.lightning_module
        assert module is not None
        steps = not module.trainer.fit_loop._should_accumulate()
        self.deepspeed_engine.set_gradient_accumulation_boundary(steps)
        return super().backward(closure_loss, optimizer, *args, scale_wrt_gas=False, **kwargs)

    @contextmanager
    def block_backward_sync(self) -> Iterator[None]:
        """Leave the reduction of gradients to DeepSpeed: stages 2 and 3 reduce them with every batch."""
        yield

    def _offload(self) -> Any:
        """Return what holds the hooks that fetch and release parameters at stage 3."""
        optimiser = self.deepspeed_engine.optimizer
        return getattr(optimiser, "parameter_offload", optimiser)

    def _gather(self) -> None:
        if not self.zero_stage_3:
            return
        from deepspeed.runtime.zero import GatheredParameters

        offload = self._offload()
        for hook in (*offload.forward_hooks, *offload.backward_hooks):
            hook.remove()
        offload.forward_hooks, offload.backward_hooks = [], []
        offload.partition_all_parameters()
        self._gathered = ExitStack()
        for few in _few(list(offload.module.parameters())):
            self._gathered.enter_context(GatheredParameters(few))

    def _scatter(self) -> None:
        if self._gathered is not None:
            self._gathered.close()
            self._gathered = None
            offload = self._offload()
            offload._register_deepspeed_module(offload.module)

    def save_checkpoint(self, checkpoint: dict[str, Any], filepath: Any, storage_options: Any = None) -> None:
        """Write a folder with the shards of all ranks, completely or not at all."""
        with self.replacing(filepath) as beside:
            super().save_checkpoint(checkpoint, beside, storage_options)
            if self.is_global_zero:
                facts = {k: v for k, v in checkpoint.items() if k not in ("state_dict", "optimizer_states")}
                torch.save(facts, beside / FACTS)

    def load_checkpoint(self, checkpoint_path: Any, weights_only: bool | None = None) -> dict[str, Any]:
        """Resume training from a folder of the same stage; for an evaluation, load the weights of any checkpoint.

        Raises:
            WeightsMismatch: The checkpoint's tensors are not those that the module trains.
            UntrustedCheckpoint: A pickle of the folder asks for more than checkpoints need, see `vetting.vet`.
            LmodError: In `fit`, and another strategy wrote the checkpoint.
        """
        path, module = Path(self.broadcast(checkpoint_path)), self.lightning_module
        assert module is not None
        fitting = module.trainer.state.fn == "fit"
        if fitting and is_deepspeed(path):
            module.on_load_checkpoint(facts_of(path, self.trusted))
            return super().load_checkpoint(path, weights_only)
        return take_weights(module, path, load_whole, self.trusted)


def _few(parameters: list[nn.Parameter]) -> Iterator[list[nn.Parameter]]:
    """Yield parameters in groups of at most `AT_ONCE` elements, a larger one alone."""
    group: list[nn.Parameter] = []
    size = 0
    for parameter in parameters:
        numel = int(getattr(parameter, "ds_numel", parameter.numel()))
        if group and size + numel > AT_ONCE:
            yield group
            group, size = [], 0
        group.append(parameter)
        size += numel
    if group:
        yield group
