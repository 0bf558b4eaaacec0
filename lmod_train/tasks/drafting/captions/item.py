"""A written question with its place, and one that a step leaves out."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from lmod_train.tasks.captioned.pair import BilingualQuestion


@dataclass(frozen=True, slots=True)
class Item:
    """A question in both languages that was written from a caption.

    Attributes:
        caption: Key of the caption.
        image: Path of its image.
        number: Place of the question among those of its kind and caption, from 1.
        pair: The question.
        altered: Whether a model has made the statement false.
    """

    caption: str
    image: str
    number: int
    pair: BilingualQuestion
    altered: bool = False

    @property
    def kind(self) -> str:
        """Name of the question's task."""
        return self.pair.kind

    @property
    def id(self) -> str:
        """Name of the question: caption, kind and number."""
        return f"{self.caption}/{self.kind}/{self.number}"

    @property
    def texts(self) -> tuple[str, ...]:
        """All texts of both languages."""
        return (*self.pair.en.texts, *self.pair.zh.texts)


@dataclass(frozen=True, slots=True)
class Left:
    """A question that is left out.

    Attributes:
        id: Its name, or that of the caption and kind where no question could be read.
        step: ``read``, ``check``, ``filter``, ``duplicate`` or ``balance``.
        reason: In one word, which is counted.
        detail: What was found; may quote the model, and is untrusted.
    """

    id: str
    step: str
    reason: str
    detail: str = ""


def without(items: Sequence[Item], left: Iterable[Left]) -> list[Item]:
    """Return the items that are not left out."""
    out = {one.id for one in left}
    return [item for item in items if item.id not in out]
