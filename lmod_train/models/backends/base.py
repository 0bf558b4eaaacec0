"""Base classes of backends."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from lmod_train.core.errors import BadArgument
from lmod_train.core.types import Batch, Collate, Identity, Reply


class Backend(ABC):
    """A model that generates replies and is not trained here.

    Attributes:
        collate: Function that makes its batches; available before `prepare`.
    """

    collate: Collate

    @abstractmethod
    def prepare(self, device: Any) -> None:
        """Load the model onto the device; further calls have no effect."""

    def opened(self) -> tuple[Any, Any]:
        """Return the network and its dialect, of a local model that is loaded; None twice of any other."""
        return None, None

    def constrain(self) -> None:
        """Let the reply to every record with choices be one of them, in the requested format; before any batch.

        Raises:
            BadArgument: The backend, or its way of decoding, cannot.
        """
        expected = f"none for {type(self).__name__}, which cannot limit its replies to the choices"
        raise BadArgument("model.constrain", "choices", expected, "add `--model.constrain null`")

    @abstractmethod
    def identity(self) -> Identity:
        """Return what determines the replies: weights, template and settings; for an endpoint URL and model."""

    def stored_in(self, run: Path, name: str) -> None:
        """Take note of where the replies are stored, for what a backend itself must keep from command to command.

        Args:
            run: Folder of the run.
            name: Name of the file of this process.
        """
        return

    def summary(self) -> str:
        """Return a summary of usage to print at the end of a command; empty if there is none."""
        return ""

    @abstractmethod
    def respond(self, batch: Batch) -> list[Reply]:
        """Return one reply per record, with its id; failures are replies with `error` set, not exceptions."""


class StreamBackend(Backend):
    """A backend with concurrent requests, e.g. to a server, which reads batches before earlier replies arrive.

    The batches come from Lightning's own evaluation loader, and each answered record goes back to its loop
    (`lmod_train.data.datamodules.ahead`), so that its reply is on the disk before the next one is fetched. A backend
    that sends another request only then loses at most those in flight if the command is killed.
    """

    @abstractmethod
    def respond_stream(self, batches: Iterator[Batch]) -> Iterator[Reply]:
        """Yield one reply per record of all batches, see `lmod_train.core.types.StreamResponder`."""

    def respond(self, batch: Batch) -> list[Reply]:
        """Return one reply per record, with its id, in the order of arrival."""
        return list(self.respond_stream(iter([batch])))
