"""Spellings of a vocabulary term, and patterns that match them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache, lru_cache

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


def pattern_of(forms: Iterable[str]) -> str:
    """Return a regular expression that matches any form as a word, the longest first.

    Blanks and hyphens are equivalent, a plural s is allowed, and an abbreviation does not match a capitalised word.

    Example:
        >>> import re
        >>> found = re.compile(pattern_of(["DR", "diabetic retinopathy"]))
        >>> [m[0] for m in found.finditer("Dr. Li sees Diabetic-Retinopathy (DR), not hydro.")]
        ['Diabetic-Retinopathy', 'DR']
    """
    return "(?:" + "|".join(_form_pattern(form) for form in sorted(set(forms), key=lambda f: (-len(f), f))) + ")"


def _form_pattern(form: str) -> str:
    form = normalise(form)
    if not form.isascii():
        return re.escape(form)
    words = [re.escape(w) for w in re.split(r"[\s\-_]+", form) if w]
    if form.isupper() and len(form) <= 5 and len(words) == 1:
        body = f"(?:{words[0]}|{words[0].lower()})"
    else:
        plural = "s?" if len(form) > 3 and form[-1].isalpha() and form[-1] != "s" else ""
        body = "(?i:" + r"[ \-_]{1,3}".join(words) + plural + ")"
    return f"(?<![{_LETTER}]){body}(?![{_LETTER}])"
