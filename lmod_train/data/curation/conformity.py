"""What a source yields, held to the types that `lmod_train.core.types` declares, before anything is made of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from lmod_train.core.errors import BadSample
from lmod_train.core.types import Dropped, Sample

_DECLARED: dict[Any, tuple[tuple[str, Any], ...]] = {}


def check(item: object, source: str, where: str) -> None:
    """Check that one thing a source yielded is a sample or a drop of its own, every value of the declared type.

    Args:
        item: What was yielded.
        source: Name of the source.
        where: The source's class path, for the error.

    Raises:
        BadSample: The message names source, key, field, value and the expected type.
    """
    if not isinstance(item, Sample | Dropped):
        raise BadSample(source, "", f"{_shown(item)} was yielded, expected Sample or Dropped", where)
    wrong = wrong_field(item)
    if not wrong and item.source != source:
        wrong = f"source is {_shown(item.source)}, expected {source!r}, the name of its class"
    if wrong:
        raise BadSample(source, item.key, wrong, where)


def wrong_field(item: Sample | Dropped) -> str:
    """Return the first value of another type than declared, in words; the empty text where all are right.

    Example:
        >>> wrong_field(Dropped("clinic", 7, "a.csv", "read", "unusable row"))
        'key is 7 (int), expected str'
    """
    return next(_in_fields(item, ""), "")


def _in_fields(item: object, place: str) -> Iterator[str]:
    for name, expected in _hints(type(item)):
        yield from _wrong(getattr(item, name), expected, f"{place}{name}")


def _hints(kind: Any) -> tuple[tuple[str, Any], ...]:
    """Return name and declared type of every field, worked out once for each class."""
    if kind not in _DECLARED:
        hints = get_type_hints(kind)
        _DECLARED[kind] = tuple((field.name, hints[field.name]) for field in fields(kind))
    return _DECLARED[kind]


def _wrong(value: object, expected: Any, place: str) -> Iterator[str]:
    """Yield what is wrong with a value in words."""
    kind, inside = get_origin(expected), get_args(expected)
    if kind in (Union, UnionType):
        if not any(next(_wrong(value, one, place), None) is None for one in inside):
            yield _said(place, value, " or ".join(_name(one) for one in inside))
    elif kind is Literal:
        if value not in inside:
            yield _said(place, value, f"one of {', '.join(map(repr, inside))}")
    elif kind is tuple and isinstance(value, tuple):
        yield from _in_tuple(value, inside, place)
    elif kind is not None and kind is not tuple and isinstance(value, Mapping):
        for key, one in value.items():
            yield from _wrong(key, inside[0], f"a key of {place}")
            yield from _wrong(one, inside[1], f"{place}[{key!r}]")
    elif kind is not None or not _is(value, expected):
        yield _said(place, value, _name(expected))
    elif is_dataclass(expected):
        yield from _in_fields(value, f"{place}.")


def _in_tuple(value: tuple[object, ...], inside: tuple[Any, ...], place: str) -> Iterator[str]:
    if inside[-1] is not Ellipsis and len(value) != len(inside):
        yield _said(place, value, f"{len(inside)} values")
        return
    each = inside[:1] * len(value) if inside[-1] is Ellipsis else inside
    for at, (one, expected) in enumerate(zip(value, each, strict=True)):
        yield from _wrong(one, expected, f"{place}[{at}]")


def _is(value: object, expected: type) -> bool:
    """Return whether a value is of a type; a whole number serves as a float, and a truth value as no number."""
    if isinstance(value, bool) and expected is not bool:
        return False
    return isinstance(value, expected) or (expected is float and isinstance(value, int))


def _name(expected: Any) -> str:
    return "None" if expected is NoneType else getattr(expected, "__name__", str(expected))


def _shown(value: object) -> str:
    text = repr(value)
    return f"{text if len(text) <= 80 else text[:77] + '...'} ({type(value).__name__})"


def _said(place: str, value: object, expected: str) -> str:
    return f"{place} is {_shown(value)}, expected {expected}"
