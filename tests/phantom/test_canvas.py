"""Paint, stain and masks on a grey square, compared with computed values."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from PIL import Image

from lmod_train.phantom.drawing import Canvas, ellipse, lump
from lmod_train.phantom.eye import Eye, draw_eye


def flat(blur: float = 1e-9) -> Eye:
    """An eye whose camera lights everything alike and sees all of it."""
    eye = draw_eye(0, "normal")
    light = replace(eye.camera, vignette=0, brightness=1, tint=(1, 1, 1), field_radius=2, blur=blur)
    return replace(eye, haze=0, camera=light)


def grey(size: int = 64) -> Image.Image:
    return Image.new("RGB", (size, size), (100, 100, 100))


def test_masks_cover_the_area_of_the_shape() -> None:
    canvas = Canvas(grey(200), flat())
    mask = np.asarray(canvas.ellipses([((0.5, 0.5), (0.3, 0.1), 0.7)])) / 255
    assert mask.sum() / 200**2 == pytest.approx(math.pi * 0.3 * 0.1, rel=0.03)
    line = np.asarray(canvas.lines([([(0.1, 0.5), (0.9, 0.5)], 0.05)])) / 255
    assert line.sum() / 200**2 == pytest.approx(0.8 * 0.05, rel=0.1)
    assert np.asarray(canvas.plane(np.full((200, 200), 0.5))).mean() == pytest.approx(127, abs=1)


def test_thin_lines_are_faint() -> None:
    canvas = Canvas(grey(), flat())
    thin, wide = (np.asarray(canvas.lines([([(0.1, 0.5), (0.9, 0.5)], w)])).max() for w in (0.004, 0.05))
    assert 0 < thin < 0.5 * wide


def test_paint_covers_in_the_light_of_the_camera() -> None:
    dim = replace(flat(), camera=replace(flat().camera, brightness=0.5, tint=(1.0, 0.8, 1.0)))
    for eye, expected in ((flat(), (255, 128, 0)), (dim, (128, 51, 0))):
        canvas = Canvas(grey(), eye)
        canvas.paint(canvas.ellipses([((0.5, 0.5), (0.2, 0.2), 0)]), (1.0, 0.5, 0.0))
        assert np.asarray(canvas.picture).astype(int)[32, 32] == pytest.approx(expected, abs=3)
        assert canvas.picture.getpixel((2, 2)) == (100, 100, 100)


def test_half_strength_is_half_way() -> None:
    canvas = Canvas(grey(), flat())
    canvas.paint(canvas.ellipses([((0.5, 0.5), (0.2, 0.2), 0)]), (1.0, 1.0, 1.0), 0.5)
    assert np.asarray(canvas.picture).astype(int)[32, 32] == pytest.approx((177,) * 3, abs=3)


def test_nothing_is_painted_outside_the_field() -> None:
    eye = replace(flat(), camera=replace(flat().camera, field=(0.5, 0.5), field_radius=0.3))
    canvas = Canvas(Image.new("RGB", (64, 64)), eye)
    canvas.paint(canvas.ellipses([((0.5, 0.5), (0.6, 0.6), 0)]), (1.0, 1.0, 1.0))
    drawn = np.asarray(canvas.picture)[..., 0]
    assert drawn[32, 32] > 200
    assert drawn[32, 5] == drawn[5, 32] == 0


def test_stain_leaves_its_factors() -> None:
    canvas = Canvas(grey(), flat())
    canvas.stain(canvas.ellipses([((0.5, 0.5), (0.2, 0.2), 0)]), (0.5, 0.7, 1.0))
    assert np.asarray(canvas.picture).astype(int)[32, 32] == pytest.approx((50, 70, 100), abs=2)
    assert canvas.picture.getpixel((2, 2)) == (100, 100, 100)


def test_painted_shapes_are_as_blurred_as_the_photograph() -> None:
    def edge(eye: Eye) -> int:
        mask = np.asarray(Canvas(grey(), eye).ellipses([((0.5, 0.5), (0.25, 0.25), 0)]))[32]
        return int(((mask > 10) & (mask < 245)).sum())

    assert edge(flat()) <= 2 < edge(flat(blur=0.02)) - 4


def test_outlines_rotate_and_stay_within_their_radius() -> None:
    turned = np.array(ellipse((0.5, 0.5), (0.2, 0.1), math.pi / 2))
    assert np.ptp(turned, axis=0) == pytest.approx((0.2, 0.4), abs=0.01)
    shape = np.array(lump(np.random.default_rng(1), (0.3, 0.6), 0.1, 0.5)) - (0.3, 0.6)
    reach = np.hypot(*shape.T)
    assert reach.min() >= 0.05 - 1e-9
    assert reach.max() <= 0.15 + 1e-9
    assert np.ptp(reach) > 0.01
