import pytest
from PIL import Image

from lmod_train.errors import BadArgument
from lmod_train.phantom.contact_sheet import contact_sheet

RED, GREEN = Image.new("RGB", (40, 40), (255, 0, 0)), Image.new("RGB", (40, 20), (0, 255, 0))


def test_tiles_lie_row_by_row_and_keep_their_shape(tmp_path):
    contact_sheet([RED, GREEN, RED], tmp_path / "deep" / "sheet.png", columns=2, tile=20)
    sheet = Image.open(tmp_path / "deep" / "sheet.png")
    assert sheet.size == (40, 40)
    assert [sheet.getpixel(p) for p in ((10, 10), (30, 10), (10, 30), (30, 30))] == [
        (255, 0, 0),
        (0, 255, 0),
        (255, 0, 0),
        (0, 0, 0),
    ]
    assert sheet.getpixel((30, 2)) == (0, 0, 0)  # the wide picture is padded, not stretched


def test_a_folder_is_searched_in_order_of_paths(tmp_path):
    (tmp_path / "b").mkdir()
    RED.save(tmp_path / "b" / "0.png")
    GREEN.save(tmp_path / "a.png")
    contact_sheet(tmp_path, tmp_path / "out" / "sheet.png", columns=5, tile=20)
    sheet = Image.open(tmp_path / "out" / "sheet.png")
    assert sheet.size == (40, 20) and sheet.getpixel((10, 10)) == (0, 255, 0)


@pytest.mark.parametrize("given", [{"images": []}, {"columns": 0}, {"tile": 0}])
def test_nothing_to_lay_out_is_an_error(tmp_path, given):
    with pytest.raises(BadArgument):
        contact_sheet(**{"images": [RED], "out": tmp_path / "x.png", **given})


def test_a_folder_without_images_is_an_error(tmp_path):
    with pytest.raises(BadArgument, match="a folder with images"):
        contact_sheet(tmp_path, tmp_path / "x.png")
