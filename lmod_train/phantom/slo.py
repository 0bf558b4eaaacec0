"""Scanning laser ophthalmoscopy drawn from known truth: one grey channel, the field as wide as the frame."""

from __future__ import annotations

from dataclasses import replace
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from lmod_train.phantom.checks import check_size
from lmod_train.phantom.eye import Eye
from lmod_train.phantom.fundus import cup_mask, disc_mask, render

Grey: TypeAlias = npt.NDArray[np.uint8]

RIM, CUP = 1, 2
"""Values of `structures` for the disc's rim and the cup."""

_ASPECT = 664 / 512  # width by height of the published images, from the card of a related dataset


def width_of(height: int) -> int:
    """Return the width in pixels of an image of this height.

    Example:
        >>> width_of(512)
        664
    """
    return round(height * _ASPECT)


def scan(eye: Eye, height: int) -> Grey:
    """Return the image of an eye, shape (height, `width_of(height)`), the middle rows of a square image.

    Vessels and macula are dark and sharp, as with the single wavelength of a laser; haze of the lens is ignored. Rows
    differ slightly in brightness, as they are scanned one after the other.

    Args:
        eye: Truth to draw; of its camera only blur, brightness, noise and position of the light are used.
        height: Height in pixels, from 16.

    Raises:
        BadArgument: The height is below 16.

    Example:
        >>> from lmod_train.phantom.eye import draw_eye
        >>> scan(draw_eye(0, "normal"), 64).shape
        (64, 83)
    """
    check_size(height, "height")
    camera = replace(eye.camera, field=(0.5, 0.5), field_radius=2.0, vignette=0.4 * eye.camera.vignette)
    camera = replace(camera, tint=(1.0, 1.0, 1.0), contrast=1.0, blur=0.6 * camera.blur)
    colour = np.asarray(render(replace(eye, camera=camera, haze=0.0), width_of(height)), dtype=np.float32)
    seen = colour[..., 1] / 255  # vessels absorb green; reflectances are about 0.3 for the fundus, 0.9 for the cup
    above = seen - 0.36
    seen = 0.38 + above * np.where(above > 0, 0.95 - 0.30 * above, 1.25)  # the bright disc keeps its steps
    rows = 1 + 0.02 * np.random.default_rng([eye.seed, 7]).standard_normal((len(seen), 1), dtype=np.float32)
    return _middle(np.clip(seen * rows * 255, 0, 255).astype(np.uint8), height)


def structures(eye: Eye, height: int) -> Grey:
    """Return the label of every pixel of `scan`, 0, `RIM` or `CUP`, shape (height, width), decided at pixel centres.

    Example:
        >>> from lmod_train.phantom.eye import draw_eye
        >>> np.unique(structures(draw_eye(0, "normal"), 64)).tolist()
        [0, 1, 2]
    """
    side = width_of(height)
    found = disc_mask(eye, side).astype(np.uint8) * np.uint8(RIM)
    found[cup_mask(eye, side)] = CUP
    return _middle(found, height)


def _middle(square: Grey, height: int) -> Grey:
    """Return the middle rows, which contain the disc."""
    above = (len(square) - height) // 2
    return square[above : above + height]
