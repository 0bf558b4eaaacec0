"""Read a stage or grade: a whole number out of a range."""

from __future__ import annotations

import re
from collections.abc import Sequence

from lmod_train.parsing.cues import EXPLANATION, settled
from lmod_train.parsing.stance import clauses, stance
from lmod_train.types import Unparsed
from lmod_train.vocabulary import phrases as said

_WORDS = "|".join(sorted((re.escape(w) for w in said.NUMERALS if w.isascii()), key=lambda w: (-len(w), w)))
_HAN = "".join(w for w in said.NUMERALS if not w.isascii())
_LATIN_LABEL = "|".join(w for w in said.STAGE_LABELS if w.isascii())
_HAN_LABEL = "|".join(w for w in said.STAGE_LABELS if not w.isascii())
_NUMBER = rf"(?P<number>[0-9]{{1,9}}(?![0-9])|(?:{_WORDS})(?![a-z])|[{_HAN}](?![{_HAN}]))(?![.][0-9])"
_OTHER = rf"(?:-|–|/|~|to|or|或|至)\s{{0,3}}(?P<other>[0-9]{{1,3}}|(?:{_WORDS})(?![a-z]))"
_TAIL = rf"(?P<letter>[abc](?![a-z]))?(?:\s{{0,3}}{_OTHER})?"
_UNIT = rf"(?P<unit>\s{{0,3}}(?:{said.UNITS}))?"
_STATED = re.compile(
    rf"(?<![a-z])(?:{_LATIN_LABEL}|{_HAN_LABEL})(?![a-z])[\"')\]}}]*\s{{0,3}}(?:[:=\-–—]|is|of|为|是)?\s{{0,3}}"
    rf"[\"'(\[{{<]*\s?{_NUMBER}{_TAIL}{_UNIT}",
    re.IGNORECASE,
)
_STATED_HAN = re.compile(rf"第?\s?(?P<number>[0-9]{{1,9}}|[{_HAN}]|[ivIV]{{1,3}})\s?(?:期|级|阶段)")
_ORDINAL = re.compile(r"(?<![a-z])(?P<number>first|second|third|fourth)(?=\s(?:stage|grade))", re.IGNORECASE)
_ALONE = re.compile(rf"\W*{_NUMBER}{_TAIL}{_UNIT}\W*", re.IGNORECASE)
_FIELD = re.compile(r"(?:^|[\n{,;])\s*[\"'\-•(]*(?:stage|grade|分期|分级|阶段)[\"']?\s{0,3}[:=]", re.IGNORECASE)


def parse_stage(text: str, choices: Sequence[str]) -> str | Unparsed:
    """Return the stage that the text states, in the prompt's own spelling.

    Arabic and Roman numerals and words count, with a sub-stage letter left aside (1A is stage 1 in Gass's grading). A
    measurement is no stage ("Stage: 200 um"), nor is a fraction.

    Args:
        text: A reply without thinking and markup (see `read`).
        choices: Whole numbers as text, e.g. ``("1", "2", "3", "4")``; they are the range.

    Returns:
        The choice; or `Unparsed` with ``empty``, ``no_match``, ``ambiguous`` (two stages, or a range of them) or
        ``out_of_range`` (one stage that does not exist).

    Example:
        >>> parse_stage("stage two", ("1", "2", "3", "4")), parse_stage("Stage: IV; Justification: ...", ("1", "4"))
        ('2', '4')
        >>> [parse_stage(text, ("1", "2", "3", "4")).reason for text in ("Stage: 200 μm; Justification: -", "Stage: 5")]
        ['no_match', 'out_of_range']
    """
    if not text.strip():
        return Unparsed("empty")
    spoken = settled(text)
    if spoken is not None and (found := _numbers(clauses(spoken)[:1])):
        return _decide(found, choices)
    requested = _requested(text)
    if requested is not None:
        found = _numbers(clauses(requested))
        return _decide(found, choices) if found else Unparsed("no_match", requested.strip()[:80])
    found = _numbers(clauses(text))
    return _decide(found, choices) if found else Unparsed("no_match", text.strip()[:80])


def _requested(text: str) -> str | None:
    """Return the text in the requested format, up to the explanation; None where the format is not used."""
    explained = EXPLANATION.search(text)
    head = text[: explained.start()] if explained else text
    field = _FIELD.search(head)
    if field:
        end = re.compile(r"[\n;]|[.](?=\s)|$").search(head, field.end())
        return head[field.start() : end.start() if end else len(head)]
    return head if explained and re.search(r"\w", head) else None


def _decide(found: Sequence[int | None], choices: Sequence[str]) -> str | Unparsed:
    by_number = {int(c): c for c in choices if re.fullmatch(r"-?[0-9]{1,9}", c)}
    if len(found) > 1 or found[0] is None:
        return Unparsed("ambiguous", "states " + " and ".join("a range" if n is None else str(n) for n in found[:4]))
    if found[0] not in by_number:
        return Unparsed("out_of_range", str(found[0]))
    return by_number[found[0]]


def _numbers(parts: Sequence[str]) -> list[int | None]:
    """Return the different stages that the clauses state and do not deny; None stands for a range."""
    found: dict[int | None, None] = {}
    for clause in parts:
        alone = _ALONE.fullmatch(clause)
        if alone:
            if not alone["unit"]:
                found[None if alone["other"] else _value(alone["number"])] = None
            continue
        for m in (m for pattern in (_STATED, _STATED_HAN, _ORDINAL) for m in pattern.finditer(clause)):
            groups = m.groupdict()
            number = None if groups.get("other") else _value(m["number"])
            if (
                number not in found
                and not groups.get("unit")
                and stance(clause, m.start(), m.end(), bare=True) == "asserted"
            ):
                found[number] = None
    return list(found)


def _value(numeral: str) -> int:
    word = numeral.casefold()
    return said.NUMERALS[word] if word in said.NUMERALS else int(word)
