import json
import re

import pytest
from PIL import Image

from lmod_train.core.errors import LeavesFolder
from lmod_train.report.viewer.store import Beside, Inside, clear, link_or_copy


@pytest.fixture
def curated(tmp_path):
    folder = tmp_path / "curated"
    (folder / "images").mkdir(parents=True)
    Image.new("RGB", (40, 30)).save(folder / "images" / 'a b%20"<x>.png')
    Image.new("RGB", (40, 30)).save(folder / "images" / "scan.tif")
    (folder / "images" / "text.jpg").write_text("<script>alert(1)</script>")
    Image.new("RGB", (9, 9)).save(tmp_path / "secret.png")
    return folder


def test_an_image_has_a_number_for_a_name_and_its_size(tmp_path, curated):
    store = Beside(tmp_path / "out")
    shown = store.image(curated, 'images/a b%20"<x>.png')
    assert (shown.address, shown.width, shown.height) == ("images/000001.png", 40, 30)
    assert store.image(curated, 'images/a b%20"<x>.png') is shown, "once"
    assert Image.open(tmp_path / "out" / shown.address).size == (40, 30)


@pytest.mark.parametrize("name", ["images/text.jpg", "images/gone.png", "images"])
def test_what_is_no_image_is_not_kept(tmp_path, curated, name):
    for store in (Beside(tmp_path / "out"), Inside()):
        assert store.image(curated, name) is None
        assert store.image(None, name) is None
    assert list((tmp_path / "out" / "images").iterdir()) == []


def test_an_image_outside_the_folder_stops_the_report(tmp_path, curated):
    (curated / "images" / "link.png").symlink_to(tmp_path / "secret.png")
    for store in (Beside(tmp_path / "out"), Inside()):
        for name in ("../secret.png", "images/link.png"):
            with pytest.raises(LeavesFolder):
                store.image(curated, name)
    assert list((tmp_path / "out" / "images").iterdir()) == []


def test_what_stands_beside_the_pixels_is_not_kept(tmp_path, curated):
    bare = curated / "images" / "bare.jpg"
    Image.new("RGB", (40, 30)).save(bare)
    Image.new("RGB", (40, 30)).save(curated / "images" / "told.jpg", comment=b"Li Wei")
    store = Beside(tmp_path / "out")
    kept = [
        tmp_path / "out" / store.image(curated, f"images/{n}").address for n in ("bare.jpg", "told.jpg", "scan.tif")
    ]
    assert kept[0].stat().st_ino == bare.stat().st_ino, "linked"
    assert b"Li Wei" not in kept[1].read_bytes() and kept[1].read_bytes() == kept[0].read_bytes()
    assert Image.open(kept[2]).format == "PNG"


def test_images_of_another_file_system_are_copied(tmp_path, curated, monkeypatch):
    source = curated / "images" / "scan.tif"
    link_or_copy(source, tmp_path / "linked")
    assert (tmp_path / "linked").stat().st_ino == source.stat().st_ino

    def refuse(*_):
        raise OSError("another device")

    monkeypatch.setattr("os.link", refuse)
    link_or_copy(source, tmp_path / "copied")
    assert (tmp_path / "copied").read_bytes() == source.read_bytes()
    assert (tmp_path / "copied").stat().st_ino != source.stat().st_ino


HOSTILE = {"</script><script>alert(1)</script>": "\u2028\ud800`${alert(1)}`\\\"'", "__proto__": "<!--"}


def test_a_data_file_only_passes_a_text(tmp_path):
    Beside(tmp_path).add("replies-0", HOSTILE)
    text = (tmp_path / "data" / "replies-0.js").read_text("ascii")
    literal = re.fullmatch(r'lmodData\("replies-0", ("(?:[^"\\\n]|\\.)*")\);\n', text)
    assert literal, "one call with two literals"
    assert json.loads(json.loads(literal[1])) == HOSTILE


def test_no_tag_begins_in_a_block():
    store = Inside()
    store.add("replies-0", HOSTILE)
    ((name, text),) = store.blocks
    assert name == "replies-0" and "<" not in text and json.loads(text) == HOSTILE


def test_only_files_of_an_earlier_report_are_removed(tmp_path):
    store = Beside(tmp_path)
    for name in ("index", "records-0", "replies-12"):
        store.add(name, {})
    for name in ("images/000001.jpg", "pages/000001.html", "data/mine.js", "images/eye.jpg"):
        (tmp_path / name).touch()
    clear(tmp_path)
    left = sorted(p.relative_to(tmp_path).as_posix() for p in tmp_path.rglob("*") if p.is_file())
    assert left == ["data/mine.js", "images/eye.jpg"]
    assert not (tmp_path / "pages").exists()
