"""Clinical terms and the phrases around them, in English, Chinese and some other languages, as data files.

Each file of this folder that ends in ``.toml`` holds words of one subject. Phrases are regular expressions in lower
case without capturing groups; a blank stands for white space. English ones (``en``) are matched as whole words, Chinese
ones (``zh``) anywhere. ``{name}`` stands for another entry of the same file, ``{file.name}`` for one of another file.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from functools import cache, reduce
from operator import getitem
from pathlib import Path
from typing import Any, TypeVar

_PLACE = re.compile(r"\{([a-z_]+(?:\.[a-z_]+)*)\}")
Row = TypeVar("Row")


@cache
def entry(name: str) -> Any:
    """Return an entry of the files: a text, a tuple of texts, or a table.

    Args:
        name: The name of the file, then those of the entry, with points between them.

    Example:
        >>> entry("other_languages.yes"), entry("eye_parts.eye_parts")[:11]
        (('ja', 'oui', 'si', 'sim'), 'dis[ck]s?|c')
    """
    return _filled(name, {})


def compiled(name: str, /, flags: int = re.IGNORECASE, **parts: str) -> re.Pattern[str]:
    """Return the compiled pattern of an entry, whose alternatives may be a list.

    Args:
        name: The name of the entry.
        flags: Those of `re`.
        parts: What stands for some of its places, where code makes it.

    Example:
        >>> compiled("confidence.asked").findall("How confident are you? 多大把握?")
        ['confident', '把握']
    """
    return re.compile(_as_pattern(_filled(name, parts)), flags)


def phrases(name: str) -> str:
    """Return a regular expression for any of the phrases of an entry, English and Chinese."""
    return _as_pattern(entry(name))


def any_of(english: Iterable[str], chinese: Iterable[str] = ()) -> str:
    """Return a regular expression for any of the phrases: English ones as whole words, Chinese ones anywhere.

    Example:
        >>> [bool(re.search(any_of(["no"], ["无"]), text)) for text in ("no", "not", "retinopathy", "无")]
        [True, False, False, True]
    """
    own = "|".join(phrase.replace(" ", r"\s{1,3}") for phrase in english)
    return "|".join([rf"(?<![a-z])(?:{own})(?![a-z])", *chinese])


def rows(name: str, kind: Callable[..., Row]) -> tuple[Row, ...]:
    """Return the rows of a table as objects of a class."""
    return tuple(kind(**row) if isinstance(row, dict) else kind(*row) for row in entry(name))


@cache
def _read(file: str) -> Any:
    import tomllib  # not with the names of phantoms, which every command needs

    return tomllib.loads((Path(__file__).parent / f"{file}.toml").read_text(encoding="utf-8"))


def _as_pattern(value: Any) -> str:
    if isinstance(value, dict):
        return any_of(value.get("en", ()), value.get("zh", ()))
    return value if isinstance(value, str) else "|".join(value)


def _filled(name: str, parts: Mapping[str, str]) -> Any:
    """Return an entry with tuples for lists, and with the parts or other entries that its places name."""
    file, *names = name.split(".")

    def in_place(place: re.Match[str]) -> str:
        one = place[1] if "." in place[1] else f"{file}.{place[1]}"
        return parts[place[1]] if place[1] in parts else _as_pattern(_filled(one, parts))

    def filled(value: Any) -> Any:
        if isinstance(value, str):
            return _PLACE.sub(in_place, value)
        if isinstance(value, dict):
            return {key: filled(one) for key, one in value.items()}
        return tuple(map(filled, value)) if isinstance(value, list) else value

    return filled(reduce(getitem, names, _read(file)))
