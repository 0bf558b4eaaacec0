"""Which tasks a command uses: those of the folder, those of a config that the folder has, or those that are typed."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from lmod_train.cli import main
from lmod_train.core.artifacts.manifest import read_manifest
from lmod_train.core.artifacts.predictions import read_predictions
from lmod_train.core.artifacts.records import read_records, write_records
from lmod_train.core.artifacts.run import NOT_ASKED, Run
from lmod_train.report.incomplete import incomplete
from lmod_train.report.results import read_results

ASK = ["validate", "--data.split", "all", "--run", "run", "--data.curated"]
OWN = "from lmod_train.tasks.four_way import FourWay\n\n\nclass Quality(FourWay):\n    name = 'image_quality'\n"


@pytest.fixture
def two(curated: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with records of the tasks four_way and glaucoma, in the working folder."""
    monkeypatch.chdir(tmp_path)
    shutil.copytree(curated, "two")
    Path("two/records/anatomy.parquet").unlink()
    manifest = read_manifest(Path("two"))
    manifest["counts"]["anatomy"] = {}
    Path("two/manifest.json").write_text(json.dumps(manifest))
    return Path("two")


@pytest.fixture(autouse=True)
def said(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Lines that are printed on the first rank; Lightning's logger keeps the stream it was made with."""
    lines: list[str] = []
    monkeypatch.setattr("lmod_train.cli.tasks_used.rank_zero_info", lines.append)
    return lines


def asked() -> set[str]:
    return {p.record.task for p in read_predictions(Run(Path("run")).predictions)}


def test_without_tasks_those_of_the_folder_are_used(two: Path, said: list[str]):
    assert main([*ASK, str(two), "--model", "scripted"]) == 0
    assert asked() == {"four_way", "glaucoma"} and said == ["tasks of two: four_way, glaucoma"]
    tasks = Run(Path("run")).read_config()["data"]["tasks"]
    assert [t["class_path"].rpartition(".")[2] for t in tasks] == ["FourWay", "Glaucoma"]
    assert main([*ASK, str(two), "--model", "scripted"]) == 0  # the same command continues the run


def test_tasks_of_a_config_that_the_folder_lacks_are_printed_recorded_and_reported(two: Path, said: list[str]):
    assert main([*ASK, str(two), "--config", "quickstart", "--model", "scripted"]) == 0
    assert said == ["two lacks tasks of the config, which are left out: anatomy; used: glaucoma, four_way"]
    assert asked() == {"four_way", "glaucoma"}
    assert Run(Path("run")).read_config()["provenance"][NOT_ASKED] == ["anatomy"]
    remarks = list(incomplete(read_results([Path("run")], None, ())))
    assert [r for r in remarks if "no records of them: anatomy" in r]


def test_a_command_with_all_tasks_of_its_config_reports_none(curated: Path, tmp_path: Path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main([*ASK, str(curated), "--config", "quickstart", "--model", "scripted"]) == 0
    assert NOT_ASKED not in Run(Path("run")).read_config()["provenance"]


def test_without_a_task_left_the_error_prints_the_command(two: Path, capsys: pytest.CaptureFixture[str]):
    assert main([*ASK, str(two), "--config", "cnn_anatomy", "--model", "scripted"]) == 2
    error = capsys.readouterr().err
    assert "data.tasks='anatomy': expected at least one of the tasks in two: four_way, glaucoma" in error
    again = "--data.curated two --config cnn_anatomy --model scripted --data.tasks four_way,glaucoma`"
    assert f"`python -m lmod_train validate --data.split all --run run {again}" in error
    assert not Path("run").exists()


def test_an_evaluation_asks_a_task_of_its_config_as_the_folder_does_and_a_training_does_not(
    two: Path, said: list[str], capsys: pytest.CaptureFixture[str]
):
    """The folder has no glaucoma, but its questions without an image; anatomy is not there in any form."""
    assert main(["phantom", "--out", "raw", "--n", "12", "--sources", "refuge"]) == 0
    assert main(["curate", "--raw", "raw", "--out", "other", "--tasks", "glaucoma_probe"]) == 0
    assert main([*ASK, "other", "--config", "quickstart", "--model", "scripted"]) == 0
    assert said == ["other lacks tasks of the config, which are left out: anatomy, four_way; used: glaucoma_probe"]
    assert asked() == {"glaucoma_probe"}
    assert Run(Path("run")).read_config()["provenance"][NOT_ASKED] == ["anatomy", "four_way"]
    expected = "expected at least one of the tasks in other: glaucoma_probe"
    for command, config in (("fit", "cnn_glaucoma"), ("validate", "cnn_anatomy")):
        assert main([command, "--config", config, "--data.curated", "other", "--run", "none"]) == 2
        assert expected in capsys.readouterr().err
    assert not Path("none").exists()


def test_a_typed_task_that_the_folder_lacks_is_an_error(two: Path, capsys: pytest.CaptureFixture[str]):
    for typed in (["--data.tasks", "anatomy,glaucoma"], ["--config", "cnn_glaucoma", "--data.tasks+", "anatomy"]):
        assert main([*ASK, str(two), "--model", "scripted", *typed]) == 2
        assert "data.tasks='anatomy': expected one of the tasks curated in two" in capsys.readouterr().err


def test_a_classifier_on_several_tasks_is_refused_with_the_command(two: Path, capsys: pytest.CaptureFixture[str]):
    assert main([*ASK, str(two), "--model", "cnn"]) == 2
    error = capsys.readouterr().err
    assert "expected exactly one task, as Classifier is a classifier; these are 2" in error
    assert "--model cnn --data.tasks four_way` (or another one: glaucoma)" in error and not Path("run").exists()


@pytest.mark.parametrize("typed", ["glaucoma,four_way", "[glaucoma, four_way]", "[four_way,glaucoma]"])
def test_names_work_in_lists(typed: str, two: Path):
    assert main([*ASK, str(two), "--model", "scripted", "--data.tasks", typed]) == 0
    assert asked() == {"four_way", "glaucoma"}


def test_a_task_that_only_the_folder_has_is_used_by_its_name_and_trusted_by_name(
    two: Path, capsys: pytest.CaptureFixture[str]
):
    assert main(["phantom", "--out", "raw", "--n", "12", "--sources", "eye_diseases"]) == 0
    Path("quality.py").write_text(OWN)
    assert main(["curate", "--raw", "raw", "--out", "own", "--tasks", "quality.Quality,four_way"]) == 0
    command = [*ASK, "own", "--model", "scripted", "--data.tasks", "image_quality"]
    assert main(command) == 2
    again = "validate --data.split all --run run --data.curated own --model scripted --data.tasks image_quality"
    assert f"`python -m lmod_train {again} --trust quality`" in capsys.readouterr().err
    assert main([*command, "--trust", "quality"]) == 0 and asked() == {"image_quality"}


def test_a_task_without_records_in_the_split_is_printed_and_recorded(
    two: Path, said: list[str], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("lmod_train.cli.experiment.rank_zero_info", said.append)
    records = [r for r in read_records(two / "records") if (r.task, r.split) != ("glaucoma", "val")]
    for task in ("four_way", "glaucoma"):
        write_records(two / "records" / f"{task}.parquet", [r for r in records if r.task == task])
    command = ["validate", "--data.curated", "two", "--model", "scripted", "--run", "run"]
    assert main(command) == 0 and asked() == {"four_way"}
    assert said[-1] == "not asked, as the split has no records of these tasks: glaucoma"
    assert Run(Path("run")).read_config()["provenance"][NOT_ASKED] == ["glaucoma"]


def test_a_task_of_the_folder_without_records_is_named_as_such(two: Path, capsys: pytest.CaptureFixture[str]):
    manifest = read_manifest(two)
    manifest["settings"]["tasks"]["own_one/en"] = {"class": "a.B", "settings": {}}
    (two / "manifest.json").write_text(json.dumps(manifest))
    assert main([*ASK, str(two), "--model", "scripted", "--data.tasks", "own_one"]) == 2
    error = capsys.readouterr().err
    assert "where this one has none: four_way, glaucoma" in error and "`--data.tasks four_way,glaucoma`" in error
