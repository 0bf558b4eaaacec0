"""Expertise-stratified accuracy (ESA): the share of right answers at each level of expertise that a question needs."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from lmod_train.core.errors import BadArgument
from lmod_train.core.package_data import package_data
from lmod_train.scoring.intervals import Columns, Floats, Measure, mean_measure, ratio
from lmod_train.scoring.items import Item

LEVELS = ("R", "A", "S")
"""Resident, attending, specialist, as in X-PCR."""

ENDING = "_level"
"""End of the name of a task that asks for the level of another task's questions."""

ENVELOPES: dict[tuple[str, str], tuple[float, float]] = {
    (readers, level): (least, largest)
    for readers, level, least, largest in package_data(__file__, "words.yaml")["expertise"]["envelopes"]
}
"""Group of readers and level -> accuracy that X-PCR expects of the group (supplement, section 4.1)."""


def in_envelope(accuracy: float, least: float, largest: float) -> bool:
    """Return whether an accuracy lies in an envelope of `ENVELOPES`; "above 70 %" and "below 40 %" leave out the bound.

    Example:
        >>> in_envelope(0.7, 0.7, 1.0), in_envelope(0.6, 0.4, 0.6), in_envelope(0.4, 0.0, 0.4)
        (False, True, False)
    """
    above = accuracy > least if largest == 1 else accuracy >= least
    return above and (accuracy < largest if least == 0 else accuracy <= largest)


def level_of(item: Item) -> str:
    """Return the level of expertise in an item's tag ``level``, empty without the tag.

    Raises:
        BadArgument: It is none of `LEVELS`.
    """
    level = item.tags.get("level", "")
    if level and level not in LEVELS:
        cure = "correct the level in the source, or leave the tag out where it is not known"
        raise BadArgument(f"level of {item.id}", level, f"one of {', '.join(LEVELS)}", cure)
    return level


def expertise_columns(items: Sequence[Item]) -> dict[str, Floats]:
    """Return ``level_items`` and ``level_right``, each (items, levels): 1 at the item's level, 0 at the others.

    Raises:
        BadArgument: A level is none of `LEVELS`.
    """
    asked = np.array([[level_of(item) == level for level in LEVELS] for item in items], dtype=np.float64)
    asked = asked.reshape(len(items), len(LEVELS))
    right = np.array([item.answer == item.truth for item in items], dtype=np.float64)
    return {"level_items": asked, "level_right": asked * right[:, None]}


def _shares(sums: Columns) -> Floats:
    return ratio(sums["level_right"], sums["level_items"])


def _of_level(place: int) -> Measure:
    return Measure("esa", lambda s: _shares(s)[..., place], lambda c: c["level_items"][..., place])


ESA = {level: _of_level(place) for place, level in enumerate(LEVELS)}
"""Level -> ``esa``, the share of right answers among the questions of that level (X-PCR, supplement, equation 4); a
missing answer is wrong."""

ESA_MEAN = mean_measure("esa_mean", _shares, lambda c: c["level_items"])
"""Unweighted mean of ``esa`` over the levels that occur."""
