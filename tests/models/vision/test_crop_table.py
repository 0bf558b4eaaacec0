"""The table of crops: equal to direct cutting, found again, cut again after any change, safe for two processes."""

import pickle
from dataclasses import replace

import numpy as np
import pytest
from PIL import Image

from lmod_train.core.curated import Curated
from lmod_train.core.errors import ArtifactError, BadArgument
from lmod_train.core.types import Box, Region
from lmod_train.models.vision import crop_table as module
from lmod_train.models.vision.crop_table import Crop, crop_table, crops_of, cut, cut_all
from tests import forks
from tests.tiny import record

CROPS = [Crop("a.png", "1" * 64, (2, 3, 12, 9)), Crop("a.png", "1" * 64), Crop("b.png", "2" * 64, (0, 0, 5, 5))]


@pytest.fixture
def folder(tmp_path):
    noise = np.random.default_rng(0)
    for name in "ab":
        Image.fromarray(noise.integers(0, 255, (20, 30, 3), dtype=np.uint8)).save(tmp_path / f"{name}.png")
    return tmp_path


def by_hand(folder, crop, side=8):
    """The same crop through PIL alone."""
    picture = Image.open(folder / crop.image)
    if not crop.box:
        square = Image.new("RGB", (30, 30))
        square.paste(picture, (0, 5))
        return np.array(square.resize((side, side), Image.Resampling.BILINEAR))
    return np.array(picture.crop(crop.box).resize((side, side), Image.Resampling.BILINEAR))


def files(folder):
    return sorted((folder / "cache").rglob("*.npy"))


@pytest.mark.parametrize("place", ["disk", "memory"])
def test_rows_are_the_crops_whatever_the_order(folder, place):
    table = crop_table([*CROPS[::-1], CROPS[1]], folder, 8, place=place)
    assert len(table) == 3 and Crop("b.png", "2" * 64) not in table
    wanted = [CROPS[2], CROPS[0], CROPS[0], CROPS[1]]
    assert np.array_equal(table.take(wanted), np.stack([by_hand(folder, c) for c in wanted]))
    assert len(files(folder)) == (place == "disk")


def test_a_table_is_found_again_and_not_cut_again(folder, monkeypatch):
    first = crop_table(CROPS, folder, 8)
    stamp = files(folder)[0].stat().st_mtime_ns
    monkeypatch.setattr(module, "cut", None)
    again = crop_table(CROPS[::-1], folder, 8)
    assert np.array_equal(again.take(CROPS), first.take(CROPS))
    assert [f.stat().st_mtime_ns for f in files(folder)] == [stamp]


def test_whatever_differs_is_another_table(folder):
    crop_table(CROPS, folder, 8)
    others = [
        ([CROPS[0]._replace(box=(2, 3, 12, 10)), *CROPS[1:]], 8, "bilinear"),
        ([CROPS[0]._replace(sha256="3" * 64), *CROPS[1:]], 8, "bilinear"),
        (CROPS[:2], 8, "bilinear"),
        (CROPS, 12, "bilinear"),
        (CROPS, 8, "bicubic"),
    ]
    for count, (crops, side, resampling) in enumerate(others, 2):
        crop_table(crops, folder, side, resampling)
        assert len(files(folder)) == count


def test_a_picture_that_changed_is_cut_again(folder):
    crop_table(CROPS, folder, 8)
    Image.new("RGB", (30, 20), "white").save(folder / "a.png")
    assert crop_table(CROPS, folder, 8).take(CROPS[:1]).min() == 255


@pytest.mark.parametrize("damage", [b"", b"no array", None])
def test_a_damaged_table_is_cut_again(folder, damage):
    expected = crop_table(CROPS, folder, 8).take(CROPS)
    file = files(folder)[0]
    file.write_bytes(file.read_bytes()[:-10] if damage is None else damage)
    assert np.array_equal(crop_table(CROPS, folder, 8).take(CROPS), expected)


