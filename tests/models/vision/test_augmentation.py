"""RETFound's transforms compared with timm's, and the retina under the other preset."""

import pickle
import random
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
import yaml
from PIL import Image
from timm.data import create_transform
from torchvision import transforms

from lmod_train.core.errors import BadArgument
from lmod_train.models.vision.augmentation import (
    FAITHFUL,
    OPERATIONS,
    Augmentation,
    eval_transform,
    mean_over_views,
    posterized,
    seeded,
    train_transform,
    views_of,
)
from lmod_train.models.vision.published_weights import IMAGENET_MEAN, IMAGENET_STD

MODEL = Path(__file__).parents[3] / "configs" / "model" / "retfound_retina_safe.yaml"
WRITTEN = yaml.safe_load(MODEL.read_text(encoding="utf-8"))["init_args"]["augmentation"]
SAFE = Augmentation(**{k: tuple(v) if isinstance(v, list) else v for k, v in WRITTEN.items()})


@pytest.fixture(scope="module")
def picture():
    noise = np.random.default_rng(0)
    coarse = Image.fromarray(noise.integers(0, 255, (6, 8, 3), dtype=np.uint8))
    return coarse.resize((80, 60), Image.Resampling.BICUBIC)


def timm_train(size):
    """RETFound's call of timm, as its arguments stand by default."""
    return create_transform(
        input_size=size,
        is_training=True,
        color_jitter=None,
        auto_augment="rand-m9-mstd0.5-inc1",
        interpolation="bicubic",
        re_prob=0.25,
        re_mode="pixel",
        re_count=1,
        mean=IMAGENET_MEAN,
        std=IMAGENET_STD,
    )


def test_every_value_of_a_colour_becomes_what_torchvision_makes_of_it():
    values = np.arange(256, dtype=np.uint8).reshape(16, 16)
    every = Image.fromarray(np.stack([values, values[::-1], values.T], axis=2))
    plain = Augmentation(crop_area=(1, 1), crop_ratio=(1, 1), flip=0, policy="", erasing=0)
    expected = transforms.Compose([transforms.ToTensor(), transforms.Normalize(IMAGENET_MEAN, IMAGENET_STD)])(every)
    for settings in (plain, replace(plain, square="pad")):
        assert torch.equal(train_transform(settings, 16)(every), expected)
    assert torch.equal(eval_transform(replace(plain, square="pad"), 16)(every), expected)


def test_training_is_draw_for_draw_that_of_timm(picture):
    ours, theirs = train_transform(FAITHFUL, 48), timm_train(48)
    for draw in range(60):  # every operation is drawn several times
        with seeded(draw):
            expected = theirs(picture)
        with seeded(draw):
            assert torch.equal(ours(picture), expected)


def test_the_strongest_posterising_is_black_and_no_error(picture):
    assert not np.array(posterized(picture, 0)).any() and posterized(picture, 8) is picture
    assert np.array_equal(np.array(posterized(picture, 2)), np.array(picture) & 0b11000000)
    strongest = train_transform(Augmentation(policy="rand-m10-p1-inc1", without=OPERATIONS[:4] + OPERATIONS[5:]), 48)
    with seeded(0):
        pixels = strongest(picture)
    assert torch.equal(pixels[:, 0, 0], -torch.tensor(IMAGENET_MEAN) / torch.tensor(IMAGENET_STD))


@pytest.mark.parametrize(("size", "crop_pct"), [(48, 0.875), (224, 0.875), (240, 1.0)])
def test_evaluation_is_that_of_timm(picture, size, crop_pct):
    theirs = create_transform(
        input_size=size, interpolation="bicubic", mean=IMAGENET_MEAN, std=IMAGENET_STD, crop_pct=crop_pct
    )
    assert torch.equal(eval_transform(FAITHFUL, size)(picture), theirs(picture))


def red(pixels):
    """Where normalised pixels are red, and nothing else is."""
    colours = pixels * torch.tensor(IMAGENET_STD).view(3, 1, 1) + torch.tensor(IMAGENET_MEAN).view(3, 1, 1)
    return (colours[0] > 0.35) & (colours[1:].max(0).values < colours[0] - 0.2)


MOVES = ("Rotate", "ShearX", "ShearY", "TranslateXRel", "TranslateYRel")


