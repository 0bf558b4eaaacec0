"""Find stages, grades and numbered groups that the scale of a question does not have."""

from __future__ import annotations

import re
from collections.abc import Iterator

from lmod_train.core.vocabulary.age_groups import AGE_GROUPS
from lmod_train.core.vocabulary.numerals import NUMERALS, UNITS
from lmod_train.tasks.failures.case import Case, Span
from lmod_train.tasks.parsing.stance import contains_negation

_WORDS = "|".join(sorted((re.escape(w) for w in NUMERALS if w.isascii() and len(w) > 1), key=len, reverse=True))
_HAN = "".join(w for w in NUMERALS if not w.isascii() and len(w) == 1)
_N = rf"(?:[0-9]{{1,3}}|(?:{_WORDS}|v)(?![a-z]))"
_NO_UNIT = rf"(?![0-9]|[.][0-9]|\s{{0,3}}(?:{UNITS}|%|months?|years?|weeks?|pixels?|cysts?|layers?))"
_LABEL = (
    r"(?<![a-z])(?:stages?|grades?|levels?|icdr|sdrg)(?:\s(?:number|grade|is|of))?\s{0,2}[:=]?\s{0,2}[\"'<\[({]{0,2}"
)
_STATED = re.compile(rf"{_LABEL}(?P<n>{_N}){_NO_UNIT}", re.IGNORECASE)
_LIST = re.compile(
    rf"(?<![a-z])(?:stages?|grades?|levels?)\s(?:{_N}\s?(?:,|-|to|and|through|&)\s?(?:and\s)?(?:stage\s)?){{1,8}}(?P<n>{_N}){_NO_UNIT}",
    re.IGNORECASE,
)
_RANGE = re.compile(
    rf"(?<![a-z])(?:scale|stages?|graded?|range[sd]?|grading)(?![a-z])[^.;\n]{{0,40}}?\sfrom\s(?:stage\s|grade\s)?{_N}\s(?:to|through|-)\s"
    rf"(?:stage\s|grade\s)?(?P<n>{_N}){_NO_UNIT}",
    re.IGNORECASE,
)
_COUNT = re.compile(
    rf"(?<![a-z0-9])(?P<n>{_N})\s(?:different\s|distinct\s)?(?:stages|grades|levels)(?![a-z])", re.IGNORECASE
)
_HAN_STAGE = re.compile(rf"(?:第\s?)?(?P<n>[0-9]{{1,2}}|[{_HAN}])\s?[期级]")
_NEGATIVE = re.compile(r"(?:stage|grade|分期|分级)\s{0,2}[:=]\s{0,2}(?P<n>-\s?[0-9]{1,2})(?![0-9])", re.IGNORECASE)
_SIGNED_OUT = re.compile(r"(?<![A-Za-z0-9])R(?P<n>[0-9])(?![0-9.])")
_GROUP = re.compile(r"(?<!age )(?<![a-z])group\s{1,2}(?P<n>[0-9]{1,2})(?![0-9]|\s?[-~/]\s?[0-9]|s)", re.IGNORECASE)
_BEFORE = 40


def unknown_stage(case: Case) -> Span | None:
    """Return the span of the first stage or group beyond the scale, in the answer or in a description of the scale.

    In a description the lower end does not count, as some authors begin a scale at 0; nor does what is denied ("there
    is no stage 5") or carries a unit.
    """
    choices = case.record.choices
    if choices == tuple(group.label for group in AGE_GROUPS):
        return next((m.span("n") for m in _GROUP.finditer(case.text) if not 1 <= int(m["n"]) <= len(choices)), None)
    if len(choices) < 2 or not all(re.fullmatch("[0-9]{1,3}", choice) for choice in choices):
        return None
    levels = [int(choice) for choice in choices]
    return _of_answer(case, levels) or next(_beyond(case.text, max(levels), len(levels)), None)


def _of_answer(case: Case, levels: list[int]) -> Span | None:
    """Return the span of an answer that is no level: what the parser found, or a negative number."""
    negative = _NEGATIVE.search(case.text)
    if negative:
        return negative.span("n")
    if case.reason != "out_of_range":
        return None
    stated = (m for pattern in (_STATED, _HAN_STAGE, _SIGNED_OUT) for m in pattern.finditer(case.text))
    return next((m.span("n") for m in stated if _value(m["n"]) not in levels), case.stripped(0, len(case.text)))


def _beyond(text: str, highest: int, count: int) -> Iterator[Span]:
    """Yield the spans of numbers beyond the highest level that are not denied."""
    for pattern, limit in (
        (_STATED, highest),
        (_LIST, highest),
        (_RANGE, highest),
        (_COUNT, count),
        (_HAN_STAGE, highest),
    ):
        for m in pattern.finditer(text):
            value = _value(m["n"])
            if value is not None and value > limit and not _denied(text, m.start()):
                yield m.span("n")


def _denied(text: str, start: int) -> bool:
    before = re.split(r"[.;,\n。；，]", text[max(0, start - _BEFORE) : start])[-1]
    return contains_negation(before)


def _value(word: str) -> int | None:
    folded = word.casefold()
    return NUMERALS.get(folded, int(folded) if folded.isdecimal() else None)
