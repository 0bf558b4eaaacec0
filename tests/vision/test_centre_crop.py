"""Position of a centre crop on the padded square, compared with the two transforms that make crop and square."""

import numpy as np
import pytest
import torch
from PIL import Image

from lmod_train.vision.augmentation import Augmentation, eval_transform, uncropped
from lmod_train.vision.centre_crop import on_square


def white(picture, square, size):
    """The red of a picture as the network gets it, in [0, 1]."""
    image = eval_transform(Augmentation(square=square, fill=(0, 0, 0)), size)(Image.fromarray(picture))[0]
    return image * 0.229 + 0.485


@pytest.mark.parametrize("shape", [(300, 400), (400, 300), (200, 200), (120, 400)])
@pytest.mark.parametrize("size", [96, 256])
def test_a_disc_comes_to_lie_where_the_padded_picture_has_it(shape, size):
    rows, columns = np.indices(shape)
    disc = (rows - shape[0] * 0.55) ** 2 + (columns - shape[1] * 0.47) ** 2 < (0.2 * min(shape)) ** 2
    picture = np.repeat(disc[..., None] * np.uint8(255), 3, axis=2)
    ours = on_square(white(picture, "crop", size), shape[::-1])
    truth = white(picture, "pad", size)
    assert ours.shape == (size, size) and truth.max() > 0.9
    assert (ours - truth).abs().mean() < 0.2 * truth.mean(), "but for the edge of the disc"
    assert middle(ours) == pytest.approx(middle(truth), abs=1)


def middle(map):
    return [float(map.sum(dim=1 - axis) @ torch.arange(len(map)).float() / map.sum()) for axis in (0, 1)]


@pytest.mark.parametrize(("size", "share"), [(96, 96 / 109), (224, 0.875), (256, 1)])
def test_what_the_crop_has_cut_off_is_0(size, share):
    assert size / uncropped(size) == pytest.approx(share)
    seen = on_square(torch.ones(size, size), (200, 400)).nonzero()
    before = size * (1 - share / 2) / 2
    assert seen.amin(dim=0).tolist() == pytest.approx([before, before], abs=1)
    assert seen.amax(dim=0).tolist() == pytest.approx([size - 1 - before] * 2, abs=1)


def test_a_picture_of_one_row_keeps_a_pixel():
    assert on_square(torch.ones(32, 32), (4000, 1)).sum() == 1
