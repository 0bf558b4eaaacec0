"""Parse the value in an answer slot: yes, no, refused or open.

A slot is the place behind a name, with any separator: "X: No", {"X": "no"}, | X | No |, X → No, "X (absent)", "Is X
present?" with the answer on the next line, X：否. One grammar reads all layouts and values, so that "yes" and "no" are
readable in the same layouts.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal

from lmod_train.core.types import Unparsed
from lmod_train.core.vocabulary import any_of, compiled, entry, phrases
from lmod_train.tasks.parsing.normalise import normalise

Kind = Literal["yes", "no", "refused", "open"]
Separator = Literal["strong", "question", "weak"]
"""Between a name and its value: a sign, a question mark, or only a blank."""

Value = tuple[tuple[Kind, ...], int]
"""The kinds of value in a slot, usually one, and the end of the slot in the text."""

_STOP = r"(?=\s{0,3}(?:$|[,:;/|()\[\]}\"'.。!?&\n<>-])|\s{1,3}(?:the|there|it|this|that|its|i|we|or|and|but"
_STOP += r"|because|as|since|based|due|given|is|would|with|in|on|at|for|from|to)(?![a-z]))"  # not "No signs of ..."
_STOP_HAN = r"(?=\s{0,3}(?:$|[^\w\s]|[\n_]))"  # nor is the 是 of 是否


def _words(kind: str, plain: Sequence[str] = ()) -> str:
    """Return a pattern of the values of a kind, and of the answers that are such a value."""
    english = any_of([*entry(f"answers.slot_{kind}.en"), *filter(str.isascii, plain)])
    chinese = [*entry(f"answers.slot_{kind}.zh"), *(word for word in plain if not word.isascii())]
    return f"(?:{english}{_STOP}|(?:{'|'.join(sorted(chinese, key=len, reverse=True))}){_STOP_HAN})"


_NUMBER_STOP = r"(?=\s{0,3}(?:$|[,;)\]}|\"'\n。]|\.(?![0-9])))"
_KINDS = (
    rf"(?P<refused>{_words('refused')})|(?P<open>{_words('open')}|\?)"
    rf"|(?P<no>{_words('no', entry('answers.no'))})|(?P<yes>{_words('yes', entry('answers.yes'))})"
)
_VALUE = re.compile(_KINDS, re.IGNORECASE)
_BIT = rf"(?:(?P<yes>[1TY])|(?P<no>[0FN])){_NUMBER_STOP}"
_DIGIT = re.compile(_BIT)  # and the first letters of TRUE and FALSE, in capitals
_MARK = compiled("slots.mark", 0)
_SIGN = re.compile(r"\s{0,3}:?\s{0,3}\(\s?(?:(?P<yes>\+)|(?P<no>-))\s?\)")  # clinical notation for present and absent
_DASH = re.compile(r"(?P<open>--?)[\"'\]]?\s{0,3}(?=[;,|}\n]|$|\.(?:\s|$))")  # three are a ruler
_SIGNED = re.compile(r"[:=|?\n\[(]")

_CLOSERS = phrases("slots.closers")
_BRACKET = phrases("slots.bracket")
_STRONG = compiled("slots.strong")
_QUESTION = compiled("slots.question")
_ABSENT = compiled("slots.absent")
_ASKED = re.compile(r"[\s\"')\]}>]{0,3}\?")  # "X TRUE?" is a question and no answer
_CALLED_WRONG = re.compile(r"\s(?:would be|is|was)\s(?:wrong|incorrect|mistaken|untrue)(?![a-z])", re.IGNORECASE)
_WEAK = re.compile(rf"{_CLOSERS}{_BRACKET}[<\[]?", re.IGNORECASE)
_WEAK_VALUE = compiled("slots.weak_value", stop=_STOP)
_ALTERNATIVE = re.compile(r"[\s\"')\]]{0,3}(?:/|\||(?:or|and)(?![a-z])|[或和及])\s{0,3}[\"'(\[]?", re.IGNORECASE)


def slot_after(text: str, end: int) -> tuple[Separator, Value] | None:
    r"""Return the separator behind a name that ends at `end`, and the value; None without a value.

    Args:
        text: The whole reply, as the answer to a question may be on the next line.
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
    if slot[1][0] != ("yes",):  # the double negation of "X FALSE? No." is left unread
        return None
    lead = _QUESTION.match(text, slot[1][1])
    value = value_at(text, lead.end()) if lead else None
    return None if value is None else ("question", value)


