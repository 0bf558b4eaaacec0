"""Open raw images whatever their coding, shrink them once, and write them so that the same pixels give the same bytes.

Curated images are JPEG, quality 95 without chroma subsampling: vessels and small red lesions are colour edges, which
subsampling smears.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from PIL import Image

from lmod_train.core.arrays import read_array
from lmod_train.core.cells import image_bytes
from lmod_train.core.files import make_folder, naming, write_in_place
from lmod_train.core.pixels import (
    UNREADABLE,
    SeveralPictures,
    jpeg_bytes,
    open_picture,
    orientation_of,
    too_thin,
    upright,
)
from lmod_train.core.types import Cut, Dropped, Page, Sample
from lmod_train.data.curation.guard import detail_of

QUALITY = 95

ROWS = 512
"""Of a large image that are worked on at a time."""

FORMAT = {"format": "JPEG", "quality": QUALITY, "subsampling": "4:4:4", "resampling": "Lanczos"}
"""What the manifest states about the curated images."""


_PNG = b"\x89PNG\r\n"

_BITS_PER_SAMPLE, _MAX_SAMPLE_VALUE = 258, 281  # tags of TIFF


@dataclass(frozen=True, slots=True)
class Opened:
    """A raw image as 8-bit RGB, upright.

    Attributes:
        image: The picture.
        sha256: Of its file, and of the page where it is a later one.
        bytes: Size of its file.
        orientation: EXIF orientation by which it was turned, 1 for none.
        most: Largest value of 16-bit grey whose file does not state how many bits are used; 0 for other images.
        bits: Bits that were taken for the full range of 16-bit grey; 0 for other images.
        faded: Whether 16-bit colours use less than a quarter of their range, which Pillow cuts to 8 bits.
    """

    image: Image.Image
    sha256: str
    bytes: int = 0
    orientation: int = 1
    most: int = 0
    bits: int = 0
    faded: bool = False


def cut_out(path: Path, data: bytes, cut: Cut) -> Image.Image | npt.NDArray[Any]:
    """Return the part of a file that holds the pixels: a picture in its own mode, or an array as it is stored.

    Args:
        path: The file; an array is read from it, `data` is then not looked at.
        data: Its bytes.
        cut: Which part.

    Raises:
        OSError: Or another of `UNREADABLE`.
    """
    if cut.arrays:
        return read_array(path, cut.arrays, pickled=cut.pickled)
    image = open_picture(data, page=cut.page)
    if not cut.half:
        return image
    middle = image.width // 2
    if middle < 1:
        raise ValueError(f"{image.width} pixels wide: there are no two halves")
    return image.crop((0, 0, middle, image.height) if cut.half == "left" else (middle, 0, image.width, image.height))


def open_image(sample: Sample, bits: int = 0) -> Opened | Dropped:
    """Return the raw image of a sample, or why it has none: unreadable, too thin, or several in one file.

    Args:
        sample: With an image of its own.
        bits: Bits that 16-bit greys of the source use, where their files do not state it; 0 if it is not known, and the
            full range is 16 bits (8 for an array of values up to 255).
    """
    try:
        data = image_bytes(sample.own_image, sample.cut)
        size = len(data)
        pixels, sha256 = cut_out(sample.own_image, data, sample.cut), _sha256_of(data, sample.cut.page)
        is_deep = _is_deep_colour(pixels, data)
        stated = _stated_bits(pixels, data)
        del data  # up to 200 MB, before what follows takes as much
        most = 0 if stated else _most(pixels)
        used = stated or ((bits or 16) if most else 0)
        orientation = orientation_of(pixels) if isinstance(pixels, Image.Image) else 1
        image = upright(pixels) if isinstance(pixels, Image.Image) else picture_of(pixels, wide=bits > 8)
        image = to_rgb(image, used or 16)
    except SeveralPictures as error:
        return Dropped.of(sample, "read", "several_pictures", str(error))
    except UNREADABLE as error:
        return Dropped.of(sample, "read", "image_unreadable", detail_of(error, sample.own_image))
    if thin := too_thin(image):
        return Dropped.of(sample, "read", "image_too_thin", thin)
    faded = is_deep and max(high for _, high in image.getextrema()) < 64  # type: ignore[misc]  # of RGB: three pairs
    return Opened(image, sha256, size, orientation, most, used, faded)


def _sha256_of(data: bytes, page: Page) -> str:
    """Return the SHA-256 of a file; of its later pages one of their own, as pages of a file are no copies."""
    digest = hashlib.sha256(data)
    digest.update(f"#p{page}".encode() if isinstance(page, int) and page > 1 else b"")
    return digest.hexdigest()


def used_bits(most: int) -> int:
    """Return the bits of the smallest usual range that holds all greys of a source: 8, 10, 12, 14 or 16.

    Example:
        >>> [used_bits(most) for most in (200, 1023, 4095, 4096, 65535)]
        [8, 10, 12, 14, 16]
    """
    return next(bits for bits in (8, 10, 12, 14, 16) if most < 1 << bits)


def _most(pixels: Image.Image | npt.NDArray[Any]) -> int:
    """Return the largest value of greys of more than 8 bits, at least 1; 0 for other images."""
    if isinstance(pixels, Image.Image):
        is_wide = pixels.mode.startswith("I")
        return max((1, *(int(np.asarray(part).max()) for _, part in _parts(pixels)))) if is_wide else 0
    is_wide = pixels.ndim == 2 and pixels.size > 0 and pixels.itemsize > 1 and pixels.dtype.kind in "iuf"
    return max(1, int(np.nan_to_num(pixels.max()))) if is_wide else 0


def _stated_bits(pixels: Image.Image | npt.NDArray[Any], data: bytes) -> int:
    """Return the bits that the file of 16-bit greys states to be used, 9 to 15; 0 if it states none.

    A TIFF has them in BitsPerSample or MaxSampleValue. In a PNG, ``sBIT`` is the depth before scaling to 16 bits, so
    that it counts only where pixels show that they were not scaled.
    """
    if not isinstance(pixels, Image.Image) or not pixels.mode.startswith("I"):
        return 0
    tags = getattr(pixels, "tag_v2", {})
    for tag in (_BITS_PER_SAMPLE, _MAX_SAMPLE_VALUE):
        value = tags.get(tag)
        stated = value[0] if isinstance(value, tuple) and value else value
        if isinstance(stated, int) and tag == _MAX_SAMPLE_VALUE:
            stated = stated.bit_length() if stated & (stated + 1) == 0 else 0
        if isinstance(stated, int) and 8 < stated < 16:
            return stated
    head = data[: data.find(b"IDAT")] if data.startswith(_PNG) else b""
    at = head.find(b"\0\0\0\x01sBIT")
    bits = head[at + 8] if at > 0 and len(head) > at + 8 else 0
    if not 8 < bits < 16 or _most(pixels) >= 1 << bits:
        return 0
    below = (1 << (16 - bits)) - 1
    return bits if any(bool((np.asarray(part) & below).any()) for _, part in _parts(pixels)) else 0


def _is_deep_colour(pixels: Image.Image | npt.NDArray[Any], data: bytes) -> bool:
    """Return whether a file has 16 bits a colour (or grey with transparency), of which Pillow reads the upper 8."""
    if not isinstance(pixels, Image.Image):
        return False
    bits = getattr(pixels, "tag_v2", {}).get(_BITS_PER_SAMPLE)
    deep_tiff = isinstance(bits, tuple) and len(bits) > 1 and bits[0] == 16
    return deep_tiff or (data.startswith(_PNG) and data[24:25] == b"\x10" and data[25:26] != b"\0")


def picture_of(array: npt.NDArray[Any], *, wide: bool = False) -> Image.Image:
    """Return an array (height, width) or (height, width, 3) of whole numbers as a picture.

    Args:
        array: The pixels.
        wide: Whether greys are 16 bit even if all are below 256.

    Raises:
        ValueError: Another shape, or numbers that are not 0 to 255 (16-bit greys stay 16 bit).

    Example:
        >>> picture_of(np.zeros((4, 6), dtype=np.uint8)).size
        (6, 4)
    """
    if array.ndim not in (2, 3) or 0 in array.shape or (array.ndim == 3 and array.shape[2] != 3):
        raise ValueError(f"array of shape {array.shape}, expected (height, width) or (height, width, 3)")
    if array.dtype.kind == "f" and np.isfinite(array).all() and (array == np.round(array)).all():
        array = array.astype(np.int64)  # whole numbers that were saved as floats
    if array.dtype.kind not in "iu" or array.min() < 0 or array.max() > (0xFFFF if array.ndim == 2 else 255):
        raise ValueError(f"array of {array.dtype} from {array.min()} to {array.max()}, expected whole numbers 0 to 255")
    if array.max() <= 255 and not (wide and array.ndim == 2 and array.itemsize > 1):
        return Image.fromarray(array.astype(np.uint8))
    return Image.fromarray(array.astype(np.uint16))


def to_rgb(image: Image.Image, bits: int = 16) -> Image.Image:
    """Return the image as 8-bit RGB.

    16-bit grey keeps its scale (the upper 8 of the bits used, no stretch: brightness stays comparable between images);
    transparent pixels become black, as the surround of a photograph is.

    Args:
        image: In any mode.
        bits: Bits that 16-bit grey uses, 8 to 16.

    Raises:
        ValueError: Floating-point pixels, or integers beyond 16 bits: they have no known scale.

    Example:
        >>> to_rgb(Image.new("I;16", (1, 1), 0x8001)).getpixel((0, 0))
        (128, 128, 128)
    """
    if image.mode == "F":
        raise ValueError("floating-point pixels have no known scale")
    if image.mode.startswith("I"):  # a 16-bit PNG opens as I or I;16, depending on Pillow's version
        return _upper_bits(image, bits)
    if image.has_transparency_data:
        return _over_black(image)
    return image if image.mode == "RGB" else image.convert("RGB")


def _upper_bits(image: Image.Image, bits: int) -> Image.Image:
    """Return the upper 8 of the bits used as grey; row by row, as each step makes a copy."""
    shown = Image.new("RGB", image.size)
    for top, part in _parts(image):
        grey = np.asarray(part)
        if grey.min() < 0 or grey.max() >= 1 << bits:
            raise ValueError(f"grey values {grey.min()} to {grey.max()} are not {bits} bit")
        shown.paste(Image.fromarray((grey >> (bits - 8)).astype(np.uint8)).convert("RGB"), (0, top))
    return shown


def _over_black(image: Image.Image) -> Image.Image:
    """Return a transparent image over black; row by row, as each step makes a copy of four bytes a pixel."""
    shown = Image.new("RGB", image.size)
    for top, part in _parts(image):
        black = Image.new("RGBA", part.size, (0, 0, 0, 255))
        shown.paste(Image.alpha_composite(black, part.convert("RGBA")).convert("RGB"), (0, top))
    return shown


def _parts(image: Image.Image) -> Iterator[tuple[int, Image.Image]]:
    """Yield (first row, part) of `ROWS` rows at a time."""
    for top in range(0, image.height, ROWS):
        yield top, image.crop((0, top, image.width, min(top + ROWS, image.height)))


def shrink(image: Image.Image, longest_side: int | None) -> tuple[Image.Image, float]:
    """Return the image with its longer side at most `longest_side` pixels, and curated pixels per original pixel.

    Never enlarges; None keeps the original.

    Example:
        >>> small, scale = shrink(Image.new("RGB", (2000, 1000)), 500)
        >>> small.size, scale
        ((500, 250), 0.25)
    """
    longer = max(image.size)
    if longest_side is None or longer <= longest_side:
        return image, 1.0
    scale = longest_side / longer
    width, height = (max(1, round(side * scale)) for side in image.size)
    return image.resize((width, height), Image.Resampling.LANCZOS), scale


def write_image(path: Path, image: Image.Image) -> str:
    """Write a JPEG of the pixels alone (`jpeg_bytes`); return the SHA-256 of its bytes.

    Nothing waits for the disk, and the file is written in place: what counts as done stands in the journal with its
    hash, and a start that goes on with an earlier one's work makes anew every image that a kill or a loss of power left
    otherwise. Bytes that stand there already are not cut off first: whoever writes this image writes the same bytes, so
    that a worker that is late, or dies over it, spoils nothing.
    """
    data = jpeg_bytes(image, QUALITY)
    try:
        _write(path, data)
    except FileNotFoundError:  # the first image of its folder
        make_folder(path.parent)
        _write(path, data)
    return hashlib.sha256(data).hexdigest()


def _write(path: Path, data: bytes) -> None:
    with naming(path), write_in_place(path) as file:
        file.write(data)
        file.truncate()
