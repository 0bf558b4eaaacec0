"""A loader that knows how far it is, so that a run resumed in mid-epoch sees every item once."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from torch.utils.data import DataLoader

from lmod_train.datamodules.order import ImageBatches
from lmod_train.datamodules.steps import Steps
from lmod_train.errors import BadArgument
from lmod_train.types import Batch, Collate, Record


@runtime_checkable
class Augmenting(Protocol):
    """A dialect that prepares images differently in training: one dialect an epoch."""

    def training(self, seed: int, epoch: int) -> Collate:
        """Return the dialect of an epoch; what it draws depends on seed, epoch and record id alone."""
        ...


class RecordLoader:
    """Batches of records, collated by the model's own dialect.

    Lightning stores `state_dict` in its checkpoints and gives it back before it goes on in mid-epoch. Every iteration
    is an epoch of its own, also after one that was left early; only a loaded state goes on where it was taken. Not a
    `DataLoader` but around one: Lightning rebuilds those for `predict`, with a sampler that it makes up.

    Args:
        records: What is asked.
        batches: In which order.
        collate: The dialect; in training, that of the epoch where it augments.
        root: The curated folder.
        workers: Processes that read and collate.
        steps: Looks at the batches of an optimiser step together before the first of them is given out; None for
            batches one by one.
    """

    def __init__(
        self,
        records: list[Record],
        batches: ImageBatches,
        collate: Collate,
        root: Path,
        workers: int = 0,
        steps: Steps | None = None,
    ) -> None:
        self._loader: DataLoader[Record] = DataLoader(
            records,  # type: ignore[arg-type]  # a list is a map-style dataset
            batch_sampler=batches,
            collate_fn=partial(collate, root=root),
            num_workers=workers,
            multiprocessing_context="spawn" if workers else None,
        )
        self._batches, self._collate, self._root, self._steps = batches, collate, root, steps
        self._done, self._continues = 0, False

    def __len__(self) -> int:
        """Batches of a whole epoch."""
        return len(self._batches)

    def __iter__(self) -> Iterator[Batch]:
        if self._done >= len(self._batches) or (self._done and not self._continues):
            self._batches.epoch, self._done = self._batches.epoch + 1, 0
        self._continues = False
        self._batches.start = self._done
        if self._batches.shuffle and isinstance(self._collate, Augmenting):
            epochs = self._collate.training(self._batches.seed, self._batches.epoch)
            self._loader.collate_fn = partial(epochs, root=self._root)
        for batch in self._steps(self._loader, self._done) if self._steps else self._loader:
            self._done += 1
            yield batch

    def sizes(self) -> list[int]:
        """Return how many questions each batch of the present training epoch holds, on each rank."""
        return self._batches.sizes()

    def state_dict(self) -> dict[str, Any]:
        """Return epoch, batches done and how many there are, and the questions of a step."""
        whole = {"of": len(self._batches), "at_once": self._batches.at_once}
        return {"epoch": self._batches.epoch, "done": self._done, **whole}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on where `state_dict` was taken.

        Raises:
            BadArgument: That was in mid-epoch, of steps of another size: batches done would be other questions here.
        """
        at_once = state.get("at_once", self._batches.at_once)  # older checkpoints do not say
        if at_once != self._batches.at_once and 0 < state["done"] < max(state["of"], len(self)):
            raise BadArgument(
                "devices x data.batch_size",
                self._batches.at_once,
                f"{at_once} questions a step, as in the epoch that is to be gone on with",
                "use as many devices and the batch size that it was stopped with; or begin anew, a model that writes "
                "from its weights: `python -m lmod_train merge --ckpt CKPT --out DIR`, then "
                "--model.init_args.checkpoint DIR",
            )
        self._batches.epoch, self._done, self._continues = state["epoch"], state["done"], True
