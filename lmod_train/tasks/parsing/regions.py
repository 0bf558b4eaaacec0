"""Parse the structure in each numbered box."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache

from lmod_train.core.types import Unparsed
from lmod_train.core.vocabulary import compiled, entry, phrases
from lmod_train.core.vocabulary.structures import TYPE_SLOT
from lmod_train.tasks.parsing.clean import clean
from lmod_train.tasks.parsing.cues import CORRECTION, FINAL, last
from lmod_train.tasks.parsing.forms import correct_labels, forms_of, nearest, pattern_of, plain, term_of
from lmod_train.tasks.parsing.groups import Slot
from lmod_train.tasks.parsing.stance import mentions_in
from lmod_train.tasks.parsing.structure import PLACE, decode

_REGION = phrases("regions.region")
_REQUESTED = compiled("regions.requested")
_NAMED = compiled("regions.named")
_LISTED = compiled("regions.listed", 0)
_HASHED = compiled("regions.hashed")
_LOOSE = compiled("regions.loose")
"""A number and a choice in running text; a region only if there are several."""
_BRACKETED = re.compile(rf"{_REGION}[\s_]?(?P<ids>[0-9]{{1,9}})\s?[(]\s?(?=[^\W\d])", re.IGNORECASE)
"""A region with its type in brackets; only if the type is a choice."""
_TIGHT = re.compile(r"(?:^|[\n\s,;.、{|])(?P<ids>[0-9]{1,9})(?:\s?[:.)、]|为|是)?\s?(?=[\u4e00-\u9fff])")
"""A number in front of a Chinese word; a region only if the word is a choice."""
_NUMBER_BEHIND = compiled("regions.number_behind")
_REVERSED = compiled("regions.reversed")
_END = re.compile(r"[\n;(\[{}\]|]|\.(?:\s|$)|\s[\-–—]\s|。|；|\bexplanation|\bjustification", re.IGNORECASE)
_LIGHT = compiled("regions.light")
_NEXT = re.compile(r",?\s(?:and|while|whereas)(?:\sthe)?$", re.IGNORECASE)  # "Box 1 is the iris and box 2 ..."
_DECORATION = compiled("regions.decoration")
_AND = re.compile(r",\s?(?:and\s)?|;\s?|\sand\s|[、和]", re.IGNORECASE)
_MAY_FOLLOW = compiled("regions.may_follow")
_OPENING = re.compile(r"[\s\"'(\[:=\-,]{0,9}")
_REGIONS = re.compile(r"^\s{0,3}(?:the )?(?:regions?|boxes|areas|区域)\s?[:]\s{0,3}$", re.IGNORECASE | re.MULTILINE)
_ANSWER = compiled("regions.answer", re.IGNORECASE | re.MULTILINE)
_NUMBERED = compiled("regions.numbered")
_PARTS, _NUMBER_IN = compiled("regions.parts"), compiled("regions.number_in")
_LONGEST_TYPE = 80
_WORDS_OF_A_TYPE = 6


def parse_regions(text: str, choices: Sequence[str]) -> dict[int, str] | Unparsed:
    r"""Return region id -> structure as stated in the text.

    Lines in the requested format ("Region ID: 1; Type: Choroid", also as JSON or in a table) take precedence over
    looser ones ("1 - choroid", "Region 1 is the choroid"). A structure is a choice in the prompt's spelling, or else
    the words of the reply: a predicted region with a wrong type. Ids that are not on the image are kept, as HR counts
    them as hallucinations.

    Args:
        text: A reply without thinking and markup (see `read`).
        choices: The structures of the prompt.

    Returns:
        The regions; or `Unparsed` with ``empty``, ``no_match`` (no numbered region, or no type among the choices) or
        ``ambiguous`` (a region has two types, and no other is readable).

    Example:
        >>> parse_regions("Region ID: 1; Type: Optic disk\nRegion ID: 4; Type: nose", ("optic disc", "optic cup"))
        {1: 'optic disc', 4: 'nose'}
        >>> parse_regions("[0.00, 0.00, 1.00, 1.00]", ("optic disc", "optic cup")).reason
        'no_match'
    """
    if not text.strip():
        return Unparsed("empty")
    choices = tuple(choices)
    decoded = decode(text)
    stated = [(slot, pairs) for slot in decoded.slots if slot.layout != "line" and (pairs := _of_slot(slot, choices))]
    prose = clean(decoded.prose()).replace(PLACE, " ")
    if not stated:
        return _in_prose(prose, choices) if prose.strip() else Unparsed("no_match")
    if last(FINAL, prose) or last(CORRECTION, prose):
        corrected = _in_prose(prose, choices)
        if isinstance(corrected, dict):
            return corrected
    return _one_type_each([pair for _, pairs in stated for pair in pairs], choices)


def _of_slot(slot: Slot, choices: tuple[str, ...]) -> list[tuple[int, str]]:
    """Return the regions that a slot names by number, each with its type."""
    numbers = [int(n) for n in re.findall("[0-9]{1,9}", slot.name)] if _NUMBERED.fullmatch(slot.name.strip()) else []
    value = clean(slot.value)
    if not numbers:
        lone = slot.layout == "object" and value.isdigit()
        if lone and (named := _structure(slot.name, choices)) in choices:
            return [(int(value), named)]  # {"Choroid": 1}
        regions = _in_prose(value, choices) if slot.role else None
        return list(regions.items()) if isinstance(regions, dict) else []
    pairs = ((n, _structure(type_, choices)) for n, type_ in zip(numbers, _one_each(value, len(numbers)), strict=True))
    return [(number, structure) for number, structure in pairs if structure]


def _in_prose(text: str, choices: tuple[str, ...]) -> dict[int, str] | Unparsed:
    text = _ANSWER.sub("", _REGIONS.sub("", normalise_numbering(text)))
    final = last(FINAL, text)
    if final is not None:
        answer = _one_type_each(_stated(text[final.end() :].lstrip(" :=\n"), choices), choices)
        if not isinstance(answer, Unparsed):
            return answer
    corrected = last(CORRECTION, text)
    if corrected is not None:
        later = _one_type_each(_stated(text[corrected.end() :], choices), choices)
        if not isinstance(later, Unparsed):
            earlier = _one_type_each(_stated(text[: corrected.start()], choices), choices)
            return later if isinstance(earlier, Unparsed) else {**earlier, **later}
    regions = _one_type_each(_stated(text, choices), choices)
    if isinstance(regions, Unparsed) and regions.reason == "no_match":
        regions = _one_type_each(_stated(correct_labels(text), choices), choices)
    if isinstance(regions, Unparsed):
        return _one_type_each(list(_by_sentence(text, choices)), choices) if regions.reason == "no_match" else regions
    if set(regions.values()) <= set(choices) or _REQUESTED.search(text):
        return regions
    named = dict(_by_sentence(text, choices))  # "shows small dark spaces (intraretinal cysts)"
    return {n: type_ if type_ in choices else named.get(n, type_) for n, type_ in regions.items()}


def _by_sentence(text: str, choices: tuple[str, ...]) -> Iterator[tuple[int, str]]:
    """Yield the one number and the one structure that a part of a sentence asserts: "The ring marked 1 is the iris"."""
    patterns, _ = _spellings(choices)
    for part in _PARTS.split(text):
        numbers = {m["n"] or m["m"] for m in _NUMBER_IN.finditer(part)}
        named = {choice for pattern, choice in patterns for _, said in mentions_in(part, pattern) if said == "asserted"}
        if len(numbers) == len(named) == 1:
            yield int(numbers.pop()), named.pop()


def _one_type_each(stated: Sequence[tuple[int, str]], choices: Sequence[str]) -> dict[int, str] | Unparsed:
    """Return id -> type; an id with two types gets both, joined, which is no choice."""
    types: dict[int, dict[str, None]] = {}
    for number, structure in stated:
        types.setdefault(number, {})[structure] = None
    if not types:
        return Unparsed("no_match")
    regions = {number: " / ".join(words)[:_LONGEST_TYPE] for number, words in types.items()}
    if any(structure in choices for structure in regions.values()):
        return regions
    if any(len(set(words) & set(choices)) > 1 for words in types.values()):
        return Unparsed("ambiguous", "one region, two types")
    return Unparsed("no_match", "no type among the choices")


def _stated(text: str, choices: tuple[str, ...]) -> list[tuple[int, str]]:
    """Return (id, structure) pairs in the strictest format found in the text."""
    first_id, first_type = _REQUESTED.search(text), _REVERSED.search(text)
    if first_type and (first_id is None or first_type.start() < first_id.start()):
        pairs = [(int(m["ids"]), _structure(m["type"], choices)) for m in _REVERSED.finditer(text)]
        return [(number, structure) for number, structure in pairs if structure]
    foreign: list[tuple[int, str]] = []  # numbers before words that are no choice
    behind = [] if first_id else _numbered_behind(text, choices)
    for pattern in (_REQUESTED, _NAMED, _LISTED, _HASHED, _BRACKETED, _TIGHT, _LOOSE):
        first = pattern.search(text) if behind else None
        if first and behind[0][0] < first.start():
            break
        pairs = list(_pairs(pattern, text, choices))
        if pairs and (pattern is _REQUESTED or any(structure in choices for _, structure in pairs)):
            return pairs if pattern is not _LOOSE or len(pairs) > 1 else foreign
        foreign = foreign or pairs
    return foreign or [(number, choice) for _, number, choice in behind]


def _numbered_behind(text: str, choices: tuple[str, ...]) -> list[tuple[int, int, str]]:
    """Return (start, number, choice) of each choice with a number behind it, in order."""
    patterns, _ = _spellings(choices)
    named = sorted((m.start(), m.end(), choice) for pattern, choice in patterns for m in pattern.finditer(text))
    return [
        (start, int(m["n"] or m["m"]), choice) for start, end, choice in named if (m := _NUMBER_BEHIND.match(text, end))
    ]


_MOST_WORDS = {_LISTED: _WORDS_OF_A_TYPE, _HASHED: _WORDS_OF_A_TYPE, _BRACKETED: 0, _TIGHT: 0, _LOOSE: 0}


def _pairs(pattern: re.Pattern[str], text: str, choices: tuple[str, ...]) -> Iterator[tuple[int, str]]:
    found = list(pattern.finditer(text))
    for i, m in enumerate(found):
        end = found[i + 1].start() if i + 1 < len(found) else len(text)
        words = text[m.end() : min(end, m.end() + 200)]
        numbers = [int(number) for number in re.findall("[0-9]{1,9}", m["ids"])]
        for number, type_ in zip(numbers, _one_each(words, len(numbers)), strict=True):
            structure = _structure(type_, choices)
            longest = _MOST_WORDS.get(pattern, _LONGEST_TYPE)
            if structure and (structure in choices or len(structure.split()) <= longest):
                yield number, structure


def _one_each(words: str, count: int) -> Sequence[str]:
    """Return a type for each id: the parts between commas if there are as many ("1, 2; Type: iris, pupil")."""
    line = _END.split(words.strip(), maxsplit=1)[0]
    parts = [part for part in _AND.split(line) if part.strip()]
    return parts if count > 1 and len(parts) == count else [words] * count


def _forms_of_type(choice: str) -> tuple[str, ...]:
    """Return the spellings of a choice in a Type field, with the abbreviations valid there only."""
    term = term_of(choice)
    return (*forms_of(choice), *TYPE_SLOT.get(term.name, ())) if term else forms_of(choice)


@lru_cache(maxsize=64)
def _spellings(choices: tuple[str, ...]) -> tuple[tuple[tuple[re.Pattern[str], str], ...], dict[str, str]]:
    """Return (pattern, choice) pairs, and lower-case spelling -> choice."""
    own = {plain(c) for c in choices}
    forms = {c: [f for f in _forms_of_type(c) if f == c or plain(f) not in own] for c in choices}
    patterns = tuple((re.compile(pattern_of(f)), c) for c, f in forms.items())
    return patterns, {plain(form): c for c, fs in forms.items() for form in fs}


def _structure(words: str, choices: tuple[str, ...]) -> str:
    """Return the choice at the start of the words, else the words themselves; empty without words."""
    opening = _OPENING.match(words)
    words = words[opening.end() if opening else 0 :]
    stop = _END.search(words)
    words = words[: stop.start() if stop else len(words)].strip(" \"'.,:*-/|")
    words = _DECORATION.sub("", _NEXT.sub("", _LIGHT.sub("", words)))
    patterns, spelled = _spellings(choices)
    if plain(words) in spelled:
        return spelled[plain(words)]
    starts = [(m.end(), c) for p, c in patterns if (m := p.match(words))]
    if starts:
        end, choice = max(starts)
        if _MAY_FOLLOW.match(words, end):
            return choice
    if not term_of(words) and (slip := nearest(plain(words), spelled)):
        return slip
    known = term_of(words)
    return known.name if known and known.name not in choices else " ".join(words.casefold().split())[:_LONGEST_TYPE]


_HAN = "".join(word for word in entry("numerals.numerals") if not word.isascii())
_WORDS = {
    word: n
    for word, n in entry("numerals.numerals").items()
    if word.isascii() and len(word) > 2 and set(word) - set("ivx")
}
_ORDINALS = {word: n for n, word in enumerate(entry("numerals.ordinals"), 1)}
_CHINESE = compiled("regions.chinese", 0, han=_HAN)
_TOGETHER = re.compile(r"(?<=[0-9])\s?(?P<and>[和、及与,])\s?(?:以及)?区域(?=[0-9]{1,9}(?:[和、及与]|分别))")
_VERB_ZH = compiled("regions.verb_zh", 0)
_RATHER = compiled("regions.rather")
_COLOURED = compiled("regions.coloured")
_ENGLISH = compiled("regions.english")


def normalise_numbering(text: str) -> str:
    """Return the text with each numbered box written as "region" and its number in digits.

    Example:
        >>> normalise_numbering("1号框为视杯，第二个框标注的是视盘")
        '区域1为视杯，区域2为视盘'
        >>> normalise_numbering("The first box is the iris, box two the pupil.")
        'The region 1 is the iris, region 2 the pupil.'
        >>> normalise_numbering("框1和框2分别为视盘和视杯"), normalise_numbering("Region 1 (red): iris")
        ('区域1和2为视盘和视杯', 'Region 1: iris')
    """
    text = _RATHER.sub(lambda m: "是" if m[0][0] in "不并" else "is ", text)
    text = _CHINESE.sub(_plain_zh, _ENGLISH.sub(_plain, text))
    return _COLOURED.sub("", _VERB_ZH.sub("为", _TOGETHER.sub(r"\g<and>", text)))


def _plain(found: re.Match[str]) -> str:
    nth = found["nth"]
    return f"region {_ORDINALS[nth.casefold()] if nth else _WORDS[found['after'].casefold()]}"


def _plain_zh(found: re.Match[str]) -> str:
    number = found[found.lastgroup or 0]
    return f"区域{number if number.isascii() else entry('numerals.numerals')[number]}"
