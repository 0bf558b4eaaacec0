"""A backend through the Trainer: zero-shot models take the one evaluation path that tuned ones take."""

from __future__ import annotations

from lmod_train.backends.base import Backend
from lmod_train.modules.base import LmodModule
from lmod_train.types import Batch, Identity, Reply


class Frozen(LmodModule):
    """Answers through a backend and learns nothing.

    Args:
        backend: What answers.
    """

    def __init__(self, backend: Backend) -> None:
        super().__init__()
        self._backend = backend
        self.collate = backend.collate

    def identity(self) -> Identity:
        """Return the backend's."""
        return self._backend.identity()

    def on_validation_start(self) -> None:
        """Let the backend load what it needs, once; only now is the device known."""
        self._backend.prepare(self.device)

    on_test_start = on_validation_start

    def on_predict_start(self) -> None:
        """The same, and keep no replies in memory."""
        super().on_predict_start()
        self.on_validation_start()

    def on_validation_end(self) -> None:
        """Print what the backend has used."""
        if summary := self._backend.summary():
            self.print(summary)

    on_test_end = on_predict_end = on_validation_end

    def respond(self, batch: Batch) -> list[Reply]:
        """Ask the backend."""
        return self._backend.respond(batch)
