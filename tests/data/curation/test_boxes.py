import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from lmod_train.core.types import OTHER, Box, Cut, Dropped, MaskFile, Outline, Region, Sample
from lmod_train.data.curation.boxes import box_of, coding_of, cut_to_box, read_boxes, values_in
from tests.data.curation.world import INVERTED, USUAL, mask_file, truth_of
from tests.tabled import tabled

CODINGS = (INVERTED, USUAL)


def sample(path, size=(160, 120), regions=()):
    return Sample("s", "k", "CFP", path, "g", "CC0", masks=(MaskFile(path, CODINGS),), size=size, regions=regions)


def found(sample):
    """Return the boxed sample, of which nothing must have been lost."""
    boxed, listed = read_boxes(sample)
    assert listed == ()
    return boxed


def lost(sample):
    """Return why a sample was left without regions; it must have kept none."""
    boxed, (why,) = read_boxes(sample)
    assert isinstance(why, Dropped) and boxed.regions == ()
    return why


def boxes(boxed):
    return {r.structure: r.box for r in boxed.regions}


def test_the_inverted_coding_gives_the_boxes_drawn(tmp_path):
    mask_file(tmp_path / "m.bmp", 7)
    disc, cup = truth_of(7)
    assert boxes(found(sample(tmp_path / "m.bmp"))) == {"optic disc": disc, "optic cup": cup}


