"""Reading and writing of images: six formats are read, within limits, and images are written without metadata.

Pillow reads about forty formats, of which one starts another program (EPS), and writes back metadata it has read:
comments, colour profiles and texts.
"""

from __future__ import annotations

import io
import re
import struct
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from PIL import Image

from lmod_train.core.errors import CuratedDamaged
from lmod_train.core.raw import open_file, read_bytes
from lmod_train.core.types import Page

KINDS = ("JPEG", "PNG", "TIFF", "BMP", "GIF", "WEBP")
"""Formats that are read, independent of a file's suffix."""

MOST_PIXELS = 50_000_000
"""Maximum pixels of an image (200 MB in memory). Photographs of the sources have up to 12 million, of cameras 45.

Progressive JPEGs are limited to ten times as many, counted over all their scans; encoders write ten scans.
"""

UNREADABLE = (
    OSError,
    ValueError,
    SyntaxError,
    TypeError,
    ArithmeticError,
    LookupError,
    AttributeError,
    EOFError,
    RecursionError,
    MemoryError,
    struct.error,
    Image.DecompressionBombError,
    Image.DecompressionBombWarning,
)
"""Exceptions of decoders for damaged files; a missing file is an OSError too."""

_ORIENTATION = 0x0112  # tag of EXIF and TIFF
_TURNED = {
    2: Image.Transpose.FLIP_LEFT_RIGHT,
    3: Image.Transpose.ROTATE_180,
    4: Image.Transpose.FLIP_TOP_BOTTOM,
    5: Image.Transpose.TRANSPOSE,
    6: Image.Transpose.ROTATE_270,
    7: Image.Transpose.TRANSVERSE,
    8: Image.Transpose.ROTATE_90,
}
"""EXIF orientation -> transposition that makes the image upright."""


class SeveralPictures(ValueError):
    """A file has several pictures, and which one is meant is not stated, or it has fewer."""


def open_picture(file: Path | bytes, coarse: int = 0, page: Page = "") -> Image.Image:
    """Return the picture of an image file, decoded, in its own mode, the pixels as stored (see `upright`).

    Args:
        file: A path, or the file's bytes.
        coarse: Side in pixels of which a JPEG may be decoded in RGB, at least, to be quick; 0 for its own size.
        page: Which picture of a TIFF, GIF, WebP or PNG with several, from 1; a file of one is read whatever it says.

    Raises:
        SeveralPictures: The file has several, and `page` names none of them.
        OSError: Or another of `UNREADABLE`: the file is missing, damaged, truncated, not in `KINDS`, or exceeds a limit
            of pixels, scans or metadata.
    """
    data = file if isinstance(file, bytes) else read_bytes(file)
    with io.BytesIO(data) as stream:  # closing frees the bytes, which the image would keep
        image = _opened(data, stream, page)
        turned = _orientation_of_tiff(image)
        if coarse:
            image.draft("RGB", (coarse, coarse))
        image.load()
    return _turned_back(image, turned) if turned != 1 else image


_STATED = "orientation as stored"
"""Key of `Image.info` for a TIFF, of which Pillow turns the pixels and drops the orientation."""


def _orientation_of_tiff(image: Image.Image) -> int:
    stated = image.getexif().get(_ORIENTATION, 1) if image.format == "TIFF" else 1
    return int(stated) if stated in _TURNED else 1


def _turned_back(image: Image.Image, orientation: int) -> Image.Image:
    back = image.transpose(_TURNED[{6: 8, 8: 6}.get(orientation, orientation)])
    back.info[_STATED] = orientation
    return back


SHORTEST, STEEPEST = 4, 50
"""Shortest side of an image in pixels, and greatest ratio of its sides. The image processors of models fail beyond: a
side of 1 or 3 is taken for the colours, and Qwen's refuse a ratio above 200."""


def too_thin(image: Image.Image) -> str:
    """Return why no model can be shown an image of this size; empty if it can.

    Example:
        >>> too_thin(Image.new("L", (400, 1))), too_thin(Image.new("L", (64, 48)))
        ('400x1 pixels, expected sides of 4 or more, at most 50 to 1', '')
    """
    if min(image.size) >= SHORTEST and max(image.size) <= STEEPEST * min(image.size):
        return ""
    return f"{image.width}x{image.height} pixels, expected sides of {SHORTEST} or more, at most {STEEPEST} to 1"


