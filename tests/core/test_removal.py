"""Filled regions of photographs whose disc, field and vessels are known."""

from functools import cache

import numpy as np
import pytest
from PIL import Image
from scipy import ndimage
from skimage.restoration import inpaint_biharmonic

from lmod_train.core.errors import BadArgument
from lmod_train.core.removal import (
    ALIKE,
    FILLS,
    Removal,
    diameter_of,
    elsewhere,
    field_mask,
    filled,
    fovea_zone,
    grown,
    mean_change,
    moved,
    parse_removal,
)
from lmod_train.phantom.fundus import disc_mask, draw_eye, render

SIZE = 256


@cache
def eye(seed=3, diagnosis="glaucoma"):
    drawn = draw_eye(seed, diagnosis)
    return render(drawn, SIZE), disc_mask(drawn, SIZE), drawn


def ring(mask, low, high):
    away = ndimage.distance_transform_edt(~mask) / diameter_of(mask)
    return (away > low) & (away <= high)


def colours(image, mask):
    return np.median(np.asarray(image, dtype=float)[mask], axis=0)


@pytest.mark.parametrize("fill", FILLS)
def test_only_the_region_and_its_soft_edge_change(fill):
    image, disc, _ = eye()
    region = grown(image, disc)
    before, after = (np.asarray(i, dtype=int) for i in (image, filled(image, region, fill)))
    changed = np.abs(before - after).max(axis=2) > 0
    assert not changed[ndimage.distance_transform_edt(~region) > 0.05 * SIZE].any()
    assert changed[region & field_mask(image)].mean() > 0.9
    assert (before == np.asarray(image)).all(), "the image itself is not changed"


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("fill", FILLS)
def test_no_coloured_rim_and_no_ghost_of_the_disc(seed, fill):
    """Inside the old outline it is as dark as around it, and no ring beside the region stands out."""
    image, disc, _ = eye(seed)
    region = grown(image, disc)
    after = filled(image, region, fill)
    around = colours(after, ring(region, 0.05, 0.2) & field_mask(image))
    assert np.abs(colours(image, disc) - around).max() > 40, "the disc is bright"
    assert np.abs(colours(after, disc) - around).max() < 15
    rim = colours(after, ring(region, 0.0, 0.04) & field_mask(image))
    assert np.abs(rim - around).max() < 12


def test_the_biharmonic_fill_is_that_of_the_reference():
    """A parabola is biharmonic: what was removed comes back, as with scikit-image itself."""
    y, x = np.mgrid[:60, :60] / 60
    grey = np.round(60 + 120 * x * y).astype(np.uint8)
    image = Image.fromarray(np.stack([grey] * 3, axis=2))
    mask = np.zeros((60, 60), dtype=bool)
    mask[22:38, 22:38] = True
    own = np.asarray(filled(image, mask), dtype=float)[mask]
    reference = inpaint_biharmonic(np.asarray(image) / 255, mask, channel_axis=-1)[mask] * 255
    assert np.abs(own - reference).max() < 4


def test_nothing_is_filled_beyond_the_field_and_the_surround_casts_no_shadow():
    """On an even field the fill at its edge is of the field's colour, as if nothing black were beside it."""
    rows, columns = np.indices((SIZE, SIZE))
    field = (rows - 128) ** 2 + (columns - 128) ** 2 < 110**2
    image = Image.fromarray((field[..., None] * np.array([150, 80, 40])).astype(np.uint8))
    edge = (rows - 128) ** 2 + (columns - 225) ** 2 < 30**2
    for fill in FILLS:
        after = np.asarray(filled(image, edge, fill), dtype=int)
        assert (after[~field] == 0).all()
        assert np.abs(after[ndimage.binary_erosion(field, iterations=2)] - [150, 80, 40]).max() < 12, fill


