"""Write names of options that share words in full: "mild to moderate NPDR", "grade 2, possibly 3"."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import combinations

from lmod_train.core.vocabulary import options
from lmod_train.tasks.parsing.cues import any_of
from lmod_train.tasks.parsing.normalise import normalise

_JOIN = r"\s?(?:/|,|-|\bto\b|\bor\b|\band\b|,\s(?:or|and))\s?(?:the\s)?"
_OR = rf"(?:\s?[(,]?\s?(?:[/~&-]|{any_of(options.SECOND_EN, options.SECOND_ZH)})){{1,4}}\s?(?:the\s|an?\s)?"
_ENDED = r"(?=\s?(?:\Z|[\n.,;:!?)\]/。-]|(?:or|and)\b))(?![.,][0-9])"
_NUMBERED = re.compile(
    r"(?P<head>[^\n]{0,200}?)(?<![a-z0-9])(?P<number>[0-9]{1,4}|[ivx]{1,4})(?![a-z0-9])(?P<tail>[^0-9]{0,40})"
)


def in_full(text: str, choices: Sequence[str]) -> str:
    """Return the text with options that share their words with another one written in full.

    Args:
        text: A cleaned reply.
        choices: Texts of the options.

    Example:
        >>> in_full("mild to moderate NPDR", ("Mild NPDR", "Moderate NPDR"))
        'mild npdr to moderate NPDR'
        >>> in_full("Moderate NPDR, possibly severe", ("Moderate NPDR", "Severe NPDR"))
        'Moderate npdr or severe npdr'
        >>> in_full("grade 2 (maybe 3)", ("grade 2", "grade 3")), in_full("2至3级", ("2级", "3级"))
        ('grade 2 or grade 3)', '2级 or 3级')
    """
    for pattern, second in _seconds(tuple(choices)):
        text = pattern.sub(second, text)
    for pattern, tail in _firsts(tuple(choices)):
        text = pattern.sub(rf"\g<first> {tail}", text)
    return text


def plain(text: str) -> str:
    """Return a text as the texts of options are compared: lower case, single blanks, no hyphens, no full stop.

    Example:
        >>> plain("Cotton-wool  Spots.")
        'cotton wool spots'
    """
    return " ".join(re.sub(r"[\s\-_]+", " ", text).casefold().split()).strip(" .。")


@lru_cache(maxsize=1024)
def _firsts(choices: tuple[str, ...]) -> tuple[tuple[re.Pattern[str], str], ...]:
    """Return patterns of "mild" in "mild to moderate NPDR", and the words that it shares with the other option."""
    return tuple((_coordinated(own, tail), tail) for tail, own in _heads(choices).items())


@lru_cache(maxsize=1024)
def _seconds(choices: tuple[str, ...]) -> tuple[tuple[re.Pattern[str], str], ...]:
    """Return patterns of "grade 2 or 3" and "moderate NPDR or severe", and how these are written in full."""
    numbered = (_two_numbers(head, tail, own) for (head, tail), own in _numbers(choices).items())
    return (*numbered, *(_two_heads(own, tail) for tail, own in _heads(choices).items()))


def _heads(choices: tuple[str, ...]) -> dict[str, set[str]]:
    """Return the last words that options share -> their first words."""
    heads: dict[str, set[str]] = defaultdict(set)
    words = [plain(normalise(choice)).split() for choice in choices]
    for one, other in combinations(words, 2):
        for count in range(1, min(len(one), len(other))):
            if one[-count:] == other[-count:]:
                heads[" ".join(one[-count:])] |= {" ".join(one[:-count]), " ".join(other[:-count])}
    return heads


def _numbers(choices: tuple[str, ...]) -> dict[tuple[str, str], set[str]]:
    """Return what stands before and behind the number of options -> their numbers, if there are several."""
    numbers: dict[tuple[str, str], set[str]] = defaultdict(set)
    for found in filter(None, (_NUMBERED.fullmatch(plain(normalise(choice))) for choice in choices)):
        if found["head"] or found["tail"]:
            numbers[found["head"], found["tail"]].add(found["number"])
    return {around: own for around, own in numbers.items() if len(own) > 1}


def _two_numbers(head: str, tail: str, numbers: Iterable[str]) -> tuple[re.Pattern[str], str]:
    one = _any(numbers)
    again = rf"(?:{_words(head.split()[-1])}\s?)?" if head else ""
    unit = rf"\s?{_words(tail)}" if tail else ""
    ended = _ENDED if head else ""
    first = rf"(?<![a-z0-9.]){_words(head)}\s?(?P<first>{one})(?:{unit})?"
    second = rf"{_OR}{again}(?P<other>{one})(?:{unit}){'?' if head else ''}{ended}"
    in_full = rf"{head}\g<first>{tail} or {head}\g<other>{tail}"
    return re.compile(first + second, re.IGNORECASE), in_full


def _two_heads(heads: Iterable[str], tail: str) -> tuple[re.Pattern[str], str]:
    one = _any(heads)
    first = rf"(?<![a-z])(?P<first>{one})[\s\-_]{{1,3}}{_words(tail)}"
    in_full = rf"\g<first> {tail} or \g<other> {tail}"
    return re.compile(rf"{first}{_OR}(?P<other>{one}){_ENDED}", re.IGNORECASE), in_full


def _coordinated(heads: Iterable[str], tail: str) -> re.Pattern[str]:
    one = _any(heads)
    more = rf"(?:{_JOIN}{one}){{1,5}}\s{re.escape(tail)}(?![a-z])"
    return re.compile(rf"(?<![a-z])(?P<first>{one})(?={more})", re.IGNORECASE)


def _any(texts: Iterable[str]) -> str:
    return "(?:" + "|".join(map(_words, sorted(texts, key=lambda t: (-len(t), t)))) + ")"


def _words(text: str) -> str:
    return r"[\s\-_]{1,3}".join(map(re.escape, text.split()))
