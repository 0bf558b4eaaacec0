"""A shipped configuration is found by its name from any folder, and nothing else is taken for one."""

import json
from pathlib import Path

import pytest

from lmod_train import cli
from lmod_train.cli.short_names import by_name
from lmod_train.core.artifacts.manifest import write_json
from lmod_train.core.errors import BadArgument
from lmod_train.core.shipped import config_files, configs_folder, shipped_as


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
    path = str(shipped_as(f"configs/{file}"))
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
    path = config_files("task")[Path(typed).stem]
    assert by_name(command, [option, typed]) == [option, f"[{path}]"]
    assert by_name(command, [f"{option}={typed}"]) == [f"{option}=[{path}]"]


TASK = "lmod_train.tasks"


@pytest.mark.parametrize(
    ("command", "typed", "found"),
    [
        ("curate", ["--tasks", "sex,four_way"], "[task/sex.yaml, task/four_way.yaml]"),
        ("curate", ["--tasks", "[sex, four_way]"], "[task/sex.yaml, task/four_way.yaml]"),
        ("curate", ["--tasks+", "sex, icdr"], "[task/sex.yaml, task/icdr.yaml]"),
        ("curate", ["--tasks", "FourWay"], f"[{TASK}.four_way.FourWay]"),
        ("curate", ["--tasks", "my_task.Mine"], "[my_task.Mine]"),
        ("curate", ["--tasks+", "my_task.Mine"], "my_task.Mine"),
        ("curate", ["--tasks", "[my_task.Mine, sex]"], "[my_task.Mine, task/sex.yaml]"),
        ("curate", ["--sources", "refuge"], "[source/refuge.yaml]"),
        ("curate", ["--sources", "refuge,idrid"], "[source/refuge.yaml, source/idrid.yaml]"),
        ("fit", ["--data.tasks", "sex,four_way"], "[task/sex.yaml, task/four_way.yaml]"),
        ("fit", ["--data.tasks", "[{class_path: a.B}]"], "[{class_path: a.B}]"),
        ("fit", ["--data.tasks", "null"], "null"),
        ("fit", ["--data.tasks", "[]"], "[]"),
        ("report", ["--sections", "scores"], "[lmod_train.report.sections.scores.Scores]"),
        ("report", ["--sections+", "ledger"], "lmod_train.extensions.papers.ledger.Ledger"),
    ],
)
def test_names_work_in_lists(command: str, typed: list[str], found: str):
    value = found.replace("task/", f"{configs_folder()}/task/").replace("source/", f"{configs_folder()}/source/")
    assert by_name(command, typed) == [typed[0], value]
    assert by_name(command, ["=".join(typed)]) == [f"{typed[0]}={value}"]


@pytest.mark.parametrize(
    ("command", "typed", "meant"),
    [
        ("curate", ["--tasks", "sex,glaucma"], "`--tasks glaucoma`"),
        ("curate", ["--sources", "refug"], "`--sources refuge`"),
        ("report", ["--sections", "[scors]"], "`--sections scores`"),
        ("fit", ["--data.tasks+", "glaucma"], "`--data.tasks glaucoma`"),
        ("curate", ["--tasks", "zzzz"], "`python -m lmod_train list tasks`"),
    ],
)
def test_an_unknown_name_in_a_list_gets_the_closest(command: str, typed: list[str], meant: str):
    with pytest.raises(BadArgument, match=f"Next: .*{meant}"):
        by_name(command, typed)


def test_every_shipped_task_and_source_is_known_by_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    for kind, option in (("task", "--tasks"), ("source", "--sources")):
        for name, file in config_files(kind).items():
            assert str(file) in by_name("curate", [option, name])[1]


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


@pytest.mark.parametrize(
    ("command", "option", "typed"),
    [
        ("fit", "--config", "configs/quickstart.yaml"),
        ("curate", "--config", "configs/curate/lmod_v1.yaml"),
        ("fit", "--model", "configs/model/cnn.yaml"),
        ("fit", "--trainer", "configs/trainer/cpu.yaml"),
        ("fit", "--data.tasks+", "configs/task/sex.yaml"),
    ],
)
def test_a_path_of_the_checkout_names_the_shipped_config_from_any_folder(
    command: str, option: str, typed: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    assert by_name(command, [option, typed]) == [option, str(configs_folder().parent / typed)]
    Path(typed).parent.mkdir(parents=True)
    Path(typed).write_text("a: 1")
    assert by_name(command, [option, typed]) == [option, typed], "a file of the working folder comes first"


def test_a_path_that_leaves_the_configs_stays_as_typed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    for typed in ("configs/../pyproject.toml", "configs/nothing.yaml", "other/quickstart.yaml"):
        assert by_name("fit", ["--config", typed]) == ["--config", typed]


@pytest.mark.parametrize("words", [1, 100, 3000])
@pytest.mark.parametrize("option", ["--data.tasks", "--data.tasks+"])
@pytest.mark.parametrize("form", ["{}", "[{}]", "{{class_path: a.B, words: {}}}"])
def test_a_value_of_any_length_is_typed_without_asking_for_a_file_of_that_name(option: str, form: str, words: int):
    value = form.format("a.B" * words)
    (_, found) = by_name("validate", [option, value])
    assert found.strip("[]") == value.strip("[]")


def test_a_task_of_a_folder_has_settings_of_any_length(tmp_path: Path):
    options = {"CFP": [f"structure {i}" for i in range(300)]}
    asked = {"class": f"{TASK}.anatomy.Anatomy", "version": 6, "language": "en", "settings": {"options": options}}
    counts = {"anatomy": {"test": {"records": 1}}}
    manifest = {"schema_version": 4, "settings": {"tasks": {"anatomy/en": asked}}, "counts": counts}
    write_json(tmp_path / "manifest.json", manifest)
    (_, _, _, found) = by_name("validate", ["--data.curated", str(tmp_path), "--data.tasks", "anatomy"])
    (task,) = json.loads(found)
    assert task["init_args"]["options"] == options
