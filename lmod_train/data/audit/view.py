"""What a model sees of an image, measured at the output of its image processor.

No formula of any model family is used. Test images of known content pass through the processor, and its output shows
which point of the image arrives in which of its values: black and pure colours give the response of every value
(padding does not respond), and ramps along each axis give the position. One ramp over the whole width would only have
256 levels, so several images are used, each with a ramp over one part of the width; their mean is the position.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from math import ceil, sqrt

import numpy as np
import numpy.typing as npt
from PIL import Image

from lmod_train.core.errors import BadArgument

Floats = npt.NDArray[np.float32]
Look = Callable[[Image.Image], tuple[Floats, int]]
"""Function of an RGB image that returns the network's pixel values and the number of image tokens in the prompt."""

RESPONDS = 0.1
"""Least share of a channel's usual response with which a value belongs to the image; borders of padding are mixed."""

EDGE = 4
"""Columns at either end that are left out of the fitted line: near an edge of the image, filters see less of it."""


@dataclass(frozen=True, slots=True)
class Tile:
    """The part of an image that is in one input of the vision tower.

    Attributes:
        left: Its left edge as a share of the image's width, 0 to 1.
        top: Its upper edge as a share of the height.
        right: Its right edge.
        bottom: Its lower edge.
        columns: Number of columns of the network's pixels that the whole image would have at this tile's scale.
        rows: Number of rows.
    """

    left: float
    top: float
    right: float
    bottom: float
    columns: float
    rows: float

    @property
    def is_certain(self) -> bool:
        """Whether it shows enough columns and rows to fit a line to the inner ones."""
        return min(self.columns * (self.right - self.left), self.rows * (self.bottom - self.top)) > 4 * EDGE


@dataclass(frozen=True)
class View:
    """What a model sees of images of one size.

    Attributes:
        width: Width of the image in pixels.
        height: Height of the image in pixels.
        tiles: Inputs of the vision tower that show a part of the image; the first is the only one of most models.
        tokens: Number of image tokens in the prompt.
    """

    width: int
    height: int
    tiles: tuple[Tile, ...]
    tokens: int

    @cached_property
    def kept(self) -> float:
        """Share of the image's area that reaches the network in any tile, 0 to 1."""
        shown = np.zeros((self.height, self.width), dtype=bool)
        for tile in self.tiles:
            rows = slice(round(tile.top * self.height), round(tile.bottom * self.height))
            shown[rows, round(tile.left * self.width) : round(tile.right * self.width)] = True
        return float(shown.mean())

    @cached_property
    def resolution(self) -> tuple[float, float]:
        """Columns and rows of the whole image in the finest tile: details between them are not seen."""
        finest = max(self.tiles, key=lambda tile: (tile.is_certain, tile.columns * tile.rows))
        return finest.columns, finest.rows

    @property
    def scale(self) -> float:
        """Pixels of the network for one pixel of the image, as a length: the geometric mean of both axes."""
        columns, rows = self.resolution
        return sqrt(columns / self.width * rows / self.height)

    @property
    def stretch(self) -> float:
        """Scale along the width over that along the height; 1 where the aspect ratio is kept."""
        columns, rows = self.resolution
        return columns / self.width / (rows / self.height)


class Calibration:
    """Response and position of every value of a processor's output, for images of one size.

    Args:
        look: The processor.
        width: Width of the images in pixels.
        height: Height of the images in pixels.

    Attributes:
        black: Output for a black image, with one row for each tile.
        response: Output for a white image minus that for a black one.
        channel: Colour of each value: 0 red, 1 green, 2 blue.
        inside: Whether a value belongs to the image and not to padding.
        x: Position of each value inside along the width, 0 to 1; of the others 0.
        y: Position along the height.
        tokens: Number of image tokens in the prompt.
    """

    def __init__(self, look: Look, width: int, height: int) -> None:
        self.width, self.height, self._look = width, height, look
        first, self.tokens = look(_plain(width, height, (0, 0, 0)))
        self.shape = first.shape
        self.black = self._rows(first)
        colours = np.stack([self.output(_plain(width, height, colour)) for colour in PURE]) - self.black
        self.channel = np.abs(colours).argmax(0).astype(np.uint8)
        self.response = colours.sum(0)
        self.inside = self._inside()
        self.x, self.y = self._position(width, across=True), self._position(height, across=False)

    @property
    def is_tiled(self) -> bool:
        """Whether the output holds whole images (..., 3, height, width) and not single patches."""
        return _holds_images(self.shape)

    def axes(self, row: int) -> tuple[Floats, Floats]:
        """Return the positions of the columns and of the rows of a tile that show the image."""
        inside, x, y = self.inside[row], self.x[row], self.y[row]
        if not self.is_tiled:
            return distinct(x[inside]), distinct(y[inside])
        inside, x, y = (part.reshape(self.shape[-3:])[0] for part in (inside, x, y))
        return _middles(x, inside), _middles(y.T, inside.T)

    def _usual(self, channel: int) -> float:
        """Return the usual response of a channel's values; padding responds to nothing and is left out."""
        found = self.response[(self.channel == channel) & (np.abs(self.response) > 1e-6)]
        return float(np.median(found)) if found.size else 1.0

    def _inside(self) -> npt.NDArray[np.bool_]:
        usual = np.array([self._usual(channel) for channel in range(3)])
        return np.asarray(self.response / usual[self.channel] > RESPONDS)

    def _position(self, side: int, *, across: bool) -> Floats:
        steps = max(4, ceil(2 * side / 255))
        total = np.zeros_like(self.black)
        for ramp in _ramps(side, steps):
            grey = np.broadcast_to(ramp if across else ramp[:, None], (self.height, self.width))
            total += self.output(Image.fromarray(np.stack([grey] * 3, axis=-1))) - self.black
        response = np.where(self.inside, self.response, 1)
        return np.asarray(np.where(self.inside, total / response / steps, 0), np.float32)

    def output(self, image: Image.Image) -> Floats:
        """Return the processor's output for an image of this size, one row for each tile.

        Raises:
            BadArgument: It has another shape than that of the images before.
        """
        values, tokens = self._look(image)
        if values.shape != self.shape or tokens != self.tokens:
            raise _unmeasurable(f"{values.shape} and {self.shape}", "one shape for images of one size")
        return self._rows(values)

    def _rows(self, values: Floats) -> Floats:
        """Return one row for each tile; patches of an image are one row together."""
        size = int(np.prod(values.shape[-3:])) if _holds_images(values.shape) else values.size
        return values.reshape(-1, size).astype(np.float32)


