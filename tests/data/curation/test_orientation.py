"""Boxes of turned photographs lie on what was annotated, or the photograph is listed."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from PIL import Image

from lmod_train.core.errors import BadArgument
from lmod_train.core.pixels import orientation_of, upright
from lmod_train.core.types import Box, Cut, MaskFile, Outline, Region, Sample
from lmod_train.data.curation.boxes import DEFAULT_RULE, BoxRule, read_boxes
from lmod_train.data.curation.image_files import open_image
from lmod_train.data.curation.orientation import turn
from tests.tabled import tabled

TURNED = range(2, 9)
BOX = Box(5, 3, 14, 9)
CODINGS = ({"background": (0,), "optic disc": (255,)},)


def tagged(image, orientation):
    """Return an image with an EXIF orientation, as `save` options."""
    exif = Image.Exif()
    exif[0x0112] = orientation
    return {"exif": exif}


def marked(size, box, colour):
    pixels = np.zeros((size[1], size[0], 3), dtype=np.uint8)
    pixels[box.y0 : box.y1, box.x0 : box.x1] = colour
    return Image.fromarray(pixels)


def shown(sample, rule=DEFAULT_RULE):
    """Return whether the box of a sample is where its image is bright, or why it has none."""
    opened = open_image(sample)
    boxed, listed = read_boxes(replace(sample, size=opened.image.size), opened.orientation, rule)
    if not boxed.regions:
        return listed[0].reason
    green = np.asarray(opened.image)[..., 1] > 127
    rows, columns = np.nonzero(green)
    truth = Box(int(columns.min()), int(rows.min()), int(columns.max()) + 1, int(rows.max()) + 1)
    return all(region.box == truth for region in boxed.regions)


@tabled("orientation", range(1, 9))
def test_a_box_is_turned_as_the_pixels_are(orientation):
    image = marked((30, 20), BOX, 255)
    image.info.update({"exif": tagged(image, orientation)["exif"].tobytes()})
    assert orientation_of(image) == orientation
    rows, columns = np.nonzero(np.asarray(upright(image))[..., 0])
    expected = Box(int(columns.min()), int(rows.min()), int(columns.max()) + 1, int(rows.max()) + 1)
    assert turn(BOX, orientation, (30, 20)) == expected


@pytest.fixture
def annotated(tmp_path):
    """Return a function that writes a turned photograph and annotations on its stored or upright pixels."""

    def write(orientation, size, drawn, kind, kept=1):
        image = marked(size, BOX, (250, 250, 250))
        image.save(tmp_path / "a.png", **tagged(image, orientation))
        image.info.clear()
        on_stored = drawn == "stored"
        frame = size if on_stored or orientation < 5 else size[::-1]
        box = BOX if on_stored else turn(BOX, orientation, size)
        mask = marked(frame, box, 255).convert("L")
        corners = ((box.x0, box.y0), (box.x1, box.y1))
        given = {"masks": (MaskFile(tmp_path / "m.png", CODINGS),)}
        if kind == "png":
            mask.save(tmp_path / "m.png", **tagged(mask, kept))
        elif kind == "npz":
            np.savez(tmp_path / "m.npz", mask=np.asarray(mask).astype(np.int64))
            given = {"masks": (MaskFile(tmp_path / "m.npz", CODINGS, Cut(arrays=("mask",))),)}
        elif kind == "stated":
            given = {"outlines": (Outline("optic disc", corners, drawn_on=frame),)}
        elif kind == "side":
            sides = tuple((x / frame[0], y / frame[1]) for x, y in corners)
            given = {"outlines": (Outline("optic disc", sides, "side", drawn_on=frame),)}
        elif kind == "bare":
            given = {"outlines": (Outline("optic disc", corners),)}
        else:
            given = {"regions": (Region("optic disc", box),)}
        return Sample("s", "a", "CFP", tmp_path / "a.png", "g", "CC0", **given)

    return write


@pytest.mark.parametrize("kind", ["png", "npz", "stated", "side", "bare", "known"])
def test_a_box_is_on_its_structure_or_the_photograph_is_listed(annotated, kind):
    for orientation, size, drawn in itertools.product(TURNED, [(30, 20), (24, 24)], ["stored", "upright"]):
        sample = annotated(orientation, size, drawn, kind)
        sizes_tell = kind not in ("bare", "known") and orientation > 4 and size[0] != size[1]
        assert shown(sample) is True if sizes_tell else shown(sample) == "orientation_unclear"
        assert shown(sample, BoxRule(turned=drawn)) is True, "the user's word holds where sizes do not tell"
        other = "upright" if drawn == "stored" else "stored"
        assert not sizes_tell or shown(sample, BoxRule(turned=other)) is True, "sizes win over it"


@pytest.mark.parametrize("orientation", TURNED)
def test_a_mask_of_the_same_orientation_is_turned_with_its_photograph(annotated, orientation):
    for size in ((30, 20), (24, 24)):
        assert shown(annotated(orientation, size, "stored", "png", kept=orientation)) is True


@tabled("orientation", TURNED)
def test_both_halves_of_a_file_are_turned_alike(tmp_path, orientation):
    picture = Image.new("RGB", (60, 20))
    picture.paste(marked((30, 20), BOX, (250, 250, 250)), (0, 0))
    picture.paste(marked((30, 20), BOX, (255, 255, 255)), (30, 0))
    picture.save(tmp_path / "a.png", **tagged(picture, orientation))
    mask = MaskFile(tmp_path / "a.png", CODINGS, Cut(half="right"))
    sample = Sample("s", "a", "OCT", tmp_path / "a.png", "g", "CC0", masks=(mask,), cut=Cut(half="left"))
    assert shown(sample) is True


def test_an_annotation_of_neither_size_is_listed(annotated):
    sample = annotated(6, (30, 20), "stored", "stated")
    resized = Outline("optic disc", sample.outlines[0].points, drawn_on=(60, 40))
    assert shown(replace(sample, outlines=(resized,))) == "outline_unusable"


def test_rules_without_sense_are_refused():
    for wrong in ({"turned": "left"}, {"specks": 1.0}, {"specks": -0.1}):
        with pytest.raises(BadArgument, match=next(iter(wrong))):
            BoxRule(**wrong)
