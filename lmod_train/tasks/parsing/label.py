"""Parse one label of a list, as a judge of replies is asked to return it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from lmod_train.core.types import Unparsed
from lmod_train.core.vocabulary import phrases
from lmod_train.tasks.parsing.clean import clean
from lmod_train.tasks.parsing.groups import Slot
from lmod_train.tasks.parsing.normalise import normalise
from lmod_train.tasks.parsing.reading import Claim, answer_in

_LEAD = phrases("label.lead")
_MARKS = r"[\s\"'()\[\]{}.,;:!。、-]{0,9}"


def parse_label(text: str, choices: Sequence[str]) -> str | Unparsed:
    """Return the one label that the text states, in the spelling of `choices`.

    A label is stated by a first or last line that contains nothing else ("Verdict: TRUE"), or by a first line that
    begins with it and a sign ("FALSE: the side differs"). No other label may occur anywhere in the text, so that a
    quotation of the judged answer is never taken for the verdict.

    Args:
        text: A reply without thinking and markup (see `lmod_train.tasks.parsing.reading.read`).
        choices: The labels.

    Returns:
        The label; or `Unparsed` with ``empty``, ``ambiguous`` (several labels occur) or ``no_match``.

    Example:
        >>> parse_label("Verdict: true.", ("TRUE", "FALSE")), parse_label("FALSE, wrong eye", ("TRUE", "FALSE"))
        ('TRUE', 'FALSE')
        >>> [parse_label(t, ("TRUE", "FALSE")).reason for t in ("TRUE, not FALSE", "It is not TRUE", "")]
        ['ambiguous', 'no_match', 'empty']
    """
    if not text.strip():
        return Unparsed("empty")
    found = labels_in(clean(text), choices)
    if len(found) > 1:
        return Unparsed("ambiguous", "states " + " and ".join(found[:4]))
    return answer_in(text, lambda slot: _read_slot(slot, choices), lambda prose: _in_prose(prose, choices))


def _read_slot(slot: Slot, choices: Sequence[str]) -> Claim | None:
    """Return the label that is all of a slot; None for any other value."""
    value = plain_label(clean(slot.value)).strip(" .;,!\"'")
    return next((choice for choice in choices if plain_label(choice) == value), None)


def _in_prose(text: str, choices: Sequence[str]) -> str | Unparsed:
    found = labels_in(text, choices)
    lines = [line for line in normalise(text).casefold().split("\n") if line.strip()]
    if not found or not _is_stated(lines, plain_label(found[0])):
        return Unparsed("no_match", text.strip()[:80])
    return found[0]


def labels_in(text: str, choices: Sequence[str]) -> list[str]:
    """Return the different labels that occur in a text as whole words, in any case, in the order of their places.

    A label within a longer one does not count: of "partly correct" only itself.

    Example:
        >>> labels_in("Incorrect? No: partly correct.", ("correct", "partly correct", "wrong"))
        ['partly correct']
    """
    spelled = {plain_label(choice): choice for choice in choices}
    return list(dict.fromkeys(spelled[m[0]] for m in _pattern(tuple(spelled)).finditer(plain_label(text))))


def plain_label(text: str) -> str:
    """Return a text as labels are compared: normalised characters, lower case, single blanks.

    Example:
        >>> plain_label(" Partly  ＣＯＲＲＥＣＴ")
        'partly correct'
    """
    return " ".join(normalise(text).casefold().split())


@lru_cache(maxsize=64)
def _pattern(labels: tuple[str, ...]) -> re.Pattern[str]:
    longest_first = sorted(labels, key=len, reverse=True)
    return re.compile(r"(?<!\w)(?:" + "|".join(map(re.escape, longest_first)) + r")(?!\w)")


def _is_stated(lines: Sequence[str], label: str) -> bool:
    alone = re.compile(_MARKS + _LEAD + _MARKS + re.escape(label) + _MARKS)
    opening = re.compile(_MARKS + _LEAD + _MARKS + re.escape(label) + r"\s?[\"')\]]?\s?[.,;:!。、(-]")
    ends = (" ".join(line.split()) for line in (lines[0], lines[-1]))
    return any(alone.fullmatch(line) for line in ends) or opening.match(" ".join(lines[0].split())) is not None
