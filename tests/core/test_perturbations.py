from functools import cache

import numpy as np
import pytest
from PIL import Image
from scipy.ndimage import laplace

from lmod_train.core.errors import BadArgument
from lmod_train.core.perturbations import GRADES, KINDS, field_of, parse_perturbation, perturbation_name, perturbed
from lmod_train.phantom.fundus import draw_eye, render


@cache
def photograph(size=320):
    """A phantom with a wide black surround on the left, as cameras with an oblong sensor leave."""
    frame = Image.new("RGB", (size * 5 // 4, size))
    frame.paste(render(draw_eye(4, "diabetic retinopathy"), size), (size // 4, 0))
    return frame


def grades(kind, seed=0, size=320):
    return [np.asarray(perturbed(photograph(size), kind, g, seed)).astype(float) for g in (0, *GRADES)]


def sharpness(image):
    return laplace(image[..., 1]).var()


def black(image):
    return (image.max(axis=2) == 0).mean()


def psnr(image, other):
    return 20 * np.log10(255 / np.sqrt(((image - other) ** 2).mean()))


def neighbours_apart(image):
    """Share of pixels that differ from the next one in their row."""
    return (np.diff(image[..., 1], axis=1) != 0).mean()


RISING = {
    "blur": lambda image: -sharpness(image),
    "underexposure": lambda image: -image.mean(),
    "overexposure": np.mean,
    "shadow": lambda image: -image.mean(),
    "crop": black,
    "resolution": lambda image: -neighbours_apart(image),
}
"""Kind -> a measure of its effect that does not share its code."""


@pytest.mark.parametrize("kind", RISING)
@pytest.mark.parametrize("seed", range(4))
def test_each_grade_has_more_of_its_effect(kind, seed):
    effects = [RISING[kind](image) for image in grades(kind, seed)]
    assert all(np.diff(effects) > 0), effects


@pytest.mark.parametrize("size", [160, 640])
@pytest.mark.parametrize("kind", KINDS)
def test_each_grade_is_further_from_the_original(kind, size):
    original, *others = grades(kind, 3, size)
    likeness = [psnr(original, other) for other in others]
    assert all(np.diff(likeness) < 0) and likeness[0] > 21 and likeness[-1] < 30, likeness


@pytest.mark.parametrize("kind", KINDS)
def test_the_size_stays_and_the_image_given_is_not_changed(kind):
    image = photograph()
    before = image.tobytes()
    for grade in GRADES:
        changed = perturbed(image, kind, grade, 2)
        assert (changed.mode, changed.size) == ("RGB", image.size)
    assert image.tobytes() == before and perturbed(image, kind, 0) is image


@pytest.mark.parametrize("kind", KINDS)
def test_the_seed_decides(kind):
    one, again = (perturbed(photograph(), kind, 3, seed=8).tobytes() for _ in range(2))
    others = {perturbed(photograph(), kind, 3, seed=seed).tobytes() for seed in range(16)}
    assert one == again
    assert len(others) == {"shadow": 16, "crop": 4}.get(kind, 1)


@pytest.mark.parametrize("kind", ["blur", "underexposure", "overexposure", "shadow", "crop"])
def test_a_grade_is_the_same_at_half_the_size(kind):
    large, small = photograph(640), photograph(640).resize((400, 320), Image.Resampling.BOX)
    shown = np.asarray(perturbed(large, kind, 4, 1).resize((400, 320), Image.Resampling.BOX)).astype(float)
    errors = {g: ((shown - np.asarray(perturbed(small, kind, g, 1))) ** 2).mean() for g in GRADES}
    assert min(errors, key=errors.__getitem__) == 4 and errors[4] < 0.5 * min(errors[3], errors[5]), errors


@pytest.mark.parametrize(("width", "left"), [(200, [80, 40, 22, 12, 7]), (1024, [410, 205, 113, 61, 36])])
def test_low_resolution_leaves_a_share_of_the_pixels_but_of_1024_at_most(width, left):
    for size in {width, 4000} if width == 1024 else {width}:
        noise = Image.fromarray(np.random.default_rng(0).integers(0, 256, (200, size, 3), dtype=np.uint8))
        seen = [np.asarray(perturbed(noise, "resolution", grade)).astype(int) for grade in GRADES]
        assert [1 + np.any(np.diff(image, axis=1), axis=(0, 2)).sum() for image in seen] == left


def test_what_is_left_of_a_cut_field_stays_in_its_place():
    original, *others = grades("crop", 1)
    for cut in others:
        kept = cut.max(axis=2) > 0
        assert (cut[kept] == original[kept]).all()


@pytest.mark.parametrize(("stops", "kind", "grade"), [(-1.6, "underexposure", 3), (0.3, "overexposure", 1)])
def test_exposure_multiplies_light(stops, kind, grade):
    greys = Image.fromarray(np.arange(256, dtype=np.uint8)[None, :]).convert("RGB")
    seen = np.asarray(perturbed(greys, kind, grade))[0, :, 0] / 255
    power = (np.arange(256) / 255 * 2 ** (stops / 2.2)).clip(0, 1)  # the usual approximation of sRGB
    assert abs(seen - power).max() < 0.03


def test_the_field_is_found_within_its_surround():
    x0, y0, x1, y1 = field_of(photograph())
    assert abs(x0 - 80) <= 8 and x1 >= 392 and y0 <= 8 and y1 >= 312
    assert field_of(Image.new("RGB", (50, 40))) == (0, 0, 50, 40)


@pytest.mark.parametrize("size", [(1, 1), (3, 200), (17, 5)])
@pytest.mark.parametrize("kind", KINDS)
def test_tiny_images_are_no_error(kind, size):
    for colour in ((0, 0, 0), (200, 120, 90)):
        assert perturbed(Image.new("RGB", size, colour), kind, 5, 1).size == size


def test_names_are_read_back():
    names = [perturbation_name(kind, grade) for kind in KINDS for grade in GRADES]
    assert [parse_perturbation(name) for name in names] == [(kind, grade) for kind in KINDS for grade in GRADES]
    assert perturbation_name("blur", 0) == ""


@pytest.mark.parametrize("name", ["", "blur", "blur-0", "blur-6", "blur-03", "haze-2", "blur3", "-3"])
def test_other_names_are_refused(name):
    with pytest.raises(BadArgument, match="KIND-GRADE of blur"):
        parse_perturbation(name)


@pytest.mark.parametrize(("kind", "grade"), [("haze", 1), ("blur", 6), ("blur", -1)])
def test_other_kinds_and_grades_are_refused(kind, grade):
    with pytest.raises(BadArgument, match=r"expected (one of blur|0 \(unchanged\) to 5)"):
        perturbed(photograph(), kind, grade)
