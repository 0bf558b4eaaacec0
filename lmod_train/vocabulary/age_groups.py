"""The age groups that demographic tasks ask for, and the broader ones they may be scored as."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class AgeGroup:
    """A range of ages in years.

    Attributes:
        label: The prompt's own words, en dash and all.
        low: Youngest age.
        below: Every age of the group is below this one; None where there is no upper end.
        merged: The broader group that LMOD+ scores it as.
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
Invalid. The paper does not say where its Group 1 goes; under 18 fits none of the three, so it is `invalid` here."""

MERGED = ("18–40", "40–60", "60+", "invalid")
"""The broader groups in the paper's order."""
