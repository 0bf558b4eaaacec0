"""Number the boxes of a sample in an order that does not depend on what they hold."""

from __future__ import annotations

from dataclasses import replace

from lmod_train.core.shuffling import shuffle_key
from lmod_train.core.types import Sample


def number(sample: Sample, seed: int) -> Sample:
    """Return the sample with its regions shuffled by seed and key, and numbered from 1 in that order.

    The order in which a source or a mask names its structures has no influence.
    """

    def place(index: int) -> str:
        return shuffle_key(seed, "numbering", sample.source, sample.key, index)

    sorted_regions = sorted(sample.regions, key=lambda r: (r.structure, r.box.x0, r.box.y0, r.box.x1, r.box.y1))
    order = sorted(range(len(sorted_regions)), key=place)
    return replace(sample, regions=tuple(replace(sorted_regions[i], id=n) for n, i in enumerate(order, 1)))
