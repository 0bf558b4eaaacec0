import base64
from functools import partial
from itertools import combinations

import numpy as np
import pytest
from PIL import Image, ImageEnhance, ImageOps
from scipy.ndimage import gaussian_filter
from scipy.stats import pearsonr

from lmod_train.data.curation import copies
from lmod_train.data.curation.copies import NEAR, ORIENTATIONS, SIDE, Copy, find_copies, thumbnail
from tests.tabled import tabled

TURNS = (
    lambda image: image,
    lambda image: image.transpose(Image.Transpose.FLIP_LEFT_RIGHT),
    lambda image: image.transpose(Image.Transpose.FLIP_TOP_BOTTOM),
    lambda image: image.transpose(Image.Transpose.ROTATE_180),
)


def fundus(seed, side=300, radius=0.95):
    """A round field of view with a disc at a place all share, vessels of its own, and a black surround."""
    rng = np.random.default_rng(seed)
    y, x = np.mgrid[-1 : 1 : side * 1j, -1 : 1 : side * 1j]
    vessels = np.zeros((side, side))
    for _ in range(9):
        at, turn = np.array([side * 0.7, side * 0.5]), rng.uniform(0, 2 * np.pi)
        for _ in range(side):
            turn += rng.normal(0, 0.12)
            at += (np.cos(turn), np.sin(turn))
            if min(at) >= 0 and max(at) < side - 1:
                vessels[int(at[1]), int(at[0])] = 1
    base = 120 + 40 * x + 90 * np.exp(-((x - 0.4) ** 2 + y**2) / 0.02) - 500 * gaussian_filter(vessels, side / 150)
    grey = np.where(x**2 + y**2 < radius**2, np.clip(base, 30, 255), 0)
    return Image.fromarray(np.stack([grey, grey * 0.6, grey * 0.3], -1).astype(np.uint8))


def alike(images, groups=None):
    return find_copies([thumbnail(i) for i in images], groups or list(range(len(images))))


@tabled("turn", range(4))
def test_a_turned_shifted_brightened_copy_is_found_with_its_orientation(turn):
    for seed in range(3):
        image = fundus(seed)
        copy = TURNS[turn](image).transform(image.size, Image.Transform.AFFINE, (1, 0, 4, 0, 1, -3))
        copy = ImageEnhance.Brightness(copy).enhance(1.25).resize((224, 224))
        (found,) = alike([image, *(fundus(100 + i) for i in range(6)), copy])
        assert (found.first, found.second, found.orientation) == (0, 7, ORIENTATIONS[turn])
        assert NEAR <= found.correlation <= 1


def test_eyes_that_share_disc_light_and_surround_are_not_copies():
    assert alike([fundus(seed) for seed in range(40)]) == []


def test_more_or_less_surround_is_the_same_photograph():
    image = fundus(3)
    wide = Image.new("RGB", (500, 320))
    wide.paste(image, (100, 10))
    assert [(c.first, c.second) for c in alike([image, wide, fundus(4)])] == [(0, 1)]


def test_the_surround_alone_makes_no_copies():
    """What a plain correlation of pixels calls the same: two empty fields of view, or two blank images."""
    empty = [Image.fromarray((np.asarray(fundus(s)) > 0).astype(np.uint8) * grey) for s, grey in ((1, 90), (2, 140))]
    small = [np.asarray(i.convert("L").resize((24, 24)), float).ravel() for i in empty]
    assert pearsonr(*small).statistic > 0.95
    blank = [Image.new("RGB", (64, 64), (g, g, g)) for g in (0, 255, 255, 128)]
    assert alike([*empty, *blank]) == []


def test_pairs_of_a_group_are_not_looked_for_and_the_order_does_not_matter():
    images = [fundus(1), TURNS[1](fundus(1)), TURNS[2](fundus(1))]
    assert alike(images, ["a", "a", "a"]) == []
    assert [(c.first, c.second) for c in alike(images, ["a", "a", "b"])] == [(0, 2), (1, 2)]
    found = {(c.first, c.second): c.orientation for c in alike(images)}
    assert found == {(0, 1): "mirrored", (0, 2): "upside down", (1, 2): "turned by 180 degrees"}
    assert {(2 - c.second, 2 - c.first): c.orientation for c in alike(images[::-1])} == found


@pytest.mark.parametrize("thumbnails", [[], [thumbnail(Image.new("L", (1, 1)))]])
def test_nothing_to_compare(thumbnails):
    assert find_copies(thumbnails, list(range(len(thumbnails)))) == []


