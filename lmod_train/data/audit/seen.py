"""The picture that a network sees, made of its pixel values without their normalisation."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from PIL import Image

from lmod_train.data.audit.view import Calibration, Tile, position_index, view_of

GAP, GREY = 6, (128, 128, 128)
"""Pixels between tiles, and their colour."""

Bytes = npt.NDArray[np.uint8]


def seen(calibration: Calibration, image: Image.Image) -> Image.Image:
    """Return what the network sees of an RGB image, padding included; several tiles as they lie, an overview beside.

    Args:
        calibration: That of a processor for images of this size.
        image: The image.
    """
    if not calibration.is_tiled:
        return Image.fromarray(_of_patches(calibration, image))
    pictures = [Image.fromarray(tile) for tile in _of_tiles(calibration, image)]
    return arranged(pictures, view_of(calibration).tiles)


def _of_tiles(calibration: Calibration, image: Image.Image) -> list[Bytes]:
    """Return the tiles that show a part of the image, (height, width, 3)."""
    shape = (-1, *calibration.shape[-3:])
    output, black, response, channel, inside = (
        values.reshape(shape)
        for values in (
            calibration.output(image),
            calibration.black,
            calibration.response,
            calibration.channel,
            calibration.inside,
        )
    )
    made = np.zeros(output.shape, dtype=np.uint8)
    for plane in range(3):
        shown = inside[:, plane]
        colour = int(np.bincount(channel[:, plane][shown]).argmax())
        zero, gain = np.median(black[:, plane][shown]), np.median(response[:, plane][shown])
        made[:, colour] = _bytes((output[:, plane] - zero) / gain)
    return list(made.transpose(0, 2, 3, 1)[inside.any((1, 2, 3))])


def _of_patches(calibration: Calibration, image: Image.Image) -> Bytes:
    """Return the image that patches come from, (height, width, 3), each value at its measured position."""
    inside = calibration.inside[0]
    x, y = (position_index(place[0][inside]) for place in (calibration.x, calibration.y))
    made = np.zeros((y.max() + 1, x.max() + 1, 3), dtype=np.uint8)
    values = (calibration.output(image) - calibration.black)[0][inside] / calibration.response[0][inside]
    made[y, x, calibration.channel[0][inside]] = _bytes(values)
    return made


def _bytes(values: npt.NDArray[np.floating]) -> Bytes:
    return np.asarray(np.round(255 * np.clip(values, 0, 1)), np.uint8)


def arranged(pictures: Sequence[Image.Image], tiles: Sequence[Tile]) -> Image.Image:
    """Return the tiles of an image in one picture, as they lie in it; a tile of the whole image stands at the right.

    Args:
        pictures: Pictures of the tiles, all of one size.
        tiles: Their places.
    """
    whole = [len(tiles) > 1 and _holds_all(tile, tiles) for tile in tiles]
    lefts, tops = ([round(edge, 2) for edge in edges] for edges in zip(*((t.left, t.top) for t in tiles), strict=True))
    columns, rows = (sorted({e for e, w in zip(edges, whole, strict=True) if not w}) for edges in (lefts, tops))
    width, height = pictures[0].width + GAP, pictures[0].height + GAP
    sheet = Image.new("RGB", ((len(columns) + sum(whole)) * width - GAP, len(rows) * height - GAP), GREY)
    beside = len(columns)
    for picture, left, top, is_whole in zip(pictures, lefts, tops, whole, strict=True):
        sheet.paste(
            picture, (beside * width, 0) if is_whole else (columns.index(left) * width, rows.index(top) * height)
        )
        beside += is_whole
    return sheet


def _holds_all(tile: Tile, tiles: Sequence[Tile]) -> bool:
    """Return whether a tile shows all that the tiles show together, but for one part in a hundred."""
    across = max(t.right for t in tiles) - min(t.left for t in tiles)
    down = max(t.bottom for t in tiles) - min(t.top for t in tiles)
    return (tile.right - tile.left) * (tile.bottom - tile.top) > 0.99 * across * down
