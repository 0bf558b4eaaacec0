"""Training batches of similar length, with less padding; questions with and without images are not mixed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from lmod_train.core.types import Record

MEGA = 50
"""Number of steps that are sorted by length together, as in `LengthGroupedSampler` of transformers."""


class Length(NamedTuple):
    """Length of a question.

    Attributes:
        images: Number of images, each with about the same number of tokens; 0 for text only.
        characters: Number of characters of prompt and answer, an estimate of their tokens without a tokenizer.
    """

    images: int
    characters: int


def length_of(record: Record) -> Length:
    """Return the length of a question: its number of images, and of characters of prompt and answer."""
    asked = sum(len(part.text) for message in record.messages for part in message.parts)
    return Length(len(record.image), asked + len(record.taught))


def steps_of_like_length(
    groups: Iterable[Sequence[int]], lengths: Sequence[Length], size: int, random: np.random.Generator
) -> list[list[int]]:
    """Return the steps of an epoch: lists of `size` indices, the last one shorter.

    As `group_by_modality_length` of LLaVA. Groups with images and groups of text only are shuffled separately, and runs
    of about `MEGA` steps are sorted by the total length of a group, as its questions become one sequence. The steps are
    then shuffled. Questions that do not fill a step of their kind form the last one or two steps, which may mix both
    kinds. A group is divided only at the end of a step.

    Args:
        groups: Indices of the questions about one image.
        lengths: Length of each index.
        size: Number of questions of a step over all ranks, from 1.
        random: Random generator of the shuffles.

    Example:
        >>> short, long = Length(1, 10), Length(1, 99)
        >>> made = steps_of_like_length([[0], [1], [2], [3]], [short, long] * 2, 2, np.random.default_rng(0))
        >>> sorted(sorted(step) for step in made)
        [[0, 2], [1, 3]]
    """
    everything = [list(group) for group in groups if group]
    full: list[list[int]] = []
    rest: list[int] = []
    for pictured in (True, False):
        kind = [g for g in everything if (lengths[g[0]].images > 0) is pictured]
        steps, left = _sorted_steps([kind[i] for i in random.permutation(len(kind))], lengths, size)
        full += steps
        rest += left
    full = [full[i] for i in random.permutation(len(full))]
    return [*full, *(rest[i : i + size] for i in range(0, len(rest), size))]


def _sorted_steps(
    groups: Sequence[list[int]], lengths: Sequence[Length], size: int
) -> tuple[list[list[int]], list[int]]:
    """Return full steps, and the remaining indices of the last run, fewer than a step."""
    steps: list[list[int]] = []
    run: list[list[int]] = []
    waiting = 0
    for place, group in enumerate(groups, 1):
        run.append(group)
        waiting += len(group)
        if waiting < MEGA * size and place < len(groups):
            continue
        run.sort(key=lambda g: (lengths[g[0]].images, sum(lengths[p].characters for p in g)))
        flat = [p for g in run for p in g]
        end = len(flat) - len(flat) % size
        steps += [flat[i : i + size] for i in range(0, end, size)]
        run = [flat[end:]] if end < len(flat) else []  # goes into the next run
        waiting = len(flat) - end
    return steps, [p for g in run for p in g]
