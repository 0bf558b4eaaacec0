"""How a command that asks a model has ended."""

from __future__ import annotations

from dataclasses import dataclass

INCOMPLETE = 3
"""Exit status of a command that asks a model, if a record that was to be asked failed or was not asked."""


@dataclass(frozen=True, slots=True)
class Ended:
    """How a command that asks a model has ended.

    Attributes:
        scored: Whether predictions and scores were derived; not by a shard that leaves this to another one, nor by a
            rank other than the first.
        status: Exit status: 0, or `INCOMPLETE`.
    """

    scored: bool = False
    status: int = 0
