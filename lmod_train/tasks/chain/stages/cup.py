"""The vertical cup-to-disc ratio from the boxes of disc and cup."""

from __future__ import annotations

from collections.abc import Sequence

from lmod_train.core.types import Sample
from lmod_train.tasks.chain.stages.posed import Missing, box_of

MARGIN = 0.01
"""Distance from a border between two classes within which a ratio is of neither."""


def cup_to_disc(sample: Sample, borders: Sequence[float]) -> float | Missing:
    """Return the height of the cup's box over that of the disc's, or why there is none clear of the borders.

    Args:
        sample: With boxes of disc and cup.
        borders: Ratios at which one class ends and the next begins.
    """
    disc, cup = box_of(sample, "optic disc"), box_of(sample, "optic cup")
    if disc is None or cup is None:
        return Missing("no outline of the cup" if disc else "no outline or mask of lesions or cup")
    ratio = cup.height / disc.height
    if min(abs(ratio - border) for border in borders) < MARGIN:
        return Missing("too close to a border between two classes")
    return ratio
