"""A parser's message becomes one line that names the argument, its value and what was expected."""

from __future__ import annotations

from pathlib import Path

import pytest

from lmod_train.cli import main
from lmod_train.cli.parser import LONGEST, in_short

UNION = """Parser key "trainer.max_epochs":
  Does not validate against any of the Union subtypes
  Subtypes: [<class 'int'>, <class 'NoneType'>]
  Errors:
    - Expected a <class 'int'>
    - Expected a <class 'NoneType'>
  Given value type: <class 'str'>
  Given value: abc"""
CLASS = """Parser key "model":
  Errors:
    - Problem with given class_path 'lmod_train.training.callbacks.generation.GenerationEval':
        Option 'log_subset' is not accepted
    - Expected a <class 'NoneType'>
  Given value: NestedArg(key='log_subset', val='x')"""


@pytest.mark.parametrize(
    ("message", "said"),
    [
        (UNION, "trainer.max_epochs='abc': expected int or null"),
        (
            CLASS,
            "'log_subset' is not an option of lmod_train.training.callbacks.generation.GenerationEval "
            "(did you mean log_subsets?)",
        ),
        ("Parser key \"ratios\":\n  Expected a <class 'float'>. Got value: b", "ratios='b': expected float"),
        (
            'Parser key "tasks":\n\n  - Expected a path but x.yaml either not accessible or invalid\n'
            "  - Expected a <class 'list'>. Got value: x.yaml",
            "tasks='x.yaml': expected an existing file or list",
        ),
        ("the following arguments are required: out", "the following arguments are required: out"),
    ],
)
def test_a_message_is_one_line(message: str, said: str):
    assert in_short(message, []) == said


def test_what_is_of_no_known_form_is_cut():
    assert in_short("x " * 1000, []) == "x " * (LONGEST // 2) + " ..."


@pytest.mark.parametrize("command", ["phantom --out x", "curate --raw x --out x", "subset x",
                                     "import x.json --images x --out x"])  # fmt: skip
@pytest.mark.parametrize("seed", ["-1", "many"])
def test_no_command_takes_a_seed_that_draws_nothing(command: str, seed: str, capsys: pytest.CaptureFixture[str]):
    with pytest.raises(SystemExit, match="2"):
        main([*command.split(), "--seed", seed])
    said = capsys.readouterr().err
    assert said.startswith(f"error: seed={seed!r}: expected a whole number of at least 0\nNext: ")


def test_a_single_class_in_the_place_of_a_list_is_a_list_of_one(capsys: pytest.CaptureFixture[str]):
    with pytest.raises(SystemExit, match="2"):
        main(["curate", "--raw", "x", "--out", "x", "--tasks", "my_task.MyTask"])
    said = capsys.readouterr().err
    assert "tasks='my_task.MyTask': expected the path of a class (No module named 'my_task')" in said


LOGGER = "--trainer.logger lightning.pytorch.loggers.CSVLogger --trainer.logger.save_dir here"
MONITOR = "--trainer.callbacks+=lightning.pytorch.callbacks.DeviceStatsMonitor"


@pytest.mark.parametrize(
    ("typed", "shown"),
    [
        (LOGGER, "    class_path: lightning.pytorch.loggers.CSVLogger\n    init_args:\n      save_dir: here\n"),
        (MONITOR, "  - class_path: lightning.pytorch.callbacks.DeviceStatsMonitor\n"),
    ],
)
def test_a_class_of_another_package_is_accepted(
    typed: str, shown: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    (tmp_path / "manifest.json").write_text('{"schema_version": 4}')
    command = ["fit", "--config", "quickstart", "--data.curated", str(tmp_path), *typed.split()]
    with pytest.raises(SystemExit) as ended:
        main([*command, "--print_config"])
    assert ended.value.code == 0 and shown in capsys.readouterr().out


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        (
            MONITOR.replace("Monitor", "Monitr"),
            "Monitr'; did you mean lightning.pytorch.callbacks.DeviceStatsMonitor?)",
        ),
        ("--trainer.logger torch.nn.Linear", "expected the path of a subclass of Logger"),
        ("--model nowhere.at_all.Net", "expected the path of a class (No module named 'nowhere')"),
        ("--model timm.models.resnet.ResNet", "expected the path of a subclass of LmodModule"),
    ],
)
def test_a_class_that_cannot_be_used_is_refused_with_the_reason(
    typed: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    (tmp_path / "manifest.json").write_text('{"schema_version": 4}')
    command = ["fit", "--config", "quickstart", "--data.curated", str(tmp_path), *typed.split()]
    with pytest.raises(SystemExit) as ended:
        main([*command, "--print_config"])
    error = capsys.readouterr().err
    assert ended.value.code == 2 and said in error and "\nNext: " in error
