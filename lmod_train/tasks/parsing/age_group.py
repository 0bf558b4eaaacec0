"""Parse an age group from its number, its range, or an age within it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from lmod_train.core.types import Unparsed
from lmod_train.core.vocabulary import compiled, entry
from lmod_train.tasks.parsing.clean import clean
from lmod_train.tasks.parsing.cues import final_statement, split_explanation
from lmod_train.tasks.parsing.forms import plain
from lmod_train.tasks.parsing.groups import Slot
from lmod_train.tasks.parsing.normalise import in_place
from lmod_train.tasks.parsing.reading import UNKNOWN, Claim, answer_in
from lmod_train.tasks.parsing.slots import abstains, kinds_of
from lmod_train.tasks.parsing.stance import clauses, stance, statements

Span = tuple[float, float]
"""Youngest age, and the upper end, exclusive."""

OLDEST = 120
_NONE: Span = (-1, -1)  # a group or an age that does not exist
_EVERY = float("inf")

_NUMERALS: dict[str, int] = entry("numerals.numerals")
_TENS = entry("age_group.tens")
_PARTS = {
    "words": "|".join(sorted(filter(str.isascii, _NUMERALS), key=lambda w: (-len(w), w))),
    "tens": "|".join(filter(str.isascii, _TENS)),
}


def _compiled(name: str, flags: int = re.IGNORECASE) -> re.Pattern[str]:
    return compiled(f"age_group.{name}", flags, **_PARTS)


_READERS = {
    **{name: _compiled(name) for name in ("group", "range", "over", "under", "decade", "person_of", "age", "teens")},
    "child": _compiled("child", 0),
}
"""How a text states ages, in the order in which it is read."""
_MEASURES, _NOTHING_MEASURED, _OLD = _compiled("measures"), _compiled("nothing_measured"), _compiled("old")
_FIELD, _NAME, _OF_SEX, _COMPARED = _compiled("field"), _compiled("name", 0), _compiled("of_sex"), _compiled("compared")
_LISTED = _compiled("listed")
"""Further groups with their ranges behind a first one, as the prompt lists them."""
_FIRST_NUMBER, _FIRST_WORD = _compiled("first_number", 0), _compiled("first_word")
_ITEM = re.compile(r"\s{0,9}[0-9]{1,2}[.)]\s(?=\D)")  # the number of a list of one
_TWO, _ALONE = _compiled("two"), _compiled("alone", 0)


def parse_age_group(text: str, choices: Sequence[str], broader: Mapping[str, str] | None = None) -> str | Unparsed:
    """Return the age group that the text states, in the prompt's spelling.

    A group may be stated by number ("Group 3"), by range (30-39; also 30-40, as in LMOD v1), by an age within it ("65
    years old"), or in words that fit one group only ("in their thirties"). A statement that spans several groups is
    ambiguous: "over 60", "in his teens". A bare number behind "Age Group:" is a group if it is at most the number of
    groups, an age if it is at least the upper end of the first group, and otherwise neither.

    Args:
        text: A reply without thinking and markup (see `read`).
        choices: Labels in order, the first ``<n``, the last ``n+``, with ranges between; group 1 is the first.
        broader: Choice -> broader group. If given, a statement that spans several choices of one broader group is
            that group: "60+", "over 60", "40-60".

    Returns:
        The choice, or the broader group; or `Unparsed` with ``empty``, ``no_match``, ``ambiguous`` or ``out_of_range``
        (group 9, age 200).

    Example:
        >>> groups = ("<18", "18–29", "30–39", "40+")
        >>> [parse_age_group(text, groups) for text in ("Age Group: 3", "a 25-year-old", "Group 3: 30-39")]
        ['30–39', '18–29', '30–39']
        >>> parse_age_group("over 20", groups).reason
        'ambiguous'
        >>> parse_age_group("18-39", groups, {"18–29": "18–40", "30–39": "18–40"})
        '18–40'
    """
    lists = _LISTED.search(in_place(text)) is not None  # a list of all groups is no choice; prose is read as a whole

    def of_slot(slot: Slot) -> Claim | None:
        return None if lists and slot.layout == "line" else _read_slot(slot, choices, broader)

    return answer_in(text, of_slot, lambda prose: _in_prose(prose, choices, broader))


def _read_slot(slot: Slot, choices: Sequence[str], broader: Mapping[str, str] | None) -> Claim | None:
    """Return the group that a slot states; None for a slot about something else."""
    name = plain(slot.name)
    labelled = _NAME.fullmatch(name)
    if not labelled and slot.role not in ("answer", "diagnosis", "type"):
        return None
    spans = _spans_of(choices)
    value = _OF_SEX.sub("", clean(slot.value))
    label = (labelled["label"] or labelled["han"]) if labelled else "group"
    if re.fullmatch(r".{1,6}\?\s?", value):
        return Unparsed("no_match", "a question")
    if found := list(_in_field(label, value, spans)):
        return _decide(found, choices, spans, broader)
    if none := abstains(kinds_of(value), "group"):
        return none
    return UNKNOWN if labelled and len(value.split()) <= 6 else None


def _in_prose(text: str, choices: Sequence[str], broader: Mapping[str, str] | None) -> str | Unparsed:
    spans = _spans_of(choices)
    text = text[m.end() :] if (m := _ITEM.match(text)) else text
    final = final_statement(text)
    if final is not None and (found := list(_stated(clauses(final)[:1], spans, bare=True))):
        return _decide(found, choices, spans, broader)
    head, explained = split_explanation(text)
    fields = list(_FIELD.finditer(head))
    if fields:
        lists = (_LISTED.match(head, m.end()) for m in fields)  # a whole list is no choice
        values = [
            _OF_SEX.sub("", m["value"] + (more[0] if more else "")) for m, more in zip(fields, lists, strict=True)
        ]
        labels = [m["label"].casefold() for m in fields]
        found = [a for label, value in zip(labels, values, strict=True) for a in _in_field(label, value, spans)]
        return _decide(found, choices, spans, broader)
    parts = clauses(head)
    short = parts[:1] if explained or (len(parts) == 1 and len(head.split()) <= 4) else []
    found = list(_stated(short, spans, bare=True))
    return _decide(found or list(_stated(statements(text), spans)), choices, spans, broader)


def _spans_of(choices: Sequence[str]) -> list[Span]:
    """Return the age span of each label."""
    numbers = [[int(n) for n in re.findall("[0-9]+", choice)] for choice in choices]
    return [
        (0, n) if choice.startswith("<") else (n, more[0] + 1 if more else _EVERY)
        for choice, (n, *more) in zip(choices, numbers, strict=True)
    ]


def _in_field(label: str, value: str, spans: Sequence[Span]) -> Iterator[Span]:
    """Yield the ages in the value of a field; a leading number is a group or an age."""
    first = _FIRST_NUMBER.match(value) or _FIRST_WORD.match(value)
    if first and not ("<" in first[0] and _number(first["n"]) > len(spans)):
        yield _bare_number(_number(first["n"]), spans, of_group=label not in ("age", "年龄"))
        value = value[first.end() :]
    yield from _stated(clauses(value), spans, bare=True)


def _bare_number(n: int, spans: Sequence[Span], of_group: bool = True) -> Span:
    if n <= len(spans):
        return spans[n - 1] if of_group and n else (0, _EVERY) if not of_group else _NONE
    return (n, n + 1) if n <= OLDEST and (n >= spans[0][1] or not of_group) else _NONE


def _stated(parts: Sequence[str], spans: Sequence[Span], bare: bool = False) -> Iterator[Span]:
    """Yield the ages that clauses assert; with `bare`, a clause of one number is an assertion."""
    for clause in parts:
        alone = _ALONE.fullmatch(clause)
        if bare and _TWO.match(clause):
            yield (0, _EVERY)
            continue
        if bare and alone:
            yield _bare_number(int(alone["n"]), spans)
            continue
        for m, span, is_age in _mentioned(clause, spans):
            if is_age and _COMPARED.search(clause, max(0, m.start() - 24), m.start()):
                yield (0, _EVERY)
            elif (bare or is_age) and stance(clause, m.start(), m.end(), bare=True) == "asserted":
                yield span


def _mentioned(clause: str, spans: Sequence[Span]) -> Iterator[tuple[re.Match[str], Span, bool]]:
    """Yield matches that may be an age group without overlap, their ages, and whether they certainly are one.

    A number of any unit (10-12, over 40) is an age if the clause is about age, if the match has a unit of age (20
    years), or if it has the printed form of a group (30-39, 80+, under 18).
    """
    rest, about_age = clause, _OLD.search(clause) is not None
    for kind, pattern in _READERS.items():
        for m in pattern.finditer(rest):
            span = _span_of(kind, m, spans)
            if span is None or _MEASURES.match(rest, m.end()):
                continue
            marked = kind == "range" or "+" in m[0] or "<" in m[0]
            printed = span in spans and (marked or _NOTHING_MEASURED.match(rest, m.end()) is not None)
            explicit = _OLD.search(m[0]) is not None if kind == "age" else about_age
            yield m, span, printed or explicit or kind not in ("range", "over", "under", "age")
        rest = pattern.sub(lambda m: "\x00" * len(m[0]), rest)


def _span_of(kind: str, m: re.Match[str], spans: Sequence[Span]) -> Span | None:
    """Return the ages that a match of one of the readers states, None if it is about something else."""
    groups = m.groupdict()
    if kind in ("teens", "child"):
        return (13, 20) if kind == "teens" else (0, 13)
    if kind == "group":
        n = _number(groups["n"])
        if groups["other"]:
            return (0, _EVERY)
        if groups["age"] and n > len(spans):
            return _bare_number(n, spans)
        return spans[n - 1] if 1 <= n <= len(spans) else _NONE
    if kind == "decade":
        low = 10 * int(groups["n"]) if groups["n"] else _TENS.get((groups["word"] or groups["han"]).casefold())
        return None if low is None else (low, low + 10)
    n = int(groups["n"] or groups["m"])
    if kind == "range":
        high = int(groups["m"])
        if high <= n or high > 150:
            return None
        if high <= len(spans):  # "5-7": ages or groups?
            return (0, _EVERY)
        return (n, high if {n, high} <= {first for first, _ in spans} else high + 1)  # 30-40 for the group 30-39
    if kind == "over":
        return (n, _EVERY) if n <= OLDEST else None
    if kind == "under" and m[0].startswith("<") and n <= len(spans):
        return spans[n - 1] if n else None  # rest of a placeholder in angle brackets: "<3>"
    return (0, n) if kind == "under" else (n, n + 1) if n <= OLDEST else _NONE


def _number(word: str) -> int:
    """Return the value of a numeral, -1 for none."""
    return int(word) if word.isascii() and word.isdigit() else _NUMERALS.get(word.casefold(), -1)


def _decide(
    found: Sequence[Span], choices: Sequence[str], spans: Sequence[Span], broader: Mapping[str, str] | None
) -> str | Unparsed:
    """Return the one group that contains all stated ages, or the one broader group."""
    if not found:
        return Unparsed("no_match")
    if all(span == _NONE for span in found):
        return Unparsed("out_of_range")
    groups = {i for low, beyond in found for i, (first, last) in enumerate(spans) if low < last and first < beyond}
    if len(groups) == 1 and _NONE not in found:
        return choices[groups.pop()]
    over = {broader.get(choices[i], "") for i in groups} if broader else set()
    if len(over) == 1 and "" not in over and _NONE not in found:
        return over.pop()
    return Unparsed("ambiguous", " and ".join(choices[i] for i in sorted(groups)[:4]))
