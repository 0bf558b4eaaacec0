import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from lmod_train.curation.boxes import bounding_box, coding_of, read_boxes
from lmod_train.types import Box, Dropped, MaskFile, Region, Sample
from tests.curation.world import INVERTED, USUAL, mask_file, truth_of

CODINGS = (INVERTED, USUAL)


def sample(path, size=(160, 120), regions=()):
    return Sample("s", "k", "CFP", path, "g", "CC0", masks=(MaskFile(path, CODINGS),), size=size, regions=regions)


def boxes(found):
    return {r.structure: r.box for r in found.regions}


def test_the_inverted_coding_gives_the_boxes_drawn(tmp_path):
    mask_file(tmp_path / "m.bmp", 7)
    disc, cup = truth_of(7)
    assert boxes(read_boxes(sample(tmp_path / "m.bmp"))) == {"optic disc": disc, "optic cup": cup}


@pytest.mark.parametrize("mode", ["L", "RGB", "P", "I;16"])
def test_the_usual_coding_in_every_file_mode(tmp_path, mode):
    pixels = np.zeros((120, 160), dtype=np.uint8)
    pixels[10:50, 20:60], pixels[20:30, 30:45] = 1, 2
    image = Image.fromarray(pixels)
    if mode == "P":
        image = Image.fromarray(pixels)
        image.putpalette([0, 0, 0, 255, 0, 0, 0, 255, 0])
    elif mode == "I;16":
        image = Image.fromarray(pixels.astype(np.uint16))
    elif mode == "RGB":
        image = image.convert("RGB")
    image.save(tmp_path / "m.png")
    assert boxes(read_boxes(sample(tmp_path / "m.png"))) == {
        "optic disc": Box(20, 10, 60, 50),
        "optic cup": Box(30, 20, 45, 30),
    }


def test_a_palette_of_greys_means_the_greys_where_the_indices_mean_nothing(tmp_path):
    pixels = np.full((120, 160), 7, dtype=np.uint8)
    pixels[10:50, 20:60] = 9
    image = Image.fromarray(pixels)
    palette = [0] * 768
    palette[21:24], palette[27:30] = [255] * 3, [128] * 3
    image.putpalette(palette)
    image.save(tmp_path / "m.png")
    assert boxes(read_boxes(sample(tmp_path / "m.png"))) == {"optic disc": Box(20, 10, 60, 50)}


def test_a_one_bit_mask_reads_as_one(tmp_path):
    pixels = np.zeros((120, 160), dtype=np.uint8)
    pixels[3:5, 7:9] = 255
    Image.fromarray(pixels).convert("1").save(tmp_path / "m.tif")
    assert boxes(read_boxes(sample(tmp_path / "m.tif"))) == {"optic disc": Box(7, 3, 9, 5)}


def test_the_border_decides_between_codings_that_both_cover():
    blank = np.zeros((5, 5), dtype=np.int64)
    assert coding_of(blank, CODINGS) is USUAL
    blank[1:4, 1:4] = 255
    assert coding_of(blank, CODINGS) is None  # 0 outside is no background of the inverted coding


@pytest.mark.parametrize(
    ("pixels", "size", "reason", "detail"),
    [
        (np.full((120, 160), 5, dtype=np.uint8), (160, 120), "mask_coding_unknown", "values present: 5"),
        (np.full((120, 160), 255, dtype=np.uint8), (161, 120), "mask_size_differs", "mask 160x120, image 161x120"),
    ],
)
def test_a_mask_that_cannot_be_trusted_drops_the_sample(tmp_path, pixels, size, reason, detail):
    Image.fromarray(pixels).save(tmp_path / "m.png")
    dropped = read_boxes(sample(tmp_path / "m.png", size))
    assert isinstance(dropped, Dropped)
    assert (dropped.step, dropped.reason, dropped.detail) == ("boxes", reason, detail)
    assert dropped.file == str(tmp_path / "m.png")


def test_a_jpeg_mask_lists_its_values_and_a_coloured_one_says_so(tmp_path):
    mask_file(tmp_path / "m.bmp", 3)
    Image.open(tmp_path / "m.bmp").save(tmp_path / "m.jpg", quality=40)
    dropped = read_boxes(sample(tmp_path / "m.jpg"))
    assert dropped.reason == "mask_coding_unknown" and " more" in dropped.detail
    Image.new("RGB", (160, 120), (255, 0, 0)).save(tmp_path / "c.png")
    assert "colours" in read_boxes(sample(tmp_path / "c.png")).detail


def test_unreadable_and_missing_masks(tmp_path):
    (tmp_path / "m.bmp").write_bytes(b"BM not really")
    assert read_boxes(sample(tmp_path / "m.bmp")).reason == "mask_unreadable"
    assert read_boxes(sample(tmp_path / "none.bmp")).reason == "mask_unreadable"


def test_an_empty_structure_gives_no_region_and_known_regions_stay_first(tmp_path):
    Image.fromarray(np.full((120, 160), 255, dtype=np.uint8)).save(tmp_path / "m.png")
    known = (Region("fovea", Box(1, 1, 9, 9)),)
    assert read_boxes(sample(tmp_path / "m.png", regions=known)).regions == known


@given(st.lists(st.tuples(st.integers(0, 11), st.integers(0, 8)), max_size=6))
def test_the_bounding_box_is_the_smallest_that_holds_all_pixels(points):
    inside = np.zeros((9, 12), dtype=bool)
    for x, y in points:
        inside[y, x] = True
    box = bounding_box(inside)
    if not points:
        assert box is None
        return
    xs, ys = [p[0] for p in points], [p[1] for p in points]
    assert box == Box(min(xs), min(ys), max(xs) + 1, max(ys) + 1)
