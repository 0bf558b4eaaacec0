"""A parser's message becomes one line that names the argument, its value and what was expected."""

from __future__ import annotations

import pytest

from lmod_train.cli import main
from lmod_train.cli.refusal import LONGEST, in_short

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


def test_a_single_value_where_a_list_is_expected_is_shown_as_a_list(capsys: pytest.CaptureFixture[str]):
    with pytest.raises(SystemExit, match="2"):
        main(["curate", "--raw", "x", "--out", "x", "--tasks", "my_task.MyTask"])
    said = capsys.readouterr().err
    assert "Next: for a list type `--tasks '[my_task.MyTask]'`; `python -m lmod_train curate --help`" in said
