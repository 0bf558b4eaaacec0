import io
import re
import struct
import subprocess
from pathlib import Path

import numpy as np
import pytest
from PIL import Image, ImageCms, ImageOps, PngImagePlugin
from PIL.TiffImagePlugin import ImageFileDirectory_v2

from lmod_train.core import pixels
from lmod_train.core.errors import ArtifactError
from lmod_train.core.pixels import (
    KINDS,
    SeveralPictures,
    blank,
    jpeg_bytes,
    open_picture,
    open_rgb,
    pad_square,
    picture_size,
    pictures_in,
    upright,
)
from tests.tabled import tabled

NAME = b"Ada Lovelace"


def noise(mode="RGB", size=(40, 30), seed=0):
    rng = np.random.default_rng(seed)
    return Image.fromarray(rng.integers(0, 256, (size[1], size[0], 3), dtype=np.uint8)).convert(mode)


def profile():
    made = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
    assert b"sRGB built-in".decode().encode("utf-16-be") in made or b"sRGB" in made
    return made + NAME


def exif():
    tags = Image.Exif()
    tags[0x010E], tags[0x013B], tags[0x8298] = (NAME.decode() + n for n in (" description", " artist", " rights"))
    return tags


def told(kind):
    """Return an image file of a format in which every place for words holds a name."""
    text = PngImagePlugin.PngInfo()
    text.add_text("Patient", NAME.decode())
    text.add_itxt("XML:com.adobe.xmp", f"<x>{NAME.decode()}</x>")
    text.add_text("Comment", NAME.decode(), zip=False)
    ways = {
        "JPEG": {"comment": NAME, "exif": exif(), "icc_profile": profile(), "xmp": b"<x>" + NAME + b"</x>"},
        "PNG": {"pnginfo": text, "exif": exif(), "icc_profile": profile()},
        "TIFF": {"tiffinfo": _tags(), "icc_profile": profile()},
        "BMP": {},
        "GIF": {"comment": NAME},
        "WEBP": {"exif": exif(), "icc_profile": profile(), "xmp": b"<x>" + NAME + b"</x>", "lossless": True},
    }
    file = io.BytesIO()
    seed = KINDS.index(kind)  # photographs of their own: copies of one would be taken for a family
    noise("P" if kind == "GIF" else "RGB", seed=seed).save(file, kind, **ways[kind])
    return file.getvalue()


def _tags():
    tags = ImageFileDirectory_v2()
    tags[270], tags[315], tags[700] = NAME.decode(), NAME.decode(), b"<x>" + NAME + b"</x>"
    return tags


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_but_pixels_is_written(kind):
    data = told(kind)
    assert kind == "BMP" or NAME in data or b"exif" in data.lower() or b"iCCP" in data
    image = open_picture(data)
    assert kind == "BMP" or image.info or kind == "TIFF"
    for written in (jpeg_bytes(upright(image).convert("RGB")), jpeg_bytes(image.convert("L")), blank(data)):
        assert NAME not in written and b"sRGB" not in written and b"Exif" not in written
        assert not ({"comment", "exif", "icc_profile", "xmp", "dpi"} & set(Image.open(io.BytesIO(written)).info))


def test_blanking_a_jpeg_keeps_its_pixels_and_bare_ones_their_bytes():
    data = told("JPEG")
    assert NAME in data
    bare = blank(data)
    assert NAME not in bare and blank(bare) == bare
    assert open_picture(bare).tobytes() == open_picture(data).tobytes()
    for image in (noise(), noise("L"), noise("CMYK")):
        for progressive in (False, True):
            file = io.BytesIO()
            image.save(file, "JPEG", progressive=progressive, comment=NAME, restart_marker_blocks=2)
            stripped = blank(file.getvalue() + NAME)  # and what stands behind the end
            assert NAME not in stripped
            assert open_picture(stripped).tobytes() == open_picture(file.getvalue()).tobytes()
    assert blank(jpeg_bytes(noise())) == jpeg_bytes(noise())


def test_a_comment_of_any_length_is_no_error():
    image = noise()
    image.info["comment"] = b"x" * 70_000
    with pytest.raises(ValueError, match="too long"):
        image.save(io.BytesIO(), "JPEG")  # Pillow's own way
    assert len(jpeg_bytes(image)) < 20_000
    assert image.info["comment"]  # the image given is left as it is


