"""Far components of a mask are said, and left out of the box by option only."""

import csv
from dataclasses import replace

import numpy as np
import pytest
from PIL import Image
from scipy import ndimage

from lmod_train.core.artifacts.records import read_records
from lmod_train.core.types import Box, Outline, Sample
from lmod_train.data.curation.boxes import BoxRule, _is_heap, cut_to_box, extent_of, read_boxes
from lmod_train.data.curation.pipeline import curate
from tests.data.curation.world import Discs, Regions, truth_of
from tests.tabled import tabled

BODY = Box(20, 30, 60, 70)


def drawn(*further, body=BODY):
    inside = np.zeros((120, 160), dtype=bool)
    for box in (body, *further):
        inside[box.y0 : box.y1, box.x0 : box.x1] = True
    return inside


@tabled("speck", [Box(0, 0, 1, 1), Box(159, 119, 160, 120), Box(62, 50, 63, 51), Box(90, 20, 105, 35)])
def test_a_speck_is_said_and_left_out_by_option_only(speck):
    inside = drawn(speck)
    found = extent_of(*cut_to_box(inside), "optic disc")
    assert found.box == cut_to_box(inside)[1] != BODY and "1 far component" in found.far
    cleaned = extent_of(*cut_to_box(inside), "optic disc", specks=0.2)
    assert cleaned.box == BODY and "40 x 40 is used" in cleaned.far


@tabled(
    ("structure", "further"),
    [
        ("optic disc", ()),
        ("optic disc", (Box(30, 40, 31, 41),)),  # in the box
        ("optic disc", (Box(60, 70, 61, 71),)),  # touches at a corner
        ("retina", (Box(100, 30, 125, 70),)),  # parted by a hole
        ("intraretinal cysts", (Box(100, 100, 105, 105),)),
        ("microaneurysms", (Box(0, 0, 4, 4), Box(150, 100, 155, 104))),
    ],
)
def test_whole_structures_and_those_of_several_parts_are_not_said(structure, further):
    inside = drawn(*further)
    found = extent_of(*cut_to_box(inside), structure)
    assert found.box == cut_to_box(inside)[1] and not found.far


def test_several_lesions_are_kept_and_a_stray_pixel_is_said():
    inside = drawn(Box(100, 100, 103, 103), Box(0, 0, 1, 1))
    found = extent_of(*cut_to_box(inside), "hard exudates", specks=0.1)
    assert found.box == cut_to_box(inside)[1] and "1 far component of 1 pixel" in found.far


@pytest.mark.parametrize("specks", [0.0, 0.05])
def test_a_stray_polygon_is_said_and_left_out_by_option_only(specks):
    square = ((20.0, 30.0), (60.0, 30.0), (60.0, 70.0), (20.0, 70.0))
    points, parts = (*square, (0.0, 0.0), (1.0, 0.0), (1.0, 1.0)), (4, 3)
    for one in (Outline("pupil", points, parts=parts),
                Outline("pupil", tuple((x / 160, y / 120) for x, y in points), "side", parts)):  # fmt: skip
        sample = Sample("s", "k", "LP", None, "g", "CC0", outlines=(one,), size=(160, 120))
        boxed, (listed,) = read_boxes(sample, rule=BoxRule(specks=specks))
        assert listed.reason == "outline_far_part" and "1 far polygon" in listed.detail
        assert boxed.regions[0].box == (BODY if specks else Box(0, 0, 60, 70))
    near = Outline("pupil", (*square, (30.0, 40.0), (31.0, 40.0), (31.0, 41.0)), parts=parts)
    assert read_boxes(replace(sample, outlines=(near,)))[1] == ()


def test_nothing_has_no_extent():
    assert cut_to_box(np.zeros((3, 4), dtype=bool)) is None


@pytest.mark.parametrize("specks", [0.0, 0.05])
def test_specks_are_listed_by_image_and_the_option_gives_the_true_boxes(tmp_path, specks):
    source = Discs.write(tmp_path / "raw", 6)
    for number in (1, 4):
        file = tmp_path / "raw" / "masks" / f"p00{number}.bmp"
        pixels = np.array(Image.open(file))
        pixels[-1, -1] = 0  # of the cup, and so of the disc
        Image.fromarray(pixels).save(file)
    made = curate([source], [Regions()], tmp_path / "out", workers=1, progress=False, specks=specks)
    with (tmp_path / "out" / "dropped.csv").open(newline="") as file:
        rows = [(r["key"], r["reason"], r["extent"]) for r in csv.DictReader(file)]
    assert sorted(set(rows)) == [(f"train/p00{n}", "mask_far_component", "part") for n in (1, 4)] and len(rows) == 4
    wrong = {r.key for r in read_records(tmp_path / "out" / "records") if not _true(r)}
    assert wrong == (set() if specks else {"train/p001", "train/p004"})
    assert made["settings"].get("boxes", {}).get("specks", 0) == specks


def _true(record):
    disc, cup = truth_of(int(record.key[-3:]))
    return {(r.structure, r.box) for r in record.regions} == {("optic disc", disc), ("optic cup", cup)}


@pytest.mark.parametrize("seed", range(40))
def test_what_is_found_without_labels_is_one_component_and_every_disc_is(seed):
    rng = np.random.default_rng(seed)
    inside = rng.random(rng.integers(1, 6, 2)) < rng.uniform(0.3, 1)
    if _is_heap(inside):
        assert ndimage.label(inside, np.ones((3, 3)))[1] == 1
    y, x = np.mgrid[-1 : 1 : rng.integers(3, 40) * 1j, -1 : 1 : rng.integers(3, 40) * 1j]
    disc = x**2 + y**2 <= 1
    assert _is_heap(disc[disc.any(axis=1)])
    assert not _is_heap(np.hstack([np.eye(3, dtype=bool), np.zeros((3, 1), bool), np.eye(3, dtype=bool)]))
