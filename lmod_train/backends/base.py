"""What every backend implements: a dialect, an identity, and replies."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any

from lmod_train.types import Batch, Collate, Identity, Reply


class Backend(ABC):
    """A model that generates replies and is not trained here.

    Attributes:
        collate: Makes its batches; available before `prepare`.
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


class StreamBackend(Backend):
    """A backend with several requests in flight, such as a server: it reads batches ahead of its replies."""

    @abstractmethod
    def respond_stream(self, batches: Iterator[Batch]) -> Iterator[Reply]:
        """Yield one reply per record of all batches, as `lmod_train.types.StreamResponder` states it."""

    def respond(self, batch: Batch) -> list[Reply]:
        """Return one reply per record, carrying its id, in the order in which they came."""
        return list(self.respond_stream(iter([batch])))
