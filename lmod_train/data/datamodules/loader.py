"""A loader whose position is stored, so that a run resumed in mid-epoch reads every item once."""

from __future__ import annotations

import os
import pickle
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from pathlib import Path
from typing import Any, Protocol, TypeVar, runtime_checkable

from torch.utils.data import DataLoader, Sampler

from lmod_train.core.curated import Curated
from lmod_train.core.errors import BadArgument
from lmod_train.core.processes import forking
from lmod_train.core.types import Batch, Collate, Record
from lmod_train.data.datamodules.order import ImageBatches
from lmod_train.data.datamodules.steps import Steps

_Read = TypeVar("_Read")


@runtime_checkable
class Augmenting(Protocol):
    """A dialect that augments images in training, with another collate function in each epoch."""

    def training(self, seed: int, epoch: int) -> Collate:
        """Return the collate function of an epoch; its random values depend on seed, epoch and record id only."""


class RecordLoader:
    """Loader of batches of records, collated by the model's dialect.

    Lightning stores `state_dict` in its checkpoints and restores it before it continues in mid-epoch. Every iteration
    is a new epoch, also after one that was stopped early; only a loaded state continues an epoch. It wraps a
    `DataLoader` instead of being one, as Lightning rebuilds those for `predict` with a sampler of its own.

    In evaluation without workers, a thread reads and collates the next batch while the model answers the present one.

    Args:
        records: The records.
        batches: Batch sampler: their order.
        collate: The dialect; one that augments is replaced by that of the epoch in training.
        root: The curated folder.
        workers: Number of processes that read and collate; 0 for none, None to choose it by cores and need.
        steps: Passes the batches of an optimiser step to the module together; None for batches one by one.
    """

    def __init__(
        self,
        records: list[Record],
        batches: ImageBatches,
        collate: Collate,
        root: Path | Curated,
        workers: int | None = 0,
        steps: Steps | None = None,
    ) -> None:
        count = workers_for(batches) if workers is None else workers
        if workers is None and count and not _can_be_sent(collate):
            count = 0
        self._loader: DataLoader[Record] = DataLoader(
            _Records(records),  # type: ignore[arg-type]  # a sequence is a map-style dataset
            batch_sampler=_InEpochs(batches),
            collate_fn=_Collated(collate, root, batches.seed if batches.shuffle else None),
            num_workers=count,
            multiprocessing_context=forking([__name__, type(collate).__module__]) if count else None,
            persistent_workers=count > 0,
        )
        self._batches, self._steps = batches, steps
        self._done, self._continues = 0, False

    def __len__(self) -> int:
        """Return the number of batches of an epoch."""
        return len(self._batches)

    def __iter__(self) -> Iterator[Batch]:
        if self._done >= len(self._batches) or (self._done and not self._continues):
            self._batches.epoch, self._done = self._batches.epoch + 1, 0
        self._continues = False
        self._batches.start = self._done
        overlapped = not self._batches.shuffle and not self._loader.num_workers
        batches = one_ahead(self._loader) if overlapped else self._loader
        for batch in self._steps(batches, self._done) if self._steps else batches:
            self._done += 1
            yield batch

    def sizes(self) -> list[tuple[int, int]]:
        """Return for each batch of the current training epoch its number of questions, and that of all ranks."""
        return self._batches.sizes()

    def state_dict(self) -> dict[str, Any]:
        """Return epoch, number of batches done and in all, and number of questions of a step."""
        sizes = {"of": len(self._batches), "at_once": self._batches.at_once}
        return {"epoch": self._batches.epoch, "done": self._done, **sizes}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continue where `state_dict` was taken.

        Raises:
            BadArgument: That was in mid-epoch with another step size, so that other questions have been asked.
        """
        at_once = state["at_once"]
        if at_once != self._batches.at_once and 0 < state["done"] < max(state["of"], len(self)):
            expected = f"{at_once} questions a step, as in the epoch to be continued"
            cure = (
                "use the number of devices and the batch size of the stopped run; or start a new run (a language model "
                "from its weights: `python -m lmod_train weights merge --ckpt CKPT --out DIR`, then "
                "`--model.init_args.checkpoint DIR`)"
            )
            raise BadArgument("devices x data.batch_size", self._batches.at_once, expected, cure)
        self._batches.epoch, self._done, self._continues = state["epoch"], state["done"], True


_Place = tuple[int, int]
"""Epoch of a batch, and index of a record."""


class _InEpochs(Sampler[list[_Place]]):
    """Batches of indices with their epoch, so that processes that stay know it."""

    def __init__(self, batches: ImageBatches) -> None:
        self._batches = batches

    def __len__(self) -> int:
        return len(self._batches)

    def __iter__(self) -> Iterator[list[_Place]]:
        yield from ([(self._batches.epoch, i) for i in batch] for batch in self._batches)


class _Records:
    """Records by epoch and index."""

    def __init__(self, records: Sequence[Record]) -> None:
        self._records = records

    def __getitem__(self, place: _Place) -> tuple[int, Record]:
        return place[0], self._records[place[1]]


class _Collated:
    """Collates records, in training as the dialect does in their epoch.

    Args:
        collate: The dialect.
        root: The curated folder.
        seed: Seed of the augmentation; None in evaluation, without any.
    """

    def __init__(self, collate: Collate, root: Path | Curated, seed: int | None) -> None:
        self._collate, self._root, self._seed = collate, root, seed

    def __call__(self, items: Sequence[tuple[int, Record]]) -> Batch:
        collate = self._collate
        if self._seed is not None and items and isinstance(collate, Augmenting):
            collate = collate.training(self._seed, items[0][0])
        return collate([record for _, record in items], root=self._root)


def _can_be_sent(collate: Collate) -> bool:
    """Return whether processes can be sent a dialect; a function inside another cannot."""
    try:
        pickle.dumps(collate)
    except (pickle.PicklingError, AttributeError, TypeError):
        return False
    return True


MOST_WORKERS, EACH = 8, 128
"""Processes that read at most, and batches that are worth the start of one."""


def workers_for(batches: ImageBatches) -> int:
    """Return the number of processes that read batches beside the training: of the cores that are left, as needed."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(0, min(MOST_WORKERS, cores // batches.ranks - 1, len(batches) // EACH))


def one_ahead(batches: Iterable[_Read]) -> Iterator[_Read]:
    """Yield batches; a thread reads the next one while the caller uses the present one.

    An error in reading a batch is raised where that batch would be yielded.

    Example:
        >>> list(one_ahead([1, 2, 3])), list(one_ahead([]))
        ([1, 2, 3], [])
    """
    coming = iter(batches)
    with ThreadPoolExecutor(1, "reading") as reader:
        pending = reader.submit(lambda: list(islice(coming, 1)))
        while read := pending.result():
            pending = reader.submit(lambda: list(islice(coming, 1)))
            yield read[0]
