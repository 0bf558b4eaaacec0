"""What is measured at image processors of transformers, compared with arithmetic by hand.

The processors have the published settings of their checkpoints; only their output is read.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import transformers
from PIL import Image

from lmod_train.core.errors import BadArgument
from lmod_train.core.pixels import pad_square
from lmod_train.extensions.audit.views import Calibration, Look, Tile, View, distinct, line, measure

CLIP: dict[str, Any] = {
    "image_mean": [0.48145466, 0.4578275, 0.40821073],
    "image_std": [0.26862954, 0.26130258, 0.27577711],
    "size": {"shortest_edge": 336},
    "crop_size": {"height": 336, "width": 336},
}
PINPOINTS = [[336, 672], [672, 336], [672, 672], [1008, 336], [336, 1008]]


def look(processor: Any, pad: bool = False) -> Look:
    def made(picture: Image.Image) -> Any:
        picture = pad_square(picture, (122, 116, 104)) if pad else picture
        return processor([picture], return_tensors="pt")["pixel_values"].numpy(), 7

    return made


LLAVA = transformers.LlavaImageProcessor(**CLIP, do_center_crop=True)
NEXT = transformers.LlavaNextImageProcessor(**CLIP, image_grid_pinpoints=PINPOINTS)
INTERNVL = transformers.GotOcr2ImageProcessor(
    size={"height": 448, "width": 448}, min_patches=1, max_patches=12, crop_to_patches=True
)
QWEN = transformers.Qwen2VLImageProcessor(size={"shortest_edge": 56 * 56, "longest_edge": 28 * 28 * 1280})
GEMMA = transformers.Gemma3ImageProcessor(size={"height": 896, "width": 896})


@pytest.mark.parametrize(
    ("processor", "pad", "size", "kept", "resolution", "tiles"),
    [
        # LLaVA crops the centre of 336: a square of the shorter side is left
        pytest.param(LLAVA, False, (1024, 768), 768 / 1024, (448, 336), 1, id="crop-4:3", marks=pytest.mark.slow),
        pytest.param(LLAVA, False, (1024, 496), 496 / 1024, (336 * 1024 / 496, 336), 1, id="crop-oct"),
        pytest.param(LLAVA, False, (496, 1024), 496 / 1024, (336, 336 * 1024 / 496), 1, id="crop-upright"),
        # padded to a square of the longer side
        pytest.param(LLAVA, True, (1024, 768), 1, (336, 252), 1, id="pad-4:3", marks=pytest.mark.slow),
        pytest.param(LLAVA, True, (1024, 496), 1, (336, 162.75), 1, id="pad-oct"),
        # 672 x 672 keeps most of a 4:3 image: 4 tiles and an overview; 1008 x 336 of an OCT: 3 and an overview
        pytest.param(NEXT, False, (1024, 768), 1, (672, 504), 5, id="anyres-4:3"),
        pytest.param(NEXT, False, (1024, 496), 1, (336 * 1024 / 496, 336), 4, id="anyres-oct"),
        # 4 x 3 tiles have the aspect ratio of 4:3, 2 x 1 are nearest to an OCT, which is stretched to them
        pytest.param(INTERNVL, False, (1024, 768), 1, (1792, 1344), 13, id="tiles-4:3", marks=pytest.mark.slow),
        pytest.param(INTERNVL, False, (1024, 496), 1, (896, 448), 3, id="tiles-oct"),
        # sides become multiples of 28, and 980 x 980 pixels are the largest square below 28 x 28 x 1280
        pytest.param(QWEN, False, (560, 300), 1, (560, 308), 1, id="patches"),
        pytest.param(QWEN, False, (1024, 1024), 1, (980, 980), 1, id="pixel-limit"),
        pytest.param(GEMMA, False, (1024, 768), 1, (896, 896), 1, id="stretched"),
    ],
)
def test_kept_area_resolution_and_tiles_are_those_of_the_arithmetic(
    processor: Any, pad: bool, size: tuple[int, int], kept: float, resolution: tuple[float, float], tiles: int
):
    view = measure(look(processor, pad), *size)
    assert view.kept == pytest.approx(kept, abs=0.002)
    assert view.resolution == pytest.approx(resolution, rel=0.002)
    assert (len(view.tiles), view.tokens) == (tiles, 7)
    assert view.stretch == pytest.approx(resolution[0] / size[0] / (resolution[1] / size[1]), rel=0.003)
    assert view.scale == pytest.approx((resolution[0] * resolution[1] / size[0] / size[1]) ** 0.5, rel=0.003)


def test_the_crop_of_an_oct_is_its_centre():
    (tile,) = measure(look(LLAVA), 1024, 496).tiles
    assert (tile.left, tile.right) == pytest.approx((0.5 - 248 / 1024, 0.5 + 248 / 1024), abs=0.001)
    assert (tile.top, tile.bottom) == pytest.approx((0, 1), abs=0.001)


def test_an_image_that_is_moved_is_found_where_it_is():
    """A made-up processor: the right third of the image, halved, mirrored in its channels, inverted, and shifted."""

    def third(picture: Image.Image) -> Any:
        part = np.asarray(picture.crop((200, 0, 300, 100)).resize((50, 50)), dtype=np.float32)
        tile = np.full((3, 64, 60), 9.0, dtype=np.float32)
        tile[:, 10:60, 5:55] = -part.transpose(2, 0, 1)[::-1] / 100 + 3
        return tile[None], 1

    view = measure(third, 300, 100)
    (tile,) = view.tiles
    assert (tile.left, tile.top, tile.right, tile.bottom) == pytest.approx((2 / 3, 0, 1, 1), abs=0.002)
    assert view.resolution == pytest.approx((150, 50), rel=0.01)
    assert view.kept == pytest.approx(1 / 3, abs=0.005)


def test_a_processor_that_shows_nothing_or_changes_its_shape_is_an_error():
    with pytest.raises(BadArgument, match="depend on the image"):
        measure(lambda picture: (np.zeros((1, 3, 8, 8), np.float32), 0), 20, 20)
    shapes = iter([8, *[9] * 99])
    with pytest.raises(BadArgument, match="images of one size"):
        measure(lambda picture: (np.zeros((1, 3, 8, next(shapes)), np.float32), 0), 20, 20)


def test_the_resolution_is_not_that_of_a_sliver():
    """A tile with a few columns at the image's edge has no inner ones to fit."""
    whole, sliver = Tile(0, 0, 0.9, 1, 100, 50), Tile(0.9, 0, 1, 1, 110, 50)
    assert View(200, 100, (whole, sliver), 1).resolution == (100, 50)
    assert View(200, 100, (sliver,), 1).resolution == (110, 50)


def test_positions_of_columns_are_merged_and_fitted():
    columns = distinct(np.array([0.3, 0.1, 0.1 + 1e-8, 0.2, 0.3], np.float32))
    assert columns == pytest.approx([0.1, 0.2, 0.3])
    assert line(columns) == pytest.approx((0.1, 0.1))
    assert line(np.array([0.5], np.float32)) == (0.5, 1.0)


def test_channels_are_found_by_their_response():
    calibration = Calibration(look(LLAVA), 400, 300)
    planes = calibration.channel.reshape(3, 336, 336)
    assert [np.unique(plane).tolist() for plane in planes] == [[0], [1], [2]]
    assert calibration.inside.all() and calibration.is_tiled