def _middles(positions: Floats, inside: npt.NDArray[np.bool_]) -> Floats:
    """Return the median position of each column that has a value inside; at borders of padding values are mixed."""
    found = np.nanmedian(np.where(inside, positions, np.nan)[:, inside.any(0)], axis=0)
    return np.asarray(found, np.float32)


PURE = ((255, 0, 0), (0, 255, 0), (0, 0, 255))


def _holds_images(shape: tuple[int, ...]) -> bool:
    return len(shape) >= 4 and shape[-3] == 3


def _plain(width: int, height: int, colour: tuple[int, int, int]) -> Image.Image:
    return Image.new("RGB", (width, height), colour)


def _ramps(side: int, steps: int) -> Iterator[npt.NDArray[np.uint8]]:
    """Yield the ramps along a side, each over one of `steps` equal parts: black before, white after."""
    places = (np.arange(side) + 0.5) / side
    for step in range(steps):
        yield np.round(255 * np.clip(steps * places - step, 0, 1)).astype(np.uint8)


def measure(look: Look, width: int, height: int) -> View:
    """Return what a model sees of images of one size.

    Args:
        look: Its image processor.
        width: Width of the images in pixels.
        height: Height of the images in pixels.

    Raises:
        BadArgument: The processor's output differs in shape between images of one size, or shows no part of them.
    """
    return view_of(Calibration(look, width, height))


def view_of(calibration: Calibration) -> View:
    """Return what a calibrated processor shows of an image.

    Raises:
        BadArgument: It shows no part.
    """
    tiles = []
    for row in range(len(calibration.black)):
        if calibration.inside[row].any():
            (left, right, columns), (top, bottom, rows) = map(_extent, calibration.axes(row))
            tiles.append(Tile(left, top, right, bottom, columns, rows))
    if not tiles:
        raise _unmeasurable("constant", "values that depend on the image")
    return View(calibration.width, calibration.height, tuple(tiles), calibration.tokens)


def _unmeasurable(output: str, expected: str) -> BadArgument:
    cure = "use the processor files that were published with the weights"
    return BadArgument("output of the image processor", output, expected, cure)


def distinct(positions: Floats) -> Floats:
    """Return the distinct positions in order; those of one column differ by rounding alone."""
    ordered = np.sort(positions)
    steps = np.diff(ordered)
    usual = (ordered[-1] - ordered[0]) / max(1, min(len(ordered) - 1, 8192))
    begins = np.concatenate([[True], steps > max(1e-6, usual / 8)])
    sums, counts = (
        np.add.reduceat(ordered.astype(np.float64), np.flatnonzero(begins)),
        np.diff(np.append(np.flatnonzero(begins), len(ordered))),
    )
    return np.asarray(sums / counts, np.float32)


def line(positions: Floats) -> tuple[float, float]:
    """Return position of the first of equally spaced columns and distance of two, by a fit to the inner ones."""
    if len(positions) < 2:
        return float(positions[0]), 1.0
    ends = EDGE if len(positions) > 4 * EDGE else 0
    inner = slice(ends, len(positions) - ends)
    distance, first = np.polyfit(np.arange(len(positions))[inner], positions[inner].astype(np.float64), 1)
    return float(first), float(distance)


def _extent(columns: Floats) -> tuple[float, float, float]:
    """Return first and last edge of columns at these positions, 0 to 1, and how many there are from 0 to 1."""
    first, distance = line(columns)
    last = first + distance * (len(columns) - 0.5)
    return max(0.0, first - distance / 2), min(1.0, last), 1 / distance


def position_index(positions: Floats) -> npt.NDArray[np.int64]:
    """Return the number of its column for each position."""
    columns = distinct(positions)
    middles = (columns[1:] + columns[:-1]) / 2
    return np.asarray(np.searchsorted(middles, positions), np.int64)
