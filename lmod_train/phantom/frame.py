"""Placement of a square drawn fundus in a photograph that is not square."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from PIL import Image

from lmod_train.core.errors import BadArgument
from lmod_train.phantom.eye import Eye, Point
from lmod_train.phantom.fundus import render

_FIELD = 0.485


@dataclass(frozen=True, slots=True)
class Frame:
    """Size of a photograph, and the square in it that contains the eye; all in pixels.

    Attributes:
        width: Width of the photograph.
        height: Height of the photograph.
        left: Column of the square's left edge.
        top: Row of the square's upper edge; negative if the photograph cuts the field above and below.
        side: Side of the square.
    """

    width: int
    height: int
    left: int
    top: int
    side: int

    def pixel(self, point: Point) -> Point:
        """Return a point of the eye, given in units of the square's side, in pixels of the photograph.

        Example:
            >>> Frame(width=300, height=200, left=50, top=0, side=200).pixel((0.5, 0.25))
            (150.0, 50.0)
        """
        return self.left + point[0] * self.side, self.top + point[1] * self.side


def frame_for(width: int, height: int, seed: int, fill: float = 1.0) -> Frame:
    """Return a frame whose square is near the middle, shifted slightly by the seed.

    Args:
        width: Width of the photograph in pixels, at least 16.
        height: Height of the photograph in pixels, at least 16.
        seed: Seed of the eye.
        fill: Side of the square as a share of the photograph's shorter side; above 1 the field is cut at its edges.

    Raises:
        BadArgument: A side is below 16 pixels or `fill` is not within 0.5 to 1.3.

    Example:
        >>> frame = frame_for(300, 200, seed=4)
        >>> frame.side, 40 <= frame.left <= 60, frame.top
        (200, True, 0)
    """
    if min(width, height) < 16:
        raise BadArgument("size", (width, height), "at least 16 pixels a side", "use 120 or more to recognise anything")
    if not 0.5 <= fill <= 1.3:
        raise BadArgument("fill", fill, "0.5 to 1.3", "use 1 for a complete round field")
    side = round(min(width, height) * fill)
    rng = np.random.default_rng([seed, 5])
    spare = max(0, width - side), max(0, height - side)
    shift = [round(float(rng.uniform(-0.1, 0.1)) * gap) for gap in spare]
    return Frame(width, height, (width - side) // 2 + shift[0], (height - side) // 2 + shift[1], side)


def photograph(eye: Eye, frame: Frame) -> Image.Image:
    """Return the photograph of an eye in its frame: RGB, dark outside the round field, with noise everywhere."""
    camera = replace(eye.camera, field_radius=min(eye.camera.field_radius, _FIELD))  # a complete circle
    rng = np.random.default_rng([eye.seed, 6])
    grain = rng.standard_normal((frame.height + 2, frame.width), dtype=np.float32)
    grain *= np.float32(255 * eye.camera.noise)
    dark = np.clip(grain, 0, 255, out=grain).astype(np.uint8)
    # one noise image, shifted by one row per channel, as in `render`: drawing normal numbers is slow
    picture = Image.merge("RGB", [Image.fromarray(dark[row : row + frame.height]) for row in range(3)])
    picture.paste(render(replace(eye, camera=camera), frame.side), (frame.left, frame.top))
    return picture
