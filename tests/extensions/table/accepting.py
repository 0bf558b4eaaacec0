"""Type a command, and what it prints where values of the table would be lost."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence

import pytest

from lmod_train import cli


def stopped(command: Sequence[str], capsys: pytest.CaptureFixture[str]) -> str:
    """Return what a command that must stop prints of the values that would be lost."""
    assert cli.main([*command]) == 2
    error = capsys.readouterr().err
    assert "values of the table would be lost" in error, error
    return error


def accepted(command: Sequence[str], capsys: pytest.CaptureFixture[str]) -> str:
    """Type a command that stops, then the one that it prints, which goes on; return the table of what is lost."""
    error = stopped(command, capsys)
    assert cli.main(shlex.split(re.findall(r"`(python -m lmod_train [^`]+)`", error)[-1])[3:]) == 0
    return error