def open_rgb(path: Path) -> Image.Image:
    """Return a curated image as RGB.

    Raises:
        ArtifactError: The image is missing or damaged.
    """
    try:
        image = open_picture(path)
        return image if image.mode == "RGB" else image.convert("RGB")  # converting to itself is a copy
    except UNREADABLE as error:
        raise CuratedDamaged(path, f"curated image cannot be read ({error})") from error


def picture_size(path: Path) -> tuple[int, int]:
    """Return width and height as stored, reading only the header; raises the errors of `open_picture`."""
    return picture_frame(path)[0]


def picture_frame(path: Path) -> tuple[tuple[int, int], int]:
    """Return width and height as stored, and the EXIF orientation; otherwise as `picture_size`."""
    with open_file(path) as file:
        if file.read(2) in _ORDERS:  # the header of a TIFF can be anywhere in the file
            data = read_bytes(path)
            opened = _opened(data, io.BytesIO(data))
            turned = _orientation_of_tiff(opened)
            return opened.size[::-1] if turned > 4 else opened.size, turned
        file.seek(0)
        with Image.open(file, formats=KINDS) as image:
            return image.size, orientation_of(image)


_ORDERS = {b"II": "<", b"MM": ">"}
"""First bytes of a TIFF file or EXIF block -> byte order for `struct`."""


def _opened(data: bytes, stream: io.BytesIO, page: Page = "") -> Image.Image:
    _check_directory(data)
    image = Image.open(stream, formats=KINDS)
    frames = _frames(image, data)
    if len(frames) > 1 and not page:
        raise SeveralPictures(f"{len(frames)} pictures in one file, expected one")
    number = (len(frames) + 1) // 2 if page == "middle" or len(frames) == 1 else int(page)
    if not 0 < number <= len(frames):
        raise SeveralPictures(f"no page {page} in a file of {len(frames)} pictures")
    if frame := frames[number - 1]:
        _check_directory(data, frame + 1)
        image.seek(frame)
    pixels, most = image.width * image.height, min(MOST_PIXELS, Image.MAX_IMAGE_PIXELS or MOST_PIXELS)
    if pixels > most:  # Pillow only warns, and warning filters affect other threads
        raise Image.DecompressionBombWarning(f"{image.width} x {image.height} pixels, expected at most {most:,}")
    scans = data.count(b"\xff\xda") if data.startswith(b"\xff\xd8") else 0
    if scans > 10 and scans * pixels > 10 * MOST_PIXELS:
        raise ValueError(f"{scans} scans of {pixels:,} pixels, expected at most {10 * MOST_PIXELS // pixels}")
    return image


def pictures_in(data: bytes) -> int:
    """Return the number of pictures in an image file; raises the errors of `open_picture`."""
    _check_directory(data)
    with io.BytesIO(data) as stream:
        return len(_frames(Image.open(stream, formats=KINDS), data))


def _frames(image: Image.Image, data: bytes) -> list[int]:
    """Return the numbers of the frames that are pictures of their own, from 0.

    Smaller copies and masks in a TIFF are none, nor is what a camera appends to a JPEG.
    """
    if image.format == "TIFF":
        own = [n for n, entries in enumerate(_directories(data)) if _is_picture(entries)]
        return own or [0]
    return list(range(getattr(image, "n_frames", 1))) if image.format in ("GIF", "WEBP", "PNG") else [0]


def upright(image: Image.Image) -> Image.Image:
    """Return the image turned by its EXIF orientation; the same object if it is upright.

    Raises:
        ValueError: Its EXIF block is invalid.
    """
    turned = turned_by(image, orientation_of(image))
    if turned is not image:
        turned.info.pop(_STATED, None)
    return turned


def turned_by(image: Image.Image, orientation: int) -> Image.Image:
    """Return the image turned by an EXIF orientation, 2 to 8; the same object by another one."""
    return image.transpose(_TURNED[orientation]) if orientation in _TURNED else image


