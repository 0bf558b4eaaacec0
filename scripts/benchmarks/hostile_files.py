"""Hostile files by kind, made to crash, slow down, exhaust or take over the program that reads them.

Each kind is a function that replaces the file at a path.
"""

from __future__ import annotations

import io
import json
import os
import pickle
import socket
import struct
import zipfile
import zlib
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image, PngImagePlugin

Harm = Callable[[Path], None]


def of_bytes(data: Callable[[], bytes]) -> Harm:
    """Return a function that replaces a file by these bytes."""
    made = cache(data)
    return instead(lambda path: path.write_bytes(made()))


def instead(make: Callable[[Path], Any]) -> Harm:
    """Return a function that replaces a file by something that is not a regular file."""

    def harm(path: Path) -> None:
        path.unlink()
        make(path)

    return harm


def listening(path: Path) -> None:
    """Make a socket; in another folder first, as its path must be short."""
    here = Path.cwd()
    os.chdir(path.parent)
    try:
        with socket.socket(socket.AF_UNIX) as made:
            made.bind(path.name)
    finally:
        os.chdir(here)


def sparse(path: Path) -> None:
    """Make a sparse file of one terabyte."""
    with path.open("wb") as file:
        file.truncate(10**12)


def chunk(kind: bytes, data: bytes) -> bytes:
    """Return a piece of a PNG file."""
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def png(width: int, height: int, *more: bytes) -> bytes:
    """Return a PNG file with a given size in its header and only a few zero bytes of pixels."""
    head = chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0))
    pixels = chunk(b"IDAT", zlib.compress(bytes(10**6)))
    return b"\x89PNG\r\n\x1a\n" + head + b"".join(more) + pixels + chunk(b"IEND", b"")


def saved(kind: str, size: tuple[int, int] = (64, 64), mode: str = "RGB", **options: Any) -> bytes:
    """Return an image file written by Pillow."""
    file = io.BytesIO()
    Image.new(mode, size, 99 if mode in ("L", "P") else None).save(file, kind, **options)
    return file.getvalue()


def directory(tags: int, claimed: int) -> bytes:
    """Return a TIFF file whose entries all overlap."""
    entries = b"".join(struct.pack("<HHII", 1000 + n, 1, claimed, 8) for n in range(tags))
    return b"II" + struct.pack("<HIH", 42, 8, tags) + entries + bytes(max(0, claimed - 12 * tags))


def scans(times: int) -> bytes:
    """Return a progressive JPEG that repeats its last scan."""
    image = saved("JPEG", (4000, 4000), progressive=True)
    last = image.rindex(b"\xff\xda")
    return image[:-2] + image[last:-2] * times + b"\xff\xd9"


