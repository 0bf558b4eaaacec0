import os

import pytest
from PIL import Image
from sklearn.datasets import load_sample_images

from lmod_train.core.artifacts.manifest import read_manifest
from lmod_train.core.artifacts.records import read_records
from lmod_train.core.errors import BadArgument, CurationConflict, LeavesFolder
from lmod_train.core.files import sha256_of
from lmod_train.core.links import links_followed
from lmod_train.data.curation.foreign import SHIPPED, curate_foreign, fingerprint, photographs_in
from lmod_train.data.curation.pipeline import curate
from tests.data.curation.probe import Without
from tests.data.curation.world import Folders, Glaucoma, photograph, tree


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    return Folders.write(tmp_path_factory.mktemp("raw"), 12)


def make(source, out, tasks=None, **changed):
    return curate([source], tasks or [Without(["foreign"])], out, longest_side=64, workers=1, progress=False, **changed)


@pytest.fixture
def own(tmp_path):
    """Three photographs, a damaged one, and files that are none."""
    folder = tmp_path / "holiday"
    for i in range(3):
        photograph(folder / f"{i}.png", 50 + i, size=(100, 80))
    (folder / "bad.JPG").write_bytes(b"no image")
    (folder / "notes.txt").write_text("sea")
    (folder / ".hidden.jpg").write_text("")
    return folder


def test_two_photographs_come_along(source, tmp_path):
    made = make(source, tmp_path / "out")
    files = photographs_in(None)
    assert list(map(str, files)) == sorted(load_sample_images().filenames) and [f.name for f in files] == list(SHIPPED)
    records = read_records(tmp_path / "out" / "records")
    assert {r.image for r in records} == {(f"images/foreign/{n}",) for n in SHIPPED} and len(records) == 12
    for record in records:
        assert record.image == record.image_plain and record.source == "folders"
        assert record.image_sha256 == (sha256_of(tmp_path / "out" / record.image[0]),)
        with Image.open(tmp_path / "out" / record.image[0]) as image:
            assert image.size == (64, 43) and record.scale == 64 / 640
    told = made["foreign"]
    assert told["from"].startswith("scikit-learn ") and told["redistributable"] and "CC BY" in told["licence"]
    assert {f["sha256"] for f in told["files"].values()} == {sha256_of(f) for f in photographs_in(None)}
    assert made["images"]["files"] == 2, "no other image is shown, so none is kept"


def test_a_folder_of_ones_own(source, own, tmp_path):
    made = make(source, tmp_path / "out", foreign=own)
    records = read_records(tmp_path / "out" / "records")
    used = {r.image[0] for r in records}
    assert used <= {f"images/foreign/{i}.jpg" for i in range(3)} and len(used) > 1
    assert set(made["foreign"]["files"]) == used and made["foreign"]["redistributable"] is False
    assert made["dropped"] == {"foreign": {"read": {"image_unreadable": 1}}}
    assert "foreign,bad,bad.JPG,read,image_unreadable" in (tmp_path / "out" / "dropped.csv").read_text()
    assert read_manifest(tmp_path / "out")["settings"]["foreign"] == fingerprint(photographs_in(own))
    photograph(own / "1.png", 99, size=(100, 80))
    with pytest.raises(CurationConflict, match=r"settings\.foreign\.1\.png"):
        make(source, tmp_path / "out", foreign=own)


def test_languages_show_the_same_photograph_and_a_second_start_the_same_bytes(source, own, tmp_path):
    tasks = [Without(["foreign"]), Without(["foreign"], "zh")]
    make(source, tmp_path / "a", tasks, foreign=own)
    images = {}
    for record in read_records(tmp_path / "a" / "records"):
        images.setdefault(record.key, set()).add(record.image)
    assert all(len(chosen) == 1 for chosen in images.values())
    make(source, tmp_path / "b", tasks, foreign=own)
    assert tree(tmp_path / "a") == tree(tmp_path / "b")


def test_without_a_probe_no_photograph_is_touched(source, tmp_path):
    made = make(source, tmp_path / "out", [Glaucoma()])
    assert "foreign" not in made and not (tmp_path / "out" / "images" / "foreign").exists()


def test_folders_that_cannot_serve_are_refused(source, own, tmp_path):
    (tmp_path / "empty").mkdir()
    for folder in (tmp_path / "none", tmp_path / "empty"):
        with pytest.raises(BadArgument, match="foreign="):
            make(source, tmp_path / "out", foreign=folder)
    for i in range(3):
        (own / f"{i}.png").unlink()
    with pytest.raises(BadArgument, match="readable photograph"):
        make(source, tmp_path / "out", foreign=own)
    photograph(own / "bad.png", 1)
    with pytest.raises(BadArgument, match="'bad'"):
        make(source, tmp_path / "out", foreign=own)


def test_hostile_photographs_are_listed_and_the_others_are_shown(tmp_path):
    for name in ("a.jpg", "b.jpg"):
        Image.new("RGB", (40, 30)).save(tmp_path / name)
    os.mkfifo(tmp_path / "pipe.jpg")
    (tmp_path / "zero.jpg").symlink_to("/dev/zero")
    (tmp_path / os.fsdecode(b"\xff.jpg")).write_bytes((tmp_path / "a.jpg").read_bytes())
    with pytest.raises(LeavesFolder, match=r"zero\.jpg"):
        photographs_in(tmp_path)
    with links_followed(True):
        files = photographs_in(tmp_path)
    assert sum(digest == "" for digest in fingerprint(files).values()) == 2
    curated, dropped = curate_foreign(files, tmp_path / "out", None)
    assert [p.file for p in curated] == ["a.jpg", "b.jpg"]
    assert sorted(d.reason for d in dropped) == ["image_unreadable", "image_unreadable", "not_utf8"]
