"""A question of one stage before it has words for a model, and what stages have in common when they ask.

Options are listed without a look at the truth: a stage either lists all of its classes, or draws by the sample's key
what it asks about. So a list of options says nothing of which of them is right beyond how frequent each is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeVar

from lmod_train.core.option_letters import both_or_neither
from lmod_train.core.shuffling import shuffle_key
from lmod_train.core.types import Box, Sample

T = TypeVar("T")

Level = Literal["R", "A", "S"]
"""Expertise that a question needs (ours): resident, attending, specialist."""


@dataclass(frozen=True, slots=True)
class Posed:
    """A question of a stage.

    Attributes:
        question: In words.
        options: Texts of the options; one of them is right.
        truth: The right one.
        origin: Annotation that the truth is from, for the account of curation.
        level: Expertise that it needs.
    """

    question: str
    options: tuple[str, ...]
    truth: str
    origin: str
    level: Level


@dataclass(frozen=True, slots=True)
class Missing:
    """The reason why a stage has no truth for a sample; never guessed from another stage."""

    reason: str


def drawn(items: Sequence[T], sample: Sample, *pieces: str) -> list[T]:
    """Return the items in an order that depends on the sample's key and `pieces` alone."""

    def place(index: int) -> str:
        return shuffle_key("chain", sample.source, sample.key, *pieces, index)

    return [items[i] for i in sorted(range(len(items)), key=place)]


def pair(question: str, named: Sequence[tuple[str, bool]], origin: str) -> Posed:
    """Return the question which of two findings an image shows; two at a time need a specialist, else an attending.

    Args:
        question: In words.
        named: Name of each of the two, and whether it is there.
        origin: Annotation that states it.
    """
    (one, has_one), (other, has_other) = named
    options = both_or_neither(one, other)
    return Posed(question, options, options[has_one + 2 * has_other], origin, "S" if has_one and has_other else "A")


def structures_in(sample: Sample) -> set[str]:
    """Return the structures of masks and outlines, also those whose box was too small to be kept."""
    return {region.structure for region in sample.regions} | set(sample.too_small)


def box_of(sample: Sample, structure: str) -> Box | None:
    """Return the box of a structure; None if there is none, or more than one."""
    boxes = [region.box for region in sample.regions if region.structure == structure]
    return boxes[0] if len(boxes) == 1 else None


def centre(box: Box) -> tuple[float, float]:
    """Return the centre of a box in pixels.

    Example:
        >>> centre(Box(0, 0, 4, 10))
        (2.0, 5.0)
    """
    return (box.x0 + box.x1) / 2, (box.y0 + box.y1) / 2