def packed(members: dict[str, bytes]) -> bytes:
    """Return a zip archive."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return file.getvalue()


def npy(shape: tuple[int, ...], kind: str, data: bytes = b"") -> bytes:
    """Return the bytes of an npy file with a given shape in its header."""
    file = io.BytesIO()
    np.lib.format.write_array_header_1_0(file, {"descr": kind, "fortran_order": False, "shape": shape})
    return file.getvalue() + data


def scan_arrays(image: bytes) -> bytes:
    """Return an npz file with the arrays of a laser scan; the image array has these bytes."""
    return packed({"slo_fundus.npy": image, "disc_cup_mask.npy": npy((8, 8), "|i1", bytes(64))})


def workbook(rows: str, padded: int = 0) -> bytes:
    """Return an xlsx file whose sheet has these rows in XML."""
    from openpyxl import Workbook

    file = io.BytesIO()
    Workbook().save(file)
    with zipfile.ZipFile(file) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    name = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    sheet = f'<worksheet xmlns="{name}"><sheetData>{rows}</sheetData></worksheet>'
    return packed(parts | {"xl/worksheets/sheet1.xml": sheet.encode() + b" " * padded})


def texts(times: int) -> PngImagePlugin.PngInfo:
    """Return text chunks of a PNG file that decompress to a megabyte each."""
    made = PngImagePlugin.PngInfo()
    for number in range(times):
        made.add_text(f"t{number}", "x" * 10**6, zip=True)
    return made


NO_FILES: dict[str, Harm] = {
    "pipe": instead(os.mkfifo),
    "socket": instead(listening),
    "folder": instead(Path.mkdir),
    "link to /dev/zero": instead(lambda path: path.symlink_to("/dev/zero")),
    "link to itself": instead(lambda path: path.symlink_to(path.name)),
    "a terabyte of nothing": instead(sparse),
}
NOISE = np.random.default_rng(0)
IMAGES: dict[str, Harm] = {
    **NO_FILES,
    "PNG of 100,000 x 100,000": of_bytes(lambda: png(100_000, 100_000)),
    "PNG of 7,000 x 7,100": of_bytes(lambda: saved("PNG", (7000, 7100))),
    "PNG of 200 packed texts": of_bytes(lambda: saved("PNG", pnginfo=texts(200))),
    "PNG, EXIF over itself": of_bytes(lambda: saved("PNG", exif=b"Exif\0\0" + directory(3000, 40_000))),
    "PNG of 100,000 pieces": of_bytes(lambda: png(8, 8, *[chunk(b"tIME", bytes(7))] * 100_000)),
    "TIFF over itself": of_bytes(lambda: directory(60_000, 1_000_000)),
    "TIFF of 30,000 x 30,000": of_bytes(lambda: saved("TIFF", (30_000, 30_000), "1", compression="group4")),
    "JPEG of 2,000 scans": of_bytes(lambda: scans(2000)),
    "JPEG of 60 scans": of_bytes(lambda: scans(60)),
    "JPEG of 30 scans": of_bytes(lambda: scans(20)),
    "JPEG of 65,500 x 65,500": of_bytes(lambda: saved("JPEG")[:].replace(b"\0\x40\0\x40", b"\xff\xdc\xff\xdc", 1)),
    "GIF of 65,535 x 65,535": of_bytes(lambda: b"GIF89a\xff\xff\xff\xff" + saved("GIF", mode="P")[10:]),
    "GIF, comment of 70,000": of_bytes(lambda: saved("GIF", mode="P", comment=b"x" * 70_000)),
    "BMP of 2^31 pixels": of_bytes(lambda: saved("BMP")[:18] + struct.pack("<ii", 2**31 - 1, 2**31 - 1) + bytes(999)),
    "WebP of 16,383 x 16,383": of_bytes(lambda: saved("WEBP", (16_383, 16_383), "RGB", lossless=True, method=0)),
    "EPS": of_bytes(lambda: b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 99 99\n(/etc/passwd) run showpage\n"),
    "PPM": of_bytes(lambda: saved("PPM")),
    "noise": of_bytes(lambda: NOISE.bytes(5000)),
    "JPEG cut short": of_bytes(lambda: saved("JPEG", (500, 500))[:900]),
    "no bytes": of_bytes(lambda: b""),
}
MASKS = {k: v for k, v in IMAGES.items() if k not in ("no bytes", "WebP of 16,383 x 16,383")} | {
    "mask of 16 million colours": of_bytes(lambda: colours()),
}
ARRAYS: dict[str, Harm] = {
    **NO_FILES,
    "npz that claims 10^12 bytes": of_bytes(lambda: scan_arrays(npy((10**6, 10**6), "|u1", bytes(64)))),
    "npz of packed zeros": of_bytes(lambda: scan_arrays(npy((10**4, 3 * 10**4), "|u1", bytes(3 * 10**8)))),
    "npz of 50,000 members": of_bytes(lambda: packed({f"{n}.npy": b"" for n in range(50_000)})),
    "npz, pickled constructor": of_bytes(lambda: scan_arrays(npy((), "|O", pickle.dumps(Constructed())))),
    "npz, pickled command": of_bytes(lambda: scan_arrays(npy((), "|O", pickle.dumps(Command())))),
    "npz, a memo of 16 GB": of_bytes(lambda: scan_arrays(npy((), "|O", b"\x80\x04Nr\xff\xff\xff\x7f."))),
    "npz of dates": of_bytes(lambda: scan_arrays(npy((8, 8), "<M8[s]", bytes(512)))),
    "npz of noise": of_bytes(lambda: b"PK\x03\x04" + NOISE.bytes(3000)),
}
NOTES: dict[str, Harm] = {
    **NO_FILES,
    "100,000 lists in each other": of_bytes(lambda: b"[" * 100_000),
    "60 MB of lists": of_bytes(lambda: b"[" + b"[]," * 20_000_000 + b"[]]"),
    "number of 4,000 digits": of_bytes(lambda: coordinates("9" * 4000)),
    "number of 5,000 digits": of_bytes(lambda: coordinates("9" * 5000)),
    "not a number": of_bytes(lambda: coordinates("NaN")),
    "half a letter": of_bytes(lambda: coordinates('"\\ud800"')),
    "no UTF-8": of_bytes(lambda: b'{"shapes": "\x81\x8d\x8f\x90\x9d"}'),
}
LINES = {
    **NO_FILES,
    "number of 4,000 digits": of_bytes(lambda: b"0 0.5 " + b"9" * 4000 + b" 0.1 0.1\n"),
    "class of 5,000 digits": of_bytes(lambda: b"9" * 5000 + b" 0.5 0.5 0.1 0.1\n"),
    "not a number": of_bytes(lambda: b"0 nan 0.5 0.1 0.1\n"),
    "a million lines": of_bytes(lambda: b"x\n" * 1_000_000),
}
HEAD = '<row r="1"><c r="A1" t="inlineStr"><is><t>ImgName</t></is></c></row>'
CELL = '<c r="{0}{1}" t="inlineStr"><is><t>x</t></is></c>'
SHEETS: dict[str, Harm] = {
    **NO_FILES,
    "row 99,999,999,999": of_bytes(lambda: workbook(HEAD + '<row r="99999999999"><c r="A99999999999"/></row>')),
    "column ZZZ in every row": of_bytes(
        lambda: workbook(HEAD + "".join(f'<row r="{n}">{CELL.format("ZZZ", n)}</row>' for n in range(2, 3000)))
    ),
    "blanks packed a thousandfold": of_bytes(lambda: workbook(HEAD, 300_000_000)),
    "zip of 50,000 members": of_bytes(lambda: packed({f"{n}.xml": b"" for n in range(50_000)})),
    "quotation marks": of_bytes(lambda: b'ImgName,Label\n"x' * 100_000),
    "100,000 columns": of_bytes(lambda: b",".join(b"c%d" % n for n in range(100_000)) + b"\n1\n"),
    "a million lines": of_bytes(lambda: b"ImgName,Label\n" + b"a,1\n" * 1_000_000),
    "lists in YAML": of_bytes(lambda: b"names: " + b"[" * 50_000),
    "aliases in YAML": of_bytes(lambda: b"a: &a [x,x,x]\nb: &b [*a,*a,*a]\nnames: &c [*b,*b,*b,*b]\n"),
    "class of 5,000 digits": of_bytes(lambda: b"names:\n  '" + b"9" * 5000 + b"': cup\n"),
    "100,000 lists in each other": NOTES["100,000 lists in each other"],
    "60 MB of lists": NOTES["60 MB of lists"],
    "ids of 4,000 digits": of_bytes(
        lambda: b'{"images": [{"id": %s, "file_name": "a"}], "annotations": [], "categories": []}' % (b"9" * 4000)
    ),
}
HARMLESS = {
    "PNG of 7,000 x 7,100",
    "PNG of 100,000 pieces",
    "GIF, comment of 70,000",
    "JPEG of 30 scans",
}
"""Kinds that are unusual but valid images; they are curated unless something else is wrong (a mask of another size)."""


class Constructed:
    """Pickled as a call of numpy's constructor over an address."""

    def __reduce__(self) -> tuple[Any, ...]:
        return np.ndarray, ((2**28,), "O", b"A" * 2**4)


class Command:
    """Pickled as a command."""

    def __reduce__(self) -> tuple[Any, ...]:
        return os.system, ("touch it-ran",)


def colours() -> bytes:
    """Return a mask of noise in three colours."""
    file = io.BytesIO()
    Image.fromarray(NOISE.integers(0, 256, (4000, 4000, 3), dtype=np.uint8)).save(file, "BMP")
    return file.getvalue()


def coordinates(number: str) -> bytes:
    """Return an annotation in the format of LabelMe, Supervisely and COCO with one invalid number."""
    points = [[1, 2], ["NUMBER", 4], [5, 6]]
    note = {
        "shapes": [{"label": "disc", "points": points, "shape_type": "polygon"}],
        "objects": [{"classTitle": "pupil", "points": {"exterior": points}}],
    }
    return json.dumps(note).replace('"NUMBER"', number).encode()
