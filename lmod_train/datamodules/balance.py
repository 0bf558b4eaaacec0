"""How many questions of each class and each modality an epoch of training asks, and which ones."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from lmod_train.types import Record, own_part

Balance = Literal["none", "class", "modality", "class_modality"]
"""What is drawn equally often in an epoch of training."""


class Cell(NamedTuple):
    """Questions that are drawn as one: what a field leaves empty is not told apart.

    Attributes:
        modality: CFP, OCT ...
        task: Name of the task.
        word: The answer that is right.
        replayed: Whether they are general conversations, mixed in against forgetting.
    """

    modality: str = ""
    task: str = ""
    word: str = ""
    replayed: bool = False


def class_of(record: Record) -> str:
    """Return the answer word that a question counts under; empty where its task is one class.

    Answers per region (anatomy) name several structures at once, and a conversation answers in its own words: such
    tasks are one class each. A language's words are classes of their own, and so are those of one condition.

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
    """Return the cell of each record: as finely as `balance` needs it."""
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
    """Return how many questions of each cell an epoch asks; together as many as there are, each number above 0.

    Modalities get equally many. Within a modality every task keeps its share, and within a task the classes get equally
    many. So a task with two words is not drowned by one with twenty-six, and a task with one class (anatomy) comes as
    often as it would have; fields that no cell fills balance nothing.

    Args:
        cells: Of every question; none gives none.

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
    """Which questions each epoch asks, grouped by image; of (seed, epoch) alone.

    A cell's number is met to within one question in every epoch, and exactly on average. A question comes again only
    after every other of its cell has come, so that a rare class is repeated evenly; of a frequent class every epoch
    leaves out others.

    Questions about one image share its prefix in training, which is worth several times the speed; a draw of single
    questions would tear them apart. Therefore all cells choose by one lot of the images: the images that come early in
    an epoch's lot are asked everything, and what is left out is left out of the same late images. What is traded:
    repetitions of a rare class come with the image alone, and the questions of an epoch are about fewer images than
    independent draws would reach; over the epochs all images are equally likely.

    Attributes:
        groups: Positions of questions about one image, each position in one group.
        cells: Of each position.
        numbers: Questions of each cell an epoch; a whole number together.
        seed: Of the draw.
    """

    groups: Sequence[Sequence[int]]
    cells: Sequence[Cell]
    numbers: Mapping[Cell, float]
    seed: int = 0

    def __call__(self, epoch: int) -> list[list[int]]:
        """Return the groups of an epoch: those given, without what is left out, and again for what is repeated."""
        random = np.random.default_rng([self.seed, epoch, 1])  # not the stream that shuffles
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
    """Round numbers up or down so that their sum stays and a random offset (0 to 1) gives each on average.

    Systematic sampling: whole numbers are counted off along the cells laid end to end.
    """
    ends = np.cumsum([0.0, *numbers.values()])
    marks = np.floor(np.round(ends, 6) + offset).astype(int)  # rounded, or a sum of thirds ends just below a whole
    return {cell: int(n) for cell, n in zip(numbers, np.diff(marks), strict=True)}


def histogram(records: Sequence[Record], draw: Draw) -> list[str]:
    """Return a line for each modality, task and class: records there are, and questions of the first epoch.

    Args:
        records: Of training, as the draw counts them; none gives no line.
        draw: Which of them an epoch asks.

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
