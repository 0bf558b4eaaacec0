"""No name and no link leads out of a curated folder, and what is passed on holds pixels alone."""

from __future__ import annotations

import hashlib
import io
import os
from pathlib import Path

import pytest
from PIL import Image, PngImagePlugin

from lmod_train.core.artifacts.manifest import read_manifest, write_json
from lmod_train.core.artifacts.records import curated_ids, read_records, rows_of, write_records
from lmod_train.core.artifacts.replies import read_replies
from lmod_train.core.artifacts.run import Run
from lmod_train.core.curated import Curated, check_name
from lmod_train.core.errors import CuratedDamaged, LeavesFolder
from lmod_train.core.links import FOLLOW, links_followed
from lmod_train.data.formats.export import export, formats
from lmod_train.extensions.drafting.caption_files import GENERATION, RELEASED, Folder, ReviewedCaptions, Settings
from lmod_train.models.chat.base_files import processor_files
from tests.tiny import record

SECRET = b"Li Wei, born 1961"


def photograph(file: Path, kind: str = "JPEG") -> Path:
    """Write a photograph with a name in its metadata."""
    file.parent.mkdir(parents=True, exist_ok=True)
    told = PngImagePlugin.PngInfo()
    told.add_text("Patient", SECRET.decode())
    more = {"pnginfo": told} if kind == "PNG" else {"comment": SECRET}
    Image.effect_noise((40, 30), 60).convert("RGB").save(file, kind, **more)
    return file


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    photograph(tmp_path / "curated" / "images" / "a" / "1.jpg")
    photograph(tmp_path / "curated" / "images" / "a" / "2.png", "PNG")
    photograph(tmp_path / "outside" / "patient.jpg")
    return tmp_path / "curated"


OUT = ["../outside/patient.jpg", "images/../../outside/patient.jpg", "/etc/hostname", "", ".", "images/..", "C:/x.jpg"]
OUT += ["images\\..\\..\\outside\\patient.jpg", "images//1.jpg", "./images/a/1.jpg", "images/a/", "images/\0.jpg"]


@pytest.mark.parametrize("name", OUT)
def test_a_name_that_leaves_the_folder_is_refused_when_read_and_when_opened(folder: Path, tmp_path: Path, name: str):
    with pytest.raises(LeavesFolder, match="outside its curated folder"):
        check_name(folder / "records", name)
    for opened in ("file", "rgb", "bytes", "bare", "size"):
        with pytest.raises(LeavesFolder):
            getattr(Curated(folder), opened)(name)
    file = tmp_path / "records.parquet"
    for field in ("image", "image_plain"):
        write_records(file, [record("a/b/1"), record("a/b/2", **{field: ("images/a/1.jpg", name)})])
        with pytest.raises(LeavesFolder, match=r"records\.parquet"):
            read_records(file)


def test_names_below_the_folder_are_opened(folder: Path):
    images = Curated(folder)
    for name in ("images/a/1.jpg", "images/a/2.png"):
        assert images.rgb(name).size == images.size(name) == (40, 30)
        assert images.file(name) == images / name == folder / name
    assert Curated.of(images) is images and Curated.of(folder).root == folder
    assert not images.file("images/a/..jpg").exists() and not images.file("images/a/x..y/1.jpg").exists()
    with pytest.raises(CuratedDamaged, match="cannot be read"):
        images.rgb("images/a/3.jpg")


