"""A contact sheet: many images on one page, each with its boxes and, beneath it, what it is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from PIL import Image, ImageDraw, ImageFont, ImageOps

from lmod_train.core.errors import BadArgument
from lmod_train.core.files import write_beside
from lmod_train.core.pixels import png_bytes
from lmod_train.core.types import Box

Colour = tuple[int, int, int]

COLOURS: tuple[Colour, ...] = (
    (86, 180, 233), (240, 228, 66), (0, 200, 140), (255, 140, 60), (255, 120, 200), (190, 160, 255),
    (140, 230, 90), (255, 90, 90), (120, 230, 230), (230, 190, 140), (200, 200, 255), (255, 255, 255),
)  # fmt: skip
"""Colours of the structures of an image, in order; all are bright on black and on an eye."""

PAPER, INK, GREY = (18, 20, 24), (245, 245, 245), (165, 170, 178)
FONT, LINE, MARGIN, STROKE = 15, 22, 10, 2
"""Heights of a letter and of a line, space around a tile, and thickness of a box, in pixels."""


@dataclass(frozen=True, slots=True)
class Tile:
    """An image of a contact sheet.

    Attributes:
        image: The picture, of any size.
        title: First line beneath it, e.g. source and modality.
        lines: Further lines; one that is too wide is cut off with an ellipsis.
        boxes: (structure, box in pixels of the picture); names stand beneath the lines in the colours of the boxes.
    """

    image: Image.Image
    title: str
    lines: tuple[str, ...] = ()
    boxes: tuple[tuple[str, Box], ...] = field(default_factory=tuple)


def contact_sheet(tiles: Sequence[Tile], out: Path, columns: int = 6, side: int = 260) -> None:
    """Write a PNG with every image scaled into a square, row by row in the order given, its boxes and words.

    All rows are as high as the one with most words. Pictures that are not square are padded, never stretched.

    Args:
        tiles: Images with their words and boxes.
        out: PNG file to write.
        columns: Tiles a row, from 1.
        side: Pixels a side of a picture, from 1.

    Raises:
        BadArgument: There is no tile, or a number is below 1.
    """
    if not tiles or columns < 1 or side < 1:
        given = (len(tiles), columns, side)
        raise BadArgument("(tiles, columns, side)", given, "1 or more of each", "name at least one image")
    captions = [list(_caption(tile, side)) for tile in tiles]
    height = side + LINE * max(1 + max((place[1] for place, _, _ in words), default=0) for words in captions)
    width, rows = side + 2 * MARGIN, -(-len(tiles) // columns)
    size = (min(columns, len(tiles)) * width, rows * (height + 2 * MARGIN))
    sheet = Image.new("RGB", size, PAPER)
    pen = ImageDraw.Draw(sheet)
    for place, (tile, caption) in enumerate(zip(tiles, captions, strict=True)):
        left, top = place % columns * width + MARGIN, place // columns * (height + 2 * MARGIN) + MARGIN
        sheet.paste(_pictured(tile, side), (left, top))
        for (x, line), words, colour in caption:
            pen.text((left + x, top + side + line * LINE + 3), words, fill=colour, font=_font())
    with write_beside(out) as part:
        part.write_bytes(png_bytes(sheet))


def fitted(size: tuple[int, int], side: int) -> tuple[float, int, int]:
    """Return by what an image of a size is scaled into a square, and where in it its left upper corner lies.

    Example:
        >>> fitted((40, 20), 20)
        (0.5, 0, 5)
    """
    scale = min(side / size[0], side / size[1])
    return scale, round((side - size[0] * scale) / 2), round((side - size[1] * scale) / 2)


def colours_of(tile: Tile) -> dict[str, Colour]:
    """Return the colour of each structure of a tile."""
    names = dict.fromkeys(name for name, _ in tile.boxes)
    return {name: COLOURS[i % len(COLOURS)] for i, name in enumerate(names)}


def _pictured(tile: Tile, side: int) -> Image.Image:
    """Return the image in a square with its boxes, larger ones first so that none hides another."""
    colours = colours_of(tile)
    picture = ImageOps.pad(tile.image.convert("RGB"), (side, side))
    pen = ImageDraw.Draw(picture)
    scale, left, top = fitted(tile.image.size, side)
    for structure, box in sorted(tile.boxes, key=lambda pair: -pair[1].area):
        x0, y0, x1, y1 = (round(v * scale) for v in (box.x0, box.y0, box.x1, box.y1))
        frame = (left + x0, top + y0, max(left + x0, left + x1 - 1), max(top + y0, top + y1 - 1))
        pen.rectangle(frame, outline=colours[structure], width=STROKE)
    return picture


def _caption(tile: Tile, side: int) -> Iterator[tuple[tuple[int, int], str, Colour]]:
    """Yield ((pixels from the left, line from 0), words, colour) beneath a tile; names of structures are wrapped."""
    yield (0, 0), _cut(tile.title, side), INK
    for number, line in enumerate(tile.lines, 1):
        yield (0, number), _cut(line, side), GREY
    x, line_number = 0, 1 + len(tile.lines)
    for structure, colour in colours_of(tile).items():
        words = _cut(structure, side)
        if x and x + _font().getlength(words) > side:
            x, line_number = 0, line_number + 1
        yield (x, line_number), words, colour
        x += round(_font().getlength(words)) + FONT


def _cut(words: str, width: int) -> str:
    """Return words that are at most so many pixels wide."""
    if _font().getlength(words) <= width:
        return words
    while words and _font().getlength(f"{words}…") > width:
        words = words[:-1]
    return f"{words}…"


def _font() -> ImageFont.FreeTypeFont | ImageFont.ImageFont:
    return ImageFont.load_default(size=FONT)
