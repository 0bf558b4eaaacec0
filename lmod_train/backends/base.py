"""What every backend promises: it only generates."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from lmod_train.types import Batch, Collate, Identity, Reply


class Backend(ABC):
    """Anything outside the Trainer that answers records.

    Attributes:
        collate: Its dialect, available before `prepare`.
    """

    collate: Collate

    @abstractmethod
    def prepare(self, device: Any) -> None:
        """Load what is needed onto the device; called again, do nothing."""

    @abstractmethod
    def identity(self) -> Identity:
        """Return what decides its replies: weights, template and settings; of an endpoint its URL and model name."""

    def summary(self) -> str:
        """Return what a command has used, to be printed at its end; empty for nothing to state."""
        return ""

    @abstractmethod
    def respond(self, batch: Batch) -> list[Reply]:
        """Return one reply per record, carrying its id; a failure is a reply with `error` set, not an exception."""
