"""The dialect that a checkpoint speaks."""

from __future__ import annotations

from pathlib import Path

from lmod_train.chat.dialect import Dialect


def dialect_of(folder: Path) -> Dialect:
    """Return the dialect of a checkpoint in transformers layout.

    Raises:
        BadArgument: It is of no known family.
        WeightsMismatch: It has no chat template, or one that asks otherwise than it teaches.
    """
    return Dialect(folder)
