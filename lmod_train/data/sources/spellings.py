"""Spellings of names in tables from others: a name is known by its letters and digits, and a user can add more."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping, Sequence
from functools import lru_cache

from lmod_train.core.errors import BadArgument

Words = Mapping[str, Mapping[str, str]]
"""Kind of names -> plain spelling -> name."""


def plain(text: str) -> str:
    """Return letters and digits of a name in lower case.

    Example:
        >>> plain("Anatomical_Localization "), plain("single-choice")
        ('anatomicallocalization', 'singlechoice')
    """
    return _plain(text[:200])


@lru_cache(maxsize=1 << 12)  # the same few names stand in every question
def _plain(text: str) -> str:
    return "".join(c for c in text.casefold() if c.isalnum())


def spellings(known: Mapping[str, Sequence[str]], option: str, more: Mapping[str, str] | None) -> dict[str, str]:
    """Return the plain form of every spelling -> the name it stands for.

    Args:
        known: Name -> further spellings.
        option: Name of the argument with the user's spellings, for the error.
        more: Spelling -> name, of the user; takes precedence.

    Raises:
        BadArgument: A user's spelling stands for no name.

    Example:
        >>> spellings({"R": ("resident",)}, "levels", {"Junior": "R"})
        {'r': 'R', 'resident': 'R', 'junior': 'R'}
    """
    for spelling, name in (more or {}).items():
        if name not in known:
            cure = f"name one of them behind {spelling!r}"
            raise BadArgument(option, name, f"one of {', '.join(known)}", cure)
    table = {plain(spelling): name for name, others in known.items() for spelling in (name, *others)}
    return table | {plain(spelling): name for spelling, name in (more or {}).items()}


def shown(value: object) -> str:
    r"""Return a value in at most about 60 characters of ASCII, containers by type and length.

    Example:
        >>> shown("séance"), shown([1, 2]), shown(None)
        ("'s\\xe9ance'", 'list of 2', 'None')
    """
    if isinstance(value, str):
        return ascii(value[:60]) + ("..." if len(value) > 60 else "")
    if isinstance(value, list | tuple | dict | bytes):
        return f"{type(value).__name__} of {len(value)}"
    return ascii(value)[:60]


def folded(text: str) -> str:
    """Return a text by which two that look alike are equal: without case, forms, blanks and invisible characters.

    Example:
        >>> folded("Cafe\u0301 \uff21\u200b") == folded("café a")
        True
    """
    seen = "".join(c for c in unicodedata.normalize("NFKC", text) if unicodedata.category(c) != "Cf")
    return " ".join(unicodedata.normalize("NFKC", seen.casefold()).split())
