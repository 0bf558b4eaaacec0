"""The question and answer templates of X-PCR's six stages, and the labels of the parts that an answer must have."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path

FILE = Path(__file__).with_name("listings.json")
"""Listings 1 to 6 of the supplement, verbatim, with their source."""

PARTS: dict[str, tuple[str, ...]] = {
    "IQA": (),
    "AL": (),
    "LC": ("Size", "Shape", "Color / reflectivity", "Borders", "Texture", "Associated features"),
    "DD": ("Primary diagnosis", "Supporting evidence from LC", "Differential considerations"),
    "SG": ("Risk category", "Contributing factors", "Recommended monitoring"),
    "CD": ("Primary intervention", "Rationale", "Alternative options", "Contraindications"),
}
"""Stage -> labels of the lines of its answer. Those of LC and DD are printed; listings 5 and 6 name the parts of SG and
CD in one phrase joined by "+", and labels are ours there."""

VERDICTS: dict[str, tuple[str, ...]] = {"IQA": ("YES", "NO"), "AL": ("PRESENT", "ABSENT")}
"""Stage -> words of which one begins the answer; a sentence follows."""


@dataclass(frozen=True, slots=True)
class Listing:
    """A template of the supplement.

    Attributes:
        stage: Name of the stage (IQA, AL, LC, DD, SG, CD).
        location: Where it is printed.
        text: Its text, verbatim.
    """

    stage: str
    location: str
    text: str


@cache
def listings() -> dict[str, Listing]:
    """Return stage -> its listing, in the order of the stages.

    Example:
        >>> [one.location for one in listings().values()][0], list(listings())
        ('Listing 1', ['IQA', 'AL', 'LC', 'DD', 'SG', 'CD'])
    """
    rows = json.loads(FILE.read_text(encoding="utf-8"))["listings"]
    return {row["stage"]: Listing(**row) for row in rows}


def form_of(stage: str) -> str:
    r"""Return the lines that an answer of a stage consists of, with ``...`` for the words to write.

    Example:
        >>> form_of("AL")
        'PRESENT. ... or ABSENT. ...'
        >>> form_of("SG")
        'Risk category: ...\nContributing factors: ...\nRecommended monitoring: ...'
    """
    if stage in VERDICTS:
        return " or ".join(f"{word}. ..." for word in VERDICTS[stage])
    return "\n".join(f"{label}: ..." for label in PARTS[stage])
