"""Evaluation loader for modules that read several batches ahead of their replies."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Protocol, runtime_checkable

from lmod_train.core.types import Batch
from lmod_train.data.datamodules.loader import RecordLoader

Stream = Callable[[Iterable[Batch]], Iterator[Batch]]
"""Function from batches to batches of answered records, in the order of the replies."""


@runtime_checkable
class ReadingAhead(Protocol):
    """A module that can read evaluation batches before it has answered the earlier ones."""

    @property
    def stream(self) -> Stream | None:
        """Function that answers a stream of batches; None if the module answers one batch at a time."""


class AnsweredLoader:
    """Iterates over answered records, one at a time.

    Lightning counts the items as batches: `len` is the number of questions of the process that has most of them. A
    process with fewer ends with empty batches, so that all processes have the same number.

    Args:
        loader: Loader of the questions.
        stream: Function that answers them.
        questions: Number of questions of the process that has most of them.
    """

    def __init__(self, loader: RecordLoader, stream: Stream, questions: int) -> None:
        self._loader, self._stream, self._questions = loader, stream, questions

    def __len__(self) -> int:
        return self._questions

    def __iter__(self) -> Iterator[Batch]:
        left = self._questions
        for batch in self._stream(iter(self._loader)):
            left -= len(batch)
            yield batch
        yield from (Batch([]) for _ in range(left))
