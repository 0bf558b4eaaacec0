"""Painting over a photograph of a drawn eye, with the light and blur of its camera."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from functools import cached_property, partial
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
from PIL import Image, ImageChops, ImageDraw, ImageFilter

from lmod_train.phantom.eye import Eye, Point

Colour: TypeAlias = tuple[float, float, float]


class Canvas:
    """The square photograph of an eye, to paint over; lengths and positions are in units of its side.

    Args:
        picture: RGB, square, as returned by `lmod_train.phantom.fundus.render`.
        eye: The eye it shows; its camera gives light and blur of what is painted.
    """

    def __init__(self, picture: Image.Image, eye: Eye) -> None:
        self.picture = picture
        self.size = picture.width
        self.eye = eye
        self._soft = math.hypot(eye.camera.blur, 0.016 * eye.haze)

    def ellipses(self, shapes: Iterable[tuple[Point, Point, float]], soft: float = 0) -> Image.Image:
        """Return a mask of filled ellipses, each given by centre, radii and rotation (radians); see `polygons`."""
        return self.polygons([ellipse(*shape) for shape in shapes], soft)

    def polygons(self, outlines: Iterable[Sequence[Point]], soft: float = 0) -> Image.Image:
        """Return a mask of filled outlines, 0 to 255, blurred by `soft` in addition to the camera's blur."""
        layer = Image.new("L", (2 * self.size, 2 * self.size))
        pen = ImageDraw.Draw(layer)
        for outline in outlines:
            pen.polygon([(x * 2 * self.size, y * 2 * self.size) for x, y in outline], fill=255)
        return self._focused(layer, soft)

    def lines(self, lines: Iterable[tuple[Sequence[Point], float]], soft: float = 0) -> Image.Image:
        """Return a mask of lines, each given by points and width; lines thinner than a pixel are drawn fainter."""
        layer = Image.new("L", (2 * self.size, 2 * self.size))
        pen = ImageDraw.Draw(layer)
        for points, width in lines:
            wide = width * 2 * self.size
            fill = round(255 * min(1.0, wide / 2))
            pen.line([(x * 2 * self.size, y * 2 * self.size) for x, y in points], fill=fill, width=max(2, round(wide)))
        return self._focused(layer, soft)

    def plane(self, shares: npt.NDArray[np.floating]) -> Image.Image:
        """Return a mask of shares from 0 to 1, shape (size, size)."""
        return Image.fromarray((255 * np.clip(shares, 0, 1)).astype(np.uint8))

    def paint(self, mask: Image.Image, colour: Colour, strength: float = 1) -> None:
        """Paint a colour (0 to 1 per channel) over the masked pixels, with the light of the fundus."""
        gains = [255 * c * t for c, t in zip(colour, self.eye.camera.tint, strict=True)]
        lit = Image.merge("RGB", [self._light.point(partial(_scaled, gain / 255)) for gain in gains])
        self.picture = Image.composite(lit, self.picture, mask.point(partial(_scaled, strength)))

    def stain(self, mask: Image.Image, factors: Colour) -> None:
        """Multiply the masked pixels by `factors` (0 to 1 per channel), so that vessels and texture stay visible."""
        left = Image.merge("RGB", [mask.point(partial(_left, factor)) for factor in factors])
        self.picture = ImageChops.multiply(self.picture, left)

    @cached_property
    def _light(self) -> Image.Image:
        return _light(self.eye, self.size)

    def _focused(self, layer: Image.Image, soft: float) -> Image.Image:
        sigma = math.hypot(soft, self._soft) * self.size
        layer = layer.reduce(2)
        return layer.filter(ImageFilter.GaussianBlur(sigma)) if sigma > 0.4 else layer  # less is not visible


def cloud(rng: np.random.Generator, cells: int, size: int) -> npt.NDArray[np.float32]:
    """Return smooth noise with about `cells` patches per side, the same pattern at every size."""
    coarse = Image.fromarray(rng.standard_normal((cells, cells), dtype=np.float32))
    return np.asarray(coarse.resize((size, size), Image.Resampling.BICUBIC), dtype=np.float32)


def ellipse(centre: Point, radii: Point, turn: float = 0) -> list[Point]:
    """Return 48 points of an ellipse, with its first axis rotated by `turn` radians clockwise in the image.

    Example:
        >>> [round(c, 6) for c in ellipse((0.5, 0.5), (0.2, 0.1), math.pi / 2)[0]]
        [0.5, 0.7]
    """
    angles = np.linspace(0, 2 * math.pi, 48, endpoint=False)
    along, across = radii[0] * np.cos(angles), radii[1] * np.sin(angles)
    x = centre[0] + along * math.cos(turn) - across * math.sin(turn)
    y = centre[1] + along * math.sin(turn) + across * math.cos(turn)
    return list(zip(x.tolist(), y.tolist(), strict=True))


def lump(rng: np.random.Generator, centre: Point, radius: float, uneven: float = 0.25) -> list[Point]:
    """Return a closed, irregular outline around a centre, at 0.5 to 1.5 times `radius` from it."""
    angles = np.linspace(0, 2 * math.pi, 48, endpoint=False)
    waves = np.arange(2, 7)
    heights = rng.normal(0, uneven, 5) / waves
    wave = heights @ np.cos(np.outer(waves, angles) + rng.uniform(0, 2 * math.pi, (5, 1)))
    reach = radius * np.clip(1 + wave, 0.5, 1.5)
    x, y = centre[0] + reach * np.cos(angles), centre[1] + reach * np.sin(angles)
    return list(zip(x.tolist(), y.tolist(), strict=True))


def _light(eye: Eye, size: int) -> Image.Image:
    """Return the illumination of each pixel as a grey image, 0 outside the round field."""
    camera = eye.camera
    x = ((np.arange(size, dtype=np.float32) + 0.5) / size)[None, :]
    y = x.T
    fall = ((x - camera.light[0]) ** 2 + (y - camera.light[1]) ** 2) / 0.49
    out = np.sqrt((x - camera.field[0]) ** 2 + (y - camera.field[1]) ** 2)
    field = np.clip(0.5 + (camera.field_radius - out) / 0.008, 0, 1)
    return Image.fromarray(np.clip(255 * camera.brightness * (1 - camera.vignette * fall) * field, 0, 255).astype("u1"))


def _scaled(gain: float, value: float) -> float:
    return min(255.0, gain * value)


def _left(factor: float, value: float) -> float:
    return 255 - value * (1 - factor)
