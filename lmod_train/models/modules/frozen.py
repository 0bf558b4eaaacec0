"""A backend as a LightningModule: zero-shot models use the same loop, callback and files as tuned ones."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path

from lmod_train.core.artifacts.run import Run
from lmod_train.core.types import Batch, Constrain, Identity, Record, Reply, StreamResponder
from lmod_train.models.backends.base import Backend
from lmod_train.models.modules.base import LmodModule


class Frozen(LmodModule):
    """Answers records with a backend; it has no trained parameters.

    A backend that takes a stream of batches (`StreamResponder`) can read ahead: the datamodule calls `stream` on its
    evaluation loader, and every item that Lightning then fetches is a record with its reply.

    Args:
        backend: Backend that generates the replies.
        constrain: ``choices`` lets the reply to every question with listed choices be one of them, in the requested
            format; other questions are asked freely. Such replies are scores of another kind: they are stored, named
            and compared apart from free ones. Null for free replies.

    Raises:
        BadArgument: The backend cannot constrain its replies.

    Attributes:
        backend: The backend.
    """

    def __init__(self, backend: Backend, constrain: Constrain | None = None) -> None:
        super().__init__()
        self.backend, self._constrain = backend, constrain
        if constrain:
            backend.constrain()
        self.collate = backend.collate

    def identity(self) -> Identity:
        """Return the backend's identity, with what its replies are constrained to."""
        return self.backend.identity().constrained(self._constrain)

    def on_validation_start(self) -> None:
        """Let the backend load its network once, now that the device is known, and know where replies are stored."""
        self.backend.prepare(self.device)
        if self._trainer is None:
            return
        run, shard = Run(Path(self.trainer.default_root_dir)), getattr(self.trainer.datamodule, "shard", "")  # type: ignore[attr-defined]
        self.backend.stored_in(run.folder, run.replies_of(self.trainer.global_rank, shard).name)

    on_test_start = on_validation_start

    def on_predict_start(self) -> None:
        """Let the backend load its network; keep no replies in memory."""
        super().on_predict_start()
        self.on_validation_start()

    def on_validation_end(self) -> None:
        """Print the backend's summary of its use."""
        if summary := self.backend.summary():
            self.print(summary)

    on_test_end = on_predict_end = on_validation_end

    @property
    def stream(self) -> Callable[[Iterable[Batch]], Iterator[Batch]] | None:
        """Function that answers a stream of batches; None for a backend that takes one batch at a time."""
        return partial(answered, self.backend) if isinstance(self.backend, StreamResponder) else None

    def respond(self, batch: Batch) -> list[Reply]:
        """Return the backend's replies, or those that a stream has already delivered."""
        if isinstance(batch, Answered):
            return batch.replies
        return self.backend.respond(batch) if len(batch) else []


class Answered(Batch):
    """A record with its reply.

    Attributes:
        records: The one record.
        replies: Its reply.
    """

    def __init__(self, record: Record, reply: Reply) -> None:
        super().__init__([record])
        self.replies = [reply]


def answered(backend: StreamResponder, batches: Iterable[Batch]) -> Iterator[Answered]:
    """Yield every record of a stream with its reply, in the order of the replies.

    Args:
        backend: Backend that reads as many batches ahead as it has requests in flight.
        batches: Batches to answer; empty ones are skipped.

    Raises:
        RuntimeError: The backend replies to a record that it has not read or has already replied to, or stops before
            it has replied to all.
    """
    waiting: dict[str, Record] = {}

    def read() -> Iterator[Batch]:
        for batch in batches:
            waiting.update((record.id, record) for record in batch.records)
            if len(batch):
                yield batch

    left = read()
    for reply in backend.respond_stream(left):
        if reply.id not in waiting:
            raise RuntimeError(f"{type(backend).__name__}: a reply to {reply.id}, which has no reply pending")
        yield Answered(waiting.pop(reply.id), reply)
    if waiting or next(left, None) is not None:
        first = next(iter(waiting))
        raise RuntimeError(f"{type(backend).__name__}: the stream ended without a reply to {first}")
