"""A file name, a task or a model that holds commands of a terminal is printed, and commands nothing."""

import warnings

import hypothesis.strategies as st
import pytest
from hypothesis import example, given

from lmod_train.cli import main
from lmod_train.cli.terminal import PACKAGE, harmless


def test_what_is_printed_keeps_its_lines_and_loses_its_commands(capsys):
    with harmless():
        print("a\x1b[2J\udcff", "b\n四 级")
    assert capsys.readouterr().out == "a\\u001b[2J\\udcff b\n四 级\n"


def test_names_of_folders_and_errors_are_harmless(tmp_path, capsys):
    folder = tmp_path / "raw" / "x\x1b]0;y\x07\udcff"
    folder.mkdir(parents=True)
    assert main(["curate", "--raw", str(tmp_path / "raw"), "--out", str(tmp_path / "out")]) == 2
    said = capsys.readouterr()
    assert main(["report", str(tmp_path / "\x1b[31m"), "--out", str(tmp_path / "out")]) == 2
    shown = said.out + said.err + capsys.readouterr().err
    assert "\x1b" not in shown and "\x07" not in shown and "\\u001b" in shown


@given(st.text())
@example("It is so.\nNext: do this")
def test_a_warning_of_the_package_is_one_line_without_code(text):
    before = warnings.formatwarning
    with harmless():
        shown = warnings.formatwarning(UserWarning(text), UserWarning, f"{PACKAGE}/cli/terminal.py", 1)
        other = warnings.formatwarning(UserWarning(text), UserWarning, "/elsewhere/numpy.py", 1, "x = 1")
    assert warnings.formatwarning is before
    assert shown.startswith("warning: ") and shown.endswith("\n") and len(shown.splitlines()) == 1
    assert "\\u000a" not in shown or "\\u000a" in text, "a line for what to do next"
    assert "\x1b" not in shown and PACKAGE not in shown and '"""' not in shown
    assert other == before(UserWarning(text), UserWarning, "/elsewhere/numpy.py", 1, "x = 1")


def test_the_form_of_warnings_is_restored_after_an_error():
    before = warnings.formatwarning
    with pytest.raises(ValueError), harmless():
        raise ValueError
    assert warnings.formatwarning is before
