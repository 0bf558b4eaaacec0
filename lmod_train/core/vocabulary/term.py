"""The row type of the vocabulary tables."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Term:
    """A clinical term with its synonyms.

    Attributes:
        name: The project's own spelling, as in labels and regions.
        english: English synonyms. One in capitals is an abbreviation, which a capitalised word does not match
            (DR and dr, not "Dr. Smith").
        chinese: Chinese synonyms.
        reference: Definition of the concept, and the dataset or paper with its labels.
        kinds: Names of subtypes, in any language: asserting one asserts the concept, denying one does not deny it
            ("no proliferative retinopathy").
    """

    name: str
    english: tuple[str, ...] = ()
    chinese: tuple[str, ...] = ()
    reference: str = ""
    kinds: tuple[str, ...] = ()
