"""Read a stage or grade: a whole number out of a range."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from lmod_train.parsing.stance import clauses, stance
from lmod_train.types import Unparsed
from lmod_train.vocabulary import phrases as said

_WORDS = "|".join(sorted((re.escape(w) for w in said.NUMERALS if w.isascii()), key=lambda w: (-len(w), w)))
_HAN = "".join(w for w in said.NUMERALS if not w.isascii())
_LATIN_LABEL = "|".join(w for w in said.STAGE_LABELS if w.isascii())
_HAN_LABEL = "|".join(w for w in said.STAGE_LABELS if not w.isascii())
_NUMBER = rf"(?P<number>-?[0-9]{{1,9}}(?![0-9])|(?:{_WORDS})(?![a-z])|[{_HAN}](?![{_HAN}]))(?![.][0-9])"
_TAIL = rf"(?P<letter>[abc](?![a-z]))?(?:\s{{0,3}}(?:-|–|/|~|to|or|或|至)\s{{0,3}}(?P<other>[0-9]{{1,3}}|(?:{_WORDS})(?![a-z])))?"
_UNIT = rf"(?P<unit>\s{{0,3}}(?:{said.UNITS}))?"
_STATED = re.compile(
    rf"(?<![a-z])(?:{_LATIN_LABEL}|{_HAN_LABEL})(?![a-z])[\"')\]}}]*\s{{0,3}}(?:[:=]|[\-–—](?=\s)|is|of|为|是)?\s{{0,3}}"
    rf"[\"'(\[{{<]*\s?{_NUMBER}{_TAIL}{_UNIT}",
    re.IGNORECASE,
)
_STATED_HAN = re.compile(rf"第?\s?(?P<number>[0-9]{{1,9}}|[{_HAN}]|[ivIV]{{1,3}})\s?(?:期|级|阶段)")
_ORDINAL = re.compile(r"(?<![a-z])(?P<number>first|second|third|fourth)(?=\s(?:stage|grade))", re.IGNORECASE)
_ALONE = re.compile(rf"\W*{_NUMBER}{_TAIL}{_UNIT}\W*", re.IGNORECASE)
_FIELD = re.compile(r"(?:^|[\n{,;])\s*[\"'\-•(]*(?:stage|grade|分期|分级|阶段)[\"']?\s{0,3}[:=]", re.IGNORECASE)
_EXPLAINED = re.compile(rf"(?<![a-z])(?:{'|'.join(said.EXPLANATION_LABELS)})[\"']?\s{{0,3}}[:=]", re.IGNORECASE)
_FINAL = re.compile(
    "(?<![a-z])(?:"
    + "|".join(p.replace(" ", r"\s{1,3}") for p in (*said.FINAL_EN, *said.CORRECTIONS_EN))
    + ")(?![a-z])|"
    + "|".join((*said.FINAL_ZH, *said.CORRECTIONS_ZH)),
    re.IGNORECASE,
)


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
        >>> parse_stage("Stage: 200 μm ; Justification: ...", ("1", "2")).reason, parse_stage("Stage: 5", ("1", "2")).reason
        ('no_match', 'out_of_range')
    """
    if not text.strip():
        return Unparsed("empty")
    last = None
    for last in _FINAL.finditer(text):
        pass
    spoken = [text[last.end() :].lstrip(" :=-,")] if last else []
    explained = _EXPLAINED.search(text)
    field = _FIELD.search(text)
    if explained and text[: explained.start()].strip():
        spoken.append(text[: explained.start()])
    elif field:
        spoken.append(text[field.start() : text.find("\n", field.end()) + 1 or len(text)])
    for part in (*spoken, text):
        found = list(dict.fromkeys(_numbers(part)))
        if found:
            return _decide(found, choices)
        if field and part is not text and part is not spoken[0] if last else field and part is not text:
            return Unparsed("no_match", part.strip()[:80])  # the requested field holds no stage
    return Unparsed("no_match", text.strip()[:80])


def _decide(found: Sequence[int | None], choices: Sequence[str]) -> str | Unparsed:
    by_number = {int(c): c for c in choices if re.fullmatch(r"-?[0-9]{1,9}", c)}
    if len(found) > 1 or found[0] is None:
        return Unparsed("ambiguous", "states " + " and ".join("a range" if n is None else str(n) for n in found[:4]))
    if found[0] not in by_number:
        return Unparsed("out_of_range", str(found[0]))
    return by_number[found[0]]


def _numbers(text: str) -> Iterator[int | None]:
    """Yield every stage stated and not denied; None stands for a range."""
    for clause in clauses(text):
        alone = _ALONE.fullmatch(clause)
        if alone and not alone["unit"]:
            yield None if alone["other"] else _value(alone["number"])
            continue
        for pattern in (_STATED, _STATED_HAN, _ORDINAL):
            for m in pattern.finditer(clause):
                groups = m.groupdict()
                if groups.get("unit") or stance(clause, m.start(), m.end(), bare=True) != "asserted":
                    continue
                yield None if groups.get("other") else _value(m["number"])


def _value(numeral: str) -> int:
    word = numeral.casefold()
    return said.NUMERALS[word] if word in said.NUMERALS else int(word)
