"""Spellings in OphthalWeChat's workbooks, and subspecialties of ophthalmology, in English and Chinese.

The column names of the deposit were not seen. A spelling counts by its letters and digits alone.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence

from lmod_train.core.package_data import package_data
from lmod_train.core.vocabulary.modalities import MODALITIES, combined
from lmod_train.core.vocabulary.term import Term
from lmod_train.data.sources.spellings import Words, plain, spellings

QUESTION_COLUMNS = ("question", "answer", "type", "language", "image", "url", "pair", "A", "B", "C", "D")
"""Columns of the workbook of questions; the last four hold options that do not stand in the question."""

IMAGE_COLUMNS = ("image", "url", "file", "modality", "subspecialty", "condition", "caption", "article")
"""Columns of the workbook of images."""

_WORDS = package_data(__file__, "words.yaml")

COLUMNS: Mapping[str, Sequence[str]] = _WORDS["columns"]
"""Column -> further headers."""

NUMBERS: Sequence[str] = _WORDS["numbers"]
"""Headers that name the image in the workbook of images, unless another one does."""

TYPES: Mapping[str, Sequence[str]] = _WORDS["types"]
"""Task that asks a kind of question -> spellings of the kind; a language may follow, as in ``Binary_CN``."""

LANGUAGES: Mapping[str, Sequence[str]] = _WORDS["languages"]

TRUE, FALSE = (frozenset(_WORDS[truth]) for truth in ("true", "false"))
"""Spellings of the answer to a statement."""

MODALITY_NAMES: Mapping[str, Sequence[str]] = _WORDS["modalities"]
"""Modality of the vocabulary -> further spellings. ``SS`` of the paper's table 6 is not explained: unknown."""

_JOINTS = re.compile(r"[+＋/、,，;；&]|\band\b|和|与")

_UNEXPLAINED = {"ss"}


def words(
    columns: Mapping[str, str] | None = None,
    types: Mapping[str, str] | None = None,
    languages: Mapping[str, str] | None = None,
    modalities: Mapping[str, str] | None = None,
    subspecialties: Mapping[str, str] | None = None,
) -> Words:
    """Return the spellings with those of the user; arguments are those of the source.

    Raises:
        BadArgument: A spelling stands for no name.
    """
    named = {term.name: (*term.english, *term.chinese) for term in SUBSPECIALTIES}
    every = {modality.name: MODALITY_NAMES.get(modality.name, ()) for modality in MODALITIES}
    known = spellings(every, "modalities", None)
    of_user = spellings(every, "modalities", modalities)
    unexplained = {word: name for word, name in known.items() if word in _UNEXPLAINED and of_user[word] == name}
    return {
        "columns": spellings(COLUMNS, "columns", columns),
        "types": spellings(TYPES, "types", types),
        "languages": spellings(LANGUAGES, "languages", languages),
        "modalities": {word: name for word, name in of_user.items() if word not in unexplained},
        "subspecialties": spellings(named, "subspecialties", subspecialties),
    }


def kind_and_language(text: str, known: Words) -> tuple[str, str]:
    """Return the task and the language that a kind of question names, each empty if it is not known.

    Example:
        >>> kind_and_language("Single-choice_EN", words()), kind_and_language("判断题", words())
        (('single_choice_question', 'en'), ('binary_question', ''))
        >>> kind_and_language("essay", words())
        ('', '')
    """
    name = plain(text)
    if name in known["types"]:
        return known["types"][name], ""
    for word, language in known["languages"].items():
        for rest in (name.removesuffix(word), name.removeprefix(word)):
            if rest != name and rest in known["types"]:
                return known["types"][rest], language
    return "", ""


def modality_of(text: str, known: Words) -> str | None:
    """Return the modality or combination that a cell names; None if a part of it is not known.

    Example:
        >>> modality_of("FFA + CFP", words()), modality_of("眼底彩照、OCT", words()), modality_of("SS", words())
        ('CFP+FFA', 'CFP+OCT', None)
    """
    parts = [plain(part) for part in _JOINTS.split(text) if plain(part)]
    whole = known["modalities"].get(plain(text))
    found = [whole] if whole else [known["modalities"].get(part) for part in parts]
    names = [name for name in found if name]
    return combined(names) if names and len(names) == len(found) else None


def shown(value: object) -> str:
    """Return a value in at most about 60 characters, Chinese as it is and what cannot be printed escaped.

    Example:
        >>> shown("视盘"), shown(None)
        ("'视盘'", 'None')
    """
    text = repr(value[:60]) if isinstance(value, str) else repr(value)[:60]
    return text + ("..." if isinstance(value, str) and len(value) > 60 else "")


def half_width(text: str) -> str:
    """Return a text with half-width letters, digits and marks, one blank for several, and none around it.

    Example:
        >>> half_width(" Ａ：视盘　 水肿 ")
        'A:视盘 水肿'
    """
    return " ".join(unicodedata.normalize("NFKC", text).split())


SUBSPECIALTIES = tuple(
    Term(one["name"], tuple(one["english"]), tuple(one["chinese"]), one["reference"])
    for one in _WORDS["subspecialties"]
)
"""The nine of OphthalWeChat (figure 2A), after the American Academy of Ophthalmology."""
