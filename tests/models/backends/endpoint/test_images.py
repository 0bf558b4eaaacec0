"""Images as data URLs."""

import base64
import io

import numpy as np
import pytest
from PIL import Image

from lmod_train.core.errors import ArtifactError, BadArgument
from lmod_train.models.backends.endpoint.images import ImagePolicy, described, urls_of


def picture(folder, name, size=(60, 40), **options):
    pixels = np.random.default_rng(0).integers(0, 255, (size[1], size[0], 3), dtype=np.uint8)
    Image.fromarray(pixels).save(folder / name, **options)
    return folder / name


def sent(url):
    head, _, data = url.partition(",")
    content = base64.b64decode(data)
    return head, content, Image.open(io.BytesIO(content))


def test_a_jpeg_is_sent_as_it_is_and_a_png_with_its_pixels(tmp_path):
    jpeg, png = picture(tmp_path, "a.jpg", quality=90), picture(tmp_path, "b.png")
    head, content, _ = sent(ImagePolicy().url(jpeg))
    assert head == "data:image/jpeg;base64" and content == jpeg.read_bytes()
    head, _, image = sent(ImagePolicy().url(png))
    assert head == "data:image/png;base64"
    assert np.array_equal(np.asarray(image), np.asarray(Image.open(png)))


def test_what_stands_beside_the_pixels_is_not_sent(tmp_path):
    exif = Image.Exif()
    exif[0x010E] = "patient Li Wei"
    for file in (picture(tmp_path, "a.jpg", exif=exif), picture(tmp_path, "b.png", exif=exif)):
        assert b"Li Wei" in file.read_bytes()
        assert all(b"Li Wei" not in sent(ImagePolicy(format=f).url(file))[1] for f in ("as_is", "jpeg", "png"))


@pytest.mark.parametrize(("longest", "size"), [(0, (60, 40)), (60, (60, 40)), (30, (30, 20)), (1, (1, 1))])
def test_the_longer_side_is_shrunk_and_never_grown(tmp_path, longest, size):
    for name in ("a.jpg", "b.png"):
        head, _, image = sent(ImagePolicy(longest_side=longest).url(picture(tmp_path, name)))
        assert image.size == size
        assert head == {"a.jpg": "data:image/jpeg;base64", "b.png": "data:image/png;base64"}[name]


@pytest.mark.parametrize("format", ["jpeg", "png"])
def test_a_format_of_choice(tmp_path, format):
    for name in ("a.jpg", "b.png"):
        assert sent(ImagePolicy(format=format).url(picture(tmp_path, name)))[2].format == format.upper()


def test_each_image_is_read_once_and_a_missing_one_is_named(tmp_path):
    picture(tmp_path, "a.jpg")
    assert list(urls_of(tmp_path, ["a.jpg", "a.jpg"], ImagePolicy())) == ["a.jpg"]
    with pytest.raises(ArtifactError, match=r"no\.jpg"):
        urls_of(tmp_path, ["no.jpg"], ImagePolicy())


@pytest.mark.parametrize("options", [{"longest_side": -1}, {"quality": 0}, {"quality": 100}])
def test_a_policy_that_cannot_be_is_refused(options):
    with pytest.raises(BadArgument, match=next(iter(options))):
        ImagePolicy(**options)


def test_a_log_holds_the_hash_and_not_the_data(tmp_path):
    url = ImagePolicy().url(picture(tmp_path, "a.jpg"))
    assert len(described(url)) < 80 < len(url)
