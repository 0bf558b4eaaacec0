"""A shipped configuration is found by its name from any folder, and nothing else is taken for one."""

from pathlib import Path

import pytest

from lmod_train import cli
from lmod_train.cli.shipped import by_name
from lmod_train.core.shipped import configs_folder


@pytest.mark.parametrize(
    ("command", "typed", "file"),
    [
        ("fit", ["--config", "quickstart"], "quickstart.yaml"),
        ("validate", ["-c", "zero_shot"], "zero_shot.yaml"),
        ("curate", ["--config", "lmod_plus"], "curate/lmod_plus.yaml"),
        ("fit", ["--model", "small_base_lora"], "model/small_base_lora.yaml"),
        ("fit", ["--trainer", "fsdp2"], "trainer/fsdp2.yaml"),
        ("curate", ["--tasks+", "chain_probe"], "task/chain_probe.yaml"),
        ("fit", ["--data.tasks+", "sex"], "task/sex.yaml"),
    ],
)
def test_a_name_becomes_a_path_in_both_spellings(command: str, typed: list[str], file: str):
    path = str(configs_folder() / file)
    assert by_name(command, typed) == [typed[0], path]
    assert by_name(command, ["=".join(typed)]) == [f"{typed[0]}={path}"]


@pytest.mark.parametrize(
    ("command", "option", "typed"),
    [
        ("validate", "--data.tasks", "configs/task/chain_probe.yaml"),
        ("validate", "--data.tasks", "chain_probe"),
        ("curate", "--tasks", "chain_probe"),
    ],
)
def test_one_task_becomes_a_list_of_one(command: str, option: str, typed: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(configs_folder().parent)
    path = typed if "/" in typed else configs_folder() / "task" / f"{typed}.yaml"
    assert by_name(command, [option, typed]) == [option, f"[{path}]"]
    assert by_name(command, [f"{option}={typed}"]) == [f"{option}=[{path}]"]


@pytest.mark.parametrize("content", ["[sex.yaml, chain.yaml]", "- class_path: x", "a: [", "", None])
def test_a_list_of_tasks_and_a_file_that_cannot_be_read_stay_as_typed(content: str | None, tmp_path: Path):
    file = tmp_path / "tasks.yaml"
    if content is not None:
        file.write_text(content)
    assert by_name("fit", ["--data.tasks", str(file)]) == ["--data.tasks", str(file)]


def test_the_names_of_tasks_that_other_commands_take_stay_as_typed():
    assert by_name("answers", ["--tasks", "chain"]) == ["--tasks", "chain"]


@pytest.mark.parametrize(
    "typed",
    [
        ["--config", "nowhere"],
        ["--config", "configs/quickstart.yaml"],
        ["--model", "lmod_train.models.modules.frozen.Frozen"],
        ["--trainer.accelerator", "cpu"],
        ["--run", "quickstart"],
        ["--config"],
        ["quickstart"],
    ],
)
def test_everything_else_stays_as_typed(typed: list[str]):
    assert by_name("fit", typed) == typed


def test_a_file_of_the_working_folder_comes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "quickstart").write_text("")
    assert by_name("fit", ["--config", "quickstart"]) == ["--config", "quickstart"]


def test_a_folder_of_that_name_is_no_configuration(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """The quick start writes into a folder that is called as its configuration is."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "quickstart").mkdir()
    assert by_name("fit", ["--config", "quickstart"])[1].endswith("quickstart.yaml")


def test_curation_takes_a_name_from_any_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "raw").mkdir()
    assert cli.main(["curate", "--config", "lmod_plus", "--raw", "raw", "--out", "out"]) == 2
    assert "raw" in capsys.readouterr().err, "it is read, and nothing is found in the folder"