def with_disc(x, width=96, height=96, colour=(40, 40, 40)):
    image = Image.new("RGB", (width, height), colour)
    image.paste((230, 20, 20), (x, height // 2 - 6, x + 12, height // 2 + 6))
    return image


def test_a_centre_crop_loses_the_side_of_a_wide_scan_and_padding_keeps_it():
    wide = with_disc(4, width=192)
    assert not red(eval_transform(FAITHFUL, 64)(wide)).any()
    kept = red(eval_transform(SAFE, 64)(wide))
    assert kept[30:34, 2:5].all() and not kept[:, 8:].any()


def test_the_safe_preset_never_loses_a_disc_and_the_faithful_one_does():
    def least(settings):
        """Pixels of the disc in the worst of many draws; without any it would be 8 x 8 of 64 x 64."""
        settings = replace(settings, fill=(40, 40, 40), without=tuple(set(OPERATIONS) - set(MOVES)))
        transform, areas = train_transform(settings, 64), []
        for draw in range(300):
            with seeded(draw):
                pixels = transform(with_disc(16))
            areas.append(int(red(pixels).sum()))
        return min(areas)

    assert least(FAITHFUL) == 0
    assert least(SAFE) > 30


def test_the_safe_preset_keeps_dark_dark_and_light_light():
    half = Image.new("RGB", (64, 64), (150, 60, 20))
    half.paste((60, 20, 10), (0, 0, 64, 32))
    transform = train_transform(SAFE, 32)
    for draw in range(100):
        with seeded(draw):
            pixels = transform(half)
        upper, lower = pixels[:, 8:12, 8:24].mean((1, 2)), pixels[:, 20:24, 8:24].mean((1, 2))
        assert upper.mean() < lower.mean(), f"draw {draw} turns dark and light about"
    assert set(OPERATIONS) - set(SAFE.without) == {
        *("AutoContrast", "Equalize", "Rotate", "ColorIncreasing", "ContrastIncreasing", "BrightnessIncreasing"),
        *("SharpnessIncreasing", "ShearX", "ShearY", "TranslateXRel", "TranslateYRel"),
    }


def test_without_any_augmentation_training_is_a_resize(picture):
    plain = Augmentation(
        crop_area=(1, 1), crop_ratio=(1, 1), flip=0, policy="", erasing=0, square="pad", fill=(0, 0, 0)
    )
    difference = train_transform(plain, 80)(picture) - eval_transform(plain, 80)(picture)
    assert difference.abs().max() < 1e-6


def test_draws_depend_only_on_the_seed_and_leave_the_generators_as_they_were(picture):
    transform = pickle.loads(pickle.dumps(train_transform(FAITHFUL, 32)))  # as a worker process gets it

    def drawn(*place):
        with seeded(*place):
            return transform(picture)

    def next_of_all():
        return random.random(), np.random.rand(), torch.rand(()).item()

    kept = random.getstate(), np.random.get_state(), torch.get_rng_state()
    undisturbed = next_of_all()
    random.setstate(kept[0]), np.random.set_state(kept[1]), torch.set_rng_state(kept[2])
    first = drawn(0, 1, "a")
    assert next_of_all() == undisturbed
    assert torch.equal(drawn(0, 1, "a"), first)
    others = [drawn(0, 1, "b"), drawn(0, 2, "a"), drawn(1, 1, "a"), drawn(0, 11, "")]
    assert not any(torch.equal(other, first) for other in others)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("crop_area", (0.0, 1.0)),
        ("crop_area", (0.9, 0.8)),
        ("crop_ratio", (0.0, 1.0)),
        ("flip", 1.5),
        ("shift", -0.1),
        ("erasing", 2),
        ("without", ("Cutout",)),
        ("without", OPERATIONS),
    ],
)
def test_values_out_of_range_are_refused(name, value):
    with pytest.raises(BadArgument, match=rf"augmentation\.{name}="):
        Augmentation(**{name: value})


def test_the_views_of_a_picture_are_itself_and_its_mirror_image():
    images = torch.rand(2, 3, 4, 5)
    (alone,) = views_of(images, "none")
    same, mirrored = views_of(images, "flip")
    assert alone is images and same is images
    assert np.array_equal(mirrored.numpy(), images.numpy()[:, :, :, ::-1])
    assert [view.shape for view in views_of(images[:0], "flip")] == [(0, 3, 4, 5)] * 2


def test_probabilities_are_averaged_and_not_their_logarithms():
    logs = torch.randn(2, 7, 4).log_softmax(dim=2)
    found = mean_over_views(list(logs)).exp().numpy()
    assert found == pytest.approx(np.exp(logs.numpy()).mean(axis=0), abs=1e-6)
    assert found.sum(axis=1) == pytest.approx(1, abs=1e-6)
    assert mean_over_views([one := logs[0]]) is one, "a single view is not changed by a bit"
