"""Contact sheet: an overview of many images on one page."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from PIL import Image, ImageOps

from lmod_train.errors import BadArgument

_KINDS = {".jpg", ".jpeg", ".png", ".bmp"}


def contact_sheet(images: Path | Sequence[Path | Image.Image], out: Path, columns: int = 8, tile: int = 120) -> None:
    """Write a PNG with every image scaled into a square tile, row by row.

    Args:
        images: A folder, searched recursively in order of paths, or the images themselves.
        out: PNG file to write.
        columns: Tiles per row, from 1.
        tile: Side of a tile in pixels, from 1.

    Raises:
        BadArgument: There is no image, or a number is below 1.
    """
    if isinstance(images, Path):
        folder = images
        images = sorted(p for p in folder.rglob("*") if p.suffix.lower() in _KINDS and not p.name.startswith("."))
        if not images:
            raise BadArgument("images", str(folder), "a folder with images below it", "draw some phantoms first")
    if not images or columns < 1 or tile < 1:
        given = (len(images), columns, tile)
        raise BadArgument("(images, columns, tile)", given, "1 or more of each", "name at least one image")
    rows = -(-len(images) // columns)
    sheet = Image.new("RGB", (min(columns, len(images)) * tile, rows * tile))
    for place, image in enumerate(images):
        picture = Image.open(image) if isinstance(image, Path) else image
        small = ImageOps.pad(picture.convert("RGB"), (tile, tile))
        sheet.paste(small, (place % columns * tile, place // columns * tile))
    out.parent.mkdir(parents=True, exist_ok=True)
    sheet.save(out, format="PNG")