def orientation_of(image: Image.Image) -> int:
    """Return the EXIF orientation of an image, 2 to 8; 1 if it is upright as stored, or states none.

    Raises:
        ValueError: Its EXIF block is invalid.

    Example:
        >>> orientation_of(Image.new("L", (2, 2)))
        1
    """
    if _STATED in image.info:
        return int(image.info[_STATED])
    exif = image.info.get("exif")
    if isinstance(exif, bytes):
        _check_directory(exif.removeprefix(b"Exif\0\0"))
    profile = image.info.get("Raw profile type exif")
    if isinstance(profile, str) and len(profile) > 1 << 17:
        raise ValueError(f"an EXIF profile of {len(profile):,} characters")
    stated = image.getexif().get(_ORIENTATION, 1)
    return int(stated) if stated in _TURNED else 1


def _check_directory(data: bytes, directories: int = 1) -> None:
    """Refuse a TIFF directory whose entries claim more bytes than the file has, which could fill the memory.

    Args:
        data: A file.
        directories: How many of its directories are checked.

    Raises:
        ValueError: The data is such a TIFF file or EXIF block; other data is accepted.
    """
    for entries in islice(_directories(data), directories):
        claimed = sum(entry.claimed for entry in entries)
        if claimed > 2 * len(data) + 2**16:
            raise ValueError(f"its directory claims {claimed:,} bytes in a file of {len(data):,}")


class _Entry(NamedTuple):
    """An entry in a directory of a TIFF: tag, bytes that it claims elsewhere in the file, and the value if small."""

    tag: int
    claimed: int
    value: int


_MOST_ENTRIES = 200_000
"""Entries of a TIFF, all its directories together; a volume of 1,000 pages has 20,000."""


def _directories(data: bytes) -> Iterator[list[_Entry]]:
    """Yield the entries of each directory of a TIFF or EXIF block, in their order; none for other data.

    Raises:
        ValueError: There are more than `_MOST_ENTRIES`.
    """
    order = _ORDERS.get(data[:2])
    if order is None or len(data) < 16 or struct.unpack_from(f"{order}H", data, 2)[0] not in (42, 43):
        return
    big = struct.unpack_from(f"{order}H", data, 2)[0] == 43
    head, entry, link, inside = ("Q", "HHQ8s", "Q", 8) if big else ("H", "HHI4s", "I", 4)
    (start,) = struct.unpack_from(order + link, data, 8 if big else 4)
    size, first = struct.calcsize(order + entry), struct.calcsize(order + head)
    seen: set[int] = set()
    left = _MOST_ENTRIES
    while start not in seen and 0 < start <= len(data) - first:
        seen.add(start)
        (count,) = struct.unpack_from(order + head, data, start)
        begin, end = start + first, start + first + count * size
        entries = []
        for at in range(begin, min(end, len(data) - size + 1), size):
            tag, kind, number, held = struct.unpack_from(order + entry, data, at)
            width = (0, 1, 1, 2, 4, 8, 1, 1, 2, 4, 8, 4, 8, 4, 0, 0, 8, 8, 8)[kind] if kind < 19 else 1
            claimed = number * width if number * width > inside else 0
            entries.append(_Entry(tag, claimed, struct.unpack_from(order + ("H" if kind == 3 else "I"), held)[0]))
        left -= len(entries)
        if left < 0:
            raise ValueError(f"its directories have more than {_MOST_ENTRIES:,} entries")
        yield entries
        start = struct.unpack_from(order + link, data, end)[0] if end <= len(data) - inside else 0


_WIDTH, _KIND, _KIND_BEFORE = 256, 254, 255
"""Tags of TIFF: ImageWidth, NewSubfileType, and SubfileType, which it replaced."""


def _is_picture(entries: list[_Entry]) -> bool:
    """Return whether a directory is a picture of full size, and no smaller copy or mask of another."""
    stated = {entry.tag: entry.value for entry in entries}
    return _WIDTH in stated and not stated.get(_KIND, 0) & 5 and stated.get(_KIND_BEFORE) != 2


