"""Parameters that are spread over processes: whole again for as long as a model answers, and whole in a checkpoint.

A model that writes takes as many steps as its longest reply, and ranks have different questions and different numbers
of batches. Were parameters fetched layer by layer, a rank that is done would leave the others waiting for ever. So they
are gathered once, before an evaluation begins, and given back at its end. That takes the memory of the whole model's
weights in their own type on each device, beside its share of the optimiser's state: 14 GB for 7 billion in bfloat16.
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

from lmod_train.errors import BadArgument
from lmod_train.strategies.keeping import make_room, partial, put_in_place, writing

PATIENCE = 60
"""Seconds until a folder that another node has made is taken to be on another disk."""


class Sharded:
    """What strategies that spread parameters have in common; mixed into Lightning's."""

    trusted: Sequence[Path] = ()
    """Checkpoint folders whose pickles may ask for anything, as their user says; see `vetting.vet`."""
    _is_whole = False
    broadcast: Any  # these three are Lightning's
    barrier: Any
    reduce_boolean_decision: Any
    is_global_zero: bool

    def gather(self) -> None:
        """Make every parameter whole on every rank. All ranks call it together."""
        if not self._is_whole:
            self._is_whole = True
            self._gather()

    def scatter(self) -> None:
        """Give the memory back; without a `gather` before, nothing happens. All ranks call it together."""
        if self._is_whole:
            self._scatter()
            self._is_whole = False

    def _gather(self) -> None:
        raise NotImplementedError

    def _scatter(self) -> None:
        raise NotImplementedError

    @contextmanager
    def whole(self) -> Iterator[None]:
        """Parameters are whole inside, for calls that differ from rank to rank; where they are already, no more."""
        was = self._is_whole
        self.gather()
        try:
            yield
        finally:
            if not was:
                self.scatter()

    def on_validation_start(self) -> None:
        """Gather: from here on ranks need not keep step."""
        self.gather()

    def on_validation_end(self) -> None:
        """Scatter."""
        self.scatter()

    on_test_start = on_predict_start = on_validation_start
    on_test_end = on_predict_end = on_validation_end

    @contextmanager
    def replacing(self, path: Any) -> Iterator[Path]:
        """Yield a folder to write a checkpoint into, which takes the place of `path` once it is complete.

        At every moment a whole checkpoint lies on the disk, see `lmod_train.strategies.keeping`.

        Raises:
            BadArgument: A rank does not see the folder that the first one made: its share would lie on another disk.
            ArtifactError: The disk is full.
        """
        self.scatter()  # what is written are the shares
        last = Path(self.broadcast(path))
        beside = partial(last)
        if self.is_global_zero:
            make_room(last)
            beside.mkdir(parents=True, exist_ok=True)
        self.barrier("the place is free")
        if not self.reduce_boolean_decision(_appears(beside), all=True):
            raise BadArgument(
                "run",
                str(last.parent.parent),
                "a folder that the processes of all nodes share: each writes its part of a checkpoint there",
                "name one on a file system that all nodes mount (--run)",
            )
        with writing(last):
            yield beside
        self.barrier("every rank has written its share")
        if self.is_global_zero:
            with writing(last):
                put_in_place(last)
        self.barrier("the checkpoint is in its place")


def _appears(folder: Path) -> bool:
    """Return whether a folder is there, or comes into sight; file systems of a network may take their time."""
    for _ in range(PATIENCE):
        if folder in folder.parent.glob("*"):  # listed anew, where looking it up might be answered from a cache
            return True
        time.sleep(1)
    return False


def shape_of(parameter: Tensor) -> tuple[int, ...]:
    """Return a parameter's whole shape, also where this rank holds a share of it or nothing."""
    return tuple(getattr(parameter, "ds_shape", parameter.shape))


def whole_tensors(parameters: Iterable[tuple[str, nn.Parameter]]) -> dict[str, Tensor]:
    """Return copies of parameters, whole, on the CPU; all ranks call it together, with the same names."""
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
    """Give parameters and buffers whole values by name, also where ZeRO-3 has cut them; all ranks call it together."""
    for name, own in (*module.named_parameters(), *module.named_buffers()):
        if name in tensors and hasattr(own, "ds_id"):
            from deepspeed.runtime.zero import GatheredParameters

            with GatheredParameters([own], modifier_rank=0):
                own.data.copy_(tensors[name])
        elif name in tensors:
            own.data.copy_(tensors[name])
