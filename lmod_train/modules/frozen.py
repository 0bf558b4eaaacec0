"""A backend through the Trainer: zero-shot models take the one evaluation path that tuned ones take."""

from __future__ import annotations

from lmod_train.backends.base import Backend
from lmod_train.modules.base import LmodModule
from lmod_train.types import Batch, Reply


class Frozen(LmodModule):
    """Answers through a backend and learns nothing.

    Args:
        backend: What answers.
    """

    def __init__(self, backend: Backend) -> None:
        super().__init__()
        self._backend = backend
        self.collate = backend.collate

    def configure_model(self) -> None:
        """Let the backend load what it needs, once."""
        self._backend.prepare(self.device)

    def respond(self, batch: Batch) -> list[Reply]:
        """Ask the backend."""
        return self._backend.respond(batch)
