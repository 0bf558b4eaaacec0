"""Parse the confidence that a reply states."""

from __future__ import annotations

import re
from collections.abc import Iterable

from lmod_train.core.types import Reply
from lmod_train.core.vocabulary import compiled, phrases
from lmod_train.tasks.parsing.keys import is_confidence
from lmod_train.tasks.parsing.normalise import normalise
from lmod_train.tasks.parsing.structure import decode
from lmod_train.tasks.parsing.visible import visible_text

_VALUE = phrases("confidence.value")
_OPENED = rf"[\s\"'(<>~≈=\[]{{0,4}}(?:(?:{phrases('confidence.fillers')})[\s,(<>~:-]{{0,3}}){{0,3}}"
_LABEL = phrases("confidence.label")
_LINK = phrases("confidence.link")
_LABELLED = re.compile(rf"{_LABEL}{_LINK}{_OPENED}{_VALUE}", re.IGNORECASE)
_FIELD = compiled("confidence.field")
_SURE = re.compile(
    rf"(?<!not\s)(?<!n't\s){_VALUE}[ ]?(?:{phrases('confidence.certain')})"
    rf"|(?<![a-z])(?:confident|sure|certain)\s?(?:\(|at\s|:\s){_OPENED}{_VALUE.replace('(?P<', '(?P<after_')}",
    re.IGNORECASE,
)
_OF_A_DENIAL = compiled("confidence.of_a_denial")
_ASKED = re.compile(phrases("confidence.asked"), re.IGNORECASE)
_PERCENTAGE = re.compile(rf"{_VALUE}", re.IGNORECASE)
_ANSWER_LABEL = phrases("confidence.answer_label")
_ANSWER = re.compile(rf"(?:^|(?<=\n)|(?<=[;,.]\s))\W{{0,4}}{_ANSWER_LABEL}[^\n]{{0,200}}")
_ALONE = re.compile(rf"(?:^|(?<=\n))[\s(~]{{0,3}}{_VALUE}[\s).]{{0,3}}(?=\n|$)", re.IGNORECASE)
_BESIDE_LETTER = compiled("confidence.beside_letter", 0)
_SCALE = compiled("confidence.scale")
_OTHER_SCALE = compiled("confidence.other_scale")


_CUT = "0123456789.,-~\u2013 "
"""Characters of a number or range that further digits may follow."""


def parse_confidence(text: str, question: str = "") -> float | None:
    """Return the confidence that a reply states, from 0 to 1; None without a single readable one.

    A number with a percent sign is a percentage; without one, a number up to 1 with a decimal point is a share, and any
    other a percentage (``0.8`` and ``80`` are 0.8, ``1`` is 0.01). A range gives its middle, ``8/10`` and ``80/100``
    their ratio, and a bound ("over 90 %") its number. Values beyond 0 and 1 are clipped: 150 % gives 1. Words ("very
    sure") are not read, nor are marks on a scale from 0 or 1 to 5 or 10.

    A confidence is a number behind its label ("Confidence: 80%"); else a percentage with "sure" or "confident", but not
    of a denial ("80% sure that it is not A"). In a reply without either, to a question that asks for a confidence, it
    is a percentage that is a whole line, or a number beside the letter of the answer ("B (80%)"), unless the question
    contains that percentage, as in an option "5 %". If labelled values differ, the last on the line of the answer
    counts, else the last.

    Args:
        text: A whole reply; thinking and everything from a loop on are left out.
        question: What was asked, with its options; empty if it is not known.

    Example:
        >>> [parse_confidence(f"Answer: B; Confidence: {value}") for value in ("80%", "0.8", "70-80", "150%", "high")]
        [0.8, 0.8, 0.75, 1.0, None]
        >>> parse_confidence("60% of the disc is pale. 置信度：９０％"), parse_confidence("60% of the disc is pale.")
        (0.9, None)
        >>> [parse_confidence("B (80%)", question) for question in ("Which? How confident are you?", "Which?")]
        [0.8, None]
    """
    written = visible_text(text).written
    text = _SCALE.sub(" ", visible_text(text).sound)
    if _OTHER_SCALE.search(text):
        return None
    labelled = _shares(_LABELLED, text) or _shares(_TAGGED, written) or _of_fields(written)
    if len(set(labelled)) > 1:
        line = [share for line in _ANSWER.finditer(text) for share in _shares(_LABELLED, line[0])]
        return line[-1] if line else labelled[-1]
    if labelled:
        return _only(labelled)
    if found := [sure for sure in _SURE.finditer(text) if not _OF_A_DENIAL.match(text, sure.end())]:
        return _only(map(_share, found))
    question = _SCALE.sub(" ", normalise(question))
    if _FIELD.search(text) or _ASKED.search(question) is None:
        return None
    beside = [m for m in _BESIDE_LETTER.finditer(text) if "%" in m[0] or not m["words"]]
    found = [*(m for m in _ALONE.finditer(text) if "%" in m[0]), *beside]
    of_options = [_share(m) for m in _PERCENTAGE.finditer(question)]
    return _only(_share(m) for m in found if _share(m) not in of_options)


def read_confidence(reply: Reply, question: str = "") -> float | None:
    """Return the confidence that a reply states (see `parse_confidence`); None for a number that was cut off.

    A reply that ended at the token limit may lack the last digits of the number at its end: "Confidence: 8" may have
    become 80 %.

    Example:
        >>> read_confidence(Reply("a", "B; Confidence: 8", "length")), read_confidence(Reply("a", "B; Confidence: 8"))
        (None, 0.08)
    """
    text = reply.reply
    return parse_confidence(text.rstrip(_CUT) if reply.finish_reason == "length" else text, question)


def without_confidence(text: str) -> str:
    r"""Return the text with labelled confidences replaced by a line break, so that no option is read in them.

    Example:
        >>> without_confidence("Confidence: 60%; Answer: C")
        '\n; Answer: C'
    """
    return _FIELD.sub("\n", text)


_TAGGED = compiled("confidence.tagged")
_WHOLE = re.compile(rf"\s{{0,3}}{_VALUE}\s{{0,3}}", re.IGNORECASE)


def _of_fields(written: str) -> list[float]:
    """Return the confidences in the fields of objects and the columns of tables."""
    fields = {
        (slot.spans, key): value
        for slot in decode(written).slots
        for key, value in slot.extra.items()
        if is_confidence(key)
    }
    return [_share(found) for value in fields.values() if (found := _WHOLE.fullmatch(value))]


def _shares(pattern: re.Pattern[str], text: str) -> list[float]:
    return [_share(found) for found in pattern.finditer(text)]


def _only(values: Iterable[float]) -> float | None:
    """Return the value if all are equal, else None; None for no values."""
    different = set(values)
    return different.pop() if len(different) == 1 else None


def _share(found: re.Match[str]) -> float:
    """Return the share that a match of `_VALUE` states, from 0 to 1."""
    parts = {name.removeprefix("after_"): value for name, value in found.groupdict().items() if value}
    numbers = [parts[name].replace(",", ".") for name in ("first", "second") if name in parts]
    middle = sum(map(float, numbers)) / len(numbers)
    if base := parts.get("base"):
        return min(1.0, max(0.0, middle / float(base)))
    percent = "percent" in parts or "percent2" in parts or "百分之" in found[0]
    is_share = not percent and all("." in number and float(number) <= 1 for number in numbers)
    return min(1.0, max(0.0, middle if is_share else middle / 100))
