"""A row of a vocabulary table."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Term:
    """A clinical word and the other words people and models use for it.

    Attributes:
        name: The project's own spelling; what labels and regions carry.
        english: Other spellings. One in capitals is an abbreviation and never read from a capitalised word
            (DR and dr, not "Dr. Smith").
        chinese: Chinese words.
        kinds: Names of one kind of it, in any language: to assert one asserts the concept, to deny one does not deny it
            ("no proliferative retinopathy").
        reference: Where the concept is defined, and the dataset or paper that brings it here.
    """

    name: str
    english: tuple[str, ...]
    chinese: tuple[str, ...]
    reference: str
    kinds: tuple[str, ...] = ()
