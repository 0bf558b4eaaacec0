"""The exported folder: whole or not at all, images as they were, and a notice where it must not be passed on."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from lmod_train.core.artifacts.pseudonyms import known_key
from lmod_train.core.artifacts.records import read_records
from lmod_train.core.errors import BadArgument
from lmod_train.data.formats.chosen_records import select
from lmod_train.data.formats.folder import ExportFolder, Images, exported_id, exported_name
from tests.data.formats.conftest import anatomy, record


def test_nothing_is_left_of_an_export_that_failed(free: Path, tmp_path: Path):
    with pytest.raises(RuntimeError), ExportFolder(tmp_path / "out", select(free)) as folder:
        folder.write_text("half.json", "[")
        raise RuntimeError
    assert list(tmp_path.iterdir()) == []


def test_what_a_kill_left_is_cleared_and_an_empty_folder_is_taken(free: Path, tmp_path: Path):
    (tmp_path / ".out.ab12.part" / "images").mkdir(parents=True)
    (tmp_path / "out").mkdir()
    with ExportFolder(tmp_path / "out", select(free)) as folder:
        folder.write_text("a", "b")
    assert sorted(p.name for p in tmp_path.rglob("*")) == ["a", "out"]


@pytest.mark.parametrize("occupied", ["file", "folder"])
def test_an_occupied_place_is_refused(free: Path, tmp_path: Path, occupied: str):
    out = tmp_path / "out"
    if occupied == "folder":
        out.mkdir()
    (out / "mine.txt" if occupied == "folder" else out).write_text("mine")
    with pytest.raises(BadArgument, match="new or empty folder"):
        ExportFolder(out, select(free))


@pytest.mark.parametrize("images", ["copy", "link", "none"])
def test_images_come_as_they_are_each_once(free: Path, tmp_path: Path, images: Images):
    shown = anatomy(0, "train")
    with ExportFolder(tmp_path / "out", select(free), images) as folder:
        (placed,) = folder.place(shown)
        assert folder.place(shown) == [placed]
    copied = tmp_path / "out" / placed
    if images == "none":
        assert not (tmp_path / "out" / "images").exists() and placed == shown.image[0]
    else:
        assert copied.read_bytes() == (free / shown.image[0]).read_bytes()
        assert copied.is_symlink() == (images == "link")
        assert placed == exported_name(shown.image[0]) and "000" not in placed  # raw names may tell the answer


def test_notice_licences_and_drops_lie_in_the_folder(mixed: Path, tmp_path: Path):
    with ExportFolder(tmp_path / "out", select(mixed, for_own_use=True)) as folder:
        folder.leave_out(record("glaucoma", 0), "image_word", "why")
        folder.describe("Title", "How to read it.")
    notice, readme = ((tmp_path / "out" / name).read_text() for name in ("NOTICE", "README.md"))
    assert notice.startswith("This folder must not be passed on.")
    for text in (notice, readme):
        assert "| closed_eyes | licence of closed_eyes | no | https://example.org/closed_eyes |" in text
        assert "| open_eyes | licence of open_eyes | yes |" in text
    assert "How to read it." in readme and "- glaucoma: train 2 (unknown_eyes)" in readme and "see NOTICE" in readme
    (row,) = csv.DictReader((tmp_path / "out" / "dropped.csv").open())
    assert row["key"] == exported_id("glaucoma/open_eyes/part/000", known_key(mixed))
    assert (row["reason"], row["detail"]) == ("image_word", "why")


def test_a_free_folder_has_no_notice(free: Path, tmp_path: Path):
    with ExportFolder(tmp_path / "out", select(free)) as folder:
        folder.describe("Title", "How.")
    assert sorted(p.name for p in (tmp_path / "out").iterdir()) == ["README.md"]
    assert "NOTICE" not in (tmp_path / "out" / "README.md").read_text()


def test_links_of_a_private_folder_tell_no_name_and_paths_are_said_to(mixed: Path, tmp_path: Path):
    shown = next(r for r in read_records(mixed / "records") if (mixed / r.image[0]).is_file())
    with ExportFolder(tmp_path / "linked", select(mixed, for_own_use=True), "link") as folder:
        (placed,) = folder.place(shown)
    copied = tmp_path / "linked" / placed
    assert not copied.is_symlink() and copied.samefile(mixed / shown.image[0])
    with ExportFolder(tmp_path / "none", select(mixed, for_own_use=True), "none"):
        pass
    told = {
        name: "hold the names of raw files" in (tmp_path / name / "NOTICE").read_text() for name in ("linked", "none")
    }
    assert told == {"linked": False, "none": True}
