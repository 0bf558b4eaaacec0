"""Numbers that any program can rebuild from a formula, so that two programs share tensors without sharing files."""

import numpy as np
from numpy.typing import NDArray


def noise(shape: tuple[int, ...], key: float) -> NDArray[np.float64]:
    """Return numbers in [-1, 1) that look random: the fractional part of a steep sine of index and key."""
    wave = np.sin(12.9898 * np.arange(np.prod(shape), dtype=np.float64) + 78.233 * key) * 43758.5453
    return (2 * (wave - np.floor(wave)) - 1).reshape(shape)


def table(items: int, classes: int, key: int, never_said: int | None) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return truths (items,) and probabilities (items, classes) of a fair classifier that never says one class."""
    truths = np.floor((noise((items,), key) + 1) / 2 * classes).astype(np.int64)
    scores = noise((items, classes), key + 1) + 0.9 * np.eye(classes)[truths]
    if never_said is not None:
        scores[:, never_said] -= 5
    odds = np.exp(2 * scores)
    return truths, odds / odds.sum(axis=1, keepdims=True)
