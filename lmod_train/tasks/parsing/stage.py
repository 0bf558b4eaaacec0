"""Parse a stage or grade: a whole number from a range."""

from __future__ import annotations

import re
from collections.abc import Sequence

from lmod_train.core.types import Unparsed
from lmod_train.core.vocabulary import compiled, entry, phrases
from lmod_train.tasks.parsing.clean import clean
from lmod_train.tasks.parsing.cues import final_statement, split_explanation
from lmod_train.tasks.parsing.forms import plain
from lmod_train.tasks.parsing.normalise import in_place
from lmod_train.tasks.parsing.reading import IGNORED, UNKNOWN, Claim, answer_in
from lmod_train.tasks.parsing.slots import kinds_of, value_at
from lmod_train.tasks.parsing.stance import clauses, stance, statements
from lmod_train.tasks.parsing.structure import Slot

_WORDS = "|".join(sorted((re.escape(w) for w in entry("numerals.numerals") if w.isascii()), key=lambda w: (-len(w), w)))
_HAN = "".join(w for w in entry("numerals.numerals") if not w.isascii())
_LATIN_LABEL = "|".join([*(w for w in entry("numerals.stage_labels") if w.isascii()), *entry("numerals.scale_labels")])
_HAN_LABEL = "|".join(w for w in entry("numerals.stage_labels") if not w.isascii())
_NOT_ME = r"(?!i(?:'|\s(?:would|will|can|could|have|had|am|was|assign|see|think|believe|choose|pick|give|gave|estimate"
_NOT_ME += (
    r"|find|found|judge|select|say|read|infer|propose|grade|score|rate|stage|classify|put|call|label|settle|go|opt"
)
_NOT_ME += r"|take)(?![a-z])))"  # "the stage I would give" is no stage one
_NUMERAL = rf"{_NOT_ME}(?:[0-9]{{1,9}}(?![0-9])|(?:{_WORDS})(?![a-z])|[{_HAN}](?![{_HAN}]))"
_NUMBER = rf"(?P<r>r)?(?P<number>{_NUMERAL})(?![.][0-9])(?:(?:st|nd|rd|th)(?![a-z]))?(?:m[0-9])?"
_STOP = phrases("stage.stop")
_RELABELLED = rf"(?:(?:{_LATIN_LABEL})\s{{0,2}}(?:[:=]\s{{0,2}})?)?"
_JOIN = rf"(?:-|/|~|,|&|(?:to|or|and|through)(?![a-z])|[或至到和、])\s{{0,3}}{_RELABELLED}"
_OTHER = (
    rf"{_JOIN}(?P<other>r?[0-9]{{1,3}}(?![0-9]|[.][0-9]){_STOP}|(?:{_WORDS})(?![a-z]){_STOP}|[{_HAN}](?=\s?[期级]))"
)
_TAIL = rf"(?P<letter>[abc](?![a-z]))?(?:\s{{0,3}}{_OTHER})?"
_UNIT = phrases("stage.unit")
_SEPARATOR = phrases("stage.separator")
_STATED = compiled("stage.stated", han_label=_HAN_LABEL, latin_label=_LATIN_LABEL, number=_NUMBER, tail=_TAIL)
_STATED_HAN = compiled("stage.stated_han", 0, han=_HAN)
_GRADED = compiled("stage.graded", latin_label=_LATIN_LABEL, number=_NUMBER, tail=_TAIL)
_CHOSEN = compiled("stage.chosen")
_BETWEEN = compiled("stage.between", latin_label=_LATIN_LABEL, numeral=_NUMERAL)
_FIELD_BETWEEN = re.compile(rf"^\W{{0,4}}(?:somewhere\s)?between\s(?={_NUMERAL}\sand\s)", re.IGNORECASE)
_BOUND = compiled("stage.bound")
_ORDINAL = compiled("stage.ordinal")
_R_LEVEL = re.compile(r"(?<![A-Za-z0-9])R(?P<number>[0-9])(?![0-9.])")  # of the Scottish scale
_ALONE = re.compile(rf"\W{{0,9}}(?<![+-]){_NUMBER}{_TAIL}{_UNIT}\W{{0,9}}", re.IGNORECASE)
_FIELD = compiled("stage.field", latin_label=_LATIN_LABEL)
_STAGE_NAME = compiled("stage.stage_name", 0, han_label=_HAN_LABEL, latin_label=_LATIN_LABEL)
_RANGE = re.compile(r"\W{0,3}(?:[<>≤≥]\s?[0-9]{1,2}(?!\s?>)|[0-9]\s?:\s?[0-9])")  # "> 2", "2 → 3"
_DEFINED = compiled("stage.defined")
_NOT_STATED = re.compile(r"\s{0,3}(?:\?|(?:only\s)?(?:if|unless|provided)(?![a-z]))", re.IGNORECASE)
_FIELD_END = re.compile(r"[\n;}|。]|[.](?=\s|$)|$")
_FIRST = re.compile(rf"[\s\"'(\[{{<:]{{0,6}}{_NUMBER}{_TAIL}{_UNIT}", re.IGNORECASE)
_LEADING = re.compile(rf"[\s\"'(\[{{<]{{0,4}}{_NUMBER}{_TAIL}(?=\s{{0,3}}(?:$|[(;\n]|-\s))", re.IGNORECASE)
_ENUMERATOR = re.compile(r"(?:^|(?<=\n))\s{0,3}[0-9]{1,2}[.)]\s{1,3}(?=[^\W\d])")
_LIST = re.compile(r"\s{0,3}1[.)]\s{1,3}[^\W\d]")  # "1. The hole ...": line numbers, not stages
_LONGEST_FIELD = 400
_OPENING = re.compile(r"[\s\"'(\[{<:]{0,6}(?:is\s|at\s)?")