def pad_square(image: Image.Image, fill: tuple[int, int, int]) -> Image.Image:
    """Return the image centred on a square of its longer side; a centre crop would remove 25 % of a 4:3 photograph.

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


def jpeg_bytes(image: Image.Image, quality: int = 95, subsampling: int = 0) -> bytes:
    """Return the image as a JPEG file without metadata: no comment, EXIF, colour profile or resolution.

    All image files of the package are written by this function and `png_bytes`. The same pixels give the same bytes.

    Args:
        image: RGB or L image; its metadata (`image.info`) is not written.
        quality: JPEG quality, 1 to 95.
        subsampling: Chroma subsampling; 0 for none (4:4:4).
    """
    bare = image.copy() if image.info else image
    bare.info = {}
    buffer = io.BytesIO()
    bare.save(buffer, "JPEG", quality=quality, subsampling=subsampling)
    return buffer.getvalue()


def png_bytes(image: Image.Image) -> bytes:
    """Return the image as a PNG file without metadata."""
    bare = image.copy() if image.info else image
    bare.info = {}
    buffer = io.BytesIO()
    bare.save(buffer, "PNG")
    return buffer.getvalue()


_KEPT = {*range(0xC0, 0xD0), 0xDA, 0xDB, 0xDD}
"""JPEG segments needed to decode the pixels: frames, Huffman and quantisation tables, scans, restarts."""

_MARKER = re.compile(rb"\xff+([^\x00\xff\xd0-\xd7])")


def blank(data: bytes) -> bytes:
    """Return an image file without metadata, its pixels as stored; a file without metadata is returned unchanged.

    Of a JPEG or PNG, what is not needed for its pixels is removed and the rest is kept byte for byte. An image of
    another format is written as PNG.

    Raises:
        OSError: Or another of `UNREADABLE`.

    Example:
        >>> plain = jpeg_bytes(Image.new("RGB", (8, 8)))
        >>> blank(plain) == plain
        True
    """
    if data.startswith(b"\xff\xd8"):
        kept = b"".join(_segments(data))
    elif data.startswith(_PNG):
        kept = _PNG + b"".join(_chunks(data))
    else:
        image = open_picture(data)
        kept = png_bytes(image if image.mode in ("L", "RGB") else image.convert("RGB"))
    return data if kept == data else kept


_PNG = b"\x89PNG\r\n\x1a\n"


def _chunks(data: bytes) -> Iterator[bytes]:
    """Yield the chunks of a PNG that its pixels need: header, palette, transparency, pixels and end."""
    at = len(_PNG)
    while at + 12 <= len(data):
        end = at + 12 + int(struct.unpack_from(">I", data, at)[0])
        kind = data[at + 4 : at + 8]
        if end > len(data):
            break
        if kind in (b"IHDR", b"PLTE", b"tRNS", b"IDAT", b"IEND"):
            yield data[at:end]
        if kind == b"IEND":
            return
        at = end
    raise OSError("a PNG without an end")


def _segments(data: bytes) -> Iterator[bytes]:
    """Yield the parts of a JPEG to keep: markers, the segments in `_KEPT`, scans, and a minimal JFIF header."""
    yield data[:2]
    at = 2
    while (found := _MARKER.match(data, at)) is not None:
        kind, body = found[1][0], found.end()
        if kind == 0xD9:
            yield b"\xff\xd9"
            return
        if body + 2 > len(data):
            break
        end = body + struct.unpack_from(">H", data, body)[0]
        if kind == 0xE0 and data[body + 2 : body + 7] == b"JFIF\0":
            yield b"\xff\xe0\x00\x10" + data[body + 2 : body + 14] + b"\0\0"  # without its thumbnail
        elif kind == 0xEE and data[body + 2 : body + 7] == b"Adobe":  # the colour space
            yield b"\xff\xee\x00\x0e" + data[body + 2 : body + 14]
        elif kind in _KEPT:
            yield b"\xff" + data[body - 1 : end]
        at = end
        if kind == 0xDA:
            after = _MARKER.search(data, end)
            at = after.start() if after else len(data)
            yield data[end:at]
    raise OSError("a JPEG without an end")