def test_the_pixels_are_pillows_own():
    file = io.BytesIO()
    noise().save(file, "JPEG", quality=95, subsampling=0)
    assert jpeg_bytes(noise()) == file.getvalue()


@pytest.mark.parametrize("kind", KINDS)
def test_upright_as_pillow_turns(kind):
    for turn in range(1, 9):
        tags = Image.Exif()
        tags[0x0112] = turn
        file = io.BytesIO()
        noise().save(file, kind, **({} if kind in ("BMP", "GIF") else {"exif": tags}))
        expected = ImageOps.exif_transpose(Image.open(io.BytesIO(file.getvalue())))
        got = upright(open_picture(file.getvalue()))
        assert (got.size, got.tobytes()) == (expected.size, expected.tobytes()), turn


def test_other_formats_are_not_opened_and_start_nothing(tmp_path, monkeypatch):
    for kind in ("EPS", "PPM", "PDF", "ICO", "TGA", "PCX"):
        file = io.BytesIO()
        noise().save(file, kind)
        monkeypatch.setattr(subprocess, "check_call", lambda *a, **k: pytest.fail("a program was started"))
        with pytest.raises(pixels.UNREADABLE, match="cannot identify"):
            open_picture(file.getvalue())


def test_size_by_the_header_alone(tmp_path):
    for kind in KINDS:
        noise().save(tmp_path / "a", kind)
        assert picture_size(tmp_path / "a") == (40, 30)


def directory(tags, order="<", big=False):
    """Return a TIFF or EXIF block whose entries all claim `n` bytes from its beginning."""
    head = {"<": b"II", ">": b"MM"}[order]
    if big:
        entries = b"".join(struct.pack(f"{order}HHQQ", tag, 1, n, 0) for tag, n in tags)
        return head + struct.pack(f"{order}HHHQQ", 43, 8, 0, 16, len(tags)) + entries + b"\0" * 8
    entries = b"".join(struct.pack(f"{order}HHII", tag, 1, n, 0) for tag, n in tags)
    return head + struct.pack(f"{order}HIH", 42, 8, len(tags)) + entries + b"\0" * 4


@pytest.mark.parametrize("order", "<>")
@pytest.mark.parametrize("big", [False, True])
def test_a_directory_that_claims_more_than_there_is_is_refused(order, big):
    block = directory([(1000 + n, 40_000) for n in range(3000)], order, big)
    with pytest.raises(ValueError, match=r"claims 120,000,000 bytes"):
        open_picture(block)
    if not big:
        file = io.BytesIO()
        noise().save(file, "PNG", exif=b"Exif\0\0" + block)
        with pytest.raises(ValueError, match="claims"):
            upright(open_picture(file.getvalue()))


def test_too_many_pixels_or_scans(monkeypatch):
    file = io.BytesIO()
    noise(size=(1000, 1000)).save(file, "JPEG", progressive=True)
    scan = re.search(rb"\xff\xda.*?(?=\xff[\xc4\xda\xd9])", file.getvalue(), flags=re.DOTALL)[0]
    with pytest.raises(ValueError, match="scans"):
        open_picture(file.getvalue()[:-2] + scan * 600 + b"\xff\xd9")
    monkeypatch.setattr(pixels, "MOST_PIXELS", 1000 * 1000 - 1)
    with pytest.raises(Image.DecompressionBombWarning, match="1000 x 1000 pixels"):
        open_picture(file.getvalue())


def test_the_error_about_scans_names_the_most_that_are_read(monkeypatch):
    file = io.BytesIO()
    noise(size=(40, 30)).save(file, "JPEG", progressive=True)
    whole = file.getvalue()
    scan = re.search(rb"\xff\xda.*?(?=\xff[\xc4\xda\xd9])", whole, flags=re.DOTALL)[0]

    def with_scans(count):
        return whole[:-2] + scan * (count - whole.count(b"\xff\xda")) + b"\xff\xd9"

    monkeypatch.setattr(pixels, "MOST_PIXELS", 2 * 40 * 30 + 7)  # ten times that is 20 times the picture
    assert open_picture(with_scans(20)).size == (40, 30)
    with pytest.raises(ValueError, match=r"^21 scans of 1,200 pixels, expected at most 20$"):
        open_picture(with_scans(21))


