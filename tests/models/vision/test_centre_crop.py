"""Centre crops, and their position on the padded square, compared with the transforms that make crop and square."""

import numpy as np
import pytest
import torch
from PIL import Image

from lmod_train.models.vision.augmentation import Augmentation, eval_transform, uncropped
from lmod_train.models.vision.centre_crop import centre_cut, on_square


def white(picture, square, size):
    """The red of a picture as the network gets it, in [0, 1]."""
    image = eval_transform(Augmentation(square=square, fill=(0, 0, 0)), size)(Image.fromarray(picture))[0]
    return image * 0.229 + 0.485


@pytest.mark.parametrize("shape", [(300, 400), (401, 300), (50, 51), (97, 400)])
@pytest.mark.parametrize(("size", "shorter"), [(96, 109), (224, 256), (256, 256)])
def test_a_centre_crop_is_that_of_the_evaluation(shape, size, shorter):
    """RETFound's: the shorter side is resized, and the centre cut out."""
    picture = Image.fromarray(np.random.default_rng(0).integers(0, 255, (*shape, 3), dtype=np.uint8))
    longer = int(shorter * max(shape) / min(shape))
    width, height = (longer, shorter) if shape[1] >= shape[0] else (shorter, longer)
    resized = picture.resize((width, height), Image.Resampling.BICUBIC)
    left, top = round((width - size) / 2), round((height - size) / 2)
    expected = resized.crop((left, top, left + size, top + size))
    assert np.array_equal(centre_cut(picture, size), expected)
    normalised = eval_transform(Augmentation(), size, (0, 0, 0), (1, 1, 1))(picture)
    assert np.array_equal((normalised * 255).round().permute(1, 2, 0).to(torch.uint8), expected)


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
