import numpy as np
import pytest
from PIL import Image

from lmod_train.errors import ArtifactError
from lmod_train.models.pixels import open_rgb, pad_square


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
