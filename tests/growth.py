"""Whether processor time grows in proportion to an input's size, so that no test asks how fast a machine is."""

from __future__ import annotations

import time
from collections.abc import Callable

LEAST = 0.02
"""Seconds below which a measurement is noise: what is faster counts as this long."""
TRIES = 3
"""A machine that is busy elsewhere adds time by chance; what is quadratic is so at every try."""


def growth(work: Callable[[int], object], size: int, times: int = 8, enough: float = 2.5) -> float:
    """Return how often longer `work` takes for `times` the size, over `times`: 1 where linear, `times` if quadratic.

    The least of up to three tries, ended by the first below `enough`.
    """
    least = float("inf")
    for _ in range(TRIES):
        least = min(least, _seconds(work, times * size) / max(_seconds(work, size), LEAST) / times)
        if least < enough:
            break
    return least


def _seconds(work: Callable[[int], object], size: int) -> float:
    started = time.process_time()
    work(size)
    return time.process_time() - started