def test_half_a_table_is_never_left_under_its_name(folder):
    (folder / "b.png").write_bytes(b"no picture")
    with pytest.raises(ArtifactError, match="curate into a new folder"):
        crop_table(CROPS, folder, 8)
    assert not [f for f in (folder / "cache").rglob("*") if f.is_file()]
    with pytest.raises(ArtifactError, match="curate into a new folder"):
        crop_table([Crop("c.png", "")], folder, 8)


def test_a_folder_that_cannot_be_written_to_is_an_error(folder):
    (folder / "cache").write_text("a file where the folder should be")
    with pytest.raises(BadArgument, match=r"model\.init_args\.cache.*memory"):
        crop_table(CROPS, folder, 8)


@pytest.mark.parametrize("place", ["disk", "memory"])
def test_another_process_gets_the_table(folder, place):
    table = crop_table(CROPS, folder, 8, place=place)
    sent = pickle.dumps(table)
    assert np.array_equal(pickle.loads(sent).take(CROPS), table.take(CROPS))
    assert (table.take(CROPS[:1]).tobytes() in sent) == (place == "memory")


def test_two_processes_that_start_at_once_both_get_it(folder):
    program = (
        "import sys; from pathlib import Path; from lmod_train.models.vision.crop_table import Crop, crop_table\n"
        "crops = [Crop('a.png', '', (i, 0, i + 9, 9)) for i in range(20)]\n"
        "print(crop_table(crops, Path(sys.argv[1]), 64).take(crops).sum())"
    )
    started = [forks.start(["-c", program, folder], folder) for _ in range(2)]
    printed = [process.ended(60).stdout for process in started]
    assert printed[0] == printed[1] and int(printed[0]) > 0
    assert [f.name for f in (folder / "cache").rglob("*") if f.is_file()] == ["000-of-001.npy"]


def test_regions_become_boxes_of_the_curated_picture():
    regions = (Region("lens", Box(10, 20, 30, 60), 1), Region("spatula", Box(8, 8, 9, 9), 2))
    asked = record(image=["m.png"], image_plain=("p.png",), regions=regions, scale=0.25)
    (known,) = asked.image_sha256
    assert crops_of(asked) == [Crop("p.png", known, (2, 5, 8, 15)), Crop("p.png", known, (2, 2, 3, 3))]
    assert crops_of(replace(asked, regions=())) == [Crop("p.png", known)]


def test_a_box_is_stretched_and_a_picture_padded(folder):
    picture = Image.open(folder / "a.png")
    for crop in CROPS[:2]:
        assert np.array_equal(cut(picture, crop.box, 8), by_hand(folder, crop))


@pytest.mark.parametrize("box", [(30, 3, 31, 9), (2, 20, 12, 21), (30, 20, 31, 21), (28, 18, 31, 21)])
def test_a_box_that_rounds_to_the_far_edge_shows_the_last_pixels_and_no_black(box):
    white = Image.new("RGB", (30, 20), "white")
    assert cut(white, box, 8).min() == 255


def test_one_picture_s_crops_are_cut_from_one_decoding(folder, monkeypatch):
    opened, original = [], Curated.rgb
    monkeypatch.setattr(Curated, "rgb", lambda self, name: opened.append(name) or original(self, name))
    assert np.array_equal(cut_all(CROPS[::-1], folder, 8), np.stack([by_hand(folder, c) for c in CROPS[::-1]]))
    assert sorted(opened) == ["a.png", "b.png"] and cut_all([], folder, 8).shape == (0, 8, 8, 3)


def test_a_table_in_several_pieces_is_the_same(folder, monkeypatch):
    monkeypatch.setattr(module, "PIECE", 2 * 8 * 8 * 3)
    found = crop_table(CROPS, folder, 8, share=(1, 2))
    assert np.array_equal(found.take(CROPS), np.stack([by_hand(folder, c) for c in CROPS])) and len(files(folder)) == 2
