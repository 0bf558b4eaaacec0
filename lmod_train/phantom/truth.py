"""Known truth of a phantom, in the words of the records: what reading and curation must return."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from lmod_train.core.types import Box, Patient


@dataclass(frozen=True, slots=True)
class Truth:
    """Truth of one sample, independent of the files it is written to.

    Attributes:
        key: Key of the sample as the source yields it.
        group: Group of the sample as the source yields it.
        labels: All labels of the sample.
        boxes: (structure, box) of every structure drawn, in pixels of the raw image (of its image half if image and
            mask are side by side), `x1` and `y1` exclusive; in any order.
        patient: Person and exposure as the source yields them.
    """

    key: str
    group: str
    labels: Mapping[str, str] = field(default_factory=dict)
    boxes: tuple[tuple[str, Box], ...] = ()
    patient: Patient = field(default_factory=Patient)


def extent(mask: npt.NDArray[np.bool_]) -> Box:
    """Return the smallest box around the true pixels of a mask (height, width), which has at least one.

    Example:
        >>> extent(np.eye(4, dtype=bool)[:, 1:])
        Box(x0=0, y0=1, x1=3, y1=4)
    """
    rows, columns = np.nonzero(mask)
    return Box(int(columns.min()), int(rows.min()), int(columns.max()) + 1, int(rows.max()) + 1)


def boxes_of(masks: Iterable[tuple[str, npt.NDArray[np.bool_]]]) -> tuple[tuple[str, Box], ...]:
    """Return name and box of each mask that has a pixel."""
    return tuple((name, extent(mask)) for name, mask in masks if mask.any())
