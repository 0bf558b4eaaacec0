"""A contact sheet shows what it is given: pictures whole and in order, boxes where they are, words that can be read."""

from __future__ import annotations

import numpy as np
import pytest
from PIL import Image, ImageDraw, ImageFont

from lmod_train.core.errors import BadArgument
from lmod_train.core.types import Box
from lmod_train.phantom.contact_sheet import (
    COLOURS,
    FONT,
    GREY,
    INK,
    LINE,
    MARGIN,
    PAPER,
    STROKE,
    Tile,
    colours_of,
    contact_sheet,
)

RED, GREEN = Image.new("RGB", (40, 40), (255, 0, 0)), Image.new("RGB", (40, 20), (0, 255, 0))
SIDE = 200


def written(words: str, colour: tuple[int, int, int]) -> np.ndarray:
    """Return the pixels of a line of words as the sheet's font draws them."""
    line = Image.new("RGB", (SIDE, LINE), PAPER)
    ImageDraw.Draw(line).text((0, 3), words, fill=colour, font=ImageFont.load_default(size=FONT))
    return np.asarray(line)


def line_below(sheet: Image.Image, number: int) -> np.ndarray:
    """Return a line beneath the first picture, counted from 0."""
    top = MARGIN + SIDE + number * LINE
    return np.asarray(sheet)[top : top + LINE, MARGIN : MARGIN + SIDE]


def drawn(tmp_path, *tiles: Tile, columns: int = 2, side: int = SIDE) -> Image.Image:
    contact_sheet(tiles, tmp_path / "deep" / "sheet.png", columns=columns, side=side)
    return Image.open(tmp_path / "deep" / "sheet.png")


def test_tiles_lie_row_by_row_and_keep_their_shape(tmp_path):
    sheet = drawn(tmp_path, Tile(RED, "a"), Tile(GREEN, "b"), Tile(RED, "c"), side=20)
    width, height = 20 + 2 * MARGIN, 20 + LINE + 2 * MARGIN
    assert sheet.size == (2 * width, 2 * height)
    corners = [(MARGIN, MARGIN), (width + MARGIN, MARGIN), (MARGIN, height + MARGIN), (width + MARGIN, height + MARGIN)]
    assert [sheet.getpixel((x + 10, y + 10)) for x, y in corners] == [(255, 0, 0), (0, 255, 0), (255, 0, 0), PAPER]
    assert sheet.getpixel((width + MARGIN + 10, MARGIN + 2)) == (0, 0, 0)  # the wide picture is padded, not stretched


@pytest.mark.parametrize(("size", "left", "top", "scale"), [((100, 100), 0, 0, 2), ((400, 200), 0, 50, 0.5)])
def test_boxes_lie_where_the_truth_says(tmp_path, size, left, top, scale):
    boxes = (("optic cup", Box(40, 42, 60, 62)), ("optic disc", Box(20, 30, 70, 80)))
    sheet = np.asarray(drawn(tmp_path, Tile(Image.new("RGB", size, (90, 40, 20)), "x", (), boxes)))
    for (_, box), colour in zip(boxes, COLOURS, strict=False):
        rows, columns = np.nonzero((sheet[: MARGIN + SIDE] == colour).all(axis=2))
        found = (columns.min(), rows.min(), columns.max() + 1, rows.max() + 1)
        true = (box.x0 * scale + left, box.y0 * scale + top, box.x1 * scale + left, box.y1 * scale + top)
        assert found == tuple(MARGIN + v for v in true)
        outside, inside = box.width * box.height * scale**2, (box.width * scale - 2 * STROKE) ** 2
        assert len(rows) == outside - inside, "a frame, and what it surrounds can be seen"


def test_names_stand_beneath_in_the_colours_of_their_boxes(tmp_path):
    boxes = (("iris", Box(0, 0, 9, 9)), ("pupil", Box(3, 3, 5, 5)), ("iris", Box(20, 20, 30, 30)))
    sheet = drawn(tmp_path, Tile(RED, "cau001 · LP", ("train/1", "cataract"), boxes))
    assert (line_below(sheet, 0) == written("cau001 · LP", INK)).all()
    assert (line_below(sheet, 1) == written("train/1", GREY)).all()
    assert (line_below(sheet, 2) == written("cataract", GREY)).all()
    iris = written("iris", COLOURS[0])
    reach = round(ImageFont.load_default(size=FONT).getlength("iris"))
    assert (line_below(sheet, 3)[:, :reach] == iris[:, :reach]).all()
    assert (line_below(sheet, 3) == COLOURS[1]).all(axis=2).any(), "the pupil is named once, in its colour"


@pytest.mark.parametrize("turned", [1, -1])
def test_the_frame_of_a_small_box_lies_over_that_of_a_larger_one_in_any_order(tmp_path, turned):
    boxes = [("lens", Box(0, 0, 40, 40)), ("iris", Box(0, 0, 20, 20)), ("pupil", Box(0, 0, 10, 10))][::turned]
    tile = Tile(RED, "a", (), tuple(boxes))
    sheet, colours = drawn(tmp_path, tile, columns=1), colours_of(tile)
    scale = SIDE / 40
    for side, structure in ((5, "pupil"), (15, "iris"), (30, "lens")):  # along the edge that the three share
        assert sheet.getpixel((MARGIN + round(side * scale), MARGIN)) == colours[structure]


def test_a_line_that_is_too_wide_is_cut_off_and_names_are_wrapped(tmp_path):
    names = [f"capsulorhexis forceps {i}" for i in range(3)]
    sheet = drawn(tmp_path, Tile(RED, "x" * 99, (), tuple((name, Box(0, 0, 9, 9)) for name in names)), columns=1)
    assert sheet.size == (SIDE + 2 * MARGIN, SIDE + 4 * LINE + 2 * MARGIN)
    assert not (line_below(sheet, 0) == written("x" * 99, INK)).all()
    assert (np.asarray(sheet)[:, -MARGIN:] == PAPER).all()
    for i, name in enumerate(names):
        assert (line_below(sheet, 1 + i) == written(name, COLOURS[i])).all()


@pytest.mark.parametrize("given", [{"tiles": []}, {"columns": 0}, {"side": 0}])
def test_nothing_to_lay_out_is_an_error(tmp_path, given):
    with pytest.raises(BadArgument):
        contact_sheet(**{"tiles": [Tile(RED, "a")], "out": tmp_path / "x.png", **given})
