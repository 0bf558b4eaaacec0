"""What a short text states: terms, places, measurements; by these two texts are compared, whatever their words."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable
from functools import cache, lru_cache

from lmod_train.core.vocabulary.conditions import CONDITIONS
from lmod_train.core.vocabulary.scales import SCALES
from lmod_train.core.vocabulary.structures import STRUCTURES
from lmod_train.tasks.parsing.forms import pattern_of, spellings

SEVERITIES = {
    "none": r"no apparent|no diabetic retinopathy|no retinopathy|without retinopathy",
    "mild": r"mild(?:ly)?|early",
    "moderate": r"moderate(?:ly)?",
    "severe": r"severe(?:ly)?|advanced",
    "proliferative": r"(?<!non-)(?<!non)(?<!non )(?:proliferative|pdr)",
}
"""Grade -> words that state it."""

UNITS = {
    "%": r"%|per ?cent",
    "disc diameters": r"disc[ -]diameters?|disk[ -]diameters?|DD\b",
    "o'clock": r"o['\u2019]?\s?clock",
    "mm": r"mm\b|millimet(?:re|er)s?",
    "um": r"[\u00b5\u03bc]m\b|um\b|microns?|micromet(?:re|er)s?",
}
"""Unit -> how it is written. Doses and times are none: they are not measured in the image."""

COUNTS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")

_NUMBER = r"(?<![\w.])([0-9]{1,6}(?:\.[0-9]{1,4})?)"
_VALUE = re.compile(
    _NUMBER + r"\s{0,2}-?\s{0,2}(?:" + "|".join(f"(?P<u{i}>{p})" for i, p in enumerate(UNITS.values())) + ")",
    re.IGNORECASE,
)
_RATIO = re.compile(r"ratio\s(?:of\s|is\s|about\s|=\s|:\s){0,3}([0-9]?\.[0-9]{1,3})(?![0-9])", re.IGNORECASE)
_COUNT = re.compile(
    r"(?<![\w.])([0-9]{1,4}|" + "|".join(COUNTS) + r")\s(?:(?:separate|small|large|distinct)\s)?", re.IGNORECASE
)
PLACES = {
    "upper": r"upper|superior(?:ly)?|supero",
    "lower": r"lower|inferior(?:ly)?|infero",
    "left": r"left(?![- ]eye)",
    "right": r"right(?![- ](?:eye|letter|option))",
    "nasal": r"nasal(?:ly)?",
    "temporal": r"temporal(?:ly)?",
    "centre": r"(?:cent(?:re|er)|middle)(?= of the image)|central(?:ly)?",
}
"""Direction -> words that state it."""
_PLACE = re.compile(
    r"(?<![a-z])(?:" + "|".join(f"(?P<{name}>{p})" for name, p in PLACES.items()) + r")(?![a-z])", re.IGNORECASE
)
_FOLDED = re.compile(r"\b(supero|infero)-?(nasal|temporal)", re.IGNORECASE)
_NEGATION = re.compile(r"\b(?:no|not|without|absence of|free of|never|neither|nor|denies)\b", re.IGNORECASE)
_CLAUSE = re.compile(r"[,.;:()]|\bbut\b|\bwith\b", re.IGNORECASE)
_COMPARED = {
    "under": re.compile(r"\b(?:under|below|less than|up to|at most)\b|<", re.IGNORECASE),
    "above": re.compile(r"\b(?:above|over|more than|at least)\b|>", re.IGNORECASE),
}
_BARE = re.compile(r"(?<![\w.])([0-9]{1,6}(?:\.[0-9]{1,4})?)(?![\w.]?[0-9])(?!\w)")
_LEVEL = re.compile(r"\bICDR(?: grade)? ([0-9])\b", re.IGNORECASE)
_WORD = re.compile(r"[a-z0-9]+")
_EMPTY = frozenset(
    ("a", "an", "the", "of", "in", "on", "at", "to", "is", "are", "was", "with", "and", "or", "this", "that", "it",
     "its", "by", "for", "from", "as", "be", "has", "have", "image", "eye", "most")
)  # fmt: skip


@cache
def _terms() -> tuple[tuple[str, re.Pattern[str]], ...]:
    rows = {t.name: t for t in (*STRUCTURES, *CONDITIONS)}
    return tuple((name, re.compile(pattern_of(s for s in spellings(t) if s.isascii()))) for name, t in rows.items())


@lru_cache(maxsize=2**16)  # options and facts are the same in many drafts
def terms_in(text: str) -> frozenset[str]:
    """Return the structures and conditions that a text names, by the project's own names; of nested ones the longest.

    Example:
        >>> sorted(terms_in("PDR with cotton-wool spots")), sorted(terms_in("proliferative diabetic retinopathy"))
        (['diabetic retinopathy', 'soft exudates'], ['diabetic retinopathy'])
    """
    return frozenset(name for name, _ in _named(text))


@lru_cache(maxsize=2**16)
def asserted_in(text: str) -> frozenset[str]:
    """Return the structures and conditions that a text names and does not deny.

    Example:
        >>> sorted(asserted_in("hemorrhage but without drusen")), sorted(asserted_in("neither drusen nor hemorrhage"))
        (['hemorrhage'], [])
    """
    return frozenset(name for name, start in _named(text) if not _is_denied_at(text, start))


def _named(text: str) -> list[tuple[str, int]]:
    """Return name and place of each term in a text, of nested ones the longest."""
    spans = [(m.start(), -m.end(), name) for name, pattern in _terms() for m in pattern.finditer(text)]
    kept: list[tuple[int, int, str]] = []
    for start, end, name in sorted(spans):
        if not any(s <= start and end >= e and (s, e) != (start, end) for s, e, _ in kept):
            kept.append((start, end, name))
    return [(name, start) for start, _, name in kept]


@lru_cache(maxsize=2**10)
def _denied(text: str) -> tuple[tuple[int, int], ...]:
    """Return start and end of the parts of a text behind a negation, each up to the end of its clause."""
    ends = [m.start() for m in _CLAUSE.finditer(text)] + [len(text)]
    starts = [0, *(m.end() for m in _CLAUSE.finditer(text))]
    found = ((_NEGATION.search(text, start, end), end) for start, end in zip(starts, ends, strict=True))
    return tuple((negation.end(), end) for negation, end in found if negation is not None)


def _is_denied_at(text: str, place: int) -> bool:
    """Return whether a negation stands before a place in its clause."""
    spans = _denied(text)
    at = bisect_right(spans, (place, len(text))) - 1
    return at >= 0 and spans[at][0] <= place < spans[at][1]


def places_in(text: str, eye: str = "") -> frozenset[str]:
    """Return the directions that a text names; nasal and temporal as left and right of the image if the eye is known.

    Args:
        text: Any text.
        eye: ``left`` or ``right``, of a fundus image in the usual orientation; empty if unknown.

    Example:
        >>> sorted(places_in("Superior nasal quadrant of the right eye", "right")), sorted(places_in("supero-nasal"))
        (['right', 'upper'], ['nasal', 'upper'])
    """
    plain = _FOLDED.sub(r"\1 \2", text)
    found = {name for m in _PLACE.finditer(plain) for name in [m.lastgroup] if name}
    if eye in ("left", "right"):
        other = {"left": "right", "right": "left"}[eye]
        sides = {"nasal": eye, "temporal": other}
        found = {sides.get(name, name) for name in found}
    return frozenset(found)


def numbers_in(text: str) -> frozenset[tuple[str, str]]:
    """Return (number as written, unit) of the measurements in a text.

    Example:
        >>> sorted(numbers_in("1.2 disc diameters at 4 o'clock, ratio of 0.6, review in 6 months"))
        [('0.6', 'ratio'), ('1.2', 'disc diameters'), ('4', "o'clock")]
    """
    units = tuple(UNITS)
    found = {(m[1], units[next(i for i in range(len(units)) if m[f"u{i}"])]) for m in _VALUE.finditer(text)}
    return frozenset(found | {(m[1], "ratio") for m in _RATIO.finditer(text)})


def counts_in(text: str, names: Iterable[str]) -> frozenset[tuple[int, str]]:
    """Return (number, structure) of the counts in a text, e.g. "three hard exudates".

    Example:
        >>> sorted(counts_in("Three hard exudates and 2 microaneurysms", ["hard exudates", "microaneurysms"]))
        [(2, 'microaneurysms'), (3, 'hard exudates')]
    """
    patterns = dict(_terms())
    known = [(name, patterns[name]) for name in names if name in patterns]
    return frozenset(
        (_whole(m[1]), name) for m in _COUNT.finditer(text) for name, p in known if p.match(text, m.end()) is not None
    )


def _whole(word: str) -> int:
    return int(word) if word.isdecimal() else COUNTS.index(word.lower())


def severities_in(text: str) -> frozenset[str]:
    """Return the grades that a text names.

    Example:
        >>> sorted(severities_in("Severe non-proliferative disease")), sorted(severities_in("PDR"))
        (['severe'], ['proliferative'])
    """
    low = text.lower()
    return frozenset(name for name, p in SEVERITIES.items() if re.search(rf"(?<!\w)(?:{p})(?!\w)", low))


def words_in(text: str) -> frozenset[str]:
    """Return the first five letters of each word that carries meaning, with a minus sign if it is denied.

    Example:
        >>> sorted(words_in("Observation of the eye")), sorted(words_in("blur but without shadows"))
        (['obser'], ['-shado', 'blur'])
    """
    words = [(m[0], m.start()) for m in _WORD.finditer(text.lower())]
    return frozenset(
        ("-" if _is_denied_at(text, start) else "") + (str(COUNTS.index(word)) if word in COUNTS else word[:5])
        for word, start in words
        if word not in _EMPTY and word not in _CUES
    )


_CUES = frozenset(("no", "not", "without", "neither", "nor", "but"))


def graded(text: str) -> str:
    """Return a text with levels of the ICDR scale, which has a word for each, in words.

    Example:
        >>> graded("ICDR grade 2"), graded("Gass stage 2")
        ('moderate NPDR', 'Gass stage 2')
    """
    scale = next(s for s in SCALES if s.name == "icdr")
    meanings = dict(zip(scale.levels, scale.meanings, strict=True))
    return _LEVEL.sub(lambda found: meanings.get(found[1], found[0]), text)


Stated = frozenset[tuple[str, str]]


def stated(text: str, eye: str = "") -> Stated:
    """Return what a text states: terms, each asserted or denied, directions, grades and comparisons.

    Example:
        >>> sorted(stated("hemorrhage but without drusen"))
        [('asserted', 'hemorrhage'), ('denied', 'drusen')]
    """
    plain = graded(text)
    terms, asserted = terms_in(plain), asserted_in(plain)
    facts = {("asserted", name) for name in asserted} | {("denied", name) for name in terms - asserted}
    facts |= {("place", name) for name in places_in(plain, eye)} | {("grade", name) for name in severities_in(plain)}
    return frozenset(facts | {("compared", name) for name, p in _COMPARED.items() if p.search(plain)})


def values_in(text: str) -> frozenset[str]:
    """Return all numbers in a text, up to twelve in words too.

    Example:
        >>> sorted(values_in("0.30 to 0.5 in three months"))
        ['0.3', '0.5', '3']
    """
    found = {f"{float(m[1]):g}" for m in _BARE.finditer(graded(text))}
    return frozenset(found | {str(COUNTS.index(w)) for w in _WORD.findall(text.lower()) if w in COUNTS})


ALIKE = 0.6
"""Share of the words of a truth without terms, directions, grades and comparisons that a text needs to state it."""


def says_all_of(text: str, truth: str, eye: str = "") -> bool:
    """Return whether a text states all that a truth states, and denies nothing that it asserts.

    Example:
        >>> says_all_of("Severe NPDR of this eye", "severe NPDR"), says_all_of("No glaucoma", "glaucoma")
        (True, False)
        >>> says_all_of("Refer within one month", "referral within 1 month"), says_all_of("Refer in 6 weeks", "refer")
        (True, False)
        >>> says_all_of("blurred scan but without a shadow", "shadow but without a blurred scan")
        False
    """
    wanted = stated(truth, eye)
    if not values_in(truth) <= values_in(text):
        return False
    if wanted:
        return wanted <= stated(text, eye)
    words, given = words_in(truth), words_in(text)
    contrary = {_opposite(word) for word in words} & (given - words)
    alike = not contrary and len(words & given) >= ALIKE * max(len(words), 1)
    return alike and values_in(text) == values_in(truth)


def _opposite(word: str) -> str:
    return word[1:] if word.startswith("-") else f"-{word}"