def test_a_stricter_threshold_leaves_the_likelier_pairs():
    image = fundus(0)
    thumbnails = [thumbnail(image), thumbnail(image.resize((100, 100)).resize((300, 300)))]
    (found,) = find_copies(thumbnails, [0, 1], near=0.5)
    assert found == Copy(0, 1, "as is", found.correlation)
    assert find_copies(thumbnails, [0, 1], near=found.correlation + 0.001) == []


def test_hundreds_of_photographs_of_noise_are_no_copies():
    rng = np.random.default_rng(0)
    some = [
        thumbnail(Image.fromarray(rng.integers(0, 256, (12, 12), np.uint8).repeat(8, 0).repeat(8, 1))) for _ in "ab"
    ]
    noise = [Image.fromarray(rng.integers(0, 256, (40, 40), np.uint8)) for _ in range(700)]
    thumbnails = [thumbnail(i) for i in noise] + some
    assert find_copies(thumbnails, list(range(len(thumbnails)))) == []


def looked_at_one_by_one(thumbnails, groups, near):
    """All pairs, pixel by pixel, in every orientation and shift, without blocks: what the search must find."""
    views = np.stack([np.frombuffer(base64.b64decode(t), np.uint8).reshape(SIDE, SIDE) for t in thumbnails])
    details = copies._details(views).astype(np.float64)
    whole = details.reshape(-1, 16, 4, 16, 4).sum((2, 4))
    whole /= np.maximum(np.sqrt((whole**2).sum((1, 2), keepdims=True)), 1e-3)
    found = {}
    for i, j in combinations(range(len(views)), 2):
        if groups[i] == groups[j]:
            continue
        turns = [np.s_[:, :], np.s_[:, ::-1], np.s_[::-1, :], np.s_[::-1, ::-1]]
        fits = []
        for name, turn in zip(ORIENTATIONS, turns, strict=True):
            framed = np.pad(details[j][turn], 1)
            moved = (framed[y : y + SIDE, x : x + SIDE] for y in range(3) for x in range(3))
            if (whole[i] * whole[j][turn]).sum() >= copies.MAYBE:
                fits.append((round(max((details[i] * one).sum() for one in moved), 3), name))
        best = max(fits, default=(0, ""), key=lambda fit: fit[0])
        if best[0] >= near:
            found[i, j] = best
    return found


@pytest.mark.parametrize("seed", range(3))
def test_blocks_find_what_a_look_at_every_pair_finds(seed, monkeypatch):
    """Blocks of 8 photographs and 5 pairs, so that copies lie within blocks, across them, and at their edges."""
    rng = np.random.default_rng(seed)
    eyes = [fundus(100 * seed + n, 160) for n in range(6)]
    images = [TURNS[rng.integers(4)](eyes[n]) for n in rng.integers(0, 6, 33)]
    noisy = [np.asarray(i, float) + rng.normal(0, rng.uniform(0, 12), (160, 160, 1)) for i in images]
    thumbnails = [thumbnail(Image.fromarray(i.clip(0, 255).astype(np.uint8))) for i in noisy]
    groups = rng.integers(0, 20, len(images)).tolist()
    for name, size in (("_maybe", 8), ("_confirmed", 5), ("_parts", 7)):
        monkeypatch.setattr(copies, name, partial(getattr(copies, name), size=size))
    expected = looked_at_one_by_one(thumbnails, groups, 0.72)
    found = {(c.first, c.second): (c.correlation, c.orientation) for c in find_copies(iter(thumbnails), groups, 0.72)}
    assert len(expected) > 20 and any(j == 32 for _, j in expected) and found.keys() == expected.keys()
    for pair, (correlation, orientation) in expected.items():
        assert found[pair] == (pytest.approx(correlation, abs=0.001), orientation)


@tabled("light", [1.0, 0.3, 0.02])
def test_the_limit_of_darkness_is_a_percentile(light):
    for side in (SIDE, 2 * SIDE):
        grey = (np.asarray(fundus(7).convert("L").resize((side, side))) * light).astype(np.uint8)
        assert copies._light(grey) == min(1.0, np.percentile(grey, 95) / copies.DIM)


@tabled("light", [0.15, 0.25, 1.0])
def test_an_almost_black_photograph_and_its_mirrored_copy_are_one(light):
    dark = [ImageEnhance.Brightness(fundus(seed)).enhance(light) for seed in range(6)]
    copy = ImageEnhance.Brightness(ImageOps.mirror(fundus(0))).enhance(light * 1.3)
    assert [(c.first, c.second, c.orientation) for c in alike([*dark, copy])] == [(0, 6, "mirrored")]