def test_every_image_of_the_package_is_opened_and_written_here():
    """Drawn eyes are written by the phantoms themselves, figures and maps by matplotlib."""
    package = Path(pixels.__file__).parent
    others = [f for f in package.rglob("*.py") if f != Path(pixels.__file__) and "phantom" not in f.parts]
    for file in others:
        text = file.read_text(encoding="utf-8")
        assert not re.search(r"\bImage\.open\((?![^\n]*formats=KINDS)", text), file
        if "PIL" in text:
            assert not re.search(r"\.save\(", text), file


@pytest.mark.parametrize(("size", "rows", "columns"), [((4, 2), (1, 3), (0, 4)), ((2, 4), (0, 4), (1, 3))])
def test_the_whole_image_stands_in_the_middle(size, rows, columns):
    square = np.asarray(pad_square(Image.new("RGB", size, (9, 9, 9)), (1, 2, 3)))
    expected = np.full((4, 4, 3), (1, 2, 3))
    expected[slice(*rows), slice(*columns)] = 9
    assert (square == expected).all()


def test_a_damaged_image_is_named(tmp_path):
    Image.new("RGB", (40, 40)).save(tmp_path / "a.png")
    whole = (tmp_path / "a.png").read_bytes()
    (tmp_path / "a.png").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(ArtifactError, match=r"a\.png.*cannot be read"):
        open_rgb(tmp_path / "a.png")


def test_grey_becomes_rgb(tmp_path):
    Image.new("L", (4, 4), 7).save(tmp_path / "a.png")
    assert open_rgb(tmp_path / "a.png").getpixel((0, 0)) == (7, 7, 7)


def paged(kind: str, shades: list[int], small: tuple[int, ...] = ()) -> bytes:
    """Return a file of several grey pictures; those numbered in `small` are smaller copies of a TIFF."""
    pictures = [Image.new("L", (16, 16), shade) for shade in shades]
    for n, picture in enumerate(pictures):
        picture.encoderinfo = {"tiffinfo": {254: int(n in small)}}  # type: ignore[attr-defined]
    held = io.BytesIO()
    lossless = {"lossless": True} if kind == "WEBP" else {}
    more = {"save_all": True, "append_images": pictures[1:]} if len(shades) > 1 else {}
    first = {"tiffinfo": {254: int(0 in small)}} if kind == "TIFF" else {}
    pictures[0].save(held, kind, **lossless, **more, **first)
    return held.getvalue()


@tabled("kind", ["TIFF", "GIF", "WEBP", "PNG", "MPO"])
@tabled("shades", [[40], [40, 120], [40, 120, 200], [10, 40, 90, 120, 200, 250]])
def test_of_several_pictures_that_is_read_which_is_named(kind: str, shades: list[int]):
    data, n = paged(kind, shades), 1 if kind == "MPO" else len(shades)
    assert pictures_in(data) == n
    if n == 1:
        assert open_picture(data).convert("L").getpixel((8, 8)) in range(shades[0] - 2, shades[0] + 3)
        assert open_picture(data, page=3).size == (16, 16)  # the option is about files of several
        return
    with pytest.raises(SeveralPictures, match=f"{n} pictures"):
        open_picture(data)
    with pytest.raises(SeveralPictures, match=f"no page {n + 1} in a file of {n}"):
        open_picture(data, page=n + 1)
    for page, shade in [*enumerate(shades, 1), ("middle", shades[(n - 1) // 2])]:
        assert open_picture(data, page=page).convert("L").getpixel((8, 8)) in range(shade - 2, shade + 3)  # type: ignore[arg-type]


@tabled("small, read", [((1, 2), 40), ((0,), 120), ((0, 1), 200), ((0, 1, 2), 40)])
def test_smaller_copies_in_a_tiff_are_no_pages(small: tuple[int, ...], read: int):
    data = paged("TIFF", [40, 120, 200], small)
    own = max(1, 3 - len(small))
    assert pictures_in(data) == own
    assert open_picture(data, page=1).getpixel((8, 8)) == read


def test_directories_in_a_circle_or_past_the_end_are_no_pages():
    data = bytearray(paged("TIFF", [40]))
    (at,) = struct.unpack_from("<I", data, 4)
    (count,) = struct.unpack_from("<H", data, at)
    for following in (at, 8, len(data) - 1, 2**32 - 1):
        struct.pack_into("<I", data, at + 2 + 12 * count, following)
        assert pictures_in(bytes(data)) == 1 and open_picture(bytes(data)).getpixel((8, 8)) == 40