def parse_stage(text: str, choices: Sequence[str]) -> str | Unparsed:
    """Return the stage that the text states, in the prompt's spelling.

    Arabic and Roman numerals and words are read; a sub-stage letter is ignored (1A is stage 1 in Gass's grading).
    Measurements ("Stage: 200 um") and fractions are no stages.

    Args:
        text: A reply without thinking and markup (see `read`).
        choices: Whole numbers as text, e.g. ``("1", "2", "3", "4")``.

    Returns:
        The choice; or `Unparsed` with ``empty``, ``no_match``, ``ambiguous`` (two stages, or a range) or
        ``out_of_range`` (one stage that is no choice).

    Example:
        >>> parse_stage("stage two", ("1", "2", "3", "4")), parse_stage("Stage: IV; Justification: ...", ("1", "4"))
        ('2', '4')
        >>> [parse_stage(text, ("1", "2", "3", "4")).reason for text in ("Stage: 200 μm; Justification: -", "Stage: 5")]
        ['no_match', 'out_of_range']
    """
    return answer_in(text, lambda slot: read_stage(slot, choices), lambda prose: stage_in_prose(prose, choices))


def read_stage(slot: Slot, choices: Sequence[str]) -> Claim | None:
    """Return the stage that a slot states; None for a slot about something else."""
    name = plain(slot.name)
    labelled = _STAGE_NAME.fullmatch(name) is not None
    if (number := re.fullmatch(r"(?:stage |grade |level )?([0-9])", name)) and (kinds := kinds_of(slot.value)):
        return _decide([int(number[1])], choices) if kinds == ("yes",) else IGNORED
    if not labelled and slot.role not in ("answer", "diagnosis", "type"):
        return None
    value = clean(slot.value)
    lettered = "0" in choices
    if _RANGE.match(in_place(slot.value)):
        return Unparsed("ambiguous", "a range")
    if len(value.split()) > 4 and isinstance(stated := stage_in_prose(value, choices), str):
        return stated
    if found := list(dict.fromkeys(_in_field(value, lettered))):
        return _decide(found, choices)
    kinds = kinds_of(value)
    if {"refused", "open"} & set(kinds):
        return Unparsed("refused" if "refused" in kinds else "no_match", "no stage in its slot")
    if slot.layout == "line" and not labelled and len(value.split()) > 6:
        return None
    return UNKNOWN if labelled else None


