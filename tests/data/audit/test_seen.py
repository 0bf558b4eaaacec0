"""The picture of what a network sees is the image itself, where its processor only scales it."""

from __future__ import annotations

import numpy as np
import pytest
from PIL import Image

from lmod_train.extensions.audit.views import GAP, Calibration, Tile, arranged, seen
from tests.extensions.audit.test_view import GEMMA, INTERNVL, LLAVA, QWEN, look


def scene(width: int, height: int) -> Image.Image:
    """Return a smooth image whose channels differ."""
    y, x = np.mgrid[0:height, 0:width]
    planes = [127 + 100 * np.sin(x / 40 + k) * np.cos(y / 30 - k) for k in range(3)]
    return Image.fromarray(np.stack(planes, -1).astype(np.uint8))


def difference(one: Image.Image, other: Image.Image) -> float:
    return float(np.abs(np.asarray(one, np.float32) - np.asarray(other, np.float32)).mean())


@pytest.mark.parametrize(
    ("processor", "size", "shown"),
    [
        pytest.param(GEMMA, (320, 240), (896, 896), id="whole"),
        pytest.param(QWEN, (560, 308), (560, 308), id="patches"),
    ],
)
def test_values_without_normalisation_are_the_image(processor: object, size: tuple[int, int], shown: tuple[int, int]):
    image = scene(*size)
    made = seen(Calibration(look(processor), *size), image)
    assert made.size == shown
    assert difference(made, image.resize(shown, Image.Resampling.BICUBIC)) < 2


def test_a_crop_is_seen_as_the_centre():
    image = scene(448, 336)
    assert difference(seen(Calibration(look(LLAVA), 448, 336), image), image.crop((56, 0, 392, 336))) < 1


def test_padding_is_seen_in_its_colour():
    made = seen(Calibration(look(LLAVA, pad=True), 336, 168), scene(336, 168))
    assert np.asarray(made)[:80].reshape(-1, 3).mean(0) == pytest.approx((122, 116, 104), abs=1.5)
    assert difference(made.crop((0, 84, 336, 252)), scene(336, 168)) < 1


def test_tiles_lie_as_in_the_image_and_the_overview_beside():
    image = scene(896, 448)
    made = seen(Calibration(look(INTERNVL), 896, 448), image)
    assert made.size == (3 * 448 + 2 * GAP, 448)
    assert difference(made.crop((0, 0, 448, 448)), image.crop((0, 0, 448, 448))) < 1
    second = 448 + GAP
    assert difference(made.crop((second, 0, second + 448, 448)), image.crop((448, 0, 896, 448))) < 1


def test_a_narrow_last_tile_makes_no_overview_of_the_others():
    tiles = [Tile(0, 0, 0.48, 1, 1, 1), Tile(0.48, 0, 0.96, 1, 1, 1), Tile(0.96, 0, 1, 1, 1, 1), Tile(0, 0, 1, 1, 1, 1)]
    pictures = [Image.new("RGB", (10, 10), (i, i, i)) for i in range(1, 5)]
    made = arranged(pictures, tiles)
    assert made.size == (4 * 10 + 3 * GAP, 10)
    assert [made.getpixel((5 + i * (10 + GAP), 5)) for i in range(4)] == [(i, i, i) for i in range(1, 5)]
