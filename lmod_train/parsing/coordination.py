"""Expand names that share their last word: "diabetic or hypertensive retinopathy" names two diseases."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable

from lmod_train.vocabulary.conditions import CONDITIONS

_HAN = "(?:糖尿病|高血压)性?"
_JOIN = (
    r"(?:\s?/\s?|,\s|,?\s(?:and/or|or|and|nor|not|but not|rather than|instead of|as opposed to|versus|vs\.?)\s|"
    r"\s?&\s?)"
)


def _shared(names: Iterable[str]) -> dict[str, list[str]]:
    """Return last word -> first words, for last words that the names of several diseases share."""
    words: dict[str, list[str]] = defaultdict(list)
    for attribute, last in (name.split() for name in names if len(name.split()) == 2 and name.isascii()):
        words[last].append(attribute)
    return {last: attributes for last, attributes in words.items() if len(attributes) > 1}


def _pattern(last: str, attributes: Iterable[str]) -> re.Pattern[str]:
    one = f"(?:{'|'.join(sorted(attributes))})"
    more = rf"(?:{one}{_JOIN}){{0,3}}{one}\s{last}(?![a-z])"
    return re.compile(rf"(?<![a-z])(?P<first>{one})(?={_JOIN}{more})", re.IGNORECASE)


_LATIN = tuple(
    (_pattern(last, attributes), last) for last, attributes in _shared(term.name for term in CONDITIONS).items()
)
_AFTERTHOUGHT = re.compile(
    r"[.;!,]\s{1,3}(?:(?:hm{1,3}|well|but|wait|or),?\s)?or\s(?:(?:rather|maybe|perhaps|is it|should it be),?\s)"
    r"(?P<other>[^?.;!\n]{1,40})\?",
    re.IGNORECASE,
)
_CHINESE = re.compile(f"{_HAN}(?=(?:、|或者?|和|及|与|以及|还是|而非|而不是){_HAN}视网膜病变)")


def expand_coordination(text: str) -> str:
    """Return the text with coordinated names in full, and an alternative in a follow-up question joined by "or".

    Example:
        >>> expand_coordination("hypertensive rather than diabetic retinopathy")
        'hypertensive retinopathy rather than diabetic retinopathy'
        >>> expand_coordination("糖尿病或高血压性视网膜病变")
        '糖尿病视网膜病变或高血压性视网膜病变'
        >>> expand_coordination("Stage: 2. Hmm, or rather 3?")
        'Stage: 2 or 3.'
    """
    text = _AFTERTHOUGHT.sub(r" or \g<other>.", text)
    for pattern, last in _LATIN:
        text = pattern.sub(rf"\g<first> {last}", text)
    return _CHINESE.sub(lambda m: f"{m[0]}视网膜病变", text)
