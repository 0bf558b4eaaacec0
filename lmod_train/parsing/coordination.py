"""Expand names that share their last word: "diabetic or hypertensive retinopathy" names two diseases."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable

from lmod_train.parsing.cues import any_of
from lmod_train.vocabulary import negation
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


_ITEM = r"(?:\s{0,5}(?:[-•*]|[0-9]{1,2}[.)])\s{0,3}[^\n]{1,120}(?:\n|$))"
_LIST = re.compile(
    rf"(?P<head>[^\n]{{2,120}}?)(?:[:：]|(?<=findings))\s{{0,3}}\n(?P<items>{_ITEM}{{1,20}})", re.IGNORECASE
)
_IN_LINE = re.compile(r"(?P<head>[^\n.;。]{2,80}?)[:：]\s{0,3}(?P<items>[^\n.;:。]{2,200})")
_DENIES = re.compile(
    any_of(negation.DENIALS_EN, negation.DENIALS_ZH)
    + r"|(?<![a-z])(?:negative|not present|absent|ruled out)(?![a-z])|阴性|均未见",
    re.IGNORECASE,
)
_LEAVES_OPEN = re.compile(
    r"differential|rule out|risk|suspect|consider|possib|could|might|to exclude|鉴别|待排|可能|疑似", re.IGNORECASE
)
_BEGINNING = re.compile(r"(?P<mark>^\s{0,5}(?:[-•*]|[0-9]{1,2}[.)])?\s{0,3})(?=\w)", re.MULTILINE)


def expand_headings(text: str) -> str:
    r"""Return the text with each item of a list denied or left open as its heading says.

    Example:
        >>> expand_headings("No evidence of:\n- DR\n- glaucoma"), expand_headings("Absent findings: AMD, DR")
        ('No evidence of:\n- no DR\n- no glaucoma', 'Absent findings: no AMD, no DR')
    """

    def of_lines(found: re.Match[str]) -> str:
        word = _word_for(found["head"])
        items = _BEGINNING.sub(rf"\g<mark>{word}", found["items"]) if word else found["items"]
        return f"{found['head']}:\n{items}" if word else found[0]

    def in_line(found: re.Match[str]) -> str:
        word = _word_for(found["head"]) if _GOVERNS.search(found["head"]) else ""
        if not word:
            return found[0]
        items = re.sub(r"(?:^|(?<=[,、])) ?(?:and |or |和|及)?(?=\w)", f" {word}", found["items"])
        return f"{found['head']}:{items}"

    return _IN_LINE.sub(in_line, _LIST.sub(of_lines, text))


_GOVERNS = re.compile(r"(?:following|findings?|conditions?|diseases?|signs?|以下|下列|所见)", re.IGNORECASE)


def _word_for(head: str) -> str:
    """Return what a heading says of the items below it: "no", "possible", or nothing."""
    return "possible " if _LEAVES_OPEN.search(head) else "no " if _DENIES.search(head) else ""
