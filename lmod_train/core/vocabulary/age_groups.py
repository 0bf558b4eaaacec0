"""Age groups of the demographic tasks, and the broader groups of LMOD+'s scoring."""

from __future__ import annotations

from dataclasses import dataclass

from lmod_train.core.vocabulary import rows


@dataclass(frozen=True, slots=True)
class AgeGroup:
    """A range of ages in years.

    Attributes:
        label: Spelling in the prompt, with an en dash.
        low: Youngest age.
        merged: Broader group in LMOD+'s scoring.
        below: Upper end, exclusive; None for an open end.
    """

    label: str
    low: int
    merged: str
    below: int | None = None


AGE_GROUPS = rows("age_groups.groups", AgeGroup)
"""Groups 1 to 8 of LMOD+'s prompt, and its consolidation (after Ostchega et al. 2020) into 18-40, 40-60, 60+ and
Invalid. The paper does not assign its Group 1; under 18 fits none of the three, so it is `invalid` here."""

MERGED = ("18–40", "40–60", "60+", "invalid")
"""The broader groups in the paper's order."""
