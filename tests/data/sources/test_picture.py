import pytest
from PIL import Image

from lmod_train.data.sources.picture import size_differs, size_of


@pytest.fixture
def photograph(tmp_path):
    file = tmp_path / "a.jpg"
    Image.new("RGB", (60, 40)).save(file)
    return file


def test_sizes_are_read_from_the_header_only(photograph):
    photograph.write_bytes(photograph.read_bytes()[:-20])  # the pixels are torn
    assert size_of(photograph) == (60, 40) and size_of(photograph.with_name("b.jpg")) is None


@pytest.mark.parametrize(
    ("stated", "difference"),
    [
        ((60, 40), ""),
        ((60.0, 40.0), ""),
        ((40, 60), "annotated at 40x60 pixels, but a.jpg is 60x40"),
        ((None, None), ""),
        (("60", True), ""),
        ((float("inf"), 40), ""),
        ((0, 40), ""),
        ((120, 80), "annotated at 120x80 pixels, but a.jpg is 60x40"),
        ((60, 41), "annotated at 60x41 pixels, but a.jpg is 60x40"),
    ],
)
def test_a_stated_size_is_compared_with_the_file(photograph, stated, difference):
    assert size_differs(photograph, *stated) == difference


@pytest.mark.parametrize("orientation", range(2, 9))
def test_a_turned_picture_may_be_annotated_as_stored_or_upright(photograph, orientation):
    exif = Image.Exif()
    exif[0x0112] = orientation
    for kind in ("jpg", "png", "tif"):
        file = photograph.with_suffix(f".{kind}")
        Image.new("RGB", (60, 40)).save(file, exif=exif)
        assert size_differs(file, 60, 40) == "" and size_of(file) == (60, 40)
        assert (size_differs(file, 40, 60) == "") == (orientation > 4)
    assert size_differs(photograph.with_name("torn.jpg"), 40, 60) == ""
