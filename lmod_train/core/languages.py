"""The script that a text is written in, and the languages written in it."""

from __future__ import annotations

import unicodedata
from collections import Counter
from functools import cache

from lmod_train.core.package_data import package_data

SCRIPTS: dict[str, list[str]] = package_data(__file__, "languages.yaml")
"""Scripts by ISO 639-1 code; LATIN for every other language."""
MIN_SHARE, MIN_SHARE_LATIN, MIN_SHARE_REPLY = 0.2, 0.8, 0.5
"""Least share of a text's letters in the script of its language; a Chinese question may list English choices. For
languages in Latin script, that of a question, and that of a reply, which may add a Chinese name in brackets."""
KANA = ("HIRAGANA", "KATAKANA")
MIN_LETTERS = 4
"""Texts with fewer letters, none of them Chinese, belong to any language: A, OCT, 4."""


def written_in(text: str, language: str) -> bool:
    """Return whether enough letters of a text belong to a language's script; True for a text without letters.

    Example:
        >>> written_in("Is this GLAUCOMA?", "en"), written_in("Is this GLAUCOMA?", "zh"), written_in("4 / 7", "zh")
        (True, False, True)
    """
    counted = scripts(text)
    kana = sum(counted[script] for script in KANA) if language == "zh" else 0
    least = MIN_SHARE if language in SCRIPTS else MIN_SHARE_LATIN
    return _own(counted, language) >= least * counted.total() and kana < MIN_SHARE * max(counted.total(), 1)


def _own(counted: Counter[str], language: str) -> int:
    return sum(counted[script] for script in SCRIPTS.get(language, ["LATIN"]))


def in_other_language(reply: str, language: str) -> bool:
    """Return whether a reply is written in another script than that of a language.

    Less than a fifth of its letters are of the language's script, for Latin script less than half, so that names and
    translations in brackets do not count. A reply of fewer than 4 letters, none of them Chinese, is in any language.

    Example:
        >>> in_other_language("对", "en"), in_other_language("True", "zh"), in_other_language("OCT", "zh")
        (True, True, False)
        >>> in_other_language("OCT 显示黄斑水肿", "zh"), in_other_language("macular edema (黄斑水肿)", "en")
        (False, False)
    """
    counted = scripts(reply)
    least = MIN_SHARE if language in SCRIPTS else MIN_SHARE_REPLY
    enough = counted.total() >= MIN_LETTERS or counted["CJK"] > 0
    return enough and _own(counted, language) < least * counted.total()


def other_script(answer: str, question: str) -> bool:
    """Return whether an answer and its question have no script in common; False for an answer of fewer than 4 letters.

    Example:
        >>> other_script("青光眼患者", "Is this glaucoma?"), other_script("GLAUCOMA", "Is this glaucoma?")
        (True, False)
    """
    own, asked = scripts(answer), scripts(question)
    return own.total() >= MIN_LETTERS and bool(asked) and not own.keys() & asked.keys()


def scripts(text: str) -> Counter[str]:
    """Return the number of letters of a text by script."""
    counted: Counter[str] = Counter()
    for letter, n in Counter(text).items():
        if letter.isalpha():
            counted[_script(letter)] += n
    return counted


@cache
def _script(letter: str) -> str:
    return unicodedata.name(letter, "OTHER").partition(" ")[0]
