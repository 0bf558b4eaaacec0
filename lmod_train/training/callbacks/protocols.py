"""Interfaces of the datamodule and the module that callbacks use."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Protocol, runtime_checkable

import torch
from lightning import LightningModule, Trainer

from lmod_train.core.curated import Curated
from lmod_train.core.errors import BadArgument
from lmod_train.core.types import Batch, Collate, Identity, Record, Reply
from lmod_train.tasks.base import Task


@runtime_checkable
class EvaluationData(Protocol):
    """What callbacks need of a datamodule, of this package or of a user's own.

    Its loaders, those of a `LightningDataModule`, yield the batches that ``collate`` of the trained or evaluated module
    makes of records and `images`; a record with a reply (`leave_out`) is in none. A datamodule for a classifier has
    ``choices`` too, and one that knows the families of its records is checked for leaks
    (`lmod_train.training.callbacks.training_images.Divided`).
    """

    @property
    def images(self) -> Curated:
        """The images of the curated folder, by the names that the records state."""

    @property
    def tasks(self) -> Mapping[str, Task]:
        """The tasks by name."""

    @property
    def shard(self) -> str:
        """Part of the evaluated records that this process asks, ``i/n``; empty for all."""

    def records(self, split: str) -> Sequence[Record]:
        """Return the records of a split, or all for ``all``."""

    def asked(self, stage: str) -> Sequence[Record]:
        """Return the records that a command evaluates: ``validate``, ``test``, ``predict``, or ``fit``."""

    def leave_out(self, answered: Callable[[], Iterable[str]], failed: Callable[[], Collection[str]] = ...) -> None:
        """Leave records out of evaluation that have a reply, and ask those last whose request has failed before.

        Args:
            answered: Function that returns the ids of the records with a reply; called for each evaluation loader,
                after the weights are loaded.
            failed: Function that returns the ids of those that failed; called after `answered`.
        """

    def ask_when_due(self, due: Callable[[Sequence[Record]], list[Record]]) -> None:
        """Ask questions whose words hold earlier answers when these are there.

        Args:
            due: Function that returns those of some questions that are to be asked now, with the words that are sent.
        """


@runtime_checkable
class Answering(Protocol):
    """A module that answers batches of records, such as every `LmodModule`."""

    @property
    def collate(self) -> Collate:
        """Function that makes its batches."""

    @property
    def device(self) -> torch.device:
        """Device of its parameters."""

    @property
    def step(self) -> int:
        """Optimiser steps of its weights."""

    def identity(self) -> Identity:
        """Return everything that its replies depend on, beside the loaded checkpoint."""

    def respond(self, batch: Batch) -> list[Reply]:
        """Return one reply for each record, with its id."""


@runtime_checkable
class Charging(Protocol):
    """A service that charges for its replies, such as the backend of endpoints."""

    @property
    def at_once(self) -> int:
        """Maximum number of concurrent requests."""

    @property
    def share_paid(self) -> float:
        """Share of the price of a single request that is paid; 1 unless requests are sent as batches of the service."""

    def cost(self, tokens_in: int, tokens_out: int) -> float | None:
        """Return the price of a single request; None if the user has stated no prices."""

    def limit_cost(self, most: float) -> None:
        """Send no request beyond these costs of a command, in the currency of the prices."""

    def ask_singly(self) -> None:
        """Send what follows as single requests, whose replies come at once."""


def data_of(trainer: Trainer) -> EvaluationData:
    """Return the datamodule of a Trainer.

    Raises:
        BadArgument: There is none, or it is no `EvaluationData`.
    """
    data = getattr(trainer, "datamodule", None)
    if not isinstance(data, EvaluationData):
        name = None if data is None else type(data).__name__
        lacking = [member for member in sorted(vars(EvaluationData)) if member[0] != "_" and not hasattr(data, member)]
        cure = "pass `datamodule=RecordsDataModule(...)` to the Trainer, or leave the callback out"
        if data is not None:
            cure = f"add to it, as lmod_train.training.callbacks.protocols states them: {', '.join(lacking)}"
        raise BadArgument("datamodule", name, "a RecordsDataModule, or a datamodule with what callbacks read", cure)
    return data


def answering(module: LightningModule) -> Answering:
    """Return a module as one that answers records.

    Raises:
        BadArgument: It is no `Answering`.
    """
    if not isinstance(module, Answering):
        cure = "derive it from lmod_train.models.modules.base.LmodModule, or leave the callback out"
        raise BadArgument("model", type(module).__name__, "a module with collate, identity, step and respond", cure)
    return module
