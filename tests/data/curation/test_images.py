import hashlib
import io
import zlib
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from PIL import Image

from lmod_train.core.types import Cut, Dropped, Sample
from lmod_train.data.curation import image_files as images
from lmod_train.data.curation import pipeline, prepare
from lmod_train.data.curation.image_files import open_image, shrink, to_rgb, write_image
from lmod_train.data.curation.pipeline import curate
from lmod_train.data.curation.workers import run
from tests.data.curation.world import Folders, Glaucoma, photograph, tree
from tests.tabled import tabled


def sample(path):
    return Sample("s", "k", "CFP", path, "g", "CC0")


def test_the_hash_is_of_the_raw_file(tmp_path):
    photograph(tmp_path / "a.png", 0)
    opened = open_image(sample(tmp_path / "a.png"))
    assert opened.sha256 == hashlib.sha256((tmp_path / "a.png").read_bytes()).hexdigest()
    assert (opened.image.mode, opened.image.size) == ("RGB", (160, 120))


def test_sixteen_bit_grey_keeps_its_scale(tmp_path):
    ramp = np.linspace(0, 65535, 64).astype(np.uint16).reshape(8, 8)
    Image.fromarray(ramp).save(tmp_path / "a.png")
    opened = open_image(sample(tmp_path / "a.png"))
    np.testing.assert_array_equal(np.asarray(opened.image)[..., 1], ramp // 256)


def grey(path, most, size=(16, 12), **stated):
    """Write a 16-bit ramp up to `most`, whose low bits are used."""
    path.parent.mkdir(parents=True, exist_ok=True)
    ramp = np.linspace(0, most, size[0] * size[1]).astype(np.uint16).reshape(size[::-1])
    Image.fromarray(ramp).save(path, **stated)
    return ramp


@tabled("bits", [8, 10, 12, 14, 16])
def test_the_bits_that_all_images_of_a_source_use_are_the_full_range(tmp_path, bits):
    low, high = (grey(tmp_path / "raw" / "normal" / f"{i}.png", top, size=(32, 24))
                 for i, top in enumerate(((1 << bits) * 2 // 3, (1 << bits) - 1)))  # fmt: skip
    made = curate([Folders(tmp_path / "raw")], [Glaucoma()], tmp_path / "out", workers=1, progress=False, balance=[])
    assert made["dropped"] == {} and made["sources"]["folders"]["grey_bits"] == bits
    for i, ramp in enumerate((low, high)):
        pixels = np.asarray(Image.open(tmp_path / "out" / "images" / "folders" / "normal" / f"{i}.jpg"), dtype=int)
        assert np.abs(pixels[..., 1] - (ramp >> (bits - 8))).max() <= 4, "one scale for the whole source"


def test_greys_below_a_quarter_of_the_range_of_their_source_are_listed(tmp_path):
    for i, most in enumerate((4095, 65535, 50000)):
        grey(tmp_path / "raw" / "normal" / f"{i}.png", most, size=(32, 24))
    deep = np.full((24, 32, 3), 15, dtype=np.uint8)
    Image.fromarray(deep).save(tmp_path / "raw" / "normal" / "eight.png")
    made = curate([Folders(tmp_path / "raw")], [Glaucoma()], tmp_path / "out", workers=1, progress=False, balance=[])
    assert made["dropped"] == {"folders": {"read": {"grey_range_unclear": 1}}}
    assert made["sources"]["folders"]["grey_bits"] == 16 and made["sources"]["folders"]["samples"] == 4


def test_bits_that_a_file_states_are_used(tmp_path):
    ramp = grey(tmp_path / "a.tif", 3000, tiffinfo={281: 4095})
    opened = open_image(sample(tmp_path / "a.tif"))
    np.testing.assert_array_equal(np.asarray(opened.image)[..., 0], ramp >> 4)
    assert (opened.bits, opened.most) == (12, 0)
    for name, values, bits in (("raw", ramp, 12), ("scaled", ramp << 4, 16), ("dark", (ramp >> 4) << 4, 16)):
        Image.fromarray(values).save(tmp_path / f"{name}.png")
        data = (tmp_path / f"{name}.png").read_bytes()
        chunk = b"sBIT\x0c"
        chunk = b"\0\0\0\x01" + chunk + zlib.crc32(chunk).to_bytes(4, "big")
        (tmp_path / f"{name}.png").write_bytes(data[:33] + chunk + data[33:])
        assert open_image(sample(tmp_path / f"{name}.png")).bits == bits, name


def test_a_restart_gives_the_same_greys(tmp_path, monkeypatch):
    for i, most in enumerate((900, 3000, 4095, 2000)):
        grey(tmp_path / "raw" / "normal" / f"{i}.png", most, size=(32, 24))
    settings = {"workers": 1, "progress": False, "balance": []}
    curate([Folders(tmp_path / "raw")], [Glaucoma()], tmp_path / "quiet", **settings)
    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        left = [*range(5)]
        written = prepare.write_image
        patched.setattr(prepare, "write_image", lambda *a: written(*a) if left.pop() > 2 else _stop())
        patched.setattr(pipeline, "run", partial(run, size=1))
        curate([Folders(tmp_path / "raw")], [Glaucoma()], tmp_path / "out", **settings)
    curate([Folders(tmp_path / "raw")], [Glaucoma()], tmp_path / "out", **settings)
    assert tree(tmp_path / "out") == tree(tmp_path / "quiet")


def _stop():
    raise KeyboardInterrupt


@tabled("size", [(400, 1), (1, 1), (3, 400), (300, 4)])
def test_a_picture_that_no_model_takes_is_listed(tmp_path, size):
    Image.new("RGB", size).save(tmp_path / "a.png")
    dropped = open_image(sample(tmp_path / "a.png"))
    assert dropped.reason == "image_too_thin" and f"{size[0]}x{size[1]}" in dropped.detail


def test_orientation_is_applied(tmp_path):
    image = Image.new("RGB", (30, 20))
    exif = image.getexif()
    exif[0x0112] = 6
    image.save(tmp_path / "a.jpg", exif=exif)
    assert open_image(sample(tmp_path / "a.jpg")).image.size == (20, 30)


@tabled("mode", ["L", "1", "P", "CMYK", "LA"])
def test_every_mode_becomes_rgb(mode):
    assert to_rgb(Image.new(mode, (3, 3))).mode == "RGB"


def test_transparent_pixels_become_black():
    assert to_rgb(Image.new("RGBA", (1, 1), (255, 200, 90, 0))).getpixel((0, 0)) == (0, 0, 0)


def _jpeg():
    buffer = io.BytesIO()
    Image.effect_noise((200, 200), 90).convert("RGB").save(buffer, "JPEG")
    return buffer.getvalue()


@tabled(
    "data",
    [b"", b"not an image", _jpeg()[:2000], b"\x89PNG\r\n\x1a\n" + b"\0" * 50],
)
def test_damaged_files_are_dropped_with_what_the_decoder_said(tmp_path, data):
    (tmp_path / "a.jpg").write_bytes(data)
    dropped = open_image(sample(tmp_path / "a.jpg"))
    assert isinstance(dropped, Dropped)
    assert (dropped.reason, dropped.step, dropped.file) == ("image_unreadable", "read", str(tmp_path / "a.jpg"))
    assert dropped.detail and str(tmp_path) not in dropped.detail


def test_a_file_of_several_pictures_is_dropped_with_their_number(tmp_path):
    first, *rest = (Image.new("L", (40, 40), shade) for shade in (10, 90, 170))
    first.save(tmp_path / "a.tif", save_all=True, append_images=rest)
    dropped = open_image(sample(tmp_path / "a.tif"))
    assert (dropped.reason, dropped.detail) == ("several_pictures", "3 pictures in one file, expected one")
    assert open_image(replace(sample(tmp_path / "a.tif"), cut=Cut(page=2))).image.getpixel((0, 0)) == (90, 90, 90)


def test_too_many_pixels_and_floats_and_missing_files_are_dropped(tmp_path, monkeypatch):
    photograph(tmp_path / "a.png", 0)
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 160 * 120 - 1)
    assert "DecompressionBomb" in open_image(sample(tmp_path / "a.png")).detail
    Image.new("F", (4, 4)).save(tmp_path / "f.tif")
    assert "floating-point" in open_image(sample(tmp_path / "f.tif")).detail
    assert open_image(sample(tmp_path / "none.png")).reason == "image_unreadable"


@tabled(
    ("size", "side", "expected", "scale"),
    [((2124, 2056), 1024, (1024, 991), 1024 / 2124), ((100, 50), 1024, (100, 50), 1.0), ((9, 4000), 40, (1, 40), 0.01)],
)
def test_shrinking_never_enlarges_and_keeps_a_pixel(size, side, expected, scale):
    small, got = shrink(Image.new("RGB", size), side)
    assert small.size == expected and got == pytest.approx(scale)
    assert shrink(Image.new("RGB", size), None)[0].size == size


def test_a_written_image_is_near_the_pixels_and_its_hash_is_of_the_file(tmp_path):
    photograph(tmp_path / "a.png", 5)
    image = Image.open(tmp_path / "a.png").convert("RGB")
    digest = write_image(tmp_path / "deep" / "b.jpg", image)
    assert digest == hashlib.sha256((tmp_path / "deep" / "b.jpg").read_bytes()).hexdigest()
    again = np.asarray(Image.open(tmp_path / "deep" / "b.jpg"), dtype=float)
    assert np.abs(again - np.asarray(image, dtype=float)).mean() < 1.5
    assert [f.name for f in (tmp_path / "deep").iterdir()] == ["b.jpg"]


def test_bytes_of_a_torn_image_are_written_over_and_a_longer_file_is_cut(tmp_path):
    photograph(tmp_path / "a.png", 5)
    image = Image.open(tmp_path / "a.png").convert("RGB")
    digest = write_image(tmp_path / "b.jpg", image)
    whole = (tmp_path / "b.jpg").read_bytes()
    for before in (whole[:100], b"x" * (2 * len(whole)), b""):
        (tmp_path / "b.jpg").write_bytes(before)
        assert write_image(tmp_path / "b.jpg", image) == digest
        assert (tmp_path / "b.jpg").read_bytes() == whole


def test_the_first_images_of_a_folder_are_written_by_two_workers_at_once(tmp_path, monkeypatch):
    write, first, second = images._write, tmp_path / "new" / "deep" / "a.jpg", tmp_path / "new" / "deep" / "b.jpg"

    def overtaken(path, data):
        try:
            write(path, data)
        except FileNotFoundError:  # the other worker finds no folder either, and is faster
            if path == first:
                write_image(second, Image.new("RGB", (8, 8), "blue"))
            raise

    monkeypatch.setattr(images, "_write", overtaken)
    digest = write_image(first, Image.new("RGB", (8, 8), "red"))
    assert digest == hashlib.sha256(first.read_bytes()).hexdigest()
    assert sorted(p.name for p in first.parent.iterdir()) == ["a.jpg", "b.jpg"]


def test_an_upright_photograph_is_the_decoders_own_pixels(tmp_path):
    photograph(tmp_path / "a.png", 3)
    for mode, name in (("RGB", "rgb.png"), ("RGBA", "rgba.png"), ("L", "grey.jpg"), ("CMYK", "cmyk.jpg")):
        Image.open(tmp_path / "a.png").convert(mode).save(tmp_path / name)
        expected = Image.open(tmp_path / name).convert("RGB")
        assert open_image(sample(tmp_path / name)).image.tobytes() == expected.tobytes()


@pytest.mark.parametrize("mode", ["RGBA", "LA"])
def test_a_transparent_image_lies_over_black_whatever_its_height(mode):
    size = (40, 1300)
    bands = np.random.default_rng(1).integers(0, 256, (size[1], size[0], len(mode)), dtype=np.uint8)
    image = Image.fromarray(bands, mode)
    whole = Image.alpha_composite(Image.new("RGBA", size, (0, 0, 0, 255)), image.convert("RGBA")).convert("RGB")
    assert to_rgb(image).tobytes() == whole.tobytes()
