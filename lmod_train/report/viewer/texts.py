"""Texts and other values that are kept once and referred to by their number."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Generic, TypeVar

Value = TypeVar("Value", bound=Hashable)


class Numbered(Generic[Value]):
    """Values in order of first use.

    Example:
        >>> words = Numbered[str]()
        >>> [words.number(word) for word in ("b", "a", "b")], words.values
        ([0, 1, 0], ['b', 'a'])
    """

    def __init__(self) -> None:
        self._numbers: dict[Value, int] = {}

    def number(self, value: Value) -> int:
        """Return the number of a value, the next free one if it is new."""
        return self._numbers.setdefault(value, len(self._numbers))

    @property
    def values(self) -> list[Value]:
        """All values by their number."""
        return list(self._numbers)
