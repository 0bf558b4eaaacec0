"""Checks of the numbers that phantoms are drawn with."""

from __future__ import annotations

from lmod_train.core.errors import BadArgument


def check_count(n: int, of: str = "photographs") -> int:
    """Return a number of phantoms.

    Raises:
        BadArgument: It is negative.
    """
    if n < 0:
        raise BadArgument("n", n, f"0 or more {of}", "give a number from 0")
    return n


def check_seed(seed: int) -> None:
    """Raise an error for a negative seed."""
    if seed < 0:
        raise BadArgument("seed", seed, "an integer from 0", "use a seed from 0")


def check_size(size: int, name: str = "size", good: int = 96) -> None:
    """Raise an error for a side of less than 16 pixels; from `good` on, something can be recognised."""
    if size < 16:
        raise BadArgument(name, size, "at least 16 pixels", f"use {good} or more to recognise anything")
