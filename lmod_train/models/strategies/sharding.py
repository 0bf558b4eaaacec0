"""Gathering of sharded parameters for an evaluation, and writing of sharded checkpoints.

Generation takes as many forward passes as the longest reply, and ranks have different questions and different numbers
of batches. If parameters were gathered layer by layer, a rank that has finished would leave the others waiting forever.
All parameters are therefore gathered once before an evaluation and sharded again after it. Each device then holds the
weights of the whole model in their own type beside its shard of the optimiser's state: 14 GB for 7 billion in bfloat16.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

import torch
from torch import Tensor, nn
from torch.distributed.tensor import DTensor

from lmod_train.core.errors import BadArgument
from lmod_train.core.files import make_folder
from lmod_train.models.strategies.keeping import make_room, partial, put_in_place, writing

PATIENCE = 60
"""Seconds to wait for a folder made by another node before it is taken to be on another disk."""


class Sharded:
    """Mixin for Lightning's sharding strategies: gathers parameters for evaluations and replaces checkpoints safely."""

    trusted: Sequence[Path] = ()
    """Checkpoint folders whose pickles may load any class, as named by the user; see `vetting.vet`."""
    _is_gathered = False
    broadcast: Any  # this and the next three are Lightning's
    barrier: Any
    reduce_boolean_decision: Any
    is_global_zero: bool

    def gather(self) -> None:
        """Gather every parameter in full on every rank; all ranks call it together."""
        if not self._is_gathered:
            self._is_gathered = True
            self._gather()

    def scatter(self) -> None:
        """Shard gathered parameters again; without a `gather` before, do nothing. All ranks call it together."""
        if self._is_gathered:
            self._scatter()
            self._is_gathered = False

    def _gather(self) -> None:
        raise NotImplementedError

    def _scatter(self) -> None:
        raise NotImplementedError

    @contextmanager
    def whole(self) -> Iterator[None]:
        """Parameters are whole inside, for calls that differ from rank to rank; where they are already, no more."""
        was = self._is_gathered
        self.gather()
        try:
            yield
        finally:
            if not was:
                self.scatter()

    def on_validation_start(self) -> None:
        """Gather the parameters, so that ranks need not call the model equally often."""
        self.gather()

    def on_validation_end(self) -> None:
        """Shard the parameters again."""
        self.scatter()

    on_test_start = on_predict_start = on_validation_start
    on_test_end = on_predict_end = on_validation_end

    @contextmanager
    def replacing(self, path: Any) -> Iterator[Path]:
        """Yield a folder to write a checkpoint into, which replaces `path` once it is complete.

        At every moment a complete checkpoint is on disk, see `lmod_train.models.strategies.keeping`.

        Raises:
            BadArgument: A rank does not see the folder that rank 0 made: its shards would be on another disk.
            ArtifactError: The disk is full.
        """
        self.scatter()  # the shards are written, not the full tensors
        last = Path(self.broadcast(path))
        beside = partial(last)
        if self.is_global_zero:
            make_room(last)
            make_folder(beside)
        self.barrier("folder made")
        if not self.reduce_boolean_decision(_appears(beside), all=True):
            expected = "a folder that the processes of all nodes share: each writes its part of a checkpoint there"
            cure = "name one on a file system that all nodes mount (--run)"
            raise BadArgument("run", str(last.parent.parent), expected, cure)
        with writing(last):
            yield beside
        self.barrier("shards written")
        if self.is_global_zero:
            with writing(last):
                put_in_place(last)
        self.barrier("checkpoint replaced")


def _appears(folder: Path) -> bool:
    """Return whether a folder exists, waiting up to `PATIENCE` seconds for a slow network file system."""
    for _ in range(PATIENCE):
        if folder in folder.parent.glob("*"):  # listing the parent avoids a cached answer about the folder
            return True
        time.sleep(1)
    return False


def shape_of(parameter: Tensor) -> tuple[int, ...]:
    """Return a parameter's full shape, also where this rank holds only a shard of it or nothing."""
    return tuple(getattr(parameter, "ds_shape", parameter.shape))


def own_shard(tensor: Tensor) -> Tensor:
    """Return the part of a tensor or parameter that this rank holds, all of it if it is not sharded."""
    if isinstance(tensor, DTensor):
        return tensor.to_local()
    shard: Tensor | None = getattr(tensor, "ds_tensor", None)
    return tensor if shard is None else shard


def whole_tensors(parameters: Iterable[tuple[str, nn.Parameter]]) -> dict[str, Tensor]:
    """Return full copies of parameters on the CPU; all ranks call it together, with the same names."""
    named = dict(parameters)
    if any(hasattr(p, "ds_id") for p in named.values()):
        from deepspeed.runtime.zero import GatheredParameters

        made = {}
        for name, parameter in cast(dict[str, Any], named).items():
            with GatheredParameters([parameter], enabled=parameter.ds_status.name == "NOT_AVAILABLE"):
                made[name] = parameter.detach().cpu().clone()
        return made
    with torch.no_grad():
        return {n: (p.full_tensor() if isinstance(p, DTensor) else p).detach().cpu().clone() for n, p in named.items()}


def load_whole(module: nn.Module, tensors: Mapping[str, Tensor]) -> None:
    """Set parameters and buffers from full tensors by name, also if ZeRO-3 shards them; all ranks call it together."""
    for name, own in (*module.named_parameters(), *module.named_buffers()):
        if name in tensors and hasattr(own, "ds_id"):
            from deepspeed.runtime.zero import GatheredParameters

            with GatheredParameters([own], modifier_rank=0):
                own.data.copy_(tensors[name])
        elif name in tensors:
            own.data.copy_(tensors[name])
