"""Return the part of a reply that answers: without thinking, markup and loops."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from lmod_train.tasks.parsing.clean import clean, unmasked
from lmod_train.tasks.parsing.repetition import split_repetition
from lmod_train.tasks.parsing.thinking import strip_thinking

LONGEST = 40_000
"""Characters of a reply outside its thinking that are read. Of a longer one, the first and the last half of them are,
so that its opening and its final answer count and the time for a reply has a limit."""


@dataclass(frozen=True, slots=True)
class Visible:
    """What a reply states.

    Attributes:
        text: Cleaned text without thinking (see `lmod_train.tasks.parsing.clean`).
        sound: The same up to the first loop.
        written: The text up to the first loop with its markup, for decoding its structure.
        closed: Whether every thinking block was closed.
    """

    text: str
    sound: str
    written: str
    closed: bool

    @property
    def looped(self) -> bool:
        """Whether the text fell into a loop."""
        return len(self.sound) < len(self.text)


@lru_cache(maxsize=2)  # the answer and the confidence are read from the same reply
def visible_text(reply: str) -> Visible:
    """Return the cleaned text of a reply without thinking, and its part before the first loop.

    Args:
        reply: The words of a reply as the model sent them.

    Example:
        >>> visible_text("<think>hm</think>**GLAUCOMA**; the " + "cup " * 20)
        Visible(text='GLAUCOMA ; the cup cup cup cup cup cup cup cup cup cup cup cup cup cup cup cup cup cup cup cup', \
sound='GLAUCOMA ; the ', written='**GLAUCOMA**; the ', closed=True)
    """
    visible, closed = strip_thinking(reply)
    written = unmasked(_bounded(visible))
    text = clean(written)
    return Visible(text, split_repetition(text)[0], split_repetition(written)[0], closed)


def _bounded(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[: LONGEST // 2]}\n...\n{text[-LONGEST // 2 :]}"
