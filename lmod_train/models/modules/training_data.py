"""The records of the datamodule that a module is trained or evaluated with."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from lightning import Trainer

from lmod_train.core.curated import Curated
from lmod_train.core.errors import BadArgument
from lmod_train.core.types import Record


@runtime_checkable
class TrainingData(Protocol):
    """Attributes that modules read of a datamodule such as `RecordsDataModule`, beside its batches."""

    @property
    def images(self) -> Curated:
        """The images of the curated folder, by the names that the records state."""

    @property
    def batch_size(self) -> int:
        """Number of questions in a training batch of one process."""

    def records(self, split: str) -> Sequence[Record]:
        """Return the records of a split, or all for ``all``."""


def training_data(trainer: Trainer) -> TrainingData:
    """Return the datamodule of a Trainer.

    Raises:
        BadArgument: There is none, or it has no records.
    """
    data = getattr(trainer, "datamodule", None)
    if not isinstance(data, TrainingData):
        name = None if data is None else type(data).__name__
        cure = "pass `datamodule=RecordsDataModule(...)` to the Trainer"
        raise BadArgument("datamodule", name, "a RecordsDataModule, as this module reads its records", cure)
    return data
