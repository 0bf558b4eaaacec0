"""Pass all batches of an optimiser step to the module before the first is computed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import Protocol, runtime_checkable

from lmod_train.core.types import Batch


@runtime_checkable
class Weighing(Protocol):
    """A module whose loss is the mean over an optimiser step's records, not the mean of the batches' means."""

    def weigh_step(self, batches: Sequence[Batch]) -> None:
        """Set the weight of each batch; called once per step with its batches, on all ranks together."""


class Steps:
    """Collects the batches of each step, lets a module weigh them, and yields them one by one.

    All batches of a step are in memory together.

    Args:
        weigh: Function that is called with the batches of a step.
        left: Function from the number of batches done in the epoch to the number left in the current step.

    Example:
        >>> steps = Steps(lambda batches: print("step of", len(batches)), lambda done: min(2 - done % 2, 5 - done))
        >>> list(steps(["b", "c", "d", "e"], done=1))
        step of 1
        step of 2
        step of 1
        ['b', 'c', 'd', 'e']
    """

    def __init__(self, weigh: Callable[[Sequence[Batch]], None], left: Callable[[int], int]) -> None:
        self._weigh, self._left = weigh, left

    def __call__(self, batches: Iterable[Batch], done: int) -> Iterator[Batch]:
        """Yield the batches, which follow the first `done` batches of the epoch."""
        coming = iter(batches)
        while step := list(islice(coming, max(self._left(done), 1))):
            self._weigh(step)
            done += len(step)
            yield from step
