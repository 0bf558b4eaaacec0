"""The tasks of a curated folder are rebuilt from its manifest."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from lmod_train.core.artifacts.manifest import read_manifest
from lmod_train.core.errors import ArtifactError, BadArgument, Untrusted
from lmod_train.data.datamodules.folder_tasks import names_with_records, rebuilt_tasks
from lmod_train.data.datamodules.records import RecordsDataModule
from lmod_train.tasks.anatomy import Anatomy


def changed(curated: Path, out: Path, name: str, **values: Any) -> Path:
    """Copy a folder with other values of what its manifest states of a task."""
    shutil.copytree(curated, out)
    manifest = read_manifest(out)
    manifest["settings"]["tasks"][f"{name}/en"] |= values
    (out / "manifest.json").write_text(json.dumps(manifest))
    return out


def test_every_task_with_records_is_used_with_its_settings(curated: Path):
    data = RecordsDataModule(curated)
    data.setup("validate")
    assert list(data.tasks) == names_with_records(read_manifest(curated)) == ["anatomy", "four_way", "glaucoma"]
    anatomy = data.tasks["anatomy"]
    assert isinstance(anatomy, Anatomy) and anatomy.settings()["options"] == {"CFP": ["optic disc", "optic cup"]}
    assert {r.task for r in data.asked("validate")} == set(data.tasks)


def test_a_task_without_records_is_none_of_the_folder():
    counts = {"sex": {"train": {"records": 0}}, "icdr": {}, "glaucoma": {"val": {"records": 1}}}
    assert names_with_records({"counts": counts}) == ["glaucoma"]


def test_settings_that_cannot_be_rebuilt_are_an_error_that_says_so(curated: Path, tmp_path: Path):
    folder = changed(curated, tmp_path / "c", "glaucoma", settings={"threshold": 3})
    with pytest.raises(BadArgument, match=r"data.tasks='glaucoma'.*\nNext: .*`--data.tasks anatomy,four_way`"):
        rebuilt_tasks(folder)
    assert list(rebuilt_tasks(folder, ["anatomy"])) == ["anatomy"]


def test_a_class_of_others_is_not_imported(curated: Path, tmp_path: Path):
    folder = changed(curated, tmp_path / "c", "glaucoma", **{"class": "os.path.Evil"})
    with pytest.raises(Untrusted):
        RecordsDataModule(folder)


def test_a_folder_without_records_and_one_that_is_not_curated_are_refused(curated: Path, tmp_path: Path):
    shutil.copytree(curated, tmp_path / "c")
    manifest = read_manifest(curated)
    (tmp_path / "c" / "manifest.json").write_text(json.dumps({**manifest, "counts": {"glaucoma": {}}}))
    with pytest.raises(BadArgument, match="records of at least one task"):
        RecordsDataModule(tmp_path / "c")
    with pytest.raises(ArtifactError, match="curate"):
        RecordsDataModule(tmp_path)
