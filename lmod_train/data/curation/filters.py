"""Leave out boxes too small to be asked about: Algorithm 1 of the LMOD papers, second step.

The papers remove boxes "below 10 %" and do not say of what; it cannot be of the image area, as released boxes cover
about 1 % of it (a slit knife 1.13 %, a fovea 0.4 %). So the quantity is named here, and the manifest counts what fell.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from lmod_train.core.errors import BadArgument
from lmod_train.core.types import Box, Sample

Loss = tuple[str, str]
"""Structure and reason of a box left out: ``too_small``, ``empty`` or ``outside_image``."""


@dataclass(frozen=True, slots=True)
class BoxFilter:
    """What a box must reach to be kept.

    The default keeps boxes whose longer side is at least 2 % of the image's longer side: at a model input of 224
    pixels that is 4.5 pixels, a third of a vision transformer's patch, below which there is nothing to recognise; every
    kind of box the authors released passes it.

    Attributes:
        quantity: ``side``: longer side of the box over longer side of the image; ``area``: area of the box over area of
            the image; ``percentile``: rank of that area fraction among all boxes of the source.
        threshold: 0 to 1 for side and area, 0 to 100 for percentile; boxes below fall, 0 keeps all.
    """

    quantity: Literal["side", "area", "percentile"] = "side"
    threshold: float = 0.02

    def __post_init__(self) -> None:
        if self.quantity not in ("side", "area", "percentile"):
            raise BadArgument("box_filter.quantity", self.quantity, "side, area or percentile", "name one of them")
        top = 100 if self.quantity == "percentile" else 1
        if not 0 <= self.threshold <= top:
            cure = "0 keeps every box; the default is quantity side with threshold 0.02"
            raise BadArgument("box_filter.threshold", self.threshold, f"0 to {top} for {self.quantity}", cure)

    def measure(self, box: Box, size: tuple[int, int]) -> float:
        """Return the quantity of a box in an image of width and height `size`, a fraction of 0 to 1.

        Example:
            >>> BoxFilter("side").measure(Box(0, 0, 10, 40), (400, 200))
            0.1
        """
        if self.quantity == "side":
            return max(box.width, box.height) / max(size)
        return box.area / (size[0] * size[1])


def cutoff_of(box_filter: BoxFilter, measures: Iterable[float]) -> float:
    """Return the measure a box must reach: the threshold itself, or for ``percentile`` that of one source's measures.

    Example:
        >>> cutoff_of(BoxFilter("percentile", 50), [0.1, 0.2, 0.3])
        0.2
    """
    if box_filter.quantity != "percentile":
        return box_filter.threshold
    values = list(measures)
    return float(np.percentile(values, box_filter.threshold)) if values else 0.0


def keep_boxes(sample: Sample, box_filter: BoxFilter, cutoff: float) -> tuple[Sample, tuple[Loss, ...]]:
    """Return the sample with the boxes that reach `cutoff`, and those that do not, in the sample's order.

    A box without area or not wholly inside the image is left out as well. A sample may end without regions: it can
    still serve tasks that need none.
    """
    kept, lost = [], []
    width, height = sample.size
    for region in sample.regions:
        box = region.box
        if box.width <= 0 or box.height <= 0:
            lost.append((region.structure, "empty"))
        elif min(box.x0, box.y0) < 0 or box.x1 > width or box.y1 > height:
            lost.append((region.structure, "outside_image"))
        elif box_filter.measure(box, sample.size) < cutoff:
            lost.append((region.structure, "too_small"))
        else:
            kept.append(region)
    return replace(sample, regions=tuple(kept)), tuple(lost)
