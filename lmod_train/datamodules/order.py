"""In which order records are asked: questions about one image together, every rank its own images, every epoch its own
shuffle.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np
from torch.utils.data import Sampler

from lmod_train.datamodules.lengths import Length, steps_of_like_length
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
    """Batches of record positions; a batch counts questions.

    Every rank takes the same number of batches, or ranks would wait for one another for ever.

    In training, groups are shuffled anew each epoch from (seed, epoch), laid end to end and cut into batches of exactly
    `batch_size`, dealt to the ranks in turn; a group is torn only where a batch ends. So the number of batches is the
    same in every epoch, which Lightning counts once and plans its schedule by. The rest is a smaller batch on each
    rank, less than one question a rank being left out for that epoch. Where `draw` is given, it chooses what an epoch
    asks (`lmod_train.datamodules.balance`); where `lengths` are given, a step's batches, on all ranks, are of like
    length and of one kind (`lmod_train.datamodules.lengths`).

    In evaluation, groups are dealt to the ranks whole and every record comes once; a rank that has fewer batches than
    another ends with empty ones.

    Args:
        groups: Positions of the questions about one image.
        batch_size: Questions of a batch, from 1.
        shuffle: Whether it is the order of training.
        seed: Of the training order.
        rank: Whose batches these are.
        ranks: How many share an epoch.
        draw: From the number of an epoch to its groups, as many questions in every epoch; None for all of `groups`.
        lengths: Of each position, to batch like with like; None for batches as they come.

    Attributes:
        shuffle: Whether it is the order of training.
        seed: Of the training order.
        epoch: Which epoch the next iteration is.
        start: How many batches of it are already done.
        at_once: Questions of a step, over all ranks: what an epoch is cut into.
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
        draw: Callable[[int], Sequence[Sequence[int]]] | None = None,
        lengths: Sequence[Length] | None = None,
    ) -> None:
        self._groups, self._draw, self._lengths = groups, draw, lengths
        self._questions = sum(map(len, draw(0) if draw else groups))
        self._batch_size, self.shuffle, self.seed = batch_size, shuffle, seed
        self._rank, self._ranks, self.at_once = rank, ranks, batch_size * ranks
        self.epoch, self.start = 0, 0
        self._sized: tuple[int, list[int]] = (-1, [])

    def _training(self) -> list[list[int]]:
        """Return this rank's batches of the present epoch."""
        batches = []
        for step in self._steps():
            size = min(self._batch_size, len(step) // self._ranks)
            batches.append(step[self._rank * size : (self._rank + 1) * size])
        return [batch for batch in batches if batch]

    def _steps(self) -> list[list[int]]:
        """Return the present epoch: what all ranks together take at each step, the last being smaller."""
        random = np.random.default_rng([self.seed, self.epoch])
        groups = self._draw(self.epoch) if self._draw else self._groups
        if self._lengths is not None:
            return steps_of_like_length(groups, self._lengths, self.at_once, random)
        questions = [position for i in random.permutation(len(groups)) for position in groups[i]]
        return [questions[start : start + self.at_once] for start in range(0, len(questions), self.at_once)]

    def _evaluation(self, rank: int) -> list[list[int]]:
        """Return the batches of a rank, without the empty ones at its end."""
        batches: list[list[int]] = []
        for group in self._groups[rank :: self._ranks]:
            if not batches or len(batches[-1]) + len(group) > self._batch_size:
                batches.append([])
            batches[-1] += group
        return batches

    def __iter__(self) -> Iterator[list[int]]:
        batches = self._training() if self.shuffle else self._evaluation(self._rank)
        batches += [[]] * (len(self) - len(batches))
        yield from batches[self.start :]

    def sizes(self) -> list[int]:
        """Return how many questions each batch of the present training epoch holds, the same on every rank."""
        if self._sized[0] != self.epoch:
            self._sized = self.epoch, [len(batch) for batch in self._training()]
        return self._sized[1]

    @property
    def most_questions(self) -> int:
        """Questions that evaluation asks on the rank that asks most."""
        return max(sum(map(len, self._evaluation(rank))) for rank in range(self._ranks))

    def __len__(self) -> int:
        """Batches of a whole epoch, the same on every rank."""
        if not self.shuffle:
            return max(len(self._evaluation(rank)) for rank in range(self._ranks))
        whole, rest = divmod(self._questions, self.at_once)
        return whole + (rest >= self._ranks)
