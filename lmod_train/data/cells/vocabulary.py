"""Words of clinics' tables: names of columns, and values of them, in English, German, French, Spanish, Portuguese,
Chinese and Japanese. To add a language or a word, extend a list of ``vocabulary.json``.

Words are compared by `plain`: without case, accents, blanks and signs. English and Chinese names of diseases and
structures are also those of `lmod_train.core.vocabulary`.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from lmod_train.core.raw import read_json


def plain(text: str) -> str:
    """Return the letters and digits of a text, without case and accents; a text of over `_LONG` characters as it is.

    Example:
        >>> plain("N\u00b0 Dossier"), plain("\u0152il"), plain("Patienten-ID"), plain("\u6027\u522b")
        ('nodossier', 'oeil', 'patientenid', '性别')
    """
    if len(text) > _LONG:
        return text
    return _plain(text) if len(text) <= _SHORT else _plain.__wrapped__(text)


_SHORT, _LONG = 80, 10_000
"""Characters of a text that is kept, as cells repeat and each is looked at in several ways, and of one that is no word,
but e.g. an image in base64."""


@lru_cache(maxsize=65_536)
def _plain(text: str) -> str:
    ligatures = text.replace("\u0153", "oe").replace("\u0152", "oe").replace("\u00b0", "o").replace("\u0131", "i")
    parts = unicodedata.normalize("NFKD", ligatures.casefold())
    return "".join(c for c in parts if c.isalnum() and not unicodedata.combining(c))


def bare(name: str) -> str:
    """Return the name of a column by `plain`, without what stands in brackets."""
    return plain(re.sub(r"[\[(（].*?[\])）]", "", name)) or plain(name)


WORDS: dict[str, Any] = read_json(Path(__file__).with_suffix(".json"))


def _set(words: Iterable[str]) -> frozenset[str]:
    return frozenset(plain(word) or word for word in words)


def _sets(name: str) -> dict[str, frozenset[str]]:
    return {meaning: _set(words) for meaning, words in WORDS[name].items()}


HEADERS: Mapping[str, frozenset[str]] = _sets("headers")
"""Meaning of a column -> its names."""
WEAK: Mapping[str, frozenset[str]] = _sets("weak")
"""Meaning -> names that often have it, and often another: values must show it, or the user says so."""
SIDES: Mapping[str, frozenset[str]] = _sets("sides")
SEX_WORDS: Mapping[str, frozenset[str]] = _sets("sexes")
SPLITS: Mapping[str, frozenset[str]] = _sets("splits")
YES, NO = _set(WORDS["yes_words"]), _set(WORDS["no_words"])
MISSING = _set(WORDS["missing"])
"""Cells without a value."""
ERRORS = _set(WORDS["errors"])
"""Errors of spreadsheets without ``!`` or ``?``."""
KINDS: Mapping[str, frozenset[str]] = _sets("kinds")
"""Kind of a disease -> its names, of which two columns may differ where two of the disease may not."""
DIAGNOSES: Mapping[str, frozenset[str]] = _sets("diagnoses")
"""Disease -> words of tables: names in other languages, abbreviations, and subtypes, which are filed under it."""
BOXED: Mapping[str, frozenset[str]] = _sets("boxed")
"""Structures in boxes."""
SEVERITIES = _set(WORDS["severities"])
"""Words of degree beside a disease, which stays the same."""
ICD_10: Mapping[str, str] = WORDS["icd_10"]
"""Beginning of a code of ICD-10 or ICD-10-CM -> disease, empty for what is no disease of the vocabulary, such as H40.0,
a suspicion; the longest counts. H35.3 alone is more than one disease, as are E11.3 and the German E11.30 and E11.31."""
NEGATIONS, DOUBTS, PASTS = (tuple(WORDS[name]) for name in ("negations", "doubts", "pasts"))
"""What stands before a disease that is denied; what makes it, anywhere in a cell, a suspicion; one of the past or of a
relative."""
