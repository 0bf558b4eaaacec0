"""Parse the option of a single-choice question: its letter, or its text."""

from __future__ import annotations

import re
from collections.abc import Sequence

from lmod_train.lettering import LETTERS
from lmod_train.parsing.normalise import normalise
from lmod_train.types import Unparsed

_LINE = re.compile(
    r"(?:^|\n)\W{0,6}(?:(?:(?:final|correct|best|my)\s)?(?:answer|option|choice)(?:\sis)?|最终答案|答案|选项?)"
    r"\W{0,6}(?P<letter>[A-Z])(?![a-z0-9])",
    re.IGNORECASE,
)
_ALONE = re.compile(r"\W{0,6}(?P<letter>[A-Za-z])\W{0,6}")
_OPENING = re.compile(r"\W{0,6}(?P<letter>[A-Z])\s?[.):;,\n]")


def parse_option(text: str, choices: Sequence[str]) -> str | Unparsed:
    """Return the one option that the text states by its letter or its text.

    Args:
        text: A reply without thinking and markup (see `lmod_train.parsing.reading.read`).
        choices: The options' texts in the order of their letters A, B, ...

    Returns:
        The option's text; or `Unparsed` with ``empty``, ``no_match``, ``ambiguous`` (two options) or ``out_of_range``
        (a letter that no option has).

    Example:
        >>> options = ("optic disc", "macula")
        >>> parse_option("Answer: B; Confidence: 80%", options), parse_option("Optic disc.", options)
        ('macula', 'optic disc')
        >>> [parse_option(text, options).reason for text in ("A or B", "C", "")]
        ['no_match', 'out_of_range', 'empty']
    """
    if not text.strip():
        return Unparsed("empty")
    alone = _ALONE.fullmatch(text)
    found = [alone] if alone else list(_LINE.finditer(text)) or [m for m in [_OPENING.match(text)] if m]
    letters = list(dict.fromkeys(m["letter"].upper() for m in found))
    if len(letters) > 1:
        return Unparsed("ambiguous", "states " + " and ".join(letters[:4]))
    if letters:
        at = LETTERS.index(letters[0])
        return choices[at] if at < len(choices) else Unparsed("out_of_range", letters[0])
    plain = normalise(text).casefold()
    named = [choice for choice in choices if plain.strip(" .") == normalise(choice).casefold()]
    return named[0] if len(named) == 1 else Unparsed("no_match", text.strip()[:80])