def _slot_after(text: str, end: int) -> tuple[Separator, Value] | None:
    """Return the separator and value behind a name, also of a value that is itself in question."""
    if sign := _SIGN.match(text, end):
        return "strong", ((_kind(sign),), sign.end())
    separators: tuple[tuple[Separator, re.Pattern[str]], ...] = (("strong", _STRONG), ("question", _QUESTION))
    for separator, pattern in separators:
        lead = pattern.match(text, end)
        value = value_at(text, lead.end(), signed=_SIGNED.search(lead[0]) is not None) if lead else None
        if lead and value is not None and separator == "question" and _ABSENT.search(lead[0].partition("?")[0]):
            return None if value[0] != ("yes",) else (separator, (("no",), value[1]))  # "X absent? No" is left unread
        if value is not None:
            return separator, value
    lead = _WEAK.match(text, end)
    weak = (_WEAK_VALUE.match(text, lead.end()) or _DIGIT.match(text, lead.end())) if lead else None
    return None if weak is None else ("weak", _with_alternative(text, weak))


def no_answer(kind: Kind) -> Unparsed:
    """Return why a value that abstains, refused or open, is no answer."""
    return Unparsed("refused" if kind == "refused" else "no_match", kind)


def abstains(kinds: Sequence[Kind], wanted: str = "answer") -> Unparsed | None:
    """Return why a slot whose value abstains is no answer; None for any other value."""
    if not {"refused", "open"} & set(kinds):
        return None
    return Unparsed("refused" if "refused" in kinds else "no_match", f"no {wanted} in its slot")


TRUTH_WORDS = frozenset(("true", "false", "yes", "no", "对", "错", "是", "否", "正确", "错误", "有", "无"))
_AROUND = " \t\n*_\"'<>.,;!。"
_BRACKETED = re.compile(r"[(\[]\s?(?P<inside>[^()\[\]]{2,40}?)\s?[)\]]")
_REMARK = re.compile(r"\s?\((?P<inside>[^()]{0,60})\)?$")  # "absent (0)"


def kinds_of(value: str) -> tuple[Kind, ...]:
    """Return the kinds of a value if it is an answer or abstention and nothing else; empty for any other text.

    Example:
        >>> [kinds_of(text) for text in ("No.", "<TRUE>", "not detected", "N/A", "0", "no cup")]
        [('no',), ('yes',), ('no',), ('refused',), ('no',), ()]
    """
    text = normalise(value).lstrip(_AROUND.replace("!", "")).rstrip(_AROUND)
    if bracketed := _BRACKETED.fullmatch(text):
        text = bracketed["inside"]
    if (remark := _REMARK.search(text)) and remark.start():
        inside, text = kinds_of(remark["inside"]), text[: remark.start()].strip(_AROUND)
        if inside and inside != kinds_of(text):
            return ()
    found = value_at(text.upper() if len(text) == 1 else text, 0, signed=True)
    return found[0] if found is not None and found[1] >= len(text) else ()


def value_at(text: str, at: int, signed: bool = False) -> Value | None:
    """Return the value that begins at `at`, None without one.

    Args:
        text: A reply.
        at: Start of the value.
        signed: Whether a sign precedes it: then 0, 1, T and F are values too, and a lone dash is an open one.

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
    """Return the value, with both kinds if the slot holds two: "TRUE/FALSE", "yes and no"."""
    joined = _ALTERNATIVE.match(text, found.end())
    other = _VALUE.match(text, joined.end()) if joined else None
    if other is None or _kind(other) == _kind(found):
        return (_kind(found),), found.end()
    return (_kind(found), _kind(other)), other.end()


def _kind(found: re.Match[str]) -> Kind:
    return found.lastgroup  # type: ignore[return-value]