def test_a_rim_is_grown_over():
    """A ring of paint around the outline, as wide as a third of the disc, is inside what is filled."""
    image, disc, _ = eye()
    painted = np.asarray(image).copy()
    rim = ring(disc, 0, 0.38)
    painted[rim] = (230, 230, 90)
    assert (grown(Image.fromarray(painted), disc) & rim).sum() == rim.sum()
    assert grown(image, disc).sum() < grown(Image.fromarray(painted), disc).sum()


@pytest.mark.parametrize("seed", range(6))
def test_the_place_elsewhere_is_like_the_disc_and_off_everything_annotated(seed):
    image, disc, _ = eye(seed)
    region = grown(image, disc)
    taken = fovea_zone(disc)
    place = elsewhere(image, region, taken)
    assert place is not None and place.sum() == region.sum()
    assert not (place & (region | taken)).any() and (place & field_mask(image)).sum() > 0.99 * place.sum()
    distance = ndimage.distance_transform_edt(np.pad(field_mask(image), 1))[1:-1, 1:-1]
    at = [tuple(np.array(np.nonzero(m)).mean(axis=1).round().astype(int)) for m in (region, place)]
    assert abs(distance[at[0]] - distance[at[1]]) / SIZE < ALIKE[1] + 0.02


def test_the_change_elsewhere_is_as_alike_as_it_can_be():
    """Of many possible places a blot as bright as the disc is the one whose removal changes as much."""
    plain = Image.new("RGB", (SIZE, SIZE), (150, 80, 40))
    image = np.asarray(plain).copy()
    rows, columns = np.indices((SIZE, SIZE))
    discs = [(rows - 128) ** 2 + (columns - x) ** 2 < 18**2 for x in (60, 196)]
    image[discs[0] | discs[1]] = (250, 230, 180)
    image = Image.fromarray(image)
    region = ndimage.binary_dilation(discs[0], iterations=6)
    place = elsewhere(image, region, np.zeros_like(region))
    assert place[discs[1]].mean() > 0.95
    changes = [mean_change(image, filled(image, where), where) for where in (region, place)]
    assert changes[1] == pytest.approx(changes[0], rel=0.15)


def test_no_place_where_the_evidence_fills_the_field_or_all_is_taken():
    image, disc, _ = eye()
    rows, columns = np.indices(disc.shape)
    large = (rows - 128) ** 2 + (columns - 128) ** 2 < 100**2
    assert elsewhere(image, large, np.zeros_like(large)) is None
    assert elsewhere(image, disc, np.ones_like(disc)) is None


def test_the_fovea_is_in_its_zone():
    for seed in range(30):
        drawn = draw_eye(seed, "normal")
        x, y = (int(part * SIZE) for part in drawn.fovea)
        assert fovea_zone(disc_mask(drawn, SIZE))[y, x]


def test_names_are_read_back_and_others_are_none():
    for removal in (Removal("evidence", "mean", ("optic disc", "optic cup")), Removal("elsewhere", "blur")):
        assert parse_removal(removal.name) == removal
    assert [parse_removal(name) for name in ("", "blur-3", "evidence", "evidence-paint-annotated")] == [None] * 4


def test_moving_keeps_the_shape_and_loses_what_leaves():
    mask = np.zeros((5, 6), dtype=bool)
    mask[1:3, 1:3] = True
    assert moved(mask, 2, 3)[3:5, 4:6].all() and moved(mask, 2, 3).sum() == 4
    assert moved(mask, 3, 0).sum() == 2


def test_unknown_fills_and_other_sizes_are_refused():
    image, disc, _ = eye()
    with pytest.raises(BadArgument, match="biharmonic"):
        filled(image, disc, "paint")
    with pytest.raises(BadArgument, match="mask"):
        filled(image, disc[:-1])
    assert filled(image, np.zeros_like(disc)) is image


def test_an_image_without_surround_is_all_field():
    noise = np.random.default_rng(0).integers(0, 90, (80, 100), dtype=np.uint8)
    assert field_mask(Image.fromarray(np.stack([noise] * 3, axis=2))).all()
    image, _, _ = eye()
    assert 0.55 < field_mask(image).mean() < 0.9
