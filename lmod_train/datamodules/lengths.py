"""Batches of like length: less padding, and no batch that mixes text alone with images but at an epoch's end."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from lmod_train.types import Record

MEGA = 50
"""Steps that are sorted together, as in `LengthGroupedSampler` of transformers: like lengths, and still a shuffle."""


class Length(NamedTuple):
    """How long a question is.

    Attributes:
        images: How many it shows, each of about as many tokens; questions of text alone are batched together.
        characters: Of prompt and answer, which stand for their tokens and need no tokenizer.
    """

    images: int
    characters: int


def length_of(record: Record) -> Length:
    """Return the length of a question: its images, and the characters of its words and its answer."""
    asked = sum(len(part.text) for message in record.messages for part in message.parts)
    return Length(len(record.image), asked + len(record.answer))


def steps_of_like_length(
    groups: Iterable[Sequence[int]], lengths: Sequence[Length], size: int, random: np.random.Generator
) -> list[list[int]]:
    """Return the steps of an epoch: positions in lists of `size`, the last shorter.

    After `group_by_modality_length` of LLaVA. Groups with images and groups of text alone are shuffled apart, and runs
    of about `MEGA` steps are sorted by length: of a group all its questions together, as they become one sequence. The
    steps are then shuffled. What fills no step of its own kind makes the last one or two, which may mix. A group is
    torn only where a step ends.

    Args:
        groups: Positions of the questions about one image.
        lengths: Of each position.
        size: Questions of a step on all ranks together, from 1.
        random: Shuffles.

    Example:
        >>> short, long = Length(1, 10), Length(1, 99)
        >>> made = steps_of_like_length([[0], [1], [2], [3]], [short, long] * 2, 2, np.random.default_rng(0))
        >>> sorted(sorted(step) for step in made)
        [[0, 2], [1, 3]]
    """
    everything = [list(group) for group in groups if group]
    whole: list[list[int]] = []
    rest: list[int] = []
    for pictured in (True, False):
        kind = [g for g in everything if (lengths[g[0]].images > 0) is pictured]
        steps, left = _sorted_steps([kind[i] for i in random.permutation(len(kind))], lengths, size)
        whole += steps
        rest += left
    whole = [whole[i] for i in random.permutation(len(whole))]
    return [*whole, *(rest[i : i + size] for i in range(0, len(rest), size))]


def _sorted_steps(
    groups: Sequence[list[int]], lengths: Sequence[Length], size: int
) -> tuple[list[list[int]], list[int]]:
    """Return whole steps, and what is left of the last run: less than a step."""
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
