"""Age groups of the demographic tasks, and the broader groups of LMOD+'s scoring."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class AgeGroup:
    """A range of ages in years.

    Attributes:
        label: Spelling in the prompt, with an en dash.
        low: Youngest age.
        below: Upper end, exclusive; None for an open end.
        merged: Broader group in LMOD+'s scoring.
    """

    label: str
    low: int
    below: int | None
    merged: str


AGE_GROUPS: tuple[AgeGroup, ...] = (
    AgeGroup("<18", 0, 18, "invalid"),
    AgeGroup("18–29", 18, 30, "18–40"),
    AgeGroup("30–39", 30, 40, "18–40"),
    AgeGroup("40–49", 40, 50, "40–60"),
    AgeGroup("50–59", 50, 60, "40–60"),
    AgeGroup("60–69", 60, 70, "60+"),
    AgeGroup("70–79", 70, 80, "60+"),
    AgeGroup("80+", 80, None, "60+"),
)
"""Groups 1 to 8 of LMOD+'s prompt, and its consolidation (after Ostchega et al. 2020) into 18-40, 40-60, 60+ and
Invalid. The paper does not assign its Group 1; under 18 fits none of the three, so it is `invalid` here."""

MERGED = ("18–40", "40–60", "60+", "invalid")
"""The broader groups in the paper's order."""