def stage_in_prose(text: str, choices: Sequence[str]) -> str | Unparsed:
    """Return the stage that prose states (see `parse_stage`)."""
    lettered = "0" in choices
    final = final_statement(text)
    if final is not None:
        if found := _numbers(clauses(final)[:1], lettered):
            return _decide(found, choices)
        if final_statement(final) is None and isinstance(stated := stage_in_prose(final, choices), str):
            return stated
    if _LIST.match(text):
        text = _ENUMERATOR.sub("", text)
    head, explained = split_explanation(text)
    fields = [(m.end(), _end_of_field(head, m.end())) for m in _FIELD.finditer(head)]
    if fields:
        return _of_fields(head, fields, choices, lettered)
    leading = _LEADING.match(head)
    if leading and (lettered or not leading["r"]):
        return _of_fields(head, [(0, _end_of_field(head, 0))], choices, lettered)
    found = _numbers(statements(head if explained and re.search(r"\w", head) else text), lettered)
    return _decide(found, choices) if found else Unparsed("no_match", text.strip()[:80])


def _end_of_field(text: str, at: int) -> int:
    end = _FIELD_END.search(text, at, at + _LONGEST_FIELD)
    return end.start() if end else min(len(text), at + _LONGEST_FIELD)


def _of_fields(text: str, fields: Sequence[tuple[int, int]], choices: Sequence[str], lettered: bool) -> str | Unparsed:
    """Return the one stage in the fields of the requested format."""
    values = [text[start:end] for start, end in fields]
    found = list(dict.fromkeys(n for value in values for n in _in_field(value, lettered)))
    if found:
        return _decide(found, choices)
    held = [value_at(text, start + _opening(text, start)) for start, _ in fields]
    refused = any(value is not None and "refused" in value[0] for value in held)
    return Unparsed("refused" if refused else "no_match", "; ".join(value.strip() for value in values)[:80])


def _opening(text: str, at: int) -> int:
    opening = _OPENING.match(text, at)
    return opening.end() - at if opening else 0


def _in_field(value: str, lettered: bool) -> list[int | None]:
    """Return the stage at the start of a field's value, else those stated in its clauses."""
    first = _FIRST.match(value)
    if first and (lettered or not first["r"]) and (n := _value(first["number"])) is not None:
        return [] if first["unit"] or _NOT_STATED.match(value, first.end()) else [None if first["other"] else n]
    return _numbers(clauses(_FIELD_BETWEEN.sub("between stage ", value)), lettered)


def _decide(found: Sequence[int | None], choices: Sequence[str]) -> str | Unparsed:
    by_number = {int(c): c for c in choices if re.fullmatch(r"-?[0-9]{1,9}", c)}
    if len(found) > 1 or found[0] is None:
        return Unparsed("ambiguous", "states " + " and ".join("a range" if n is None else str(n) for n in found[:4]))
    if found[0] not in by_number:
        return Unparsed("out_of_range", str(found[0]))
    return by_number[found[0]]


def _numbers(parts: Sequence[str], lettered: bool) -> list[int | None]:
    """Return the distinct stages that the clauses assert, None for a range.

    Without an assertion, stages that are left open ("could be stage 2 or 3") are a range too.
    """
    found: dict[int | None, None] = {}
    left_open = any(_BETWEEN.search(clause) for clause in parts)
    patterns = (_STATED, _STATED_HAN, _ORDINAL, _GRADED, _CHOSEN, *([_R_LEVEL] if lettered else []))
    for clause in parts:
        alone = _ALONE.fullmatch(clause)
        matches = [alone] if alone else [m for pattern in patterns for m in pattern.finditer(clause)]
        for m in matches:
            groups = m.groupdict()
            number = _value(m["number"])
            if (
                number is None
                or groups.get("unit")
                or (groups.get("r") and not lettered)
                or _DEFINED.match(clause, m.end())
            ):
                continue
            if _BOUND.search(clause, max(0, m.start() - 20), m.start()):  # "at least stage 2" is a range
                left_open = True
                continue
            key = None if groups.get("other") else number
            status = "asserted" if alone else stance(clause, m.start(), m.end(), bare=True)
            left_open = left_open or (key is None and status is None)
            if status == "asserted":
                found[key] = None
    return list(found) or [None] * left_open


def _value(numeral: str) -> int | None:
    """Return the value of a numeral, None for an invalid one (VV)."""
    word = numeral.casefold()
    return entry("numerals.numerals").get(word, int(word) if word.isascii() and word.isdigit() else None)