@tabled("mode", ["L", "RGB", "P", "I;16"])
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
    assert boxes(found(sample(tmp_path / "m.png"))) == {
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
    assert boxes(found(sample(tmp_path / "m.png"))) == {"optic disc": Box(20, 10, 60, 50)}


def test_a_one_bit_mask_reads_as_one(tmp_path):
    pixels = np.zeros((120, 160), dtype=np.uint8)
    pixels[3:5, 7:9] = 255
    Image.fromarray(pixels).convert("1").save(tmp_path / "m.tif")
    assert boxes(found(sample(tmp_path / "m.tif"))) == {"optic disc": Box(7, 3, 9, 5)}


def test_the_border_decides_between_codings_that_both_cover():
    blank = np.zeros((5, 5), dtype=np.int64)
    assert coding_of(blank, CODINGS) is USUAL
    blank[1:4, 1:4] = 255
    assert coding_of(blank, CODINGS) is None  # 0 outside is no background of the inverted coding


@pytest.mark.parametrize(("background", "rim", "cup"), [(0, 1, 2), (255, 128, 0)])
def test_a_cup_without_rim_is_another_coding(tmp_path, background, rim, cup):
    """A mask of the disc or of the cup alone would give both structures one and the same box."""
    pixels = np.full((120, 160), background, dtype=np.uint8)
    pixels[10:50, 20:60] = cup
    Image.fromarray(pixels).save(tmp_path / "m.png")
    present = ", ".join(map(str, sorted((background, cup))))
    dropped = lost(sample(tmp_path / "m.png"))
    assert (dropped.reason, dropped.detail) == ("mask_coding_unknown", f"values present: {present}")
    pixels[10, 20] = rim
    Image.fromarray(pixels).save(tmp_path / "m.png")
    assert set(boxes(found(sample(tmp_path / "m.png")))) == {"optic disc", "optic cup"}
    pixels[10:50, 20:60] = rim
    Image.fromarray(pixels).save(tmp_path / "m.png")
    assert boxes(found(sample(tmp_path / "m.png"))) == {"optic disc": Box(20, 10, 60, 50)}


@pytest.mark.parametrize(
    ("pixels", "size", "reason", "detail"),
    [
        (np.full((120, 160), 5, dtype=np.uint8), (160, 120), "mask_coding_unknown", "values present: 5"),
        (np.full((120, 160), 255, dtype=np.uint8), (161, 120), "mask_size_differs", "mask 160x120, image 161x120"),
    ],
)
def test_a_mask_that_cannot_be_trusted_costs_the_regions(tmp_path, pixels, size, reason, detail):
    Image.fromarray(pixels).save(tmp_path / "m.png")
    dropped = lost(sample(tmp_path / "m.png", size, (Region("fovea", Box(1, 1, 9, 9)),)))
    assert (dropped.step, dropped.reason, dropped.detail) == ("boxes", reason, detail)
    assert dropped.file == str(tmp_path / "m.png")


def test_a_jpeg_mask_lists_its_values_and_a_coloured_one_its_colours(tmp_path):
    mask_file(tmp_path / "m.bmp", 3)
    Image.open(tmp_path / "m.bmp").save(tmp_path / "m.jpg", quality=40)
    dropped = lost(sample(tmp_path / "m.jpg"))
    assert dropped.reason == "mask_coding_unknown" and " more" in dropped.detail
    Image.new("RGB", (160, 120), (255, 0, 0)).save(tmp_path / "c.png")
    assert lost(sample(tmp_path / "c.png")).detail == "values present: none that are whole numbers"


def test_unreadable_and_missing_masks(tmp_path):
    (tmp_path / "m.bmp").write_bytes(b"BM not really")
    damaged = lost(sample(tmp_path / "m.bmp"))
    assert damaged.reason == "mask_unreadable" and " 0x" not in damaged.detail and "'m.bmp'" in damaged.detail
    assert lost(sample(tmp_path / "none.bmp")).reason == "mask_unreadable"


def test_an_empty_structure_gives_no_region_and_known_regions_stay_first(tmp_path):
    Image.fromarray(np.full((120, 160), 255, dtype=np.uint8)).save(tmp_path / "m.png")
    known = (Region("fovea", Box(1, 1, 9, 9)),)
    boxed, (told,) = read_boxes(sample(tmp_path / "m.png", regions=known))
    assert boxed.regions == known and told.reason == "mask_empty"


@given(st.lists(st.tuples(st.integers(0, 11), st.integers(0, 8)), max_size=6))
def test_the_bounding_box_is_the_smallest_that_holds_all_pixels(points):
    inside = np.zeros((9, 12), dtype=bool)
    for x, y in points:
        inside[y, x] = True
    cut = cut_to_box(inside)
    if not points:
        assert cut is None
        return
    xs, ys = [p[0] for p in points], [p[1] for p in points]
    assert cut[1] == Box(min(xs), min(ys), max(xs) + 1, max(ys) + 1)
    assert np.array_equal(cut[0], inside[min(ys) : max(ys) + 1, min(xs) : max(xs) + 1])


COLOURS = {
    "background": (0x000000,),
    "choroid": (0xFFFF00,),
    "retina": (0x00FF00,),
}


def test_colours_are_read_from_one_half_of_a_picture(tmp_path):
    pixels = np.zeros((20, 60, 3), dtype=np.uint8)
    pixels[:, :30] = 90  # the image
    pixels[5:9, 40:50] = (255, 255, 0)
    pixels[2:4, 33:58] = (0, 255, 0)
    Image.fromarray(pixels).save(tmp_path / "m.png")
    mask = MaskFile(tmp_path / "m.png", (COLOURS,), Cut(half="right"))
    half = Sample("s", "k", "OCT", tmp_path / "m.png", "g", "CC0", masks=(mask,), size=(30, 20))
    assert boxes(found(half)) == {"choroid": Box(10, 5, 20, 9), "retina": Box(3, 2, 28, 4)}
    pixels[15, 45] = (1, 255, 0)
    Image.fromarray(pixels).save(tmp_path / "m.png")
    assert lost(half).detail == "values present: #000000, #00ff00, #01ff00, #ffff00"


@pytest.mark.parametrize("mode", ["RGB", "L", "P"])
def test_white_is_no_blue_and_an_index_no_colour(tmp_path, mode):
    """0x0000FF and the grey 255 are the same number; a coding of colours is never read in greys or indices."""
    blue = {"background": (0x000000,), "choroid": (0xFFFF00,), "intraretinal cysts": (0x0000FF,)}
    pixels = np.zeros((20, 30, 3), dtype=np.uint8)
    pixels[5:9, 10:20] = 255
    image = Image.fromarray(pixels).convert(mode)
    image.save(tmp_path / "m.png")
    for background in ((0x000000,), OTHER):
        mask = MaskFile(tmp_path / "m.png", (blue | {"background": background},))
        sample = Sample("s", "k", "OCT", mask.path, "g", "CC0", masks=(mask,), size=(30, 20))
        assert lost(sample).reason == "mask_coding_unknown" if background else read_boxes(sample)[0].regions == ()
    pixels[5:9, 10:20] = (0, 0, 255)
    Image.fromarray(pixels).quantize(4).save(tmp_path / "m.png")
    assert boxes(found(sample)) == {"intraretinal cysts": Box(10, 5, 20, 9)}


def test_other_takes_what_no_name_has(tmp_path):
    pixels = np.zeros((20, 30, 3), dtype=np.uint8)
    pixels[5:9, 10:20, 0] = 255
    pixels[6, 12] = (254, 3, 9)
    Image.fromarray(pixels).save(tmp_path / "m.tif")
    ink = MaskFile(tmp_path / "m.tif", ({"background": (0,), "optic disc": OTHER},))
    assert boxes(found(Sample("s", "k", "CFP", ink.path, "g", "CC0", masks=(ink,), size=(30, 20)))) == {
        "optic disc": Box(10, 5, 20, 9)
    }
    behind = MaskFile(ink.path, ({"background": OTHER, "optic disc": (0xFF0000,)},))
    assert boxes(found(Sample("s", "k", "CFP", ink.path, "g", "CC0", masks=(behind,), size=(30, 20)))) == {
        "optic disc": Box(10, 5, 20, 9)
    }


def test_signed_codes_of_an_array(tmp_path):
    mask = np.zeros((20, 30), dtype=np.int16)
    mask[4:12, 6:18], mask[6:9, 8:12] = -1, -2
    np.savez(tmp_path / "a.npz", slo=np.zeros((20, 30), dtype=np.uint8), disc_cup_mask=mask)
    coding = {"background": (0,), "optic disc": (-1, -2), "optic cup": (-2,)}
    file = MaskFile(tmp_path / "a.npz", (coding,), Cut(arrays=("disc_cup", "disc_cup_mask")))
    sample = Sample("s", "k", "SLO", file.path, "g", "CC0", masks=(file,), size=(30, 20))
    assert boxes(found(sample)) == {"optic disc": Box(6, 4, 18, 12), "optic cup": Box(8, 6, 12, 9)}


def test_outlines_become_boxes_and_a_bad_one_costs_the_regions(tmp_path):
    whole = Outline("pupil", ((0.1, 0.5), (0.4, 0.75)), "side")
    polygon = Outline("iris", ((3.2, 4.0), (9.9, 5.0), (6.0, 11.0)))
    sample = Sample("s", "k", "LP", tmp_path / "x.jpg", "g", "CC0", outlines=(whole, polygon), size=(100, 40))
    assert boxes(found(sample)) == {"pupil": Box(10, 20, 40, 30), "iris": Box(3, 4, 10, 11)}
    for points in (
        ((1.0, 1.0),),
        ((float("nan"), 1.0), (2.0, 2.0)),
        ((-9.0, 0.0), (9.0, 9.0)),
        ((5.0, 5.0), (5.0, 9.0)),
    ):
        outlines = (polygon, Outline("pupil", points))
        assert lost(Sample("s", "k", "LP", tmp_path, "g", "CC0", outlines=outlines, size=(100, 40))).reason == (
            "outline_unusable"
        )
    assert box_of(Outline("eye", ((-1.0, 0.0), (101.0, 40.5))), (100, 40)) == Box(0, 0, 100, 40)


SPANS = {np.uint8: (0, 200), np.int32: (0, 2**24), np.int64: (-5, 9)}


@pytest.mark.parametrize(
    ("dtype", "span"),
    [
        *SPANS.items(),
        (np.int32, (0, 2**30)),
        *(
            pytest.param(dtype, span, marks=pytest.mark.slow)
            for dtype in SPANS
            for span in [(0, 200), (0, 2**24), (-5, 9), (0, 2**30)]
        ),
    ],
)
def test_values_are_those_that_occur(dtype, span):
    low, high = max(span[0], np.iinfo(dtype).min), min(span[1], np.iinfo(dtype).max)
    pixels = np.random.default_rng(3).integers(low, high, size=(1100, 1000)).astype(dtype)
    found = values_in(pixels)
    assert found.dtype == dtype
    np.testing.assert_array_equal(found, np.unique(pixels))
