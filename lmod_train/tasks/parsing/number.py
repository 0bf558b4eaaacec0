"""Parse a decimal number with its unit."""

from __future__ import annotations

import re
from collections.abc import Iterator

from lmod_train.core.types import Unparsed
from lmod_train.core.vocabulary import compiled, entry
from lmod_train.tasks.parsing.clean import clean
from lmod_train.tasks.parsing.confidence import without_confidence
from lmod_train.tasks.parsing.cues import final_statement, last, split_explanation
from lmod_train.tasks.parsing.normalise import normalise
from lmod_train.tasks.parsing.own_choice import field_named, folded
from lmod_train.tasks.parsing.slots import kinds_of
from lmod_train.tasks.parsing.stance import WINDOW, stance, statements
from lmod_train.tasks.parsing.structure import decode

_UNIT = "|".join(sorted((re.escape(u) for names in entry("units.units") for u in names), key=lambda u: (-len(u), u)))
_NUMBER = compiled("number.number", unit=_UNIT)
_REFERENCE, _HYPOTHETICAL = compiled("number.reference"), compiled("number.hypothetical")
_SPREAD = re.compile(r"\s?(?:±|\+/?-)\s?[0-9]{1,9}(?:[.,][0-9]{1,9})?")
_ITEM = re.compile(r"(?m)^\s{0,3}[0-9]{1,2}[.)]\s(?=\D)")
_LINE = re.compile(r"(?:^|;)\W{0,9}(?:the |final )?answer\W{0,3}?[:=]\s{0,3}(?P<value>[^\n]{1,1000})", re.I | re.M)
_ASIDE = re.compile(r"\([^()\n]{0,80}\)")  # "0.6 (range 0.5-0.7)"


def parse_number(text: str, unit: str = "", keys: tuple[str, ...] = ()) -> float | Unparsed:
    """Return the one number that the text states in a unit.

    A decimal comma is read as a point, and a number without a unit as one in the unit that was asked for. A number with
    another unit does not count and is not converted; a percentage is a share where no unit was asked for. A comma
    before three digits ("1,250") may mean either, so it is ambiguous.

    Args:
        text: A reply without thinking (see `lmod_train.tasks.parsing.reading.read`).
        unit: The unit that was asked for; empty for none.
        keys: Names of the question, which announce an answer.

    Returns:
        The number; or `Unparsed` with ``empty``, ``no_match`` (no number, or only denied ones) or ``ambiguous``
        (several numbers, a range, or a limit such as "> 0.5").

    Example:
        >>> [parse_number(text) for text in ("Answer: 0,6", "about 0.6", "60 %", "-2.25")]
        [0.6, 0.6, 0.6, -2.25]
        >>> parse_number("The pressure is 21 mmHg at 9 mm", "mmHg"), parse_number("Answer: 60 %", "%")
        (21.0, 60.0)
        >>> [parse_number(text).reason for text in ("0.5-0.6", "> 0.5", "0.5 or 0.7", "1,250", "not 0.5", "unknown")]
        ['ambiguous', 'ambiguous', 'ambiguous', 'ambiguous', 'no_match', 'no_match']
    """
    if not text.strip():
        return Unparsed("empty")
    text = field_named((*keys, *entry("other_languages.numbers"))).sub(r"\g<before>Answer\g<after>", folded(text))
    decoded = decode(text)
    slots = [s for s in decoded.slots if s.layout not in ("line", "box") and s.role in ("answer", "diagnosis")]
    found = [one for slot in slots for one in _numbers(slot.value, unit)]
    if not found:
        if any(set(kinds_of(slot.value)) & {"refused"} for slot in slots):
            return Unparsed("refused", "no number in its slot")
        prose = clean(decoded.prose())
        final, line = final_statement(prose), last(_LINE, split_explanation(prose)[0])
        own = line["value"] if line else prose if final is None else final
        found = list(_numbers(split_explanation(own)[0], unit))
        if not found and final is not None and not line:
            found = list(_numbers(split_explanation(prose)[0], unit))
    if any(isinstance(one, Unparsed) for one in found) or len(set(found)) > 1:
        return Unparsed("ambiguous", text.strip()[:80])
    return found[0] if found else Unparsed("no_match", text.strip()[:80])


def number_of(label: str) -> str | None:
    """Return the number of a cell with a decimal point; None for other text, and for "1,250", which may mean either.

    Example:
        >>> number_of("0,6"), number_of(" +12 "), number_of("n/a"), number_of("1,250")
        ('0.6', '12', None, None)
    """
    plain = re.fullmatch(r"\s*\+?(-?[0-9]{1,15})(?:([.,])([0-9]{1,15}))?\s*", normalise(label))
    if plain is None or (plain[2] == "," and _is_grouped(plain[1], plain[3])):
        return None
    return f"{plain[1]}.{plain[3]}" if plain[3] else plain[1]


def _is_grouped(whole: str, part: str) -> bool:
    """Return whether a comma between digits may divide thousands."""
    return len(part) == 3 and whole.lstrip("-0") != ""


def _numbers(text: str, unit: str) -> Iterator[float | Unparsed]:
    """Yield the numbers that a text asserts in a unit, `Unparsed` for a range, a limit or one of two meanings."""
    text = _ITEM.sub("", _SPREAD.sub("", without_confidence(normalise(text))))
    text = aside if _NUMBER.search(aside := _ASIDE.sub(" ", text)) else text
    for clause in statements(text):
        for found in _NUMBER.finditer(clause):
            own = _factor(found["unit"], unit)
            if own is None or found["fraction"]:
                continue
            before = clause[max(0, found.start() - WINDOW) : found.start()]
            if _REFERENCE.search(before) or _HYPOTHETICAL.match(clause, found.end()):
                continue
            if stance(clause, found.start("whole"), found.end(), bare=True) == "denied":
                continue
            grouped = found["sign"] == "," and "." not in found["whole"] and _is_grouped(found["whole"], found["part"])
            if found["limit"] or found["range"] or found["more"] or grouped:
                yield Unparsed("ambiguous", found[0])
                continue
            value = float(f"{re.sub('[.,]', '', found['whole'])}.{found['part'] or 0}") * own
            power = re.search(r"[+-]?[0-9]+$", found["power"] or "")
            yield (-value if found["minus"] else value) * (10.0 ** int(power[0]) if power else 1.0)


def _factor(found: str | None, asked: str) -> float | None:
    """Return what a number in a unit is multiplied with; None for a unit that was not asked for."""
    if not found or _named(found) == _named(asked):
        return 1.0
    return 0.01 if _named(found) == _named("%") and not asked else None


def _named(unit: str) -> str:
    word = normalise(unit).casefold().strip(" .")
    return next(
        (names[0] for names in entry("units.units") if word in (normalise(name).casefold() for name in names)), word
    )
