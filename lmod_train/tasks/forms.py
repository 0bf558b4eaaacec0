"""Other forms of a question's words, which probes ask."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

from lmod_train.core.errors import BadArgument
from lmod_train.core.option_letters import LETTERS, options_in
from lmod_train.core.types import Message

Form = Literal["options", "stem", "other_language"]
"""Options alone; all words but the options; or a question that asks for a reply in the other language."""

_MARK = re.compile(r"[(\[（【]?\s?[AＡ]\s?[)\]）】]?\s?[:：.．、)）\]】]\s*$")


def only_options(messages: Sequence[Message]) -> tuple[Message, ...]:
    """Return the last turn from its last list of lettered options on.

    Raises:
        BadArgument: It lists none.
    """
    first = next(iter(options_in(messages).items()), None)
    part = messages[-1].parts[-1]
    if first is None:
        expected = "none, another or foreign, as the task lists no lettered options"
        raise BadArgument("kinds", "options", expected, "leave it out")
    start = part.text.rindex(f"{first[0]}. {first[1]}")
    return (replace(messages[-1], parts=(replace(part, text=part.text[start:]),)),)


def divided(words: str, options: Sequence[str]) -> tuple[str, str]:
    """Return a question without its options, and the list of these at its end, of which letters and marks are free.

    The list is empty if the words do not end with these options in this order.

    Example:
        >>> divided("哪个？ A：视盘 B：黄斑", ["视盘", "黄斑"]), divided("Which?", ["disc", "macula"])
        (('哪个？', 'A：视盘 B：黄斑'), ('Which?', ''))
    """
    at = len(words)
    for option in reversed(options):
        at = words.rfind(option, 0, at)
        if at < 0:
            return words, ""
    mark = _MARK.search(words[:at])
    return (words[: mark.start()].rstrip(), words[mark.start() :].strip()) if mark else (words, "")


def text_of(letter: str, options: Sequence[str]) -> str:
    """Return the text of the option with a letter; the letter itself if there is none.

    Example:
        >>> text_of("B", ["disc", "macula"])
        'macula'
    """
    place = LETTERS.find(letter)
    return options[place] if len(letter) == 1 and 0 <= place < len(options) else letter
