"""The front door: fast, torch-free, and every mistake answered with its cure and no traceback."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import lmod_train
from lmod_train import cli
from lmod_train.cli.commands import FIRST, LIGHTNING, commands
from lmod_train.core.errors import BadArgument

LIGHT = [["--help"], ["--version"], ["list", "sources"], ["list", "tasks"], ["list", "models"]]
LIGHT += [["rescore", "--help"], ["judge", "--help"]]


@pytest.mark.parametrize("arguments", LIGHT, ids=" ".join)
def test_front_door_loads_no_torch(arguments: list[str]):
    program = (
        "import sys\nfrom lmod_train.cli import main\ntry:\n    status = main(sys.argv[1:])\n"
        "except SystemExit as stop:\n    status = stop.code\n"
        "heavy = {'torch', 'lightning', 'transformers', 'pandas', 'scipy'} & set(sys.modules)\n"
        "print(status, sorted(heavy), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", program, *arguments], capture_output=True, text=True, check=True)
    assert done.stdout
    assert done.stderr.splitlines()[-1] == "0 []"


@pytest.mark.parametrize("arguments", [["--help"], ["list", "tasks"]], ids=" ".join)
def test_front_door_answers_in_under_a_second(arguments: list[str]):
    before = os.times()
    subprocess.run([sys.executable, "-m", "lmod_train", *arguments], capture_output=True, check=True)
    after = os.times()  # seconds of work, not of waiting: the machine may be busy with other tests
    assert 0 < sum(after[2:4]) - sum(before[2:4]) < 1.0


def test_help_shows_what_comes_first_names_every_command_once_and_fits_a_screen(capsys: pytest.CaptureFixture[str]):
    assert cli.main([]) == 0
    shown = capsys.readouterr().out
    assert len(shown.splitlines()) <= 36 and max(map(len, shown.splitlines())) <= 100
    for name in FIRST:
        (line,) = [line for line in shown.splitlines() if line.startswith(f"  {name} ")]
        assert line.endswith(".")
    for name in (*commands(), *LIGHTNING):
        group, _, rest = name.partition(" ")
        assert re.search(rf"\b{group} \S*\b{rest}\b" if rest else rf"\b{name}\b", shown), name
    assert cli.main(["--help"]) == 0
    assert capsys.readouterr().out == shown


def test_version_is_the_package_version(capsys: pytest.CaptureFixture[str]):
    assert cli.main(["--version"]) == 0
    assert capsys.readouterr().out.strip() == lmod_train.__version__


def test_a_misspelt_command_is_answered_with_the_closest_one(capsys: pytest.CaptureFixture[str]):
    assert cli.main(["validte"]) == 2
    error = capsys.readouterr().err
    assert "command='validte'" in error and "did you mean `python -m lmod_train validate`" in error
    assert cli.main(["zzz"]) == 2
    assert "python -m lmod_train --help" in capsys.readouterr().err


def test_an_error_of_ours_is_printed_without_a_traceback(tmp_path: Path):
    done = subprocess.run(
        [sys.executable, "-m", "lmod_train", "rescore", str(tmp_path)], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"error: {tmp_path / 'replies'}: no saved replies in this folder\nNext: ")
    assert "Traceback" not in done.stderr


def test_an_error_that_is_not_ours_keeps_its_traceback(monkeypatch: pytest.MonkeyPatch):
    def broken(kind: str) -> None:
        """Break."""
        raise ZeroDivisionError(kind)

    monkeypatch.setattr("lmod_train.cli.listing.show", broken)
    with pytest.raises(ZeroDivisionError):
        cli.main(["list", "tasks"])


def test_an_interruption_is_one_line_and_status_130(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    def interrupted(kind: str) -> None:
        """Wait for the user."""
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(10)

    monkeypatch.setattr("lmod_train.cli.listing.show", interrupted)
    # A job in the background is started with interruptions ignored, and so would be the tests in it.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        assert cli.main(["list", "tasks"]) == 130
    finally:
        signal.signal(signal.SIGINT, before)
    assert len(capsys.readouterr().err.splitlines()) == 1


def test_errors_of_a_command_become_status_2(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    def refusing(kind: str) -> None:
        """Refuse."""
        raise BadArgument("kind", kind, "something else", "try again")

    monkeypatch.setattr("lmod_train.cli.listing.show", refusing)
    assert cli.main(["list", "tasks"]) == 2
    assert capsys.readouterr().err == "error: kind='tasks': expected something else.\nNext: try again\n"
