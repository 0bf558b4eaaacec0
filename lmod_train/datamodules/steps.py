"""The batches of one optimiser step, looked at together before the first of them is computed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import Protocol, runtime_checkable

from lmod_train.types import Batch


@runtime_checkable
class Weighing(Protocol):
    """A module whose loss is a mean over all that an optimiser step holds, not a mean of the batches' means."""

    def weigh_step(self, batches: Sequence[Batch]) -> None:
        """Tell each batch what it weighs; called once a step with its batches, on all ranks together."""
        ...


class Steps:
    """Collects the batches of each step, lets a module weigh them, and gives them out one by one.

    As many batches are held at once as a step accumulates.

    Args:
        weigh: Called with the batches of a step.
        left: From the batches of the epoch that are done to those that the present step still takes.

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
        """Yield the batches; `done` of the epoch went before them."""
        coming = iter(batches)
        while step := list(islice(coming, max(self._left(done), 1))):
            self._weigh(step)
            done += len(step)
            yield from step
