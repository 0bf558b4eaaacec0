"""Masks of drawn lesions, and of drawn structures in a photograph that its frame has cut."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from PIL import Image, ImageDraw

from lmod_train.phantom.eye import Eye, LesionKind
from lmod_train.phantom.frame import Frame
from lmod_train.phantom.fundus import _outline  # the function that `render` uses, so that masks match the image

_DRAWN_TOGETHER: tuple[tuple[LesionKind, ...], ...] = (
    ("cotton-wool spot",),
    ("microaneurysm", "haemorrhage"),
    ("hard exudate",),
)
"""The order of `render`: outlines are drawn from one random generator, so their shapes depend on the order."""


def lesion_mask(eye: Eye, kind: LesionKind, size: int) -> npt.NDArray[np.bool_]:
    """Return the mask of all pixels touched by lesions of one kind: bool, shape (size, size).

    The outlines are those that `render` paints, without the soft edge of cotton-wool spots. Lesions of another kind on
    top of them do not reduce the mask.
    """
    layer = Image.new("L", (2 * size, 2 * size))
    draw = ImageDraw.Draw(layer)
    rng = np.random.default_rng([eye.seed, 2])  # the generator of outlines in `render`
    for kinds in _DRAWN_TOGETHER:
        for lesion in (lesion for lesion in eye.lesions if lesion.kind in kinds):
            outline = _outline(lesion, 2 * size, rng)  # for every lesion, as each call advances the generator
            if lesion.kind == kind:
                draw.polygon(outline, fill=255)
    mask: npt.NDArray[np.bool_] = np.asarray(layer.reduce(2)) > 0
    return mask


def place(mask: npt.NDArray[np.bool_], frame: Frame) -> npt.NDArray[np.bool_]:
    """Return a mask of the square (side, side) as a mask of the photograph (height, width)."""
    placed = np.zeros((frame.height, frame.width), dtype=np.bool_)
    x0, y0 = max(0, frame.left), max(0, frame.top)
    x1, y1 = min(frame.width, frame.left + frame.side), min(frame.height, frame.top + frame.side)
    placed[y0:y1, x0:x1] = mask[y0 - frame.top : y1 - frame.top, x0 - frame.left : x1 - frame.left]
    return placed
