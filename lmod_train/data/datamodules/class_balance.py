"""Class and modality balance of training: the number and choice of questions in each epoch."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from lmod_train.core.types import Record, own_part

Balance = Literal["none", "class", "modality", "class_modality"]
"""Groups that are drawn equally often in an epoch of training."""


class Cell(NamedTuple):
    """A group of questions with a common sampling rate; an empty field does not divide questions.

    Attributes:
        modality: CFP, OCT ...
        task: Name of the task.
        word: The correct answer.
        replayed: Whether they are general conversations, which are added against forgetting.
    """

    modality: str = ""
    task: str = ""
    word: str = ""
    replayed: bool = False


def class_of(record: Record) -> str:
    """Return the answer word that is the class of a question; empty if its task is one class.

    Tasks with answers per region (anatomy) or in free text (conversations) are one class each. The words of each
    language and of each condition are separate classes.

    Example:
        >>> from dataclasses import replace
        >>> record = Record(id="sex/a/1", task="sex", task_class="", task_version=1, source="a", key="1",
        ...     modality="CFP", image=(), image_plain=(), image_sha256=(), split="train", group="", language="en",
        ...     messages=(), choices=("MALE", "FEMALE"), answer="Sex/Age group: MALE / 60–69")
        >>> class_of(record), class_of(replace(record, choices=()))
        ('Sex/Age group: MALE', '')
    """
    return own_part(record.answer, record.choices) if record.choices and not record.regions else ""


def cells_of(records: Sequence[Record], balance: Balance) -> list[Cell]:
    """Return the cell of each record, with the fields that `balance` needs."""
    by_class, by_modality = balance in ("class", "class_modality"), balance in ("modality", "class_modality")
    return [
        Cell(
            modality=r.modality if by_modality else "",
            task=r.task if by_class else "",
            word=class_of(r) if by_class else "",
        )
        for r in records
    ]


def shares(cells: Sequence[Cell]) -> dict[Cell, float]:
    """Return the number of questions of each cell in an epoch; all above 0, their sum is the number of questions.

    All modalities get equal numbers. Within a modality every task keeps its share, and within a task all classes get
    equal numbers. So the number of a task's classes does not affect its share, and a task with one class (anatomy)
    keeps its number. Fields that are empty in all cells have no effect.

    Args:
        cells: Cell of every question; may be empty.

    Example:
        >>> lp, oct = Cell("LP", "four_way", "NORMAL"), Cell("OCT", "four_way", "NORMAL")
        >>> shares([lp, oct, oct, oct]) == {lp: 2.0, oct: 2.0}
        True
        >>> yes, no, boxes = Cell("", "glaucoma", "YES"), Cell("", "glaucoma", "NO"), Cell("", "anatomy", "")
        >>> shares([yes, no, no, no, boxes, boxes]) == {yes: 2.0, no: 2.0, boxes: 2.0}
        True
    """
    modalities = Counter(c.modality for c in cells)
    tasks = Counter((c.modality, c.task) for c in cells)
    words = Counter((c.modality, c.task) for c in set(cells))
    return {
        c: len(cells) / len(modalities) * tasks[c.modality, c.task] / modalities[c.modality] / words[c.modality, c.task]
        for c in dict.fromkeys(cells)
    }


@dataclass(frozen=True)
class Draw:
    """The questions of each epoch, grouped by image, as a function of seed and epoch.

    The number of a cell is met to within one question in every epoch, and exactly on average. A question is repeated
    only after every other of its cell has been drawn, so that a rare class is repeated evenly; of a frequent class each
    epoch leaves out other questions.

    Questions about one image share its prefix in training, which makes it several times faster; independent draws of
    questions would separate them. Therefore all cells draw by one random order of the images per epoch: images early in
    the order keep all their questions, and questions are left out of the same late images. The cost: an epoch covers
    fewer images than independent draws would, and a repeated question of a rare class does not share its image with
    others. Over all epochs every image is equally likely.

    Attributes:
        groups: Indices of the questions about one image, each index in one group.
        cells: Cell of each index.
        numbers: Number of questions of each cell in an epoch; their sum is an integer.
        seed: Seed of the draw.
    """

    groups: Sequence[Sequence[int]]
    cells: Sequence[Cell]
    numbers: Mapping[Cell, float]
    seed: int = 0

    def __call__(self, epoch: int) -> list[list[int]]:
        """Return the groups of an epoch, without questions left out; repeated questions are in further groups."""
        random = np.random.default_rng([self.seed, epoch, 1])  # another stream than that of the shuffle
        counts = _whole(self.numbers, random.random())
        members: dict[Cell, list[int]] = {cell: [] for cell in counts}
        for i in random.permutation(len(self.groups)):
            for position in self.groups[i]:
                members[self.cells[position]].append(position)
        times: dict[int, int] = {}
        for cell, positions in members.items():
            rounds, rest = divmod(counts[cell], max(1, len(positions)))
            times |= {p: rounds + (place < rest) for place, p in enumerate(positions)}
        again = [(group, time) for group in self.groups for time in range(max((times[p] for p in group), default=0))]
        return [[p for p in group if times[p] > time] for group, time in again]


def _whole(numbers: Mapping[Cell, float], offset: float) -> dict[Cell, int]:
    """Return numbers rounded up or down with the same sum; exact on average over `offset` in [0, 1).

    This is systematic sampling: the cumulative sums plus the offset are rounded down.
    """
    ends = np.cumsum([0.0, *numbers.values()])
    marks = np.floor(np.round(ends, 6) + offset).astype(int)  # a sum of thirds may be just below an integer
    return {cell: int(n) for cell, n in zip(numbers, np.diff(marks), strict=True)}


def histogram(records: Sequence[Record], draw: Draw) -> list[str]:
    """Return a line for each modality, task and class: number of records, and of questions in the first epoch.

    Args:
        records: Training records, in the order of the draw; may be empty.
        draw: Draw of their questions.

    Example:
        >>> histogram([], Draw([], [], {}))
        []
    """
    fine = [
        cell if cell.replayed else Cell(r.modality, r.task, class_of(r))
        for r, cell in zip(records, draw.cells, strict=True)
    ]
    before = Counter(fine)
    after = Counter(fine[p] for group in draw(0) for p in group)
    return [f"{_name(cell)}: {before[cell]} -> {after[cell]}" for cell in sorted(before, key=lambda c: (c[3], c))]


def _name(cell: Cell) -> str:
    return "general conversations" if cell.replayed else " ".join(filter(None, cell[:3]))
