"""In which order records are asked: questions about one image together, every rank its own images, every epoch its own
shuffle.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from torch.utils.data import Sampler

from lmod_train.types import Record


def by_image(records: Sequence[Record], max_questions: int) -> list[list[int]]:
    """Group record positions by the images they ask about, at most `max_questions` in a group.

    Order of first appearance; records without an image stand alone.

    Args:
        records: In any order.
        max_questions: From 1.
    """
    groups: dict[tuple[str, ...], list[int]] = {}
    for position, record in enumerate(records):
        groups.setdefault(record.image or (record.id,), []).append(position)
    return [g[i : i + max_questions] for g in groups.values() for i in range(0, len(g), max_questions)]


class ImageBatches(Sampler[list[int]]):
    """Batches of record positions; a batch counts questions and never tears a group apart.

    Sharding is by group over ranks. Training batches are shuffled anew each epoch from (seed, epoch), and every rank
    gets the same number, the last groups of an epoch being left out for that epoch; evaluation keeps every record once.

    Attributes:
        epoch: Which epoch the next iteration is.
        start: How many batches of it are already done.
    """

    def __init__(
        self,
        groups: Sequence[Sequence[int]],
        batch_size: int,
        *,
        shuffle: bool = False,
        seed: int = 0,
        rank: int = 0,
        ranks: int = 1,
    ) -> None:
        self._groups = groups
        self._batch_size, self._shuffle, self._seed = batch_size, shuffle, seed
        self._rank, self._ranks = rank, ranks
        self.epoch, self.start = 0, 0

    def _batches(self, rank: int) -> list[list[int]]:
        order = np.arange(len(self._groups))
        if self._shuffle:
            order = np.random.default_rng([self._seed, self.epoch]).permutation(order)
        batches: list[list[int]] = []
        for group in (self._groups[i] for i in order[rank :: self._ranks]):
            if not batches or len(batches[-1]) + len(group) > self._batch_size:
                batches.append([])
            batches[-1] += group
        return batches

    def _count(self) -> int:
        """Batches of this rank; in training the fewest of any rank, or ranks would wait for one another for ever."""
        if not self._shuffle or self._ranks == 1:
            return len(self._batches(self._rank))
        return min(len(self._batches(rank)) for rank in range(self._ranks))

    def __iter__(self) -> Iterator[list[int]]:
        yield from self._batches(self._rank)[self.start : self._count()]

    def __len__(self) -> int:
        """Batches of a whole epoch."""
        return self._count()
