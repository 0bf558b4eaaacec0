"""Find options that are the limit of several: "at least grade 2", "grade 2 or worse" state no single one."""

from __future__ import annotations

import re

from lmod_train.core.vocabulary import options
from lmod_train.tasks.parsing.cues import any_of
from lmod_train.tasks.parsing.option_signs import LETTER, OTHERS, TEXT

_SIGN = f"(?:{LETTER}|{TEXT})"
_GAP = r"\s{0,2}(?:(?:an?|the|option|grade|stage)\s)?[\"'(]?"
_LIMIT = re.compile(rf"(?:{any_of(options.LIMITS_EN, options.LIMITS_ZH)}){_GAP}(?P<sign>{_SIGN})", re.IGNORECASE)
_COMPARED = re.compile(rf"(?:{any_of(options.COMPARED_EN, options.COMPARED_ZH)}){_GAP}(?P<sign>{TEXT})", re.IGNORECASE)
_EARLIER = re.compile(rf"{_SIGN}[^.;:!?。\n]{{0,200}}$")
_END = r"(?=[\"')\]]{0,3}\s?(?:$|[.,;:!?()\n。]|than|because|given|based|且|因))"
_OPEN = re.compile(
    rf"(?P<sign>{_SIGN})[\"')\]]{{0,2}}\s?[,(]?\s?(?:{any_of(options.OPEN_EN, options.OPEN_ZH)}){_END}", re.IGNORECASE
)


def open_limits(text: str) -> str:
    """Return the text with `OTHERS` beside each option that stands for several; "worse than X" behind an option goes.

    Args:
        text: A reply in which options are signs (see `lmod_train.tasks.parsing.option_signs.mark`).

    Example:
        >>> from lmod_train.tasks.parsing.option_signs import mark
        >>> grades = ("grade 1", "grade 2", "grade 3")
        >>> [OTHERS in open_limits(mark(text, grades)) for text in ("at least grade 2", "grade 2 or worse", "grade 2")]
        [True, True, False]
        >>> open_limits(mark("Grade 3, worse than grade 2", grades)) == mark("Grade 3, ", grades) + " "
        True
    """
    text = _COMPARED.sub(_compared, text)
    return _OPEN.sub(_opened, _LIMIT.sub(_opened, text))


def _compared(found: re.Match[str]) -> str:
    earlier = _EARLIER.search(found.string[max(0, found.start() - 200) : found.start()])
    return " " if earlier else _opened(found)


def _opened(found: re.Match[str]) -> str:
    return f"{found['sign']} or {OTHERS}"
