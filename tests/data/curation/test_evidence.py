"""Where the evidence is in a curated image, and which images are listed as they cannot be asked about it."""

from dataclasses import replace

import numpy as np
import pytest
from PIL import Image

from lmod_train.core.removal import Removal
from lmod_train.core.types import Box, MaskFile, Outline, Region, Sample
from lmod_train.data.curation.boxes import DEFAULT_RULE
from lmod_train.data.curation.evidence import evidence_of, redrawn, removed, shapes_of
from lmod_train.data.curation.orientation import Frame
from lmod_train.phantom.fundus import cup_mask, disc_mask, draw_eye, render

SIZE = 200
DISC = ("optic disc", "optic cup")
CODING = {"background": (0,), "optic disc": (1, 2), "optic cup": (2,)}
BOTH = [Removal(where, "mean", DISC).name for where in ("evidence", "elsewhere")]


@pytest.fixture(scope="module")
def fundus(tmp_path_factory):
    """Image, sample with its mask file, and the disc."""
    folder, eye = tmp_path_factory.mktemp("evidence"), draw_eye(3, "glaucoma")
    disc = disc_mask(eye, SIZE)
    codes = disc.astype(np.uint8) + cup_mask(eye, SIZE)
    Image.fromarray(codes).save(folder / "mask.png")
    image = render(eye, SIZE)
    image.save(folder / "eye.png")
    sample = Sample(
        "s", "eye", "CFP", folder / "eye.png", "p", "CC0", masks=(MaskFile(folder / "mask.png", (CODING,)),)
    )
    return image, replace(sample, size=image.size), disc


def cut(sample, image, names=BOTH, shapes=None, frame=None):
    return removed(sample, image, frame or Frame(image.size), names, DEFAULT_RULE, shapes or {})


def test_masks_are_where_they_are_drawn(fundus):
    image, sample, disc = fundus
    assert (evidence_of(sample, image.size, Frame(image.size), DISC) == disc).all()
    cup = evidence_of(sample, image.size, Frame(image.size), ["optic cup"])
    assert 0 < cup.sum() < disc.sum() and not (cup & ~disc).any()
    half = evidence_of(sample, (100, 100), Frame(image.size), DISC)
    assert half.shape == (100, 100) and half.sum() == pytest.approx(disc.sum() / 4, rel=0.03)


@pytest.mark.parametrize("orientation", range(1, 9))
def test_masks_outlines_and_boxes_of_turned_photographs_lie_on_the_upright_one(tmp_path, orientation):
    """A mark in one corner of the stored pixels is where EXIF puts it."""
    stored = np.zeros((40, 60), dtype=np.uint8)
    stored[4:12, 6:20] = 2
    stored[4:12, 20:24] = 1
    Image.fromarray(stored).save(tmp_path / "mask.png")
    photo = Image.new("RGB", (60, 40))
    exif = photo.getexif()
    exif[0x0112] = orientation
    photo.save(tmp_path / "eye.jpg", exif=exif)
    from lmod_train.core.pixels import open_picture, upright

    turned = upright(open_picture(tmp_path / "eye.jpg"))
    expected = np.asarray(Image.fromarray((stored > 0).astype(np.uint8) * 255))
    tagged = Image.fromarray(expected)
    tagged.save(tmp_path / "t.png", exif=exif)
    expected = np.asarray(upright(open_picture(tmp_path / "t.png"))) > 0
    rule = replace(DEFAULT_RULE, turned="stored")
    frame = Frame(turned.size, orientation)
    sample = Sample(
        "s", "k", "CFP", tmp_path / "eye.jpg", "p", "CC0", masks=(MaskFile(tmp_path / "mask.png", (CODING,)),)
    )
    assert (evidence_of(sample, turned.size, frame, DISC, rule) == expected).all()
    corners = ((6.0, 4.0), (24.0, 12.0))
    polygon = ((6.0, 4.0), (23.0, 4.0), (23.0, 11.0), (6.0, 11.0))
    for points in (corners, polygon):
        drawn = replace(sample, masks=(), outlines=(Outline("optic disc", points, drawn_on=(60, 40)),))
        found = evidence_of(drawn, turned.size, frame, DISC, rule)
        assert (found & expected).sum() / (found | expected).sum() > 0.9


def test_both_removals_are_made_of_the_same_images(fundus):
    image, sample, disc = fundus
    images, listed = cut(sample, image)
    assert set(images) == set(BOTH) and not listed
    before = np.asarray(image, dtype=int)
    changed = {name: np.abs(np.asarray(i, dtype=int) - before).max(axis=2) > 8 for name, i in images.items()}
    assert changed[BOTH[0]][disc].mean() > 0.9 and not changed[BOTH[1]][disc].any()
    assert not (changed[BOTH[0]] & changed[BOTH[1]]).sum() > 0.02 * changed[BOTH[0]].sum()


def test_an_annotated_structure_and_the_fovea_are_left_alone(fundus):
    image, sample, _ = fundus
    free, _ = cut(sample, image)
    there = np.argwhere(np.abs(np.asarray(free[BOTH[1]], dtype=int) - np.asarray(image)).max(axis=2) > 8)
    (y0, x0), (y1, x1) = there.min(axis=0), there.max(axis=0)
    marked = replace(sample, regions=(Region("scar", Box(int(x0), int(y0), int(x1), int(y1))),))
    images, _ = cut(marked, image)
    middle = np.abs(np.asarray(images[BOTH[1]], dtype=int) - np.asarray(image)).max(axis=2)[y0:y1, x0:x1]
    assert (middle > 8).mean() < 0.1


