"""From an image file to the square a tower takes, without losing retina at the edges."""

from __future__ import annotations

from pathlib import Path

from PIL import Image

from lmod_train.errors import CuratedDamaged
from lmod_train.pixels import UNREADABLE, open_picture


def open_rgb(path: Path) -> Image.Image:
    """Open a curated image as RGB.

    Raises:
        ArtifactError: It is missing or damaged.
    """
    try:
        image = open_picture(path)
        return image if image.mode == "RGB" else image.convert("RGB")  # converting to itself is a copy
    except UNREADABLE as error:
        raise CuratedDamaged(path, f"curated image cannot be read ({error})") from error


def pad_square(image: Image.Image, fill: tuple[int, int, int]) -> Image.Image:
    """Centre the image on a square of its longer side: a centre crop would cut 25 % off a 4:3 photograph.

    Example:
        >>> pad_square(Image.new("RGB", (40, 20)), (127, 127, 127)).size
        (40, 40)
    """
    side = max(image.size)
    if image.size == (side, side):
        return image
    square = Image.new("RGB", (side, side), fill)
    square.paste(image, ((side - image.width) // 2, (side - image.height) // 2))
    return square
