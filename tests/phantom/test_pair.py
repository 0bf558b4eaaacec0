"""Paired phantoms: what is said of an eye is in the pixels of both images."""

import math
from functools import cache

import numpy as np
import pytest

from lmod_train.core.errors import BadArgument
from lmod_train.phantom.oct import label_map
from lmod_train.phantom.pair import SPAN, SPOT, SPOTS, draw_pair, photograph, section
from tests.tabled import tabled

SIZE = 192


@cache
def pairs():
    return [
        draw_pair(100 + n, list(SPOTS)[n % 4], retinopathy=n % 2 == 0, hole=n % 3 == 0, dark_photograph=n % 5 == 0)
        for n in range(24)
    ]


def grey(picture):
    return np.asarray(picture.convert("L"), dtype=float)


@tabled("pair", pairs)
def test_the_raised_spot_is_where_the_scan_rises(pair):
    """Found in the drawn pixels alone: the place where the inner surface of the retina is highest above its line."""
    labels = label_map(pair.scan, SIZE)
    bottom = np.array([np.nonzero(np.isin(column, (2, 3, 4)))[0].max() for column in labels.T], dtype=float)
    x = (np.arange(SIZE) + 0.5) / SIZE
    smooth = np.polyval(np.polyfit(x, bottom, 2), x)
    for _ in range(8):  # without the dome, which is above the curve
        kept = bottom > smooth - 1.5
        smooth = np.polyval(np.polyfit(x[kept], bottom[kept], 2), x)
    top = x[smooth - bottom > 0.6 * (smooth - bottom).max()].mean()
    seen = pair.eye.fovea[0] + (top - pair.scan.eye.fovea) * SPAN
    nearest = min(SPOTS, key=lambda name: abs(pair.spots[name][0] - seen))
    assert nearest == pair.raised


def test_every_spot_is_pale_in_the_photograph_and_the_line_between_is_not():
    for pair in pairs():
        pixels = grey(photograph(pair, SIZE))
        row = round(pair.eye.fovea[1] * SIZE)
        at = {name: pixels[row, round(x * SIZE)] for name, (x, _) in pair.spots.items()}
        away = {name: x + math.copysign(2.2 * SPOT, x - pair.eye.fovea[0]) for name, (x, _) in pair.spots.items()}
        beside = [pixels[row, round(x * SIZE)] for x in away.values()]
        assert min(at.values()) > 1.1 * max(beside), pair.eye.seed
        assert max(at.values()) < 1.6 * min(at.values()), "the photograph does not show which is raised"


def test_both_images_show_the_hole():
    for number in range(6):
        pairs = [draw_pair(number, "far to the left", retinopathy=False, hole=hole) for hole in (True, False)]
        assert [(label_map(pair.scan, SIZE) == 4).any() for pair in pairs] == [True, False]
        assert cuff(pairs[0], pairs[0]) > 1.25 * cuff(pairs[1], pairs[0])


def cuff(pair, hole):
    """Return how much brighter the ring around the place of a hole is than its centre."""
    pixels, centres = grey(photograph(pair, SIZE)), (np.arange(SIZE) + 0.5) / SIZE
    away = np.hypot(centres - pair.eye.fovea[0], centres[:, None] - pair.eye.fovea[1]) / (SPAN * hole.scan.width / 2)
    return pixels[(away > 1.15) & (away < 1.5)].mean() / pixels[away < 0.7].mean()


def test_retinopathy_is_in_the_photograph_alone_and_off_the_line():
    for number in range(6):
        sick, well = (draw_pair(number, "far to the left", retinopathy=sick, hole=False) for sick in (True, False))
        assert section(sick, 96) == section(well, 96)
        changed = np.abs(grey(photograph(sick, SIZE)) - grey(photograph(well, SIZE)))
        assert (changed > 25).sum() >= 20
        row = round(sick.eye.fovea[1] * SIZE)
        line = slice(round((sick.eye.fovea[0] - 0.17) * SIZE), round((sick.eye.fovea[0] + 0.17) * SIZE))
        assert changed[row - 2 : row + 3, line].max() < 25


def test_dark_images_are_darker_than_every_other():
    for light in (lambda p: grey(photograph(p, 64)).mean(), lambda p: np.percentile(grey(section(p, 64)), 99)):
        dark, bright = ([light(pair) for pair in _exposed(dark)] for dark in (True, False))
        assert max(dark) < min(bright)


def _exposed(dark):
    options = {"retinopathy": False, "dark_photograph": dark, "dark_scan": dark}
    return [draw_pair(n, "just to the left", hole=n % 2 == 0, **options) for n in range(8)]


def test_an_argument_changes_only_what_it_names():
    one, other = (draw_pair(5, name, retinopathy=True, hole=True) for name in ("far to the left", "far to the right"))
    assert photograph(one, 64) == photograph(other, 64)
    assert one.eye == other.eye and one.scan.eye == other.scan.eye and one.scan != other.scan


@pytest.mark.parametrize(("seed", "raised"), [(-1, "far to the left"), (1, "above")])
def test_wrong_arguments_are_named(seed, raised):
    with pytest.raises(BadArgument):
        draw_pair(seed, raised, retinopathy=False, hole=False)
