from functools import cache

import numpy as np
import pytest

from lmod_train.core.errors import BadArgument
from lmod_train.phantom.fundus import cup_mask, disc_mask, draw_eye, render
from tests.tabled import tabled

SEEDS = range(10)


@cache
def photograph(seed, diagnosis, size=240):
    return np.asarray(render(draw_eye(seed, diagnosis), size)).astype(float)


def small(seed, diagnosis):
    """As a model sees it: resized to 120 pixels."""
    return np.asarray(render(draw_eye(seed, diagnosis), 240).resize((120, 120))).astype(float)


def around(eye, size, inner, outer):
    """A ring around the disc, in units of its radii, from the equation of the ellipse and not from our masks."""
    y, x = np.mgrid[0:size, 0:size] + 0.5
    far = ((x / size - eye.disc[0]) / eye.disc_radii[0]) ** 2 + ((y / size - eye.disc[1]) / eye.disc_radii[1]) ** 2
    return (far > inner**2) & (far < outer**2)


def test_the_same_eye_gives_the_same_photograph():
    eye = draw_eye(5, "diabetic retinopathy")
    image = render(eye, 100)
    assert (image.mode, image.size) == ("RGB", (100, 100))
    assert image.tobytes() == render(eye, 100).tobytes() != render(draw_eye(6, "diabetic retinopathy"), 100).tobytes()


@pytest.mark.parametrize("size", [97, 384])
def test_masks_have_the_extent_of_the_truth_within_a_pixel(size):
    for seed in SEEDS:
        eye = draw_eye(seed, "glaucoma")
        for mask, centre, radii in (
            (disc_mask(eye, size), eye.disc, eye.disc_radii),
            (cup_mask(eye, size), eye.cup, eye.cup_radii),
        ):
            assert mask.shape == (size, size) and mask.dtype == bool
            for axis, (middle, half) in enumerate(zip(centre, radii, strict=True)):
                along = np.flatnonzero(mask.any(axis=axis))
                assert abs(along[0] - (middle - half) * size) <= 1
                assert abs(along[-1] + 1 - (middle + half) * size) <= 1
            assert mask.sum() == pytest.approx(np.pi * radii[0] * radii[1] * size**2, rel=0.06)


def test_the_mask_ratio_is_the_cup_to_disc_ratio():
    eye = draw_eye(2, "glaucoma")
    heights = [mask(eye, 2000).any(axis=1).sum() for mask in (cup_mask, disc_mask)]
    assert heights[0] / heights[1] == pytest.approx(eye.cup_to_disc, abs=0.006)


@tabled("diagnosis", ["normal", "glaucoma", "diabetic retinopathy"])
def test_disc_is_brighter_than_its_surroundings_and_cup_brighter_than_the_rim(diagnosis):
    for seed in SEEDS:
        eye, green = draw_eye(seed, diagnosis), photograph(seed, diagnosis)[..., 1]
        disc, cup = disc_mask(eye, 240), cup_mask(eye, 240)
        rim, retina = np.median(green[disc & ~cup]), np.median(green[around(eye, 240, 1.3, 1.8)])
        assert rim > 1.12 * retina and np.percentile(green[cup], 75) > 1.08 * rim


def test_disc_is_still_found_through_a_cataract():
    for seed in SEEDS:
        eye, image = draw_eye(seed, "cataract"), small(seed, "cataract")[..., 1]
        assert image[disc_mask(eye, 120)].mean() > 1.04 * image[around(eye, 120, 1.4, 2.0)].mean()


def test_fovea_is_darker_than_the_retina_around():
    for seed in SEEDS:
        eye, green = draw_eye(seed, "normal"), photograph(seed, "normal")[..., 1]
        y, x = np.mgrid[0:240, 0:240] + 0.5
        far = np.hypot(x / 240 - eye.fovea[0], y / 240 - eye.fovea[1])
        assert green[far < 0.02].mean() < 0.85 * green[(far > 0.06) & (far < 0.09)].mean()


def test_outside_of_the_field_it_is_black_and_inside_it_is_not():
    for seed in SEEDS:
        eye, image = draw_eye(seed, "normal"), photograph(seed, "normal")
        y, x = np.mgrid[0:240, 0:240] + 0.5
        far = np.hypot(x / 240 - eye.camera.field[0], y / 240 - eye.camera.field[1])
        assert image[far > eye.camera.field_radius + 0.02].mean() < 8
        assert image[far < eye.camera.field_radius - 0.05][:, 0].min() > 20


def test_lesions_change_the_picture_where_they_are_and_nowhere_else():
    for seed in SEEDS:
        eye = draw_eye(seed, "diabetic retinopathy")
        change = np.abs(photograph(seed, "diabetic retinopathy") - photograph(seed, "normal")).max(axis=2)
        y, x = np.mgrid[0:240, 0:240] + 0.5
        far = np.min([np.hypot(x / 240 - s.x, y / 240 - s.y) / s.radius for s in eye.lesions], axis=0)
        assert change[far > 4.5].max() <= 2  # rounding of the blur
        for s in eye.lesions:
            assert change[int(s.y * 240), int(s.x * 240)] > (10 if s.kind == "microaneurysm" else 20), s


def test_blood_is_dark_and_exudate_is_light_even_when_small():
    for seed in SEEDS:
        eye = draw_eye(seed, "diabetic retinopathy")
        change = (small(seed, "diabetic retinopathy") - small(seed, "normal"))[..., 1]
        for lesion in (s for s in eye.lesions if s.radius > 0.01):
            seen = change[int(lesion.y * 120), int(lesion.x * 120)]
            assert seen < -8 if lesion.kind == "haemorrhage" else seen > 8


def test_a_cataract_takes_detail_and_contrast():
    for seed in SEEDS:
        detail = [np.abs(np.diff(small(seed, d)[30:90, 30:90, 1], axis=1)).mean() for d in ("cataract", "normal")]
        spread = [small(seed, d)[30:90, 30:90, 1].std() for d in ("cataract", "normal")]
        assert detail[0] < 0.75 * detail[1] and spread[0] < 0.7 * spread[1]


def test_sizes_show_the_same_picture():
    eye = draw_eye(1, "glaucoma")
    large = np.asarray(render(eye, 480).resize((120, 120))).astype(float)
    assert np.abs(large - np.asarray(render(eye, 120)).astype(float)).mean() < 6


def test_too_small_a_size_is_named():
    with pytest.raises(BadArgument, match="size=8"):
        render(draw_eye(0, "normal"), 8)
