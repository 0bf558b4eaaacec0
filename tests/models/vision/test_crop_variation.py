"""Augmented crops keep their class, and are drawn only from torch's generator."""

import pytest
import torch

from lmod_train.core.errors import BadArgument
from lmod_train.models.vision.crop_variation import Variation, varied

CHOICES = ("pupil", "Left Eye", "right eye")
NOTHING = {"flip": False, "shift": 0.0, "brightness": 0.0}


@pytest.fixture
def crops():
    torch.manual_seed(1)
    return torch.rand(64, 3, 20, 20)


def draw(crops, seed=0, targets=None, **options):
    torch.manual_seed(seed)
    targets = torch.zeros(len(crops), dtype=torch.long) if targets is None else targets
    return varied(crops, targets, CHOICES, Variation(**NOTHING | options))


def test_without_augmentation_nothing_changes(crops):
    assert torch.equal(draw(crops), crops)
    assert draw(crops[:0], flip=True).shape == (0, 3, 20, 20)


def test_half_are_mirrored_and_none_whose_class_names_a_side(crops):
    targets = torch.arange(64) % 3
    found = draw(crops, targets=targets, flip=True)
    mirrored = torch.tensor([torch.equal(a, b.flip(-1)) for a, b in zip(found, crops, strict=True)])
    same = torch.tensor([torch.equal(a, b) for a, b in zip(found, crops, strict=True)])
    assert torch.all(mirrored ^ same)
    assert 4 < mirrored[targets == 0].sum() < 18 and not mirrored[targets > 0].any()


def test_shifts_stay_within_their_share_and_repeat_the_edge(crops):
    found = draw(crops, shift=0.1)
    padded = torch.nn.functional.pad(crops, (2, 2, 2, 2), mode="replicate")
    windows = {(x, y): padded[:, :, 2 + y : 22 + y, 2 + x : 22 + x] for x in range(-2, 3) for y in range(-2, 3)}
    places = [[p for p, w in windows.items() if torch.equal(w[i], found[i])] for i in range(len(crops))]
    assert all(len(p) == 1 for p in places) and len({p[0] for p in places}) > 15


def test_brightness_is_one_factor_per_crop_and_clipped(crops):
    found, low = draw(crops, brightness=0.2), crops.clamp(0.1, 0.8)
    assert found.min() >= 0 and found.max() <= 1
    factors = (draw(low, brightness=0.2) / low).flatten(1)
    assert torch.allclose(factors.amin(1), factors.amax(1), atol=1e-4)
    assert 0.8 <= factors.min() < 0.85 and 1.15 < factors.max() <= 1.2001


def test_the_same_seed_draws_the_same(crops):
    every = {"flip": True, "shift": 0.1, "brightness": 0.1}
    assert torch.equal(draw(crops, 3, **every), draw(crops, 3, **every))
    assert not torch.equal(draw(crops, 3, **every), draw(crops, 4, **every))


@pytest.mark.parametrize("option", ["shift", "brightness"])
def test_a_share_out_of_range_is_refused(option):
    with pytest.raises(BadArgument, match=option):
        Variation(**{option: 1.0})