def test_no_place_is_where_the_fovea_may_be(fundus):
    """A blot as bright as the disc, at the fovea, would be the most alike place."""
    image, sample, disc = fundus
    blot = Image.fromarray(np.where(np.roll(disc, 68, axis=1)[..., None], (250, 240, 200), image).astype(np.uint8))
    eye = draw_eye(3, "glaucoma")
    assert np.roll(disc, 68, axis=1)[int(eye.disc[1] * SIZE), int(eye.fovea[0] * SIZE)]
    images, _ = cut(sample, blot)
    changed = np.abs(np.asarray(images[BOTH[1]], dtype=int) - np.asarray(blot)).max(axis=2) > 8
    assert not (changed & np.roll(disc, 68, axis=1)).any()


def test_what_cannot_be_asked_is_listed_with_its_reason(fundus, tmp_path):
    image, sample, _ = fundus
    frame = Frame(image.size)
    Image.fromarray(np.zeros((50, 50), dtype=np.uint8)).save(tmp_path / "small.png")
    whole = np.zeros((SIZE, SIZE), dtype=np.uint8)
    whole[20:-20, 20:-20] = 1
    Image.fromarray(whole).save(tmp_path / "whole.png")
    corner = np.zeros((SIZE, SIZE), dtype=np.uint8)
    corner[:12, :12] = 1
    Image.fromarray(corner).save(tmp_path / "corner.png")
    taken = Region("scar", Box(0, 0, 178, SIZE)), Region("haemorrhage", Box(22, 0, SIZE, SIZE))
    cases = {
        "evidence_not_annotated": replace(sample, masks=()),
        "evidence_not_annotated ": replace(sample, masks=(MaskFile(tmp_path / "small.png", (CODING,)),)),
        "evidence_off_the_field": replace(sample, masks=(MaskFile(tmp_path / "corner.png", (CODING,)),)),
        "evidence_too_large": replace(sample, masks=(MaskFile(tmp_path / "whole.png", (CODING,)),)),
        "no_place_elsewhere": replace(sample, regions=taken),
    }
    for reason, one in cases.items():
        images, listed = cut(one, image, frame=frame)
        assert not images and [(d.reason, d.extent, d.step) for d in listed] == [(reason.strip(), "part", "grounding")]


def test_holes_of_all_stages_are_covered_by_one_shape(tmp_path):
    """The fill over a small and a large hole has the same size, and one beyond the shape is listed."""
    rng = np.random.default_rng(0)
    grey = rng.integers(60, 90, (SIZE, SIZE), dtype=np.uint8)
    image = Image.fromarray(np.stack([grey] * 3, axis=2))
    base = Sample("oimhs", "1/1", "OCT", tmp_path / "x.png", "p", "CC0", size=image.size)
    holes = {
        name: replace(base, regions=(Region("macular hole", Box(95 - w, 80, 95 + w, 120)),))
        for name, w in {"small": 8, "large": 22, "giant": 40}.items()
    }
    boxes = [("oimhs", h.size, region) for h in holes.values() for region in h.regions]
    assert shapes_of(boxes) == {("oimhs", "macular hole"): pytest.approx((1.4 * 0.4, 1.4 * 0.2))}
    shapes = {("oimhs", "macular hole"): (0.3, 0.3)}
    names = [Removal(where, "mean", ("macular hole",)).name for where in ("evidence", "elsewhere")]
    sizes = {}
    for name, one in holes.items():
        images, listed = cut(one, image, names, shapes)
        if images:
            sizes[name] = (np.abs(np.asarray(images[names[0]], dtype=int) - np.asarray(image)).max(axis=2) > 0).sum()
        else:
            assert [d.reason for d in listed] == ["evidence_too_large"]
    assert set(sizes) == {"small", "large"} and sizes["small"] == pytest.approx(sizes["large"], rel=0.02)
    assert shapes_of([("oimhs", base.size, Region("macular hole", Box(0, 0, SIZE, 20)))]) == {}


def test_a_layer_across_the_image_is_no_obstacle(tmp_path):
    """The retina, in which the hole lies, is annotated too: a like place is in it."""
    grey = np.full((SIZE, SIZE), 20, dtype=np.uint8)
    grey[70:130] = 120
    image = Image.fromarray(np.stack([grey] * 3, axis=2))
    regions = Region("macular hole", Box(90, 80, 110, 120)), Region("retina", Box(0, 70, SIZE, 130))
    sample = Sample("oimhs", "1/1", "OCT", tmp_path / "x.png", "p", "CC0", size=image.size, regions=regions)
    names = [Removal(where, "mean", ("macular hole",)).name for where in ("evidence", "elsewhere")]
    images, listed = cut(sample, image, names, {("oimhs", "macular hole"): (0.2, 0.25)})
    assert set(images) == set(names) and not listed


def test_the_redrawn_phantom_lies_in_a_hidden_folder(tmp_path):
    assert redrawn(tmp_path / "a.jpg") == tmp_path / ".counterfactual" / "a.jpg"
