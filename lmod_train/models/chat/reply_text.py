"""Text of generated tokens: up to an end token or a stop word."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Sequence
from typing import Any, Literal

Ending = Literal["stop", "length"]

_OPENED = re.compile(r"(<think(?:ing)?>|\[think\]|◁think▷)\s*$", re.IGNORECASE)


class StopWords:
    """Texts at which a reply ends; they do not belong to it.

    Args:
        tokenizer: Tokenizer of the model.
        words: The texts; empty for none.
    """

    def __init__(self, tokenizer: Any, words: Sequence[str]) -> None:
        self._tokenizer, self.words = tokenizer, tuple(words)
        self._tail = 4 * max(map(len, words), default=0) + 4  # a character can be several tokens, of a byte each

    def __call__(self, tokens: Sequence[int]) -> bool:
        """Return whether the last token of a reply completes one of the texts."""
        return bool(self.words) and self.within(tokens[-self._tail :])

    def within(self, tokens: Sequence[int]) -> bool:
        """Return whether the text of tokens holds one of the texts."""
        return bool(self.words) and any(word in self._tokenizer.decode(tokens) for word in self.words)

    def before(self, text: str) -> str:
        """Return what stands before the first of the texts; all of it without one."""
        places = [place for word in self.words if (place := text.find(word)) >= 0]
        return text[: min(places, default=len(text))]


def opened_block(prompt: str) -> str:
    r"""Return the tag of a thinking block that a prompt opens at its end; empty if it opens none.

    The model's text then begins inside the block. With the tag before it, thinking that was cut off is known as such.

    Example:
        >>> opened_block("<|im_start|>assistant\n<think>\n"), opened_block("<think></think>")
        ('<think>', '')
    """
    found = _OPENED.search(prompt)
    return found[1] if found else ""


def reply_text(tokens: Sequence[int], ends: set[int], tokenizer: Any, stop: StopWords) -> tuple[str, Ending, int]:
    """Return the text of a reply, how it ended, and its number of tokens, with the end token or stop word.

    Args:
        tokens: Generated tokens, none behind an end token.
        ends: Ids of the tokens that end a reply.
        tokenizer: Tokenizer of the model.
        stop: Texts at which a reply ends.
    """
    count, stopped = len(tokens), stop.within(tokens)
    if stopped:
        count = bisect_left(range(count), True, key=lambda n: stop.within(tokens[:n]))
    text = stop.before(tokenizer.decode(tokens[:count], skip_special_tokens=True)).strip()
    ended = stopped or (count > 0 and tokens[-1] in ends)
    return text, "stop" if ended else "length", count
