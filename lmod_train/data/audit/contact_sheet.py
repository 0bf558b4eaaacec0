"""Images beside what a network sees of them, on one sheet."""

from __future__ import annotations

from collections.abc import Sequence

from PIL import Image, ImageDraw, ImageEnhance, ImageFont

from lmod_train.data.audit.view import View

HEIGHT, WIDEST, MARGIN, LINE = 360, 900, 12, 22
OUTLINE, PAPER, INK = (255, 200, 0), (255, 255, 255), (20, 20, 20)


def outlined(image: Image.Image, view: View) -> Image.Image:
    """Return an image with the parts that do not reach the network darkened, and the tiles outlined."""
    dark = ImageEnhance.Brightness(image).enhance(0.35)
    boxes = [
        (
            round(tile.left * image.width),
            round(tile.top * image.height),
            round(tile.right * image.width),
            round(tile.bottom * image.height),
        )
        for tile in view.tiles
    ]
    for box in boxes:
        dark.paste(image.crop(box), box[:2])
    pen = ImageDraw.Draw(dark)
    for left, top, right, bottom in boxes:
        pen.rectangle((left, top, right - 1, bottom - 1), outline=OUTLINE, width=max(2, image.width // 256))
    return dark


def caption(view: View) -> str:
    """Return a line on what a model sees of an image."""
    columns, rows = view.resolution
    stretched = "" if 0.97 < view.stretch < 1.03 else f", width stretched by {view.stretch:.2f}"
    tiles = "1 tile" if len(view.tiles) == 1 else f"{len(view.tiles)} tiles"
    return (
        f"{view.width} x {view.height}: {view.kept:.0%} kept, seen at {columns:.0f} x {rows:.0f}{stretched}, {tiles}, "
        f"{view.tokens} tokens"
    )


def contact_sheet(title: str, rows: Sequence[tuple[Image.Image, Image.Image, View]]) -> Image.Image:
    """Return a sheet with a line for each image: the image with the kept parts outlined, beside what the network sees.

    Args:
        title: Text above.
        rows: Image, picture of what the network sees, and the measurement; at least one.
    """
    pairs = [(_fitted(outlined(image, view)), _fitted(picture), caption(view)) for image, picture, view in rows]
    first = max(left.width for left, _, _ in pairs)
    width = 3 * MARGIN + first + max(right.width for _, right, _ in pairs)
    sheet = Image.new("RGB", (max(width, 640), MARGIN + LINE + len(pairs) * (HEIGHT + LINE + MARGIN)), PAPER)
    pen, font, top = ImageDraw.Draw(sheet), ImageFont.load_default(15), MARGIN
    pen.text((MARGIN, top), title, fill=INK, font=font)
    top += LINE
    for left, right, text in pairs:
        sheet.paste(left, (MARGIN, top))
        sheet.paste(right, (2 * MARGIN + first, top))
        pen.text((MARGIN, top + HEIGHT + 2), text, fill=INK, font=font)
        top += HEIGHT + LINE + MARGIN
    return sheet


def _fitted(picture: Image.Image) -> Image.Image:
    """Return a picture of the height of a line, or lower if it would be too wide."""
    scale = min(HEIGHT / picture.height, WIDEST / picture.width)
    return picture.resize((max(1, round(picture.width * scale)), max(1, round(picture.height * scale))))
