"""Spellings of a vocabulary term, and patterns that match them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from functools import cache, lru_cache
from itertools import groupby
from operator import itemgetter

from lmod_train.core.vocabulary import compiled
from lmod_train.core.vocabulary.conditions import CONDITIONS
from lmod_train.core.vocabulary.sexes import SEXES
from lmod_train.core.vocabulary.structures import STRUCTURES
from lmod_train.core.vocabulary.term import Term
from lmod_train.tasks.parsing.normalise import normalise

_LETTER = "A-Za-z0-9\u00c0-\u024f"  # characters that continue a Latin word; Chinese ones do not, it has no blanks


def plain(word: str) -> str:
    """Return a word in the normal form for comparing spellings.

    Example:
        >>> plain(" Diabetic_Retinopathy "), plain("cup-to-disc")
        ('diabetic retinopathy', 'cup to disc')
    """
    return " ".join(normalise(word).casefold().replace("_", " ").replace("-", " ").split())


def spellings(term: Term) -> tuple[str, ...]:
    """Return every spelling of a term, its name first, names of its subtypes last."""
    return (term.name, *term.english, *term.chinese, *term.kinds)


@lru_cache(maxsize=4096)
def term_of(word: str) -> Term | None:
    """Return the term with `word` among its spellings, None without one.

    Example:
        >>> term_of("MH").name, term_of("视杯").name, term_of("elbow")
        ('macular hole', 'optic cup', None)
    """
    return _terms().get(plain(word))


@cache  # not word for word: every spelling of the vocabulary is brought to its normal form
def _terms() -> dict[str, Term]:
    """Return the normal form of every spelling -> the first term with it."""
    terms = (*STRUCTURES, *CONDITIONS, *SEXES)
    return {plain(form): term for term in reversed(terms) for form in spellings(term)}


def forms_of(word: str) -> tuple[str, ...]:
    """Return `word` followed by its synonyms; only `word` if it is not in the vocabulary.

    Example:
        >>> forms_of("Fovea")
        ('Fovea', 'fovea', 'fovea centralis', 'foveal center', 'foveal centre', '黄斑中心凹', '中心凹')
    """
    term = term_of(word)
    return tuple(dict.fromkeys((word, *spellings(term)) if term else (word,)))


@lru_cache(maxsize=256)
def mention_of(word: str) -> re.Pattern[str]:
    """Return a pattern of every form of a word, see `forms_of`."""
    return re.compile(pattern_of(forms_of(word)))


@cache
def any_condition() -> re.Pattern[str]:
    """Return a pattern of every name of every condition but that of a normal eye."""
    return re.compile(pattern_of(form for term in CONDITIONS if term.name != "normal" for form in forms_of(term.name)))


def pattern_of(forms: Iterable[str]) -> str:
    """Return a regular expression that matches any form as a word, the longest first.

    Blanks and hyphens are equivalent, a plural s is allowed, and an abbreviation does not match a capitalised word.

    Example:
        >>> import re
        >>> found = re.compile(pattern_of(["DR", "diabetic retinopathy"]))
        >>> [m[0] for m in found.finditer("Dr. Li sees Diabetic-Retinopathy (DR), not hydro.")]
        ['Diabetic-Retinopathy', 'DR']
    """
    named = [_named(normalise(form)) for form in sorted(set(forms), key=lambda f: (-len(f), f))]
    runs = ((around, "|".join(body for _, body in run)) for around, run in groupby(named, key=itemgetter(0)))
    return "(?:" + "|".join(around.replace("...", body) for around, body in runs) + ")"


_WORD = f"(?<![{_LETTER}])(?i:...)(?![{_LETTER}])"
_INITIALS, _ANYWHERE = _WORD.replace("?i:", "?:"), "..."
"""What stands around forms of a kind: once around several, as its sets of letters take long to compile."""


def _named(form: str) -> tuple[str, str]:
    """Return what stands around a form, and its pattern."""
    if not form.isascii():
        return _ANYWHERE, re.escape(form)
    words = [re.escape(w) for w in re.split(r"[\s\-_]+", form) if w]
    if form.isupper() and len(form) <= 5 and len(words) == 1:
        return _INITIALS, f"{words[0]}|{words[0].lower()}"
    plural = "s?" if len(form) > 3 and form[-1].isalpha() and form[-1] != "s" else ""
    return _WORD, r"[ \-_]{1,3}".join(words) + plural


_FAR = 3
"""Edit distance above which a spelling is no candidate and no rival of one."""
LONGEST = 40
"""Longest misspelt word, in characters; longer text is a sentence."""


def edit_distance(one: str, other: str) -> int:
    """Return the optimal string alignment distance of two words.

    The number of insertions, deletions, substitutions and transpositions of neighbours (Damerau 1964, without repeated
    edits of one place).

    Example:
        >>> edit_distance("optic dsic", "optic disc"), edit_distance("fovae", "fovea"), edit_distance("", "iris")
        (1, 1, 4)
    """
    before: list[int] = []
    last = list(range(len(other) + 1))
    for i, a in enumerate(one, 1):
        row = [i]
        for j, b in enumerate(other, 1):
            cost = min(last[j] + 1, row[j - 1] + 1, last[j - 1] + (a != b))
            if i > 1 and j > 1 and a == other[j - 2] and one[i - 2] == b:
                cost = min(cost, before[j - 2] + 1)
            row.append(cost)
        before, last = last, row
    return last[-1]


def _unlike(one: str, other: str) -> int:
    """Return a cheap lower bound of `edit_distance`, from letter counts."""
    letters = Counter(one)
    letters.subtract(other)
    more = sum(n for n in letters.values() if n > 0)
    return max(more, more + len(other) - len(one))


def _digits(word: str) -> str:
    return "".join(c for c in word if c.isdigit())


def nearest(word: str, meant: Mapping[str, str]) -> str | None:
    """Return the choice whose spelling is nearest to `word`, None where none is clearly nearest.

    One edit is tolerated in words of five to eleven letters, two in longer ones, and every other choice must be at
    least two edits further away. Digits must be equal: "corena" is not "cornea1".

    Args:
        word: Lower-case text.
        meant: Lower-case spelling -> choice.

    Example:
        >>> spelled = {"optic disc": "optic disc", "optic cup": "optic cup", "cornea": "Cornea", "cornea1": "cornea1"}
        >>> nearest("optic dics", spelled), nearest("corena", spelled), nearest("elbow", spelled)
        ('optic disc', 'Cornea', None)
    """
    if not 5 <= len(word) <= LONGEST:
        return None
    best: dict[str, int] = {}
    digits = _digits(word)
    for spelling, choice in meant.items():
        if (
            _digits(spelling) == digits
            and len(spelling) >= 4
            and abs(len(spelling) - len(word)) <= 4
            and _unlike(word, spelling) <= _FAR
        ):
            distance = edit_distance(word, spelling)
            best[choice] = min(distance, best.get(choice, distance))
    ranked = sorted(best.items(), key=lambda item: item[1])
    if not ranked or ranked[0][1] > (1 if len(word) < 12 else 2):
        return None
    if len(ranked) > 1 and ranked[1][1] < ranked[0][1] + 2:
        return None
    return ranked[0][0]


_FIELD = compiled("spelling.field")
_LABELS = {label: label for label in ("disease", "diagnosis", "answer", "condition")} | {"diseases": "disease"}
_REGION = re.compile(r"(?<![a-z])(?P<word>[a-z]{5,8})(?=[\s_](?:ids?|no|number)?\s?[:#]?\s?[0-9])", re.IGNORECASE)
_TYPE = re.compile(r"(?<![a-z])(?P<word>[a-z]{3,5})(?=\s?[:=])", re.IGNORECASE)


def correct_spelling(text: str, meant: Mapping[str, str]) -> str:
    """Return the text with misspelt labels and values written as "answer: choice".

    Args:
        text: A reply in which no answer was found.
        meant: Lower-case spelling -> choice.

    Example:
        >>> correct_spelling("DISAESE: Catarct; Explanation: haze", {"cataract": "cataract", "glaucoma": "glaucoma"})
        'answer: cataract; Explanation: haze'
        >>> correct_spelling("Colour: red", {"cataract": "cataract"})
        'Colour: red'
    """
    return _FIELD.sub(lambda field: _corrected(field, meant), text)


def _corrected(field: re.Match[str], meant: Mapping[str, str]) -> str:
    label, word = (field["label"] or "").casefold(), plain(field["value"])
    if label and not (label in _LABELS or nearest(label, _LABELS)):
        return field[0]
    choice = meant.get(word) or nearest(word, meant)
    if choice and word.startswith("non") != choice.casefold().startswith("non"):
        return field[0]  # "new glaucoma"
    return f"answer: {choice}" if choice and (label or word not in meant) else field[0]


def correct_labels(text: str) -> str:
    """Return the text with misspelt labels "Region ID" and "Type" corrected.

    Example:
        >>> correct_labels("Regoin ID: 1; Tpye: iris")
        'region ID: 1; type: iris'
    """
    text = _REGION.sub(lambda m: _of_slip(m[0], "region"), text)
    return _TYPE.sub(lambda m: _of_slip(m[0], "type"), text)


def _of_slip(word: str, label: str) -> str:
    return label if edit_distance(word.casefold(), label) == 1 else word