@pytest.mark.parametrize("place", ["images/a/3.jpg", "images/b", "images"])
def test_a_link_out_of_the_folder_stops_and_the_user_can_allow_it(folder: Path, tmp_path: Path, place: str):
    aside = tmp_path / "aside"
    (folder / "images").rename(aside)
    link = folder / place
    link.parent.mkdir(parents=True, exist_ok=True)
    target = {"images/a/3.jpg": tmp_path / "outside" / "patient.jpg", "images/b": aside / "a", "images": aside}[place]
    link.symlink_to(os.path.relpath(target, link.parent))
    name = {"images/a/3.jpg": place, "images/b": "images/b/1.jpg", "images": "images/a/1.jpg"}[place]
    for opened in ("file", "rgb", "bytes", "bare", "size"):
        with pytest.raises(LeavesFolder, match="a link leads out of the folder") as error:
            getattr(Curated(folder), opened)(name)
    assert error.value.typed(["report", "RUN"]).endswith("`python -m lmod_train report RUN --follow_links`")
    with pytest.raises(LeavesFolder):
        Curated(folder).check(["images/a/none.jpg", name])
    with links_followed(True):
        assert os.environ[FOLLOW] == "1" and Curated(folder).rgb(name).size == (40, 30)
    assert FOLLOW not in os.environ


def test_links_within_the_folder_and_the_folder_itself_are_followed(folder: Path, tmp_path: Path):
    (folder / "images" / "a" / "3.jpg").symlink_to("1.jpg")
    (folder / "images" / "a" / "b").symlink_to(".")
    (tmp_path / "mine").symlink_to(folder)
    images = Curated(tmp_path / "mine")
    assert [images.rgb(f"images/{n}").size for n in ("a/3.jpg", "a/b/1.jpg", "a/b/3.jpg")] == [(40, 30)] * 3


def test_a_link_made_after_the_first_image_is_seen(folder: Path, tmp_path: Path):
    images = Curated(folder)
    images.rgb("images/a/1.jpg")
    (folder / "images" / "a" / "4.jpg").symlink_to(tmp_path / "outside" / "patient.jpg")
    with pytest.raises(LeavesFolder):
        images.rgb("images/a/4.jpg")


def test_folders_beside_it_have_absolute_names(folder: Path, tmp_path: Path):
    other = tmp_path / "outside"
    images = Curated(folder, beside=[other])
    assert images.rgb(str(other / "patient.jpg")).size == (40, 30)
    for name in (
        f"{other}/../curated/images/a/1.jpg",
        f"{other}-2/patient.jpg",
        str(folder / "images" / "a" / "1.jpg"),
    ):
        with pytest.raises(LeavesFolder):
            images.file(name)


@pytest.mark.parametrize("name", ["images/a/1.jpg", "images/a/2.png"])
def test_what_is_passed_on_holds_pixels_alone_in_its_own_format(folder: Path, name: str):
    images = Curated(folder)
    bare, stored = images.bytes(name), (folder / name).read_bytes()
    assert SECRET in stored and SECRET not in bare
    opened, before = (Image.open(io.BytesIO(data)) for data in (bare, stored))
    assert opened.format == before.format and opened.tobytes() == before.tobytes()
    (folder / name).write_bytes(bare)
    assert images.bytes(name) == bare and not images.rgb(name).info


def test_another_file_than_stated_is_not_passed_on(folder: Path):
    images, name = Curated(folder), "images/a/1.jpg"
    stated = hashlib.sha256((folder / name).read_bytes()).hexdigest()
    assert images.bytes(name, stated) == images.bytes(name)
    photograph(folder / name)
    with pytest.raises(CuratedDamaged, match="SHA-256"):
        images.bytes(name, stated)


@pytest.mark.parametrize("how", ["file", "folder"])
def test_a_link_shows_no_image_under_another_sources_name(folder: Path, how: str):
    (folder / "images" / "b").mkdir()
    if how == "file":
        (folder / "images" / "b" / "1.jpg").symlink_to("../a/1.jpg")
        name = "images/b/1.jpg"
    else:
        (folder / "images" / "b" / "r").symlink_to("../a")
        name = "images/b/r/1.jpg"
    with pytest.raises(LeavesFolder, match="a link shows an image of images/a as one of images/b"):
        Curated(folder).rgb(name)


