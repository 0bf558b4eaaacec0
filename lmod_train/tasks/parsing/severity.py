"""Read a level of a scale from the words that name it: "moderate NPDR" is level 2 of the ICDR scale."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache

from lmod_train.core.types import Unparsed
from lmod_train.core.vocabulary import any_of, compiled, entry
from lmod_train.tasks.parsing.clean import clean
from lmod_train.tasks.parsing.cues import final_statement, split_explanation
from lmod_train.tasks.parsing.forms import plain
from lmod_train.tasks.parsing.reading import UNKNOWN, Claim, answer_in
from lmod_train.tasks.parsing.refusal import is_refusal
from lmod_train.tasks.parsing.stage import read_stage, stage_in_prose
from lmod_train.tasks.parsing.stance import stance, statements
from lmod_train.tasks.parsing.structure import Slot

_WORDS = "|".join(word for word in entry("numerals.numerals") if word.isascii())
_DEFINES = compiled("severity.defines", words=_WORDS)
_SPAN = re.compile(r"[0-9]\s?[(（][^()（）]{1,60}[)）]\s?(?:to|through|up to|until|[-–—~至到])\s?[0-9]", re.IGNORECASE)
"""A definition of the ends of a scale: "from 0 (no retinopathy) to 4 (proliferative)"."""
_NEAR = 60
Words = tuple[tuple[str, ...], ...]
"""The names of each level, as regular-expression fragments."""


def parse_level(text: str, choices: Sequence[str], words: Words) -> str | Unparsed:
    """Return the level that the text states, by its number or, without a number, by its name.

    Args:
        text: A reply without thinking and markup (see `read`).
        choices: As for `parse_stage`, in order.
        words: Names of each choice, in the same order; for the first, the disease itself, whose denial is this level.

    Returns:
        The choice; or `Unparsed` as in `parse_stage`, ``ambiguous`` also if two levels are named.

    Example:
        >>> words = (("DR",), ("mild NPDR",), ("moderate NPDR",))
        >>> [parse_level(text, ("0", "1", "2"), words) for text in ("Stage: 2", "Mild NPDR.", "There is no DR.")]
        ['2', '1', '0']
        >>> parse_level("No mild NPDR.", ("0", "1", "2"), words).reason
        'no_match'
    """
    return answer_in(
        text, lambda slot: _read_slot(slot, choices, words), lambda prose: _in_prose(prose, choices, words)
    )


_SEVERITY = re.compile(r"severity|severity level|(?:dr|retinopathy) severity|disease|严重程度|严重度")


def _read_slot(slot: Slot, choices: Sequence[str], words: Words) -> Claim | None:
    """Return the level that a slot states by its number or name; None for a slot about something else."""
    if slot.role == "denied":
        return None
    claim = read_stage(slot, choices)
    severity = _SEVERITY.fullmatch(plain(slot.name)) is not None
    if (claim is not None and claim is not UNKNOWN) or not words or not (slot.role or severity or claim):
        return claim
    value = clean(slot.value)
    named = _in_prose(value, choices, words)
    return named if isinstance(named, str) or named.reason == "ambiguous" else claim


def _in_prose(text: str, choices: Sequence[str], words: Words) -> str | Unparsed:
    by_number = stage_in_prose(text, choices)
    if isinstance(by_number, str) or by_number.reason != "no_match" or not words:
        return by_number
    named = list(dict.fromkeys(_named(text, _pattern(words))))
    if len(named) > 1:
        return Unparsed("ambiguous", "names " + " and ".join(choices[level] for level in named[:4]))
    return choices[named[0]] if named else by_number


def _named(text: str, pattern: re.Pattern[str]) -> Iterator[int]:
    """Yield the levels named in the final answer, else before the explanation, else anywhere."""
    final = final_statement(text)
    head, explained = split_explanation(text)
    for part in (statements(final)[:1] if final else [], statements(head), statements(text) if explained else []):
        found = [level for i, clause in enumerate(part) for level in _of_clause(clause, pattern, bare=i == 0)]
        if found:
            yield from found
            return


def _of_clause(clause: str, pattern: re.Pattern[str], bare: bool) -> Iterator[int]:
    """Yield the levels that a clause asserts, and the lowest if it denies the disease."""
    if is_refusal(clause) or _SPAN.search(clause):  # "not able to grade diabetic retinopathy"
        return
    for mention in pattern.finditer(clause):
        if _DEFINES.search(clause, max(0, mention.start() - _NEAR), mention.start()):
            continue
        level = int((mention.lastgroup or "l0")[1:])
        alone = bare or len(mention[0]) + 2 >= len(clause)
        found = stance(clause, mention.start(), mention.end(), bare=alone and level > 0)
        if found == ("asserted" if level else "denied"):
            yield level


@lru_cache(maxsize=64)
def _pattern(words: Words) -> re.Pattern[str]:
    """Return a pattern of all names, the highest level first, as "moderate NPDR" contains "NPDR"."""
    levels = range(len(words) - 1, -1, -1)
    return re.compile("|".join(f"(?P<l{level}>{_any(words[level])})" for level in levels), re.IGNORECASE)


def _any(names: Sequence[str]) -> str:
    """Return a regular expression for any of the names."""
    chinese = [name for name in names if re.search("[\u4e00-\u9fff]", name)]
    english = [name for name in names if name not in chinese]
    return any_of(english, chinese) if english else "|".join(chinese)
