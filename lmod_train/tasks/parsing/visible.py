"""Return the part of a reply that answers: without thinking, markup and loops."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from lmod_train.core.vocabulary import compiled
from lmod_train.tasks.parsing.clean import clean, unmasked

REPEATS = 8
LONGEST_UNIT = 8

_WORD = re.compile(r"[^\W\d_]{1,24}|[0-9]{1,24}")
_SPACELESS = re.compile(r"([^\W\d_]{1,12}?)\1{7,}")  # bounded unit and bounded work before a mismatch: linear


def split_repetition(text: str) -> tuple[str, bool]:
    """Return the text before the first loop, and whether there was one.

    A loop is a unit of at most eight words, or twelve letters without a blank, repeated at least eight times in a row;
    punctuation and case are ignored.

    Example:
        >>> split_repetition("Optic " * 39 + "Opt " * 946)
        ('', True)
        >>> split_repetition("Region ID: 1; Type: Choroid. " + "sign, " * 30)
        ('Region ID: 1; Type: Choroid. ', True)
        >>> split_repetition("no signs of glaucoma, no signs of cataract")
        ('no signs of glaucoma, no signs of cataract', False)
    """
    start = _loop_of_letters(text)
    words = list(_WORD.finditer(text))
    folded = [w[0].casefold() for w in words]
    for unit in range(1, LONGEST_UNIT + 1):
        first = loop_of(folded, unit)
        if first is not None:
            start = min(words[first].start(), len(text) if start is None else start)
    return (text, False) if start is None else (text[:start], True)


def loop_of(words: Sequence[str], unit: int, repeats: int = REPEATS) -> int | None:
    """Return the index of the first word of the first loop of `unit` words, None without a loop.

    Example:
        >>> loop_of(["no", "sign", "of", "of", "of"], 1, repeats=3)
        2
    """
    run = 0
    for i in range(unit, len(words)):
        run = run + 1 if words[i] == words[i - unit] else 0
        if run == unit * (repeats - 1):
            return i - run - unit + 1
    return None


def _loop_of_letters(text: str) -> int | None:
    """Return the index of the first letter of the first loop without blanks, None without a loop."""
    found = _SPACELESS.search(text)
    return found.start() if found else None


# R1, Qwen3 and GLM; Kimi; Magistral; MedGemma; gpt-oss channels (zoo A.4). The brackets differ, the word hardly does.
_TAG = compiled("thinking.tag")


def strip_thinking(text: str) -> tuple[str, bool]:
    """Return the text without thinking blocks, and whether every block was closed.

    A closing tag without an opening one means that the prompt's template opened the block: all text before it is
    thinking. So is all text after an opening tag that is never closed: the model was cut off.

    Example:
        >>> strip_thinking("<think>glaucoma? no</think>NORMAL")
        ('NORMAL', True)
        >>> strip_thinking("cup is large</think> GLAUCOMA"), strip_thinking("<think>the cup")
        ((' GLAUCOMA', True), ('', False))
    """
    parts, closed = visible_spans(text)
    return "".join(text[start:end] for start, end in parts), closed


def visible_spans(text: str) -> tuple[list[tuple[int, int]], bool]:
    """Return the (start, end) of each part that `strip_thinking` leaves, and whether every block was closed.

    Example:
        >>> visible_spans("<think>hm</think>NORMAL")
        ([(0, 0), (17, 23)], True)
    """
    visible: list[tuple[int, int]] = []
    at, thinking = 0, False
    for tag in _TAG.finditer(text):
        if tag.lastgroup == "open":
            if not thinking:
                visible.append((at, tag.start()))
            thinking = True
        else:
            if not thinking:
                visible.clear()
            thinking = False
        at = tag.end()
    if not thinking:
        visible.append((at, len(text)))
    return visible, not thinking


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