@pytest.mark.parametrize(
    ("field", "value"),
    [("task", "/x"), ("task", "../../x"), ("task", ".."), ("task", ""), ("task", "a\nb"), ("task", ".lock"),
     ("split", "/x"), ("split", "../test"), ("split", "")],
)  # fmt: skip
def test_a_task_or_split_that_would_lead_elsewhere_as_a_file_is_refused(tmp_path: Path, field: str, value: str):
    file = tmp_path / "records" / "a.parquet"
    file.parent.mkdir()
    write_records(file, [record("a/b/1"), record("a/b/2", **{field: value})])
    with pytest.raises(LeavesFolder, match=field):
        read_records(file.parent)
    (tmp_path / "manifest.json").write_text('{"schema_version": 4}')
    for to in tuple(formats()):
        with pytest.raises(LeavesFolder, match=field):
            export(tmp_path, to, tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("name", ["records", "records/a.parquet", "manifest.json"])
def test_a_link_to_records_or_manifest_of_another_folder_is_not_read(tmp_path: Path, name: str):
    for place in ("mine", "received"):
        (tmp_path / place / "records").mkdir(parents=True)
        write_records(tmp_path / place / "records" / "a.parquet", [record("a/b/1")])
        write_json(tmp_path / place / "manifest.json", {"schema_version": 4})
    received = tmp_path / "received"
    (received / name).rename(tmp_path / "aside")
    (received / name).symlink_to(tmp_path / "mine" / name)
    reading = [lambda: read_manifest(received)] if name == "manifest.json" else [
        lambda: read_records(received / "records"), lambda: curated_ids(received),
        lambda: list(rows_of(received / "records")),
    ]  # fmt: skip
    for read in reading:
        with pytest.raises(LeavesFolder):
            read()
        with links_followed(True):
            assert read()


@pytest.mark.parametrize(
    "name",
    ["config", "doctor", "records", "replies", "predictions", "scores", "bert_scores", "judgements", "tripwires"],
)
def test_a_link_in_a_run_to_a_file_elsewhere_is_not_read(tmp_path: Path, name: str):
    run = Run(tmp_path / "run")
    (tmp_path / "run").mkdir()
    path = getattr(run, name)
    (tmp_path / "secret").write_text("Li Wei")
    path.symlink_to(tmp_path / "secret")
    with pytest.raises(LeavesFolder, match="a link leads out"):
        getattr(run, name)
    path.unlink()
    (tmp_path / "run" / "other").write_text("")
    path.symlink_to("other")
    assert getattr(run, name) == path
    (tmp_path / "mine").symlink_to(tmp_path / "run")
    assert getattr(Run(tmp_path / "mine"), name).exists()


def test_replies_behind_a_link_are_not_read(tmp_path: Path):
    (tmp_path / "run" / "replies").mkdir(parents=True)
    (tmp_path / "secret.jsonl").write_text("")
    (tmp_path / "run" / "replies" / "rank-1.jsonl").symlink_to(tmp_path / "secret.jsonl")
    with pytest.raises(LeavesFolder):
        read_replies(Run(tmp_path / "run").replies)


def test_a_run_of_drafts_behind_a_link_is_not_read(tmp_path: Path):
    (tmp_path / "draft").mkdir()
    (tmp_path / "mine").mkdir()
    (tmp_path / "draft" / GENERATION).symlink_to(tmp_path / "mine")
    with pytest.raises(LeavesFolder):
        Folder(tmp_path / "draft", {}, Settings())._predictions(GENERATION)


@pytest.mark.parametrize("read", [lambda path: ReviewedCaptions(path)._rows(), processor_files])
def test_released_questions_and_files_of_a_checkpoint_behind_a_link_are_not_read(read, tmp_path: Path):
    (tmp_path / "received").mkdir()
    for name in (RELEASED, "tokenizer.json"):
        (tmp_path / name).write_text("{}")
        (tmp_path / "received" / name).symlink_to(tmp_path / name)
    with pytest.raises(LeavesFolder):
        read(tmp_path / "received")
