import inspect

import pytest

from lmod_train.core.errors import BadArgument, LeavesFolder
from lmod_train.core.links import links_followed
from lmod_train.data.sources.base import Source
from lmod_train.data.sources.discovery import discover, source_classes
from lmod_train.data.sources.refuge import Refuge


def test_every_class_is_a_complete_source_under_its_own_name():
    assert source_classes().keys() >= {"eye_diseases", "refuge"}
    for name, cls in source_classes().items():
        assert cls.name == name and issubclass(cls, Source) and not inspect.isabstract(cls)


def test_sources_are_found_whatever_the_folders_are_called(drawn, tmp_path):
    (tmp_path / "downloads" / "zip 1").mkdir(parents=True)
    (tmp_path / "downloads" / "zip 1" / "fundus").symlink_to(drawn / "kaggle" / "REFUGE")
    (tmp_path / "my eyes").symlink_to(drawn / "eyes" / "eye_diseases_classification")
    (tmp_path / "holiday" / "beach").mkdir(parents=True)
    (tmp_path / "__MACOSX").mkdir()
    with pytest.raises(LeavesFolder, match="a link leads out of the folder"):
        discover(tmp_path)
    with links_followed(True):
        found = discover(tmp_path)
    assert [(s.name, s.root.relative_to(tmp_path).as_posix()) for s in found.sources] == [
        ("refuge", "downloads/zip 1/fundus"),
        ("eye_diseases", "my eyes"),
    ]
    assert [(s.folder.name, s.why) for s in found.skipped] == [("holiday", "no known source recognised in it")]


@pytest.mark.parametrize("layout", ["challenge", "refuge2", "kaggle"])
def test_each_layout_is_recognised_as_a_whole_and_given_itself(drawn, layout):
    (source,) = discover(drawn / layout).sources
    assert source.root.parent == drawn / layout and source.name == "refuge"
    assert discover(source.root).sources[0].root == source.root


def test_a_second_copy_is_skipped_and_listed(drawn):
    found = discover(drawn)
    assert [(s.name, s.root.parent.name) for s in found.sources] == [("refuge", "challenge"), ("eye_diseases", "eyes")]
    assert [s.folder.parent.name for s in found.skipped] == ["kaggle", "refuge2"]
    assert all("another copy of refuge" in s.why and "challenge" in s.why for s in found.skipped)


def test_folders_below_the_depth_are_skipped(drawn):
    assert [s.name for s in discover(drawn / "eyes", depth=1).sources] == ["eye_diseases"]
    shallow = discover(drawn / "eyes", depth=0)
    assert shallow.sources == () and [s.folder for s in shallow.skipped] == [drawn / "eyes"]


@pytest.mark.parametrize("place", [".", "curated"])
def test_the_images_of_a_curated_folder_are_no_source(drawn, tmp_path, place):
    curated = tmp_path / place
    (curated / "records").mkdir(parents=True)
    (curated / "manifest.json").write_text("{}")
    (curated / "images").symlink_to(drawn / "eyes" / "eye_diseases_classification")
    found = discover(tmp_path)
    assert found.sources == () and [s.folder for s in found.skipped] == [curated]
    assert found.skipped[0].why == "a curated folder, not a raw one"


def test_an_empty_folder_has_no_sources(tmp_path):
    found = discover(tmp_path)
    assert found.sources == () and [s.folder for s in found.skipped] == [tmp_path]


def test_bad_arguments_are_named(tmp_path):
    with pytest.raises(BadArgument, match="raw="):
        discover(tmp_path / "none")
    with pytest.raises(BadArgument, match="depth=-1"):
        discover(tmp_path, depth=-1)


def test_a_source_that_is_not_configured_is_named(drawn):
    found = discover(drawn, wanted=[Refuge()])
    assert [s.name for s in found.sources] == ["refuge"]
    assert any(s.why == "eye_diseases, which is not among the configured sources" for s in found.skipped)
    assert not any("no known source" in s.why for s in found.skipped)
