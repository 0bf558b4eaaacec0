"""Failures that rules find in replies, and the failure modes and error types of the papers that they belong to."""

from __future__ import annotations

from dataclasses import dataclass

from lmod_train.core.vocabulary import entry, rows

TITLES: dict[str, str] = entry("error_types.titles")
"""Rule -> what its failure is called in a report."""


@dataclass(frozen=True, slots=True)
class ErrorType:
    """A failure mode or error type of a paper.

    Attributes:
        name: Name in the paper.
        definition: The paper's definition, shortened.
        rules: Rules whose failures belong to it; the first type whose rule fires counts where a reply has one type.
    """

    name: str
    definition: str
    rules: tuple[str, ...] = ()


LMOD_MODES = rows("error_types.lmod_modes", ErrorType)
LMOD_PLUS_TYPES = rows("error_types.lmod_plus_types", ErrorType)
NO_ERROR = "no error"
ERROR_LABELS = (NO_ERROR, *(kind.name for kind in LMOD_PLUS_TYPES))
"""Labels of a judge of errors; the first counts as right."""


def type_called(words: str) -> str | None:
    """Return the error type of LMOD+ of a name, of a rule or its title; None for other words.

    Example:
        >>> type_called("Loop"), type_called("medical knowledge error"), type_called("odd")
        ('text generation failure', 'medical knowledge error', None)
    """
    plain = " ".join(words.replace("_", " ").casefold().split())
    for kind in LMOD_PLUS_TYPES:
        called = {kind.name, f"{kind.name}s", *(TITLES[rule] for rule in kind.rules)}
        if plain in called | {rule.replace("_", " ") for rule in kind.rules}:
            return kind.name
    return NO_ERROR if plain == NO_ERROR else None
