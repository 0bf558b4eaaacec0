"""Evaluation loader for questions whose words hold the model's own answers to earlier ones."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from itertools import islice
from pathlib import Path

from lmod_train.core.curated import Curated
from lmod_train.core.types import Batch, Collate, Record
from lmod_train.data.datamodules.ahead import Stream
from lmod_train.tasks.cascade import chains, rounds

Due = Callable[[Sequence[Record]], list[Record]]
"""Function from the questions of a round to those to ask now, with the words that are sent."""


class CascadeLoader:
    """Iterates over chains of questions in rounds: a round is collated when the replies to earlier ones are there.

    Several chains go through all their rounds together, so that a batch holds the same stage of several images, and
    the image features of a batch can serve its next rounds. A chain is on one rank. Every rank has the same number of
    batches; batches of a rank that has fewer, and those of questions that have a reply already, are empty.

    A module that reads ahead is given all chains of a round as one stream; its items are records with replies.

    Args:
        records: All questions of this process, answered ones included, with needs.
        due: Function that returns the questions to ask now, of some.
        collate: The dialect.
        root: The curated folder.
        batch_size: Maximum number of questions of a batch, from 1; a round of one chain is not divided.
        rank: Rank of this process.
        ranks: Number of ranks.
        stream: Function that answers batches, for a module that reads ahead.
        failed: Ids of records whose request has failed before; their chains are asked last.
    """

    def __init__(
        self,
        records: Sequence[Record],
        due: Due,
        collate: Collate,
        root: Path | Curated,
        batch_size: int,
        rank: int = 0,
        ranks: int = 1,
        stream: Stream | None = None,
        failed: Collection[str] = (),
    ) -> None:
        known = sorted(
            chains({r.id: r for r in records}),
            key=lambda chain: (any(r.id in failed for r in chain), chain[0].image, chain[0].id),
        )
        parts = [_in_rounds(known[n::ranks], batch_size, whole=stream is not None) for n in range(ranks)]
        self._rounds, self._due, self._collate, self._root = parts[rank], due, collate, root
        self._batch_size, self._stream = batch_size, stream
        questions = max((sum(len(asked) for _, asked in part) for part in parts), default=0)
        self._length = questions if stream else max(map(len, parts), default=0)

    def __len__(self) -> int:
        """Return the number of batches, or of questions of a module that reads ahead, of the rank with most."""
        return self._length

    def __iter__(self) -> Iterator[Batch]:
        left = self._length
        for batch in self._batches():
            left -= 1
            yield batch
        yield from (Batch([]) for _ in range(left))

    def _batches(self) -> Iterator[Batch]:
        for left, asked in self._rounds:
            due = self._due(asked)
            if self._stream:
                yield from self._stream(self._collated(due))
            else:
                batch = self._collate(due, self._root) if due else Batch([])
                batch.rounds_left = left
                yield batch

    def _collated(self, due: Sequence[Record]) -> Iterator[Batch]:
        coming = iter(due)
        while some := list(islice(coming, self._batch_size)):
            yield self._collate(some, self._root)


def _in_rounds(known: Sequence[list[Record]], batch_size: int, *, whole: bool) -> list[tuple[int, list[Record]]]:
    """Return the questions of each batch, and how many rounds of the same chains are left.

    Several chains go one round after the other, then the next chains.

    Args:
        known: The chains.
        batch_size: Maximum number of questions in a round, unless one chain has more.
        whole: Whether all chains go through their rounds together, in batches of any size.
    """
    chunks: list[list[list[Record]]] = []
    for chain in known:
        own = rounds(chain)
        if not chunks or not (whole or _fits(chunks[-1], own, batch_size)):
            chunks.append([])
        for place, asked in enumerate(own):
            chunks[-1][place : place + 1] = [[*(chunks[-1][place] if place < len(chunks[-1]) else []), *asked]]
    return [(len(chunk) - place, asked) for chunk in chunks for place, asked in enumerate(chunk, 1)]


def _fits(chunk: Sequence[Sequence[Record]], own: Sequence[Sequence[Record]], batch_size: int) -> bool:
    return all(len(a) + len(b) <= batch_size for a, b in zip(chunk, own, strict=False))
