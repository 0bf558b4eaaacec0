"""Images as data URLs."""

import base64
import io
from dataclasses import replace

import numpy as np
import pytest
from PIL import Image

from lmod_train.core.curated import Curated
from lmod_train.core.errors import ArtifactError, BadArgument
from lmod_train.models.backends.endpoint.image_urls import ImagePolicy, described, urls_of
from tests.tiny import hashed, record


def picture(folder, name, size=(60, 40), **options):
    pixels = np.random.default_rng(0).integers(0, 255, (size[1], size[0], 3), dtype=np.uint8)
    Image.fromarray(pixels).save(folder / name, **options)
    return folder / name


def url_of(file, **options):
    return ImagePolicy(**options).url(Curated(file.parent), file.name)


def sent(url):
    head, _, data = url.partition(",")
    content = base64.b64decode(data)
    return head, content, Image.open(io.BytesIO(content))


def test_a_jpeg_is_sent_as_it_is_and_a_png_with_its_pixels(tmp_path):
    jpeg, png = picture(tmp_path, "a.jpg", quality=90), picture(tmp_path, "b.png")
    head, content, _ = sent(url_of(jpeg))
    assert head == "data:image/jpeg;base64" and content == jpeg.read_bytes()
    head, _, image = sent(url_of(png))
    assert head == "data:image/png;base64"
    assert np.array_equal(np.asarray(image), np.asarray(Image.open(png)))


def test_what_stands_beside_the_pixels_is_not_sent(tmp_path):
    exif = Image.Exif()
    exif[0x010E] = "patient Li Wei"
    for file in (picture(tmp_path, "a.jpg", exif=exif), picture(tmp_path, "b.png", exif=exif)):
        assert b"Li Wei" in file.read_bytes()
        assert all(b"Li Wei" not in sent(url_of(file, format=f))[1] for f in ("as_is", "jpeg", "png"))


@pytest.mark.parametrize(("longest", "size"), [(0, (60, 40)), (60, (60, 40)), (30, (30, 20)), (1, (1, 1))])
def test_the_longer_side_is_shrunk_and_never_grown(tmp_path, longest, size):
    for name in ("a.jpg", "b.png"):
        head, _, image = sent(url_of(picture(tmp_path, name), longest_side=longest))
        assert image.size == size
        assert head == {"a.jpg": "data:image/jpeg;base64", "b.png": "data:image/png;base64"}[name]


@pytest.mark.parametrize("format", ["jpeg", "png"])
def test_a_format_of_choice(tmp_path, format):
    for name in ("a.jpg", "b.png"):
        assert sent(url_of(picture(tmp_path, name), format=format))[2].format == format.upper()


def test_each_image_is_read_once_and_a_missing_one_is_named(tmp_path):
    picture(tmp_path, "a.jpg")
    twice = [hashed(tmp_path, record(str(i), image=["a.jpg"])) for i in range(2)]
    assert list(urls_of(Curated(tmp_path), twice, ImagePolicy())) == ["a.jpg"]
    with pytest.raises(ArtifactError, match=r"no\.jpg"):
        urls_of(Curated(tmp_path), [record(image=["no.jpg"])], ImagePolicy())


def test_a_file_that_its_record_does_not_state_is_not_sent(tmp_path):
    picture(tmp_path, "a.jpg")
    asked = [hashed(tmp_path, record(image=["a.jpg"]))]
    picture(tmp_path, "a.jpg", size=(61, 40))
    with pytest.raises(ArtifactError, match="SHA-256"):
        urls_of(Curated(tmp_path), asked, ImagePolicy())
    unstated = [replace(one, image_sha256=()) for one in asked]
    assert list(urls_of(Curated(tmp_path), unstated, ImagePolicy())) == ["a.jpg"]


@pytest.mark.parametrize("options", [{"longest_side": -1}, {"quality": 0}, {"quality": 100}])
def test_a_policy_that_cannot_be_is_refused(options):
    with pytest.raises(BadArgument, match=next(iter(options))):
        ImagePolicy(**options)


def test_a_log_holds_the_hash_and_not_the_data(tmp_path):
    url = url_of(picture(tmp_path, "a.jpg"))
    assert len(described(url)) < 80 < len(url)
