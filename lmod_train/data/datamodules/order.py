"""Order of records: questions about one image together, images divided over ranks, a new shuffle in every epoch."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence

import numpy as np
from torch.utils.data import Sampler

from lmod_train.core.types import Record
from lmod_train.data.datamodules.lengths import Length, steps_of_like_length


def by_image(records: Sequence[Record], max_questions: int, failed: Collection[str] = ()) -> list[list[int]]:
    """Return indices of records in groups with the same images, at most `max_questions` in a group.

    Groups are in the order of their first record; records without an image are groups of one. Records that failed
    before are in groups of their own after all others, so that those that a server always refuses keep none back.

    Args:
        records: Records in any order.
        max_questions: Maximum size of a group, from 1.
        failed: Ids of records whose request has failed before.
    """
    groups: dict[tuple[str, ...], list[int]] = {}
    after: dict[tuple[str, ...], list[int]] = {}
    for position, record in enumerate(records):
        (after if record.id in failed else groups).setdefault(record.image or (record.id,), []).append(position)
    ordered = [*groups.values(), *after.values()]
    return [g[i : i + max_questions] for g in ordered for i in range(0, len(g), max_questions)]


class ImageBatches(Sampler[list[int]]):
    """Batch sampler of record indices; the size of a batch is its number of questions.

    Every rank has the same number of batches, as ranks wait for one another.

    In training, groups are shuffled in each epoch from (seed, epoch), concatenated and divided into batches of exactly
    `batch_size`, which the ranks take in turn; a group is divided only at the end of a batch. So the number of batches
    is the same in every epoch, which Lightning reads once for its schedule. The remainder is a smaller batch on each
    rank, whose sizes differ by at most one; questions that are fewer than ranks are added to the step before. So every
    question occurs once in an epoch, unless there are fewer than ranks in all: then there is no batch. If `draw` is
    given, it selects the questions of an epoch (`lmod_train.data.datamodules.class_balance`); if `lengths` are given,
    all batches of a step have similar lengths and either all or none have images
    (`lmod_train.data.datamodules.lengths`).

    In evaluation, groups are not divided and every record occurs once; a rank with fewer batches ends with empty ones.

    Args:
        groups: Indices of the questions about one image.
        batch_size: Number of questions of a batch, from 1.
        shuffle: Whether it is the order of training.
        seed: Seed of the training order.
        rank: Rank of this process.
        ranks: Number of ranks.
        draw: Function from an epoch to its groups, with the same number of questions in each; None for `groups`.
        lengths: Length of each index, for batches of similar length; None for batches in shuffled order.

    Attributes:
        shuffle: Whether it is the order of training.
        seed: Seed of the training order.
        epoch: Epoch of the next iteration.
        start: Number of its batches to skip.
        ranks: Number of ranks.
        at_once: Number of questions of a step over all ranks.
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
        self._rank, self.ranks, self.at_once = rank, ranks, batch_size * ranks
        self.epoch, self.start = 0, 0
        self._sized: tuple[int, list[tuple[int, int]]] = (-1, [])

    def _share(self, step: list[int]) -> list[int]:
        """Return this rank's part of the questions of a step."""
        begin, end = (len(step) * rank // self.ranks for rank in (self._rank, self._rank + 1))
        return step[begin:end]

    def _steps(self) -> list[list[int]]:
        """Return the indices of each step of the current epoch over all ranks; the last step has another size."""
        random = np.random.default_rng([self.seed, self.epoch])
        groups = self._draw(self.epoch) if self._draw else self._groups
        if self._lengths is not None:
            steps = steps_of_like_length(groups, self._lengths, self.at_once, random)
        else:
            questions = [position for i in random.permutation(len(groups)) for position in groups[i]]
            steps = [questions[start : start + self.at_once] for start in range(0, len(questions), self.at_once)]
        few = steps.pop() if steps and len(steps[-1]) < self.ranks else []
        return [*steps[:-1], steps[-1] + few] if steps else []

    def _evaluation(self, rank: int) -> list[list[int]]:
        """Return the batches of a rank, without the empty ones at its end."""
        batches: list[list[int]] = []
        for group in self._groups[rank :: self.ranks]:
            if not batches or len(batches[-1]) + len(group) > self._batch_size:
                batches.append([])
            batches[-1] += group
        return batches

    def __iter__(self) -> Iterator[list[int]]:
        batches = [self._share(step) for step in self._steps()] if self.shuffle else self._evaluation(self._rank)
        batches += [[]] * (len(self) - len(batches))
        yield from batches[self.start :]

    def sizes(self) -> list[tuple[int, int]]:
        """Return for each step of the current training epoch its number of questions on this rank and on all."""
        if self._sized[0] != self.epoch:
            self._sized = self.epoch, [(len(self._share(step)), len(step)) for step in self._steps()]
        return self._sized[1]

    @property
    def most_questions(self) -> int:
        """Number of evaluation questions of the rank that has most of them."""
        return max(sum(map(len, self._evaluation(rank))) for rank in range(self.ranks))

    def __len__(self) -> int:
        """Return the number of batches of an epoch, equal on all ranks."""
        if not self.shuffle:
            return max(len(self._evaluation(rank)) for rank in range(self.ranks))
        full, rest = divmod(self._questions, self.at_once)
        return full + (rest >= self.ranks)
