"""What stands in an answer's slot: yes, no, an abstention, or something that leaves the question open.

A slot is the place behind a name, whatever parts the two: "X: No", {"X": "no"}, | X | No |, X → No, "X (absent)",
"Is X present?" with the answer on the next line, X：否. One grammar reads all of them and all words alike, so that a
layout in which "yes" is read is one in which "no" is read.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Literal

from lmod_train.parsing.cues import any_of
from lmod_train.vocabulary import answers as said
from lmod_train.vocabulary.characters import MARKS

Kind = Literal["yes", "no", "refused", "open"]
Part = Literal["strong", "question", "weak"]
"""What parts a name and its value: a sign, a question mark, or a blank and nothing else."""

Value = tuple[tuple[Kind, ...], int]
"""The kinds that a slot holds, two where it holds both, and where in the text it ends."""

_STOP = r"(?=\s{0,3}(?:$|[,:;/|()\[\]}\"'.。!?&\n<>-])|\s{1,3}(?:the|there|it|this|that|its|i|we|or|and|but"
_STOP += r"|because|as|since|based|due|given|is|would|with|in|on|at|for|from|to)(?![a-z]))"  # not "No signs of ..."
_STOP_HAN = r"(?=\s{0,3}(?:$|[^\w\s]|[\n_]))"  # nor is the 是 of 是否


def _words(english: Iterable[str], chinese: Iterable[str]) -> str:
    return f"(?:{any_of(english)}{_STOP}|(?:{'|'.join(sorted(chinese, key=len, reverse=True))}){_STOP_HAN})"


def _ascii(words: Iterable[str]) -> list[str]:
    return [word for word in words if word.isascii()]


def _han(words: Iterable[str]) -> list[str]:
    return [word for word in words if not word.isascii()]


_NUMBER_STOP = r"(?=\s{0,3}(?:$|[,;)\]}|\"'\n。]|\.(?![0-9])))"
_KINDS = (
    rf"(?P<refused>{_words(said.SLOT_REFUSED_EN, said.SLOT_REFUSED_ZH)})"
    rf"|(?P<open>{_words(said.SLOT_OPEN_EN, said.SLOT_OPEN_ZH)}|\?)"
    rf"|(?P<no>{_words([*said.SLOT_NO_EN, *_ascii(said.NO)], [*said.SLOT_NO_ZH, *_han(said.NO)])})"
    rf"|(?P<yes>{_words([*said.SLOT_YES_EN, *_ascii(said.YES)], [*said.SLOT_YES_ZH, *_han(said.YES)])})"
)
_VALUE = re.compile(_KINDS, re.IGNORECASE)
_BIT = rf"(?:(?P<yes>[1TY])|(?P<no>[0FN])){_NUMBER_STOP}"
_DIGIT = re.compile(_BIT)  # and the first letters of TRUE and FALSE, in capitals
_NUMBER = re.compile(rf"(?:[-+~<>]?[0-9]{{1,9}}(?:[./][0-9]{{1,9}})?\s?%?|[TFYN]/[TFYN]){_NUMBER_STOP}")
_MARK = re.compile(rf"(?:(?P<yes>[{MARKS['yes']}])|(?P<no>[{MARKS['no']}]))\ufe0f?")
_SIGN = re.compile(r"\s{0,3}:?\s{0,3}\(\s?(?:(?P<yes>\+)|(?P<no>-))\s?\)")  # clinical notation for present and absent
_DASH = re.compile(r"(?P<open>--?)[\"'\]]?\s{0,3}(?=[;,|}\n]|$|\.(?:\s|$))")  # three are a ruler
_SIGNED = re.compile(r"[:=|?\n\[(]")

_CLOSERS = r"[\s\"'\])}]{0,6}"
_BRACKET = r"(?:\([^()\n]{0,60}\)\s{0,3})?"
_COPULA = r"(?:(?:is|are|was|were|be|been|has been)\s{1,3})?"
_NOUN = (
    r"(?:(?:status|diagnosis|present|presence|detected|visible|found|seen|evident|observed|answer|result|存在|诊断|情况)"
    r"[\"']?\s{0,3})?"
)
_HYPHEN = r"-{1,3}(?!\s{0,3}(?:$|[\n.;,|}]))"
_OPENERS = r"[\s\"'(\[{<*]{0,6}"
_STRONG = re.compile(
    rf"{_CLOSERS}{_BRACKET}{_COPULA}{_NOUN}{_CLOSERS}(?:[:=|]{{1,3}}|\.{{3}}|{_HYPHEN}|[(\[<])\s{{0,3}}(?:is\s)?{_OPENERS}"
    rf"|{_CLOSERS}{_BRACKET}{_COPULA}{_NOUN}\n{_OPENERS}|[\"']\s?,\s?(?=[\"']){_OPENERS}",
    re.IGNORECASE,
)
_SAID = r"(?:(?:my |the )?(?:answer|a|答)\s?(?::|is)|i(?:\s?would|'d)?\s(?:say|think|answer))[\s,:]{1,3}"
_QUESTION = re.compile(
    rf"[^?\n;:|。]{{0,80}}\?[\s\"'*:|]{{0,6}}(?:{_HYPHEN}\s?)?(?:{_SAID})?{_OPENERS}",
    re.IGNORECASE,
)
_ASKED = re.compile(r"[\s\"')\]}>]{0,3}\?")  # "X TRUE?" asks and says nothing
_CALLED_WRONG = re.compile(r"\s(?:would be|is|was)\s(?:wrong|incorrect|mistaken|untrue)(?![a-z])", re.IGNORECASE)
_WEAK = re.compile(rf"{_CLOSERS}{_BRACKET}[<\[]?", re.IGNORECASE)
_WEAK_VALUE = re.compile(
    rf"(?P<refused>{any_of(said.SLOT_REFUSED_EN)}{_STOP})"
    rf"|(?P<open>(?:{any_of(['maybe', 'possible', 'perhaps'])}|\?){_STOP})"
    rf"|(?P<yes>{any_of(['true', 'yes', 'positive'])}{_STOP})|(?P<no>{any_of(['false', 'no', 'negative'])}{_STOP})",
    re.IGNORECASE,
)
_ALTERNATIVE = re.compile(r"[\s\"')\]]{0,3}(?:/|\||(?:or|and)(?![a-z])|[或和及])\s{0,3}[\"'(\[]?", re.IGNORECASE)


def slot_after(text: str, end: int) -> tuple[Part, Value] | None:
    r"""Return what parts a name that ends at `end` from its value, and the value; None where no value stands there.

    Args:
        text: The whole reply: the answer to a question may stand on its next line.
        end: One past the name's last character.

    Example:
        >>> [slot_after(f"X{rest}", 1)[1][0] for rest in (": No", '": "yes"', " | 0 |", "?\nNo.", " (+)", " UNKNOWN;")]
        [('no',), ('yes',), ('no',), ('no',), ('yes',), ('refused',)]
        >>> slot_after("X: no signs of Y", 1), slot_after("X +", 1)
        (None, None)
    """
    slot = _slot_after(text, end)
    if slot is not None and _CALLED_WRONG.match(text, slot[1][1]):
        return None
    if slot is None or not _ASKED.match(text, slot[1][1]):
        return slot
    if slot[1][0] != ("yes",):  # "X FALSE? No.": the doubled negation is not untangled
        return None
    lead = _QUESTION.match(text, slot[1][1])
    value = value_at(text, lead.end()) if lead else None
    return None if value is None else ("question", value)


def _slot_after(text: str, end: int) -> tuple[Part, Value] | None:
    """Return the part and value that follow a name, also where the value is asked for and not stated."""
    if sign := _SIGN.match(text, end):
        return "strong", ((_kind(sign),), sign.end())
    parts: tuple[tuple[Part, re.Pattern[str]], ...] = (("strong", _STRONG), ("question", _QUESTION))
    for part, pattern in parts:
        lead = pattern.match(text, end)
        value = value_at(text, lead.end(), signed=_SIGNED.search(lead[0]) is not None) if lead else None
        if value is not None:
            return part, value
    lead = _WEAK.match(text, end)
    weak = (_WEAK_VALUE.match(text, lead.end()) or _DIGIT.match(text, lead.end())) if lead else None
    return None if weak is None else ("weak", _with_alternative(text, weak))


def holds_number(text: str, end: int) -> bool:
    """Return whether behind a name that ends at `end` and a sign there is a number, which is no answer.

    Example:
        >>> holds_number("X: 0.3", 1), holds_number("X present: 7", 1), holds_number("X (95%)", 1)
        (True, True, False)
    """
    lead = _STRONG.match(text, end)
    return lead is not None and re.search("[:=|]", lead[0]) is not None and _NUMBER.match(text, lead.end()) is not None


def value_at(text: str, at: int, signed: bool = False) -> Value | None:
    """Return the value that begins at a place, None where none does.

    Args:
        text: A reply.
        at: Where the value would begin.
        signed: Whether a sign announces it, behind which 0, 1, T and F are values and a lone dash is none.

    Example:
        >>> value_at("yes and no", 0)[0], value_at("N/A", 0)[0], value_at("now", 0)
        (('yes', 'no'), ('refused',), None)
    """
    mark = _MARK.match(text, at)
    after_mark = re.compile(r"\s{0,3}").match(text, mark.end()) if mark else None
    found = _VALUE.match(text, after_mark.end() if after_mark else at)
    found = found or mark or ((_DIGIT.match(text, at) or _DASH.match(text, at)) if signed else None)
    return None if found is None else _with_alternative(text, found)


def _with_alternative(text: str, found: re.Match[str]) -> Value:
    """Return the value, and the other one where the slot offers two: "TRUE/FALSE", "yes and no"."""
    joined = _ALTERNATIVE.match(text, found.end())
    other = _VALUE.match(text, joined.end()) if joined else None
    if other is None or _kind(other) == _kind(found):
        return (_kind(found),), found.end()
    return (_kind(found), _kind(other)), other.end()


def _kind(found: re.Match[str]) -> Kind:
    return found.lastgroup  # type: ignore[return-value]
