"""The twelve yes-or-no questions of LMOD+ (its figure 3, on BRSET) and their wording in prompts."""

from __future__ import annotations

from dataclasses import dataclass

from lmod_train.core.vocabulary import entry, rows


@dataclass(frozen=True, slots=True)
class Finding:
    """A condition as a yes-or-no question.

    Attributes:
        condition: Name of its row in `CONDITIONS`; the key of a sample's label.
        asked: Wording after "this patient has".
        short: Wording before TRUE or FALSE.
        adjective: For a property of a structure, the adjectives that assert it ("increased"), as a regular expression
            without capturing groups; otherwise empty.
        structure: The structure, as a regular expression; otherwise empty.
    """

    condition: str
    asked: str
    short: str
    adjective: str = ""
    structure: str = ""


FINDINGS = rows("findings.findings", Finding)
SIGNS = frozenset(entry("findings.signs"))
"""Rows of `CONDITIONS` that are signs and may be given as evidence of a disease ("TRUE, the patient has drusen")."""
