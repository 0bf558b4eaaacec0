"""Parse a stage or grade: a whole number from a range."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache

from lmod_train.core.types import Unparsed
from lmod_train.core.vocabulary import any_of, compiled, entry
from lmod_train.tasks.parsing.clean import clean
from lmod_train.tasks.parsing.cues import final_statement, split_explanation
from lmod_train.tasks.parsing.forms import plain
from lmod_train.tasks.parsing.groups import Slot
from lmod_train.tasks.parsing.normalise import in_place
from lmod_train.tasks.parsing.reading import IGNORED, UNKNOWN, Claim, answer_in
from lmod_train.tasks.parsing.refusal import is_refusal
from lmod_train.tasks.parsing.slots import abstains, kinds_of, value_at
from lmod_train.tasks.parsing.stance import clauses, stance, statements

_NUMERALS: dict[str, int] = entry("numerals.numerals")
_LABELS = entry("numerals.stage_labels")
_PARTS = {
    "words": "|".join(sorted(filter(str.isascii, _NUMERALS), key=lambda w: (-len(w), w))),
    "han": "".join(w for w in _NUMERALS if not w.isascii()),
    "latin_label": "|".join([*filter(str.isascii, _LABELS), *entry("numerals.scale_labels")]),
    "han_label": "|".join(w for w in _LABELS if not w.isascii()),
    "in_order": "|".join(filter(str.isascii, _NUMERALS)),
}


def _compiled(name: str, flags: int = re.IGNORECASE) -> re.Pattern[str]:
    return compiled(f"stage.{name}", flags, **_PARTS)


_STATED, _STATED_HAN, _GRADED = _compiled("stated"), _compiled("stated_han", 0), _compiled("graded")
_CHOSEN, _BETWEEN, _FIELD_BETWEEN = _compiled("chosen"), _compiled("between"), _compiled("field_between")
_BOUND, _ORDINAL, _R_LEVEL = _compiled("bound"), _compiled("ordinal"), _compiled("r_level", 0)
_ALONE, _FIELD, _STAGE_NAME = _compiled("alone"), _compiled("field"), _compiled("stage_name", 0)
_RANGE, _DEFINED, _NOT_STATED = _compiled("range", 0), _compiled("defined"), _compiled("not_stated")
_FIELD_END, _FIRST, _LEADING = _compiled("field_end", 0), _compiled("first"), _compiled("leading")
_ENUMERATOR, _LIST, _OPENING = _compiled("enumerator", 0), _compiled("list", 0), _compiled("opening", 0)
_DEFINES, _SPAN, _SEVERITY = _compiled("defines"), _compiled("span"), _compiled("severity", 0)
_LONGEST_FIELD, _NEAR = 400, 60
Words = tuple[tuple[str, ...], ...]
"""The names of each level, as regular-expression fragments."""


def parse_stage(text: str, choices: Sequence[str], words: Words = ()) -> str | Unparsed:
    """Return the stage that the text states, by its number or, without a number, by its name.

    Arabic and Roman numerals and words are read; a sub-stage letter is ignored (1A is stage 1 in Gass's grading).
    Measurements ("Stage: 200 um") and fractions are no stages.

    Args:
        text: A reply without thinking and markup (see `read`).
        choices: Whole numbers as text, e.g. ``("1", "2", "3", "4")``, in order.
        words: Names of each choice, in the same order; for the first, the disease itself, whose denial is this level.

    Returns:
        The choice; or `Unparsed` with ``empty``, ``no_match``, ``ambiguous`` (two stages, or a range) or
        ``out_of_range`` (one stage that is no choice).

    Example:
        >>> parse_stage("stage two", ("1", "2", "3", "4")), parse_stage("Stage: IV; Justification: ...", ("1", "4"))
        ('2', '4')
        >>> [parse_stage(text, ("1", "2", "3", "4")).reason for text in ("Stage: 200 μm; Justification: -", "Stage: 5")]
        ['no_match', 'out_of_range']
        >>> words = (("DR",), ("mild NPDR",), ("moderate NPDR",))
        >>> [parse_stage(text, ("0", "1", "2"), words) for text in ("Stage: 2", "Mild NPDR.", "There is no DR.")]
        ['2', '1', '0']
    """
    return answer_in(
        text, lambda slot: _read_slot(slot, choices, words), lambda prose: _in_prose(prose, choices, words)
    )


def _read_slot(slot: Slot, choices: Sequence[str], words: Words) -> Claim | None:
    """Return the stage that a slot states by its number or name; None for a slot about something else."""
    claim = _number_of(slot, choices)
    severity = _SEVERITY.fullmatch(plain(slot.name)) is not None
    if (claim is not None and claim is not UNKNOWN) or not words or not (slot.role or severity or claim):
        return claim
    named = _in_prose(clean(slot.value), choices, words)
    return named if isinstance(named, str) or named.reason == "ambiguous" else claim


def _number_of(slot: Slot, choices: Sequence[str]) -> Claim | None:
    name, value, lettered = plain(slot.name), clean(slot.value), "0" in choices
    labelled = _STAGE_NAME.fullmatch(name) is not None
    if (number := re.fullmatch(r"(?:stage |grade |level )?([0-9])", name)) and (kinds := kinds_of(slot.value)):
        return _decide([int(number[1])], choices) if kinds == ("yes",) else IGNORED
    if not labelled and slot.role not in ("answer", "diagnosis", "type"):
        return None
    if _RANGE.match(in_place(slot.value)):
        return Unparsed("ambiguous", "a range")
    if len(value.split()) > 4 and isinstance(stated := _number_in_prose(value, choices), str):
        return stated
    if found := list(dict.fromkeys(_in_field(value, lettered))):
        return _decide(found, choices)
    if none := abstains(kinds_of(value), "stage"):
        return none
    return UNKNOWN if labelled else None


def _in_prose(text: str, choices: Sequence[str], words: Words) -> str | Unparsed:
    by_number = _number_in_prose(text, choices)
    if isinstance(by_number, str) or by_number.reason != "no_match" or not words:
        return by_number
    named = list(dict.fromkeys(_named(text, _pattern(words))))
    if len(named) > 1:
        return Unparsed("ambiguous", "names " + " and ".join(choices[level] for level in named[:4]))
    return choices[named[0]] if named else by_number


def _number_in_prose(text: str, choices: Sequence[str]) -> str | Unparsed:
    lettered = "0" in choices
    final = final_statement(text)
    if final is not None:
        if found := _numbers(clauses(final)[:1], lettered):
            return _decide(found, choices)
        if final_statement(final) is None and isinstance(stated := _number_in_prose(final, choices), str):
            return stated
    text = _ENUMERATOR.sub("", text) if _LIST.match(text) else text
    head, explained = split_explanation(text)
    leading = _LEADING.match(head)
    starts = [field.end() for field in _FIELD.finditer(head)]
    if not starts and leading and (lettered or not leading["r"]):
        starts = [0]
    if starts:
        return _of_fields(head, starts, choices, lettered)
    found = _numbers(statements(head if explained and re.search(r"\w", head) else text), lettered)
    return _decide(found, choices) if found else Unparsed("no_match", text.strip()[:80])


def _of_fields(text: str, starts: Sequence[int], choices: Sequence[str], lettered: bool) -> str | Unparsed:
    """Return the one stage in the fields of the requested format."""
    ends = (_FIELD_END.search(text, start, start + _LONGEST_FIELD) for start in starts)
    values = [
        text[start : end.start() if end else start + _LONGEST_FIELD] for start, end in zip(starts, ends, strict=True)
    ]
    if found := list(dict.fromkeys(n for value in values for n in _in_field(value, lettered))):
        return _decide(found, choices)
    held = [value_at(text, opening.end()) for start in starts if (opening := _OPENING.match(text, start))]
    refused = any(value is not None and "refused" in value[0] for value in held)
    return Unparsed("refused" if refused else "no_match", "; ".join(value.strip() for value in values)[:80])


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
    return by_number.get(found[0]) or Unparsed("out_of_range", str(found[0]))


def _numbers(parts: Sequence[str], lettered: bool) -> list[int | None]:
    """Return the distinct stages that the clauses assert, None for a range.

    Without an assertion, stages that are left open ("could be stage 2 or 3") are a range too.
    """
    found: dict[int | None, None] = {}
    left_open = any(_BETWEEN.search(clause) for clause in parts)
    patterns = (_STATED, _STATED_HAN, _ORDINAL, _GRADED, _CHOSEN, *([_R_LEVEL] if lettered else []))
    for clause in parts:
        alone = _ALONE.fullmatch(clause)
        for m in [alone] if alone else [m for pattern in patterns for m in pattern.finditer(clause)]:
            groups, number = m.groupdict(), _value(m["number"])
            foreign = groups.get("unit") or (groups.get("r") and not lettered) or _DEFINED.match(clause, m.end())
            if number is None or foreign:
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
    return _NUMERALS.get(word, int(word) if word.isascii() and word.isdigit() else None)


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
