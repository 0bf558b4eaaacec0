"""Check the reading grade of a question: Flesch-Kincaid."""

from __future__ import annotations

import re

from lmod_train.tasks.drafting.drafted import Drafted

HIGHEST = 20.0
"""Grade above which a question is left out; ours. The questions of listings 1 to 6 have grades up to 17, as clinical
words have many syllables."""

_WORD = re.compile(r"[A-Za-z]+(?:['\u2019-][A-Za-z]+)*")
_END = re.compile(r"[.!?]+(?=\s|$)")
_VOWELS = re.compile(r"[aeiouy]+")
_SILENT = re.compile(
    r"(?<![aeiouyl])e$|(?<=[aeiouy])le(?=s?$)|(?<![aeioudty])ed$|(?<=[^aeiouyscgzxhl])es$|(?<=[^aeiouy])e(?=ly$|ments?$)"
)
_JOINED = re.compile(r"(?<=[cgst])i(?=[aou])|(?<=[cgst])e(?=ous?)")
_SPLIT = re.compile(r"i[aou]|eo|(?<![qg])ua|(?<![qg])ui(?=[nt]y)|[st]m$")


def syllables(word: str) -> int:
    """Return the number of syllables of an English word, by rules; at least 1.

    Groups of vowels count, without a silent e; ia, io, iu, eo and ua count as two, but not in -tion, -cial, -geous and
    the like.

    Example:
        >>> [syllables(w) for w in ("eye", "image", "lesion", "diagnosis", "edema", "macula", "quality", "table")]
        [1, 2, 2, 4, 3, 3, 3, 2]
    """
    return sum(max(_count(part), 1) for part in re.split(r"[-'\u2019]", word.lower()) if part)


def _count(part: str) -> int:
    plain = _JOINED.sub("", _SILENT.sub("", part))
    return len(_VOWELS.findall(plain)) + len(_SPLIT.findall(plain))


def grade(text: str) -> float | None:
    """Return the Flesch-Kincaid grade level (Kincaid et al. 1975) of a text; None without words.

    0.39 x words per sentence + 11.8 x syllables per word - 15.59.

    Example:
        >>> round(grade("The cat sat on the mat."), 2)
        -1.45
    """
    words = _WORD.findall(text)
    if not words:
        return None
    sentences = max(len([part for part in _END.split(text) if _WORD.search(part)]), 1)
    return 0.39 * len(words) / sentences + 11.8 * sum(map(syllables, words)) / len(words) - 15.59


def hard_to_read(one: Drafted) -> list[str]:
    """Return the grade of a question above `HIGHEST`.

    Example:
        >>> from lmod_train.tasks.drafting.example import drafted
        >>> hard_to_read(drafted())
        []
    """
    found = grade(one.draft.question)
    return [f"grade {found:.1f}"] if found is not None and found > HIGHEST else []
